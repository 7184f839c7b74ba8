"""What waits between an agent and a socket. Pure.

The agent's native stream has no backpressure: what a slow client has not read yet must lie somewhere. It lies here,
small: while the writer is busy, adjacent deltas of one message are merged before they are encoded, so a thousand tokens
become one frame.
"""

from __future__ import annotations

from typing import Any, Protocol

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)

from yai_nexus_agentkit.errors import EncodingError

__all__ = ["Encoder", "Outbox"]

_MERGED: dict[type[BaseEvent], str] = {
    TextMessageContentEvent: "message_id",
    ToolCallArgsEvent: "tool_call_id",
    ReasoningMessageContentEvent: "message_id",
}
"""Events that carry a piece of something longer, and the field that says of what."""


class Encoder(Protocol):
    """Events to bytes of one response."""

    def encode(self, event: BaseEvent) -> bytes: ...


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
        """What went wrong with a delta that was encoded late."""
        self.waiting = 0
        """Bytes of the frames, and characters of the deltas that wait."""
        self.total = 0
        """Bytes encoded so far."""
        self.busy = False
        """The writer has not come back from its last write."""

    def put(self, event: BaseEvent) -> None:
        """Add an event. Raises `EncodingError` if it, or a delta before it, cannot be encoded."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if not self.busy:
            if self._held is not None:
                self._flush()
            self._add(self._encoder.encode(event))
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
            self._add(self._encoder.encode(event))

    def comment(self, frame: bytes) -> None:
        """Add bytes that are no event."""
        self._add(frame)

    def take(self) -> bytes:
        """All that waits, as one piece; empty if nothing does."""
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

    def _add(self, frame: bytes) -> None:
        size = len(frame)
        self._frames.append(frame)
        self.waiting += size
        self.total += size

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
        """Encode what was merged."""
        event, deltas = self._held, self._deltas
        self._held, self._deltas = None, []
        text = "".join(deltas)
        self.waiting -= len(text)
        if event.delta != text:  # several, or the event was used again meanwhile (`reuse_events`)
            event = event.model_copy(update={"delta": text})
        self._add(self._encoder.encode(event))
