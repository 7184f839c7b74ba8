"""Pure. The frames that wait between an agent and a client.

An agent's native stream has no backpressure, so this is where a slow client's events pile up. They stay small: while
the writer is busy, adjacent deltas of one message are merged before they are encoded. A thousand tokens become one
frame.
"""

from __future__ import annotations

from typing import Any

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.errors import EncodingError
from yai_nexus_agentkit.protocol.events import EVENTS
from yai_nexus_agentkit.transport.wire import Encoder

__all__ = ["Outbox"]

_MERGED = {row.model: row.entity.id for row in EVENTS.values() if row.per_token and row.move == "continues"}
"""Events that carry a piece of a longer text, with the field that names the text."""


class Outbox:
    """Frames for one response, in order."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._frames: list[bytes] = []
        self._held: Any = None
        """A delta that may still grow. Only while the writer is busy; encoded before anything follows it."""
        self._deltas: list[str] = []
        """The deltas of `_held`."""
        self._failure: EncodingError | None = None
        """Why a merged delta could not be encoded."""
        self.waiting = 0
        """Bytes of the waiting frames plus characters of the waiting deltas."""
        self.total = 0
        """Bytes encoded so far."""
        self.busy = False
        """The writer is still in its last write."""

    def put(self, event: BaseEvent) -> None:
        """Add an event. Raises `EncodingError` if it, or a delta before it, cannot be encoded."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self.busy:
            if self._held is not None:
                self._flush()
            if frame := self._encoder.encode(event):  # as `add`; no function between, for every token
                size = len(frame)
                self._frames.append(frame)
                self.waiting += size
                self.total += size
            return
        id_field = _MERGED.get(type(event))
        if self._held is not None:
            if id_field is not None and self._continues(event, id_field):
                self._deltas.append(event.delta)  # type: ignore[attr-defined]
                self.waiting += len(event.delta)  # type: ignore[attr-defined]
                return
            self._flush()
        if id_field is not None:
            self._held = event
            self._deltas = [event.delta]  # type: ignore[attr-defined]
            self.waiting += len(event.delta)  # type: ignore[attr-defined]
        else:
            self.add(self._encoder.encode(event))

    def add(self, frame: bytes) -> None:
        """Add bytes that are ready to be sent."""
        size = len(frame)
        if size:
            self._frames.append(frame)
            self.waiting += size
            self.total += size

    def encode(self, event: BaseEvent) -> bytes:
        """The bytes of an event that comes after all others, for `add`. Raises `EncodingError`."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if self._held is not None:
            self._flush()
        return self._encoder.encode(event)

    def take(self) -> bytes:
        """Everything that waits, as one piece; ``b""`` if nothing does."""
        if self._held is not None:
            try:
                self._flush()
            except EncodingError as error:
                self._failure = error
        frames = self._frames
        if not frames:
            return b""
        self._frames = []
        self.waiting = 0
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def __bool__(self) -> bool:
        return bool(self._frames) or self._held is not None

    def _continues(self, event: Any, id_field: str) -> bool:
        held = self._held
        return (
            type(event) is type(held)
            and getattr(event, id_field) == getattr(held, id_field)
            and event.subagent_run_id == held.subagent_run_id
            and event.metadata is None
            and event.raw_event is None
            and not event.__pydantic_extra__
        )

    def _flush(self) -> None:
        """Encode the merged deltas as one event."""
        event, deltas = self._held, self._deltas
        self._held, self._deltas = None, []
        text = "".join(deltas)
        self.waiting -= len(text)
        if event.delta != text:
            event = event.model_copy(update={"delta": text})
        self.add(self._encoder.encode(event))
