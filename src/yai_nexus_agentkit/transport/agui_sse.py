"""Pure. AG-UI's own wire: requests are `RunAgentInput`, events are server-sent events.

One frame per event: ``data: <JSON>`` and a blank line, LF only, UTF-8. A client splits the stream at LF LF and parses
each frame by itself (AG-UI 1.0, HTTP and SSE). Text and arguments come in thousands of small deltas, so their frames
are made from a template: the part before the delta is encoded once per message. So are the frames of events that an
application emits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from json.encoder import encode_basestring
from typing import Any

from ag_ui.core import BaseEvent, CustomEvent, Message
from pydantic_core import from_json, to_json

from yai_nexus_agentkit.errors import EncodingError, RunInputError, TooLargeError
from yai_nexus_agentkit.protocol.events import TOKENS
from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.protocol.json.model_json import clean_json
from yai_nexus_agentkit.protocol.request import RequestLimits, parse_request
from yai_nexus_agentkit.transport.wire import Answer, Posted, Refusal

__all__ = ["CONTENT_TYPE", "KEEP_ALIVE", "MAX_FRAME", "AGUIWire", "SSEEncoder"]

CONTENT_TYPE = "text/event-stream"

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment. An event here would end the run."""

MAX_FRAME = 10 * 1024 * 1024
"""Characters (UTF-16 code units) of a frame above which the 1.0 client gives up the stream."""

_BARE = (None, None, None)
"""Metadata, raw event and time of most deltas."""

_MAX_HEADS = 256
"""Heads kept per response; a run has a few messages open at a time."""

_COMMON = frozenset({"type", "timestamp", "raw_event", "metadata", "delta"})
_DELTAS: Mapping[type[BaseEvent], tuple[str, tuple[str, ...]]] = {
    model: (entity.id, tuple(name for name in model.model_fields if name not in _COMMON))
    for model, entity in TOKENS.items()
}
"""Events that come once per token: the field that names their message or call, and the fields that all events of one
message or call have in common."""


class SSEEncoder:
    """The events of one response as frames. One instance per response: it numbers frames and remembers messages.

    `event_lines` adds ``event:`` (the event's type) and ``id:`` (unique in the response) for standard EventSource
    consumers; AG-UI clients ignore both. ``data:`` is the complete event in either case.
    """

    status = 200
    headers: Mapping[str, str] = {
        "content-type": CONTENT_TYPE,
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
    }
    keep_alive = KEEP_ALIVE

    def __init__(self, *, event_lines: bool = False) -> None:
        self._event_lines = event_lines
        self._count = 0
        self._lines: dict[str, bytes] = {}
        """The lines before ``data:`` up to the frame's number, by event type."""
        self._heads: dict[tuple[Any, ...], str | None] = {}
        """The frame of a delta up to the delta, by event class and common fields; None if more follows the delta."""
        self._class: type[BaseEvent] | None = None
        """Class of the newest delta. The next one mostly has the same class, id, owner and head."""
        self._id_field = self._id = self._head = ""
        self._owner: str | None = None
        self._place: tuple[Any, ...] = ()
        """Name, owner and metadata of the newest event of the application; empty if there is no head for it."""
        self._emitted = b""
        """The frame of such an event up to the value."""

    def encode(self, event: BaseEvent) -> bytes:
        """One frame.

        Lone surrogates are replaced by U+FFFD.

        Raises:
            EncodingError: a value in the event cannot be JSON. TooLargeError: the frame is larger than clients read.
        """
        # Most deltas continue the last one: no function of ours for them in here, since it happens for every token.
        fields = event.__dict__
        try:
            if (
                (
                    (
                        type(event) is self._class
                        and fields[self._id_field] is self._id
                        and fields["subagent_run_id"] is self._owner
                    )
                    or (type(event) in _DELTAS and self._turn_to(event, fields))
                )
                and fields["metadata"] is None
                and fields["raw_event"] is None
                and fields["timestamp"] is None
                and not event.__pydantic_extra__
            ):
                frame = f"{self._head}{encode_basestring(fields['delta'])}}}\n\n".encode()
            elif type(event) is CustomEvent and self._is_placed(event, fields):
                frame = b"%b%b}\n\n" % (self._emitted, to_json(fields["value"], inf_nan_mode="null"))
            else:
                frame = b"data: %b\n\n" % _json(event)
        except Exception:  # no text, half of a surrogate pair, or a value that is no JSON
            frame = b"data: %b\n\n" % _json(event)
        if self._event_lines:
            frame = self._numbered(event) + frame
        if len(frame) > MAX_FRAME:
            _check_size(event, frame)
        return frame

    def finish(self) -> bytes:
        """Nothing follows the last event."""
        return b""

    def _numbered(self, event: BaseEvent) -> bytes:
        head = self._lines.get(event.type)
        if head is None:
            head = self._lines[event.type] = f"event: {_type(event)}\nid: ".encode()
        self._count += 1
        return b"%b%d\n" % (head, self._count)

    def _turn_to(self, event: BaseEvent, fields: dict[str, Any]) -> bool:
        """Whether the delta has a head, since nothing follows its text. Then `_head` is the one of its message."""
        self._class, kind = None, type(event)
        if (fields["metadata"], fields["raw_event"], fields["timestamp"]) != _BARE or event.__pydantic_extra__:
            return False
        id_field, common = _DELTAS[kind]
        key = kind, *[fields[name] for name in common]
        if key not in self._heads:
            if len(self._heads) >= _MAX_HEADS:
                self._heads.clear()
            like, tail = _json(event).decode(), f"{encode_basestring(fields['delta'])}}}"
            self._heads[key] = f"data: {like.removesuffix(tail)}" if like.endswith(tail) else None
        head = self._heads[key]
        if head is None:
            return False
        self._head = head
        if len(common) == 2:  # no more than owner and id
            self._class, self._id_field = kind, id_field
            self._id, self._owner = fields[id_field], fields["subagent_run_id"]
        return True

    def _is_placed(self, event: BaseEvent, fields: dict[str, Any]) -> bool:
        """Whether all but the value of an application's event is in `_emitted`, which changes with the place."""
        if fields["raw_event"] is not None or fields["timestamp"] is not None or event.__pydantic_extra__:
            return False
        name, owner, metadata = place = fields["name"], fields["subagent_run_id"], fields["metadata"]
        if place == self._place:
            return True
        known = {"type": _type(event), "metadata": metadata, "subagentRunId": owner, "name": name}
        head = to_json({key: value for key, value in known.items() if value is not None})
        read = from_json(head)  # a copy, since hooks may change the event
        if not _is_text(read):  # 1 and True are equal, but not the same
            return False
        self._place = read["name"], read.get("subagentRunId"), read.get("metadata")
        self._emitted = b'data: %b,"value":' % head[:-1]
        return True


@dataclass(frozen=True, slots=True)
class AGUIWire:
    """AG-UI over HTTP and SSE. `event_lines`: see `SSEEncoder`."""

    event_lines: bool = False

    def needs_history(self, data: Any) -> None:
        """Never: a client sends all messages that it has."""

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """`data` is a `RunAgentInput` as JSON data. Raises `RunInputError`."""
        warnings: list[str] = []
        if not isinstance(data, Mapping):
            raise RunInputError("the body is not a JSON object")
        run_input = parse_request(data, warnings=warnings, limits=limits, clean=True)
        return Posted(run_input, partial(SSEEncoder, event_lines=self.event_lines), warnings)

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """``{"detail": {"error", "error_description", "path", "timestamp", "trace_id"}}``."""
        detail = {
            "error": refusal.code,
            "error_description": clean_text(refusal.description),
            "path": clean_text(refusal.path),
            "timestamp": now.isoformat(timespec="milliseconds"),
            "trace_id": trace_id,
        }
        headers = {"content-type": "application/json", **refusal.headers}
        return Answer(refusal.status, headers, to_json({"detail": detail}))


def _is_text(value: Any) -> bool:
    return type(value) is str or (type(value) is dict and all(map(_is_text, value.values())))


def _json(event: BaseEvent) -> bytes:
    try:
        return clean_json(event)
    except Exception as error:
        raise EncodingError(f"{_type(event)} cannot be written as JSON: {error}") from error


def _check_size(event: BaseEvent, frame: bytes) -> None:
    size = len(frame.decode().encode("utf-16-le")) // 2
    if size > MAX_FRAME:
        text = f"{_type(event)} has {size} characters; clients read {MAX_FRAME} at most"
        raise TooLargeError(text, size=size, limit=MAX_FRAME)


def _type(event: BaseEvent) -> str:
    return getattr(event.type, "value", event.type)
