"""Whether a client's message is the one that the thread has: compared as clients are shown it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import AssistantMessage, Message
from langchain_core.messages import AIMessage, BaseMessage

from yai_nexus_agentkit.adapter.langgraph.messages.content import model_calls, shown_text
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain
from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["alike", "repeats", "same_content", "saved_as", "text_of", "was_saved_as"]


def alike(message: Message, held: BaseMessage, calls: ThreadCalls) -> bool:
    """The client shows this message as the thread has it. Text and calls are compared without conversion: there may be
    thousands."""
    sent, stored, kind = message.content, held.content, held.type
    if sent.__class__ is str and sent == stored:
        if kind == "human" or kind == "tool":
            return True
        if message.role == "assistant" and isinstance(held, AIMessage) and not held.additional_kwargs:
            return _has_calls(message, held, calls)
    if kind in ("human", "system") and isinstance(stored, str):
        return sent == stored or sent == clean_text(stored)
    if isinstance(held, AIMessage) and message.role == "assistant" and (text := shown_text(held)) is not None:
        sent = sent or ""
        return (sent == text or sent == clean_text(text)) and _has_calls(message, held, calls)
    return _converted(message, held, calls)


def _has_calls(message: AssistantMessage, held: AIMessage, calls: ThreadCalls) -> bool:
    """The message has the calls of the thread's, and no others."""
    if not message.tool_calls:
        return not (held.tool_calls or held.invalid_tool_calls)
    own_id = held.id or ""
    made = [(raw, clean_text(call.get("name") or "")) for raw, call in model_calls(held, own_id)]
    return _calls(message) == [(calls.made(own_id, raw).id, name) for raw, name in made]


def repeats(message: Message, shown: Message | None) -> bool:
    """The client sends a message back as it was shown, whatever the thread has."""
    if shown is None or shown.role != message.role:
        return False
    if (shown.content or "") != (message.content or "") and not _same_text(message, shown):
        converted = to_langchain([shown])
        if not converted or not same_content(message, converted[0]):
            return False
    return _calls(message) == _calls(shown)


def _converted(message: Message, held: BaseMessage, calls: ThreadCalls) -> bool:
    shown = _shown(message, held)
    if shown is None:
        return False
    if (shown.content or "") != (message.content or "") and not same_content(message, held):
        return False
    return _calls(message) == [(calls.made(held.id or "", raw).id, name) for raw, name in _calls(shown)]


def was_saved_as(message: Message, held: BaseMessage, calls: ThreadCalls) -> bool:
    """The message differs by what savers make of text that UTF-8 cannot encode, and by nothing else."""
    shown = _shown(message, held)
    if shown is None or not _same_text(message, shown):
        return False
    return _calls(message) == [(calls.made(held.id or "", raw).id, name) for raw, name in _calls(shown)]


def _shown(message: Message, held: BaseMessage) -> Message | None:
    """The thread's message as clients see it, if it is one of the same role."""
    shown = to_agui([held], reasoning=False, marked=message.role)
    found = next((m for m in shown if m.id == message.id), None)
    return found if found is not None and found.role == message.role else None


def _same_text(message: Message, shown: Message) -> bool:
    sent, stored = text_of(message.content or ""), text_of(shown.content or "")
    return sent is not None and stored is not None and saved_as(sent, stored)


def _calls(message: Message) -> list[tuple[str, str]]:
    return [(call.id, call.function.name) for call in getattr(message, "tool_calls", None) or ()]


def same_content(message: Message, held: BaseMessage) -> bool:
    """Compared as LangChain would store it: conversion normalises parts."""
    one, other = text_of(message.content), text_of(held.content)
    if one is not None and other is not None:
        return one == other
    converted = to_langchain([message])
    if not converted:
        return False
    if converted[0].content == held.content:
        return True
    mine, theirs = to_agui(converted, reasoning=False), to_agui([held], reasoning=False)
    return len(mine) == len(theirs) and all(a.content == b.content for a, b in zip(mine, theirs, strict=True))


def text_of(content: Any) -> str | None:
    """Content that is nothing but text, however it is cut into parts; None for other content."""
    if isinstance(content, str):
        return clean_text(content)
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for part in content:
        if isinstance(part, Mapping):
            kind, text = part.get("type"), part.get("text")
        else:
            kind, text = getattr(part, "type", None), getattr(part, "text", None)
        if kind != "text" or not isinstance(text, str):
            return None
        texts.append(text)
    return clean_text("".join(texts))


_HALF = "\ufffd"


def saved_as(sent: str, stored: str) -> bool:
    """`stored` is the text that the client was sent, as it is or as a saver keeps it: text that UTF-8 cannot encode
    becomes question marks."""
    if sent == stored:
        return True
    if "?" not in stored:
        return False
    at = 0
    for char in sent:
        if stored.startswith(char, at) or (char == _HALF and stored.startswith("?", at)):
            at += 1
        elif ord(char) > 0xFFFF and stored.startswith("??", at):
            at += 2
        else:
            return False
    return at == len(stored)
