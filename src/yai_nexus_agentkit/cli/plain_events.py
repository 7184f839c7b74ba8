"""Pure. Events in their plain form: ``*_CHUNK`` as the start, content and end that they stand for (AG-UI 1.0 §13), the
retired ``THINKING_*`` as the ``REASONING_*`` of today (§18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Event", "PlainEvents"]

Event: TypeAlias = Mapping[str, Any]
"""One AG-UI event as JSON data."""


class _Chunk(NamedTuple):
    prefix: str
    content: str
    id: str
    more: tuple[str, ...]
    """Fields of the start."""


_CHUNKS: Mapping[str, _Chunk] = {
    "TEXT_MESSAGE_CHUNK": _Chunk("TEXT_MESSAGE", "CONTENT", "messageId", ("role", "name")),
    "REASONING_MESSAGE_CHUNK": _Chunk("REASONING_MESSAGE", "CONTENT", "messageId", ()),
    "TOOL_CALL_CHUNK": _Chunk("TOOL_CALL", "ARGS", "toolCallId", ("toolCallName", "parentMessageId")),
}
_THINKING: Mapping[str, str] = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}


class PlainEvents:
    """One run's events in their plain form.

    A chunk opens its entity if it is not open; any other event, or a chunk of another entity, closes it.
    """

    def __init__(self) -> None:
        self._open: tuple[_Chunk, str] | None = None
        self._thoughts = 0
        """Thinking events have no ids; each thought gets a number."""

    def feed(self, event: Event) -> list[Event]:
        """The events that `event` stands for, usually itself."""
        kind = event["type"]
        if kind in _THINKING:
            return [*self._close(), self._thinking(_THINKING[kind], event)]
        if kind not in _CHUNKS:
            return [*self._close(), event]
        chunk = _CHUNKS[kind]
        entity = event.get(chunk.id) or (self._open[1] if self._open and self._open[0] is chunk else "")
        events: list[Event] = []
        if self._open != (chunk, entity):
            started = {name: event[name] for name in chunk.more if name in event}
            events += [*self._close(), {"type": f"{chunk.prefix}_START", chunk.id: entity, **started}]
            self._open = (chunk, entity)
        if event.get("delta"):
            events.append({"type": f"{chunk.prefix}_{chunk.content}", chunk.id: entity, "delta": event["delta"]})
        return events

    def _thinking(self, kind: str, event: Event) -> Event:
        if kind == "REASONING_MESSAGE_START":
            self._thoughts += 1
        metadata = {"metadata": {"title": event["title"]}} if event.get("title") else {}
        ids = {"messageId": f"thinking-{self._thoughts if 'MESSAGE' in kind else 'span'}"}
        return {**event, "type": kind, **ids, **metadata}

    def _close(self) -> list[Event]:
        if self._open is None:
            return []
        (chunk, entity), self._open = self._open, None
        return [{"type": f"{chunk.prefix}_END", chunk.id: entity}]
