"""Ids of messages and tool calls as a client sees them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core import messages as lc

from yai_nexus_agentkit.adapter.langgraph.messages.content import minted_call_id
from yai_nexus_agentkit.adapter.shared.call_ids import CallIds
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text

__all__ = ["call_ids_of", "calls_made", "message_id", "model_calls", "wire_call_ids"]


def call_ids_of(messages: Sequence[lc.BaseMessage]) -> CallIds:
    """The ids of a thread's messages, to be extended while a run streams."""
    ids = CallIds()
    for position, message in enumerate(messages):
        if isinstance(message, lc.AIMessage) and (message.tool_calls or message.invalid_tool_calls):
            own_id = message_id(message, position)
            for raw_id, _ in model_calls(message, own_id):
                ids.wire(own_id, raw_id)
    return ids


def calls_made(message: lc.BaseMessage | None) -> Sequence[lc.ToolCall]:
    """The calls of a model's answer: the very list, for comparing by identity. None of any other message, which is not
    asked for the attribute: a pydantic model that lacks it takes 3 µs to say so."""
    return message.tool_calls if isinstance(message, lc.AIMessage) else ()


def wire_call_ids(messages: Sequence[lc.BaseMessage]) -> dict[tuple[str, str], str]:
    """Wire ids by (message id, raw call id) of a thread's messages."""
    return call_ids_of(messages).known()


def message_id(message: lc.BaseMessage, position: int) -> str:
    """The message's id on the wire; without one, an id from its position and content, the same at every reading."""
    if message.id:
        return clean_text(message.id)
    digest = hashlib.sha256(json_text(message.content).encode()).hexdigest()[:16]
    return f"{message.type}-{position}-{digest}"


def model_calls(message: lc.AIMessage, own_id: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Raw id and call, valid ones first; an absent id, or one that an earlier call of the message has, is minted."""
    seen: set[str] = set()
    for position, call in enumerate((*message.tool_calls, *message.invalid_tool_calls)):
        raw_id = clean_text(str(call.get("id") or "")) or minted_call_id(own_id, position)
        if raw_id in seen:
            raw_id = minted_call_id(own_id, position)
        seen.add(raw_id)
        yield raw_id, call
