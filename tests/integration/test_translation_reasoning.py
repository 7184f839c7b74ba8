# ruff: noqa: E501
"""Reasoning on the wire, in the shapes of every provider."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from tests.support.graphs import Graph, chat, in_a_row, scripted, tool_loop, turns
from tests.support.playing import Player
from tests.support.thoughts import ANTHROPIC, OPENAI, bedrock, mistral
from tests.support.tools import weather
from yai_nexus_agentkit import AdapterOptions
from yai_nexus_agentkit.testing import (
    interleave,
    reasoning_part,
    redacted_part,
    text_part,
    tool_call_part,
    tool_call_parts,
)


def openai_v0(text: str) -> AIMessageChunk:
    summary = [{"index": 0, "type": "summary_text", "text": text}]
    return AIMessageChunk(content="", additional_kwargs={"reasoning": {"id": "rs_1", "summary": summary}})


def standard(text: str = "", **fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[{"type": "reasoning", "reasoning": text, "index": 0, **fields}])


PROVIDERS: dict[str, tuple[list[Any], str | None]] = {
    "anthropic": (ANTHROPIC, "anthropic"),
    "anthropic, redacted": (
        [
            redacted_part("Emw1"),
            reasoning_part("Then this.", index=1),
            redacted_part("Emw2", index=2),
            text_part("Hello.", index=3),
        ],
        "anthropic",
    ),
    "openai": (OPENAI, "openai"),
    "openai, without a summary": (
        [reasoning_part(provider="openai", id="rs_1", encrypted="gAAA"), text_part("Hello.", index=1)],
        "openai",
    ),
    "openai, outside of the content": ([openai_v0("Think "), openai_v0("twice."), "Hello."], None),
    "deepseek": (
        [*(reasoning_part(text, provider="deepseek") for text in ("", "Let me ", "think.")), "Hel", "lo."],
        None,
    ),
    "gemini": (
        [reasoning_part("Greet ", provider="gemini"), reasoning_part("back.", provider="gemini"), "Hel", "lo."],
        "google_genai",
    ),
    "bedrock, with an empty flush before the signature": (
        [
            bedrock(text="Let me "),
            bedrock(text="think."),
            bedrock(text=""),
            bedrock(signature="SIG-1"),
            text_part("Hello.", index=1),
        ],
        "bedrock_converse",
    ),
    "mistral": ([mistral("Let me "), mistral("think."), text_part("Hello.", index=1)], "mistralai"),
    "a string beside the content": (
        [
            *(AIMessageChunk(content="", additional_kwargs={"reasoning": text}) for text in ("Let me ", "think.")),
            "Hello.",
        ],
        "openrouter",
    ),
    "block and answer in one chunk": (
        [
            AIMessageChunk(
                content=[
                    {"type": "thinking", "thinking": "Hm.", "index": 0},
                    {"type": "text", "text": "Hello.", "index": 1},
                ]
            )
        ],
        None,
    ),
    "deepseek, with the answer in one chunk": (
        [AIMessageChunk(content="Hel", additional_kwargs={"reasoning_content": "Hm."}), "lo."],
        None,
    ),
    "langchain's standard blocks": (
        [standard("Let me "), standard("think."), standard(extras={"signature": "SIG"}), text_part("Hello.", index=1)],
        None,
    ),
}
"""The model's chunks, and the name of its provider."""


@pytest.mark.parametrize("shape", PROVIDERS)
async def test_a_thought_and_an_answer(play: Player, shape: str) -> None:
    parts, provider = PROVIDERS[shape]
    played = await play(lambda: chat(scripted(parts, provider=provider)))

    expected = snapshot(
        {
            "anthropic": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking provider=anthropic)) + "The user " + greets.',
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=SIG-1",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0 metadata=(langgraph=(form=thinking provider=anthropic kind=signature))",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
            ],
            "anthropic, redacted": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=redacted_thinking provider=anthropic kind=redacted))",
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=Emw1",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "REASONING_START messageId=lc_run--#1-reasoning-1",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-1 role=reasoning metadata=(langgraph=(form=thinking provider=anthropic)) + "Then this." END',
                "REASONING_END messageId=lc_run--#1-reasoning-1",
                "REASONING_START messageId=lc_run--#1-reasoning-2",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-2 role=reasoning metadata=(langgraph=(form=redacted_thinking provider=anthropic kind=redacted))",
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-2 encryptedValue=Emw2",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-2",
                "REASONING_END messageId=lc_run--#1-reasoning-2",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "openai": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=summary id=rs_1 provider=openai)) + "Think " + once. + "\\n\\nThink twice."',
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=gAAA",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0 metadata=(langgraph=(form=summary id=rs_1 provider=openai sections=[11 12] kind=encrypted))",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "openai, without a summary": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=summary id=rs_1 provider=openai kind=encrypted))",
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=gAAA",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "openai, outside of the content": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.reasoning id=rs_1)) + "Think " + twice. END',
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "deepseek": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.reasoning_content)) + "Let me " + think. END',
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
            ],
            "gemini": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking provider=google_genai)) + "Greet " + back. END',
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
            ],
            "bedrock, with an empty flush before the signature": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=reasoning_content provider=bedrock_converse)) + "Let me " + think.',
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=SIG-1",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0 metadata=(langgraph=(form=reasoning_content provider=bedrock_converse kind=signature))",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "mistral": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking.parts provider=mistralai)) + "Let me " + think. END',
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "a string beside the content": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.text provider=openrouter)) + "Let me " + think. END',
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "block and answer in one chunk": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + Hm. END",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
            "deepseek, with the answer in one chunk": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.reasoning_content)) + Hm. END",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
            ],
            "langchain's standard blocks": [
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=reasoning)) + "Let me " + think.',
                "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=SIG",
                "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0 metadata=(langgraph=(form=reasoning kind=signature))",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
            ],
        }
    )
    assert played.without("STEP") == expected[shape]


async def test_reasoning_of_a_model_that_cannot_stream(play: Player) -> None:
    content: list[Any] = [
        {"type": "thinking", "thinking": "The user greets.", "signature": "SIG-1"},
        {"type": "redacted_thinking", "data": "Emw1"},
        {"type": "text", "text": "Hello."},
    ]
    played = await play(lambda: chat(scripted(AIMessage(content), streaming=False, provider="anthropic")))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            "REASONING_START messageId=lc_run--#1-0-reasoning-0",
            'REASONING_MESSAGE_START messageId=lc_run--#1-0-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking provider=anthropic kind=signature)) + "The user greets."',
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-0-reasoning-0 encryptedValue=SIG-1",
            "REASONING_MESSAGE_END messageId=lc_run--#1-0-reasoning-0",
            "REASONING_END messageId=lc_run--#1-0-reasoning-0",
            "REASONING_START messageId=lc_run--#1-0-reasoning-1",
            "REASONING_MESSAGE_START messageId=lc_run--#1-0-reasoning-1 role=reasoning metadata=(langgraph=(form=redacted_thinking provider=anthropic kind=redacted))",
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-0-reasoning-1 encryptedValue=Emw1",
            "REASONING_MESSAGE_END messageId=lc_run--#1-0-reasoning-1",
            "REASONING_END messageId=lc_run--#1-0-reasoning-1",
            "TEXT_MESSAGE_START messageId=lc_run--#1-0 role=assistant + Hello. END",
            "STEP_FINISHED stepName=chat",
        ]
    )


async def test_a_model_that_only_thinks(play: Player) -> None:
    thought = reasoning_part("Hm.", provider="deepseek")
    played = await play(lambda: chat(scripted([thought], "Two.")), "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=chat",
                "REASONING_START messageId=lc_run--#1-reasoning-0",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.reasoning_content)) + Hm. END",
                "REASONING_END messageId=lc_run--#1-reasoning-0",
                "STEP_FINISHED stepName=chat",
            ],
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
                "STEP_FINISHED stepName=chat",
            ],
        ]
    )


async def test_anthropic_thinking_between_text_and_a_call(play: Player) -> None:
    def build() -> Graph:
        parts = [
            reasoning_part("First.", index=0),
            reasoning_part(signature="SIG-1", index=0),
            text_part("Let me look. ", index=1),
            reasoning_part("Second.", index=2),
            reasoning_part(signature="SIG-2", index=2),
            *tool_call_parts("weather", {"city": "Rome"}, "toolu_1", index=3),
        ]
        return tool_loop(scripted(parts, [text_part("Sun.")], provider="anthropic"), [weather])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking provider=anthropic)) + First.",
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=SIG-1",
            "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0 metadata=(langgraph=(form=thinking provider=anthropic kind=signature))",
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Let me look. "',
            "REASONING_START messageId=lc_run--#1-reasoning-1",
            "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-1 role=reasoning metadata=(langgraph=(form=thinking provider=anthropic at=[13 0])) + Second.",
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-1 encryptedValue=SIG-2",
            "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-1 metadata=(langgraph=(form=thinking provider=anthropic kind=signature at=[13 0]))",
            "REASONING_END messageId=lc_run--#1-reasoning-1",
            'TOOL_CALL_START toolCallId=toolu_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=toolu_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_two_openai_items_around_a_call(play: Player) -> None:
    def build() -> Graph:
        parts = [
            reasoning_part("One.", provider="openai", id="rs_1", index=0),
            reasoning_part(provider="openai", id="rs_1", encrypted="E1", index=0),
            tool_call_part("weather", '{"city": "Rome"}', "call_1", index=1),
            reasoning_part("Two.", provider="openai", id="rs_2", index=2),
            reasoning_part(provider="openai", id="rs_2", encrypted="E2", index=2),
            tool_call_part("weather", '{"city": "Oslo"}', "call_2", index=3),
        ]
        return tool_loop(scripted(parts, "Sun.", provider="openai"), [weather])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=summary id=rs_1 provider=openai)) + One.",
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-0 encryptedValue=E1",
            "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0 metadata=(langgraph=(form=summary id=rs_1 provider=openai kind=encrypted))",
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}"',
            "REASONING_START messageId=lc_run--#1-reasoning-1",
            "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-1 role=reasoning metadata=(langgraph=(form=summary id=rs_2 provider=openai)) + Two.",
            "REASONING_ENCRYPTED_VALUE subtype=message entityId=lc_run--#1-reasoning-1 encryptedValue=E2",
            "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-1 metadata=(langgraph=(form=summary id=rs_2 provider=openai kind=encrypted))",
            "REASONING_END messageId=lc_run--#1-reasoning-1",
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_deepseek_reasoning_before_a_call(play: Player) -> None:
    def build() -> Graph:
        parts = [
            reasoning_part("Look it up.", provider="deepseek"),
            *tool_call_parts("weather", {"city": "Rome"}, "c1"),
        ]
        return tool_loop(scripted(parts, [reasoning_part("Sunny.", provider="deepseek"), "Sun."]), [weather])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.reasoning_content)) + "Look it up." END',
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            'TOOL_CALL_START toolCallId=c1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=c1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "REASONING_START messageId=lc_run--#3-reasoning-0",
            "REASONING_MESSAGE_START messageId=lc_run--#3-reasoning-0 role=reasoning metadata=(langgraph=(form=kwargs.reasoning_content)) + Sunny. END",
            "REASONING_END messageId=lc_run--#3-reasoning-0",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_two_thinking_models_at_once(play: Player) -> None:
    def build() -> Graph:
        one = scripted([reasoning_part("A thinks."), *turns(100), text_part("A.", index=1)])
        two = scripted([*turns(50), reasoning_part("B thinks."), *turns(100), text_part("B.", index=1)])

        async def both(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": await asyncio.gather(*(m.ainvoke(state["messages"], config) for m in (one, two)))}

        return in_a_row({"both": both})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=both",
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + "A thinks."',
            "REASONING_START messageId=lc_run--#2-reasoning-0",
            'REASONING_MESSAGE_START messageId=lc_run--#2-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + "B thinks."',
            "REASONING_MESSAGE_END messageId=lc_run--#1-reasoning-0",
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + A. END",
            "REASONING_MESSAGE_END messageId=lc_run--#2-reasoning-0",
            "REASONING_END messageId=lc_run--#2-reasoning-0",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + B. END",
            "STEP_FINISHED stepName=both",
        ]
    )


async def test_reasoning_interleaved_with_text_by_index(play: Player) -> None:
    thoughts = [reasoning_part("One "), reasoning_part("two.")]
    words = [text_part("Un ", index=1), text_part("deux.", index=1)]
    played = await play(lambda: chat(scripted(interleave(thoughts, words))), in_step=False)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            'REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + "One " END',
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Un "',
            "REASONING_START messageId=lc_run--#1-reasoning-0",
            "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + two. END",
            "REASONING_END messageId=lc_run--#1-reasoning-0",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=deux. END",
            "STEP_FINISHED stepName=chat",
        ]
    )


@pytest.mark.parametrize("mode", ["thinking", "off"])
async def test_other_forms_of_reasoning(play: Player, mode: Any) -> None:
    played = await play(
        lambda: chat(scripted(ANTHROPIC)),
        options=AdapterOptions(reasoning=mode),
        ignore=["model", "AGUI", "client"],
        in_step=False,
    )

    assert {
        "thinking": snapshot(
            [
                "STEP_STARTED stepName=chat",
                "THINKING_START",
                'THINKING_TEXT_MESSAGE_START + "The user " + greets. END',
                "THINKING_END",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
                "STEP_FINISHED stepName=chat",
            ]
        ),
        "off": snapshot(
            [
                "STEP_STARTED stepName=chat",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
                "STEP_FINISHED stepName=chat",
            ]
        ),
    }[mode] == played.stream
