"""Pure. Messages as graphs write them, in all the shapes that LangGraph accepts.

Nodes and tools may return messages, dicts, tuples and strings, also inside ``Command`` and other containers. A
channel with ``add_messages`` makes real messages of them; with a plain list or ``operator.add`` they stay what they
are, also without ids.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any
from uuid import UUID, uuid5

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langgraph.func import entrypoint
from langgraph.types import Command
from pydantic import BaseModel

from yai_nexus_agentkit.protocol.json.json_safe import json_text

__all__ = [
    "UNREADABLE",
    "are_messages",
    "is_single_call",
    "last_results",
    "messages_given",
    "raw_results",
    "read_messages",
    "tool_messages",
    "written_messages",
]

UNREADABLE: Sequence[BaseMessage] = []
"""Stands for something that is not a list of messages. Recognised by identity: nobody knows what the conversation is,
which is not the same as an empty one."""

_NAMESPACE = UUID("6f0e6bd5-7a5b-5d0c-9d3a-5b1f6b8f2d11")

_NO_MESSAGE = (ValueError, TypeError, KeyError, NotImplementedError)
"""LangChain raises these for something that is not a message."""

_id = attrgetter("id")


def are_messages(items: Sequence[Any]) -> bool:
    """All of these are messages, none is a dict or a tuple. The loop over them runs in C."""
    return all(issubclass(kind, BaseMessage) for kind in set(map(type, items)))


def read_messages(stored: Any) -> Sequence[BaseMessage]:
    """The stored conversation as messages with ids, position by position; the same list if it holds nothing else.

    A missing id is made from the message's content, so that it is the same when the next request reads the thread.
    """
    if not isinstance(stored, list | tuple):
        return UNREADABLE
    real = are_messages(stored)
    if real and all(map(_id, stored)):
        return stored
    try:
        return _identified(stored if real else [_message(item) for item in stored])
    except _NO_MESSAGE:
        return UNREADABLE


def raw_results(written: Iterable[Any]) -> list[ToolMessage]:
    """The results among what a node wrote that are not messages yet, but dicts or tuples; most have no id."""
    found: list[ToolMessage] = []
    for item in written:
        if not isinstance(item, (BaseMessage, str)):
            with suppress(*_NO_MESSAGE):
                message = _message(item)
                found += [message] if isinstance(message, ToolMessage) else []
    return found


def _message(item: Any) -> BaseMessage:
    return item if isinstance(item, BaseMessage) else convert_to_messages([item])[0]


def _identified(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    alike: Counter[str] = Counter()
    found: list[BaseMessage] = []
    for message in messages:
        if not message.id:
            said = json_text(
                [
                    message.type,
                    message.content,
                    message.name,
                    getattr(message, "tool_calls", None),
                    getattr(message, "tool_call_id", None),
                ]
            )
            alike[said] += 1
            message = message.model_copy(update={"id": str(uuid5(_NAMESPACE, f"{alike[said]} {said}"))})
        found.append(message)
    return found


def written_messages(output: Any) -> list[Any]:
    """The entries that a node's return value, or an entry of an ``updates`` chunk, writes to ``messages``: messages, or
    raw tuples, dicts and strings."""
    if type(output) is dict or isinstance(output, Mapping):
        return _entries(output["messages"]) if "messages" in output else []
    if isinstance(output, Command):
        return written_messages(output.update)
    if isinstance(output, entrypoint.final):
        return written_messages(output.value)
    if isinstance(output, (list, tuple)):
        return [message for item in output for message in _written_by(item)]
    if isinstance(output, BaseMessage):
        return [output]
    if isinstance(output, BaseModel) or (dataclasses.is_dataclass(output) and not isinstance(output, type)):
        return _entries(getattr(output, "messages", None))
    return []


def _written_by(item: Any) -> list[Any]:
    """The entries of an item of a list: one update of several, or a message of a graph whose whole state is the
    list."""
    if isinstance(item, tuple) and len(item) == 2 and item[0] == "messages":
        return _entries(item[1])  # Command(update=[("messages", ...)])
    if isinstance(item, Command | Mapping):
        return written_messages(item)
    return [item] if isinstance(item, BaseMessage) else []


def _entries(written: Any) -> list[Any]:
    value = getattr(written, "value", written) if type(written).__name__ == "Overwrite" else written
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def tool_messages(output: Any) -> list[ToolMessage]:
    """The tool messages in a tool's result: the result itself, those in its ``Command``, or in a list of both."""
    if isinstance(output, ToolMessage):
        return [output]
    if isinstance(output, Command):
        return [m for m in written_messages(output) if isinstance(m, ToolMessage)]
    if isinstance(output, (list, tuple)):
        return [m for item in output if isinstance(item, (Command, ToolMessage)) for m in tool_messages(item)]
    return []


def is_single_call(node_input: Any) -> bool:
    """The node executes one tool call and nothing else, as the tool nodes of ``create_agent`` do: its input *is* the
    call."""
    if isinstance(node_input, (list, tuple)):
        if len(node_input) != 1:
            return False
        node_input = node_input[0]
    if type(node_input) is not dict and not isinstance(node_input, Mapping):
        return False
    return node_input.get("type") == "tool_call" or node_input.get("__type") == "tool_call_with_context"


def messages_given(given: Any) -> Sequence[Any]:
    """The messages in the input of a node; empty if it has none."""
    found = given.get("messages") if isinstance(given, Mapping) else getattr(given, "messages", given)
    return found if isinstance(found, (list, tuple)) else ()


def last_results(messages: Sequence[Any]) -> Sequence[ToolMessage]:
    """The results behind the last calls."""
    found: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            return found[::-1]
        found += [message] if isinstance(message, ToolMessage) else []
    return ()
