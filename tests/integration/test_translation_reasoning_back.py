"""Reasoning goes back to its provider in the next turn, in the shape it came in."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessageChunk

from tests.support.graphs import Graph, chat, scripted
from tests.support.playing import Player
from tests.support.thoughts import ANTHROPIC, OPENAI, bedrock, mistral
from yai_nexus_agentkit.testing import (
    ScriptedChatModel,
    reasoning_part,
    redacted_part,
    text_part,
)

SHAPES = {
    "anthropic": ANTHROPIC,
    "redacted": [redacted_part("Emw1"), text_part("Hello.", index=1)],
    "openai": OPENAI,
    "deepseek": [reasoning_part("Hm.", provider="deepseek"), "Hello."],
    "gemini": [reasoning_part("Hm.", provider="gemini"), "Hello."],
    "bedrock": [bedrock(text="Hm."), bedrock(signature="SIG-1"), text_part("Hello.", index=1)],
    "mistral": [mistral("Hm."), text_part("Hello.", index=1)],
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_next_turn_gives_the_provider_its_own_reasoning_back(play: Player, shape: str) -> None:
    models: list[ScriptedChatModel] = []

    def build() -> Graph:
        models.append(scripted(SHAPES[shape], "Again."))
        return chat(models[-1])

    await play(build, "hi", "again")

    for model in models:
        [_, answer, _] = model.calls[1]
        whole = AIMessageChunk(content="")
        for part in SHAPES[shape]:
            whole += part if isinstance(part, AIMessageChunk) else AIMessageChunk(content=part)  # type: ignore[assignment]
        assert answer.content == whole.content or answer.content == [*filter(None, whole.content)]
        assert answer.additional_kwargs == whole.additional_kwargs


@pytest.mark.parametrize("shape", SHAPES)
async def test_without_a_checkpointer_reasoning_goes_round_through_the_client(play: Player, shape: str) -> None:
    models: list[ScriptedChatModel] = []

    def build() -> Graph:
        models.append(scripted(SHAPES[shape], "Again.", provider="given"))
        return chat(models[-1], checkpointer=None)

    await play(build, "hi", "again")

    expected = snapshot(
        {
            "anthropic": {
                "content": [
                    {"type": "thinking", "thinking": "The user greets.", "signature": "SIG-1", "index": 0},
                    {"type": "text", "text": "Hello."},
                ]
            },
            "redacted": {
                "content": [
                    {"type": "redacted_thinking", "data": "Emw1", "index": 0},
                    {"type": "text", "text": "Hello."},
                ]
            },
            "openai": {
                "content": [
                    {
                        "type": "reasoning",
                        "id": "rs_1",
                        "summary": [
                            {"type": "summary_text", "text": "Think once.", "index": 0},
                            {"type": "summary_text", "text": "Think twice.", "index": 1},
                        ],
                        "encrypted_content": "gAAA",
                        "index": 0,
                    },
                    {"type": "text", "text": "Hello."},
                ]
            },
            "deepseek": {"content": "Hello.", "reasoning_content": "Hm."},
            "gemini": {
                "content": [{"type": "thinking", "thinking": "Hm.", "index": 0}, {"type": "text", "text": "Hello."}]
            },
            "bedrock": {
                "content": [
                    {
                        "type": "reasoning_content",
                        "reasoning_content": {"text": "Hm.", "signature": "SIG-1"},
                        "index": 0,
                    },
                    {"type": "text", "text": "Hello."},
                ]
            },
            "mistral": {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "index": 0},
                    {"type": "text", "text": "Hello."},
                ]
            },
        }
    )
    for model in models:
        [_, answer, _] = model.calls[1]
        assert answer.response_metadata == {"model_provider": "given"}
        kept = {key: value for key, value in answer.additional_kwargs.items() if key != "agui"}
        assert {"content": answer.content, **kept} == expected[shape]
