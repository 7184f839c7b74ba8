"""Pure. Chunk events as the start, content and end that they stand for (AG-UI 1.0 §13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Event", "Unchunked"]

Event: TypeAlias = Mapping[str, Any]
"""One AG-UI event as JSON data."""


class Unchunked:
    """The events of one run without chunks: a chunk opens its entity, the next event of anything else closes it."""

    def __init__(self) -> None:
        self._end: Event | None = None
        """Closes the entity whose chunks are coming."""

    def feed(self, event: Event) -> list[Event]:
        """The events that `event` stands for, usually itself."""
        kind, ended = event["type"], [self._end] if self._end else []
        if not kind.endswith("_CHUNK"):
            self._end = None
            return [*ended, event]
        prefix = kind.removesuffix("_CHUNK")
        name, content = ("toolCallId", "ARGS") if prefix == "TOOL_CALL" else ("messageId", "CONTENT")
        same = self._end if self._end and self._end["type"] == f"{prefix}_END" else {}
        end = {"type": f"{prefix}_END", name: event.get(name) or same.get(name, "")}
        events: list[Event] = []
        if end != self._end:
            events = [*ended, {**event, **end, "type": f"{prefix}_START"}]
            self._end = end
        if event.get("delta"):
            events.append({**end, "type": f"{prefix}_{content}", "delta": event["delta"]})
        return events
