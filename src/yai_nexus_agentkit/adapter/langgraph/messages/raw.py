"""Reads a conversation whose channel stores raw entries. Pure.

Beside messages these may be dicts, tuples and strings, and messages without ids. ``add_messages`` makes real messages
of them; a plain list or ``operator.add`` does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any
from uuid import UUID, uuid5

from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages

from yai_nexus_agentkit.protocol.json.json_safe import json_text

__all__ = ["UNREADABLE", "raw_results", "read_messages"]


UNREADABLE: Sequence[BaseMessage] = []
"""Stands for what is no list of messages. Recognised by identity: nobody knows what the conversation is, which is not
the same as an empty one."""

_NAMESPACE = UUID("6f0e6bd5-7a5b-5d0c-9d3a-5b1f6b8f2d11")

_NO_MESSAGE = (ValueError, TypeError, KeyError, NotImplementedError)
"""LangChain raises these for what is no message."""

_id = attrgetter("id")


def read_messages(stored: Any) -> Sequence[BaseMessage]:
    """The stored conversation as messages with ids, position by position; the same list if it holds nothing else.

    A missing id is made from the message's content, so that it is the same when the next request reads the thread.
    """
    if not isinstance(stored, list | tuple):
        return UNREADABLE
    real = all(issubclass(kind, BaseMessage) for kind in set(map(type, stored)))
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
        if not isinstance(item, BaseMessage | str):
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
