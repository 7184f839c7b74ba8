"""Streams of models that think, in the shapes of their providers."""

from __future__ import annotations

from langchain_core.messages import AIMessageChunk

from yai_nexus_agentkit.testing import reasoning_part, text_part

__all__ = ["ANTHROPIC", "OPENAI", "bedrock", "mistral"]


def bedrock(**fields: str) -> AIMessageChunk:
    return AIMessageChunk(content=[{"type": "reasoning_content", "reasoning_content": fields, "index": 0}])


def mistral(text: str) -> AIMessageChunk:
    return AIMessageChunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": text}], "index": 0}])


ANTHROPIC = [
    AIMessageChunk(content=[]),
    reasoning_part("The user "),
    reasoning_part("greets."),
    reasoning_part(signature="SIG-1"),
    text_part("Hel", index=1),
    text_part("lo.", index=1),
]
OPENAI = [
    reasoning_part(provider="openai", id="rs_1"),
    reasoning_part("Think ", provider="openai", id="rs_1"),
    reasoning_part("once.", provider="openai", id="rs_1"),
    reasoning_part("Think twice.", provider="openai", id="rs_1", summary_index=1),
    reasoning_part(provider="openai", id="rs_1", encrypted="gAAA"),
    text_part("Hello.", index=1, id="msg_1"),
]
