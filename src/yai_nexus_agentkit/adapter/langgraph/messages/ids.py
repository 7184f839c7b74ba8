"""Ids of messages and tool calls as a client sees them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core import messages as lc

from yai_nexus_agentkit.adapter.langgraph.messages.content import minted_call_id
from yai_nexus_agentkit.orchestration.client_tools import is_pending
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text
from yai_nexus_agentkit.protocol.thread_calls import ThreadCalls

__all__ = ["calls_made", "calls_of", "give_result", "message_id", "model_calls"]


def calls_of(messages: Sequence[lc.BaseMessage], scopes: Mapping[str, str] | None = None) -> ThreadCalls:
    """The tool calls of a thread's messages, and which of them have a result. A run adds its own while it streams.

    `scopes`: namespace of the subgraph by id, of the messages that a subgraph holds and not the thread itself.
    """
    calls, scopes = ThreadCalls(), scopes or {}
    for position, message in enumerate(messages):
        if isinstance(message, lc.AIMessage):
            if message.tool_calls or message.invalid_tool_calls:
                own_id = message_id(message, position)
                for raw, call in model_calls(message, own_id):
                    scope, name, args = scopes.get(own_id, ""), call.get("name") or "", call.get("args")
                    calls.made(own_id, raw, scope=scope, name=name, args=args).announced = True
        elif isinstance(message, lc.ToolMessage) and not is_pending(message):
            give_result(calls, message, message_id(message, position), scopes.get(message.id or "", ""))
    return calls


def give_result(calls: ThreadCalls, message: lc.ToolMessage, own_id: str, scope: str = "") -> None:
    """Record that a tool message of the thread answers its call. The call may be missing: threads are trimmed."""
    raw = clean_text(str(message.tool_call_id))
    call = calls.meant(raw, (scope, ""))
    calls.answer(raw if call is None else call.id, own_id)


def calls_made(message: lc.BaseMessage | None) -> Sequence[lc.ToolCall]:
    """The calls of a model's answer: the very list, for comparing by identity. None of any other message, which is not
    asked for the attribute: a pydantic model that lacks it takes 3 µs to say so."""
    return message.tool_calls if isinstance(message, lc.AIMessage) else ()


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
