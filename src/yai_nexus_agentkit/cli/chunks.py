"""Pure. Chunk events as the start, content and end that they stand for (AG-UI 1.0 §13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from yai_nexus_agentkit.protocol.events import row_of, type_of

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
        row, ended = row_of(event["type"]), [self._end] if self._end else []
        if row.move != "chunk":
            self._end = None
            return [*ended, event]
        name, end_type = row.entity.wire_id, type_of(row.entity, "closes")
        same = self._end if self._end and self._end["type"] == end_type else {}
        end = {"type": end_type, name: event.get(name) or same.get(name, "")}
        events: list[Event] = []
        if end != self._end:
            events = [*ended, {**event, **end, "type": type_of(row.entity, "opens")}]
            self._end = end
        if event.get("delta"):
            events.append({**end, "type": type_of(row.entity, "continues"), "delta": event["delta"]})
        return events
