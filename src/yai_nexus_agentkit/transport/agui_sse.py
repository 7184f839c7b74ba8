"""Pure. AG-UI's own wire: requests are `RunAgentInput`, events are server-sent events.

One frame per event: ``data: <JSON>`` and a blank line, LF only, UTF-8. A client splits the stream at LF LF and parses
each frame by itself (AG-UI 1.0, HTTP and SSE). Text and arguments come in thousands of small deltas, so their frames
are made from a template: the part before the delta is encoded once per message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from ag_ui.core import (
    BaseEvent,
    Message,
    ReasoningMessageContentEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from pydantic_core import PydanticSerializationError, to_json

from yai_nexus_agentkit.errors import EncodingError, RunInputError
from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.protocol.json.model_json import model_json
from yai_nexus_agentkit.protocol.request import parse_request
from yai_nexus_agentkit.transport.wire import Answer, Posted, Refusal

__all__ = ["CONTENT_TYPE", "KEEP_ALIVE", "MAX_FRAME", "AGUIWire", "SSEEncoder"]

CONTENT_TYPE = "text/event-stream"

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment. An event here would end the run."""

MAX_FRAME = 10 * 1024 * 1024
"""Characters (UTF-16 code units) of a frame above which the 1.0 client gives up the stream."""

_MAX_TEMPLATES = 256
"""Templates kept per response; a run has a few messages open at a time."""

_DELTAS: dict[type[BaseEvent], str] = {
    TextMessageContentEvent: "message_id",
    TextMessageChunkEvent: "message_id",
    ToolCallArgsEvent: "tool_call_id",
    ReasoningMessageContentEvent: "message_id",
}
"""Events that come once per token, with the field that names their message or call.

``delta`` is their last field on the wire.
"""

_PLAIN = frozenset({"type", "message_id", "tool_call_id", "subagent_run_id", "delta"})
"""Fields of a delta that is like the others of its message."""

_EMPTY_DELTA = b'"delta":""}'


class SSEEncoder:
    """The events of one response as frames. One instance per response: it numbers frames and remembers messages.

    `event_lines` adds ``event:`` (the event's type) and ``id:`` (unique in the response) for standard EventSource
    consumers; AG-UI clients ignore both. ``data:`` is the complete event in either case.

    `reused`: an event that is given twice in succession has changed in its delta alone
    (``AGUIAdapter.stream(reuse_events=True)``).
    """

    status = 200
    headers: Mapping[str, str] = {
        "content-type": CONTENT_TYPE,
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
    }
    keep_alive = KEEP_ALIVE

    def __init__(self, *, event_lines: bool = False, reused: bool = False) -> None:
        self._event_lines, self._reused = event_lines, reused
        self._last: BaseEvent | None = None
        """The last delta's event, if it may come again, with its fields and its frame up to the delta's text."""
        self._fields: dict[str, Any] = {}
        self._template = b""
        self._count = 0
        self._heads: dict[str, bytes] = {}
        """The lines before ``data:`` up to the frame's number, by event type."""
        self._templates: dict[tuple[type[BaseEvent], str, str | None], bytes] = {}
        """Frame up to the delta's text, by event class, message or call id, and owner."""

    def encode(self, event: BaseEvent) -> bytes:
        """One frame.

        Lone surrogates are replaced by U+FFFD.

        Raises:
            EncodingError: a value in the event cannot be JSON, or the frame is larger than clients read.
        """
        if event is self._last:
            frame = _with_delta(self._template, self._fields["delta"])
        else:
            named_by = _DELTAS.get(type(event))
            found = self._delta_frame(event, named_by) if named_by is not None else None
            frame = found if found is not None else b"data: %b\n\n" % _json(event)
        if self._event_lines:
            frame = self._lines(event) + frame
        if len(frame) > MAX_FRAME:
            _check_size(event, frame)
        return frame

    def finish(self) -> bytes:
        """Nothing follows the last event."""
        return b""

    def _lines(self, event: BaseEvent) -> bytes:
        head = self._heads.get(event.type)
        if head is None:
            head = self._heads[event.type] = f"event: {_type(event)}\nid: ".encode()
        self._count += 1
        return b"%b%d\n" % (head, self._count)

    def _delta_frame(self, event: BaseEvent, named_by: str) -> bytes | None:
        """The frame of an event that has nothing but a delta and the name of its message; None for any other."""
        fields = event.__dict__
        delta = fields["delta"]
        if delta.__class__ is not str or not event.__pydantic_fields_set__ <= _PLAIN or event.__pydantic_extra__:
            return None
        key = (event.__class__, fields[named_by], fields["subagent_run_id"])
        template = self._templates.get(key)
        if template is None:
            body = _json(event.model_copy(update={"delta": ""}))
            if not body.endswith(_EMPTY_DELTA):
                return None
            template = b"data: " + body.removesuffix(b'""}')
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            self._templates[key] = template
        if self._reused:
            self._last, self._fields, self._template = event, fields, template
        return _with_delta(template, delta)


@dataclass(frozen=True, slots=True)
class AGUIWire:
    """AG-UI over HTTP and SSE. `event_lines`: see `SSEEncoder`."""

    event_lines: bool = False

    def needs_history(self, data: Any) -> None:
        """Never: a client sends all messages that it has."""

    def parse(self, data: Any, history: Sequence[Message]) -> Posted:
        """`data` is a `RunAgentInput` as JSON data. Raises `RunInputError`."""
        warnings: list[str] = []
        if not isinstance(data, Mapping):
            raise RunInputError("the body is not a JSON object")
        run_input = parse_request(data, warnings=warnings)
        return Posted(run_input, partial(SSEEncoder, event_lines=self.event_lines, reused=True), warnings)

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


def _with_delta(template: bytes, delta: str) -> bytes:
    try:
        return template + to_json(delta) + b"}\n\n"
    except PydanticSerializationError:  # half of a surrogate pair, which UTF-8 has no bytes for
        return template + to_json(clean_text(delta)) + b"}\n\n"


def _json(event: BaseEvent) -> bytes:
    """The event as ``model_dump_json(by_alias=True)`` would write it, lone surrogates replaced."""
    try:
        return model_json(event)
    except Exception:  # user code runs in here; a second failure is told
        pass
    try:
        plain = event.__pydantic_serializer__.to_python(event, by_alias=True)
        return to_json(_cleaned(plain), inf_nan_mode="null")
    except Exception as error:
        raise EncodingError(f"{_type(event)} cannot be written as JSON: {error}") from error


def _cleaned(value: Any) -> Any:
    """`value` with its text made fit for UTF-8. What is not text or a plain container stays as it is."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_cleaned(item) for item in value]
        case _:
            return value


def _check_size(event: BaseEvent, frame: bytes) -> None:
    size = len(frame.decode().encode("utf-16-le")) // 2
    if size > MAX_FRAME:
        raise EncodingError(f"{_type(event)} has {size} characters; clients give up at {MAX_FRAME}")


def _type(event: BaseEvent) -> str:
    return getattr(event.type, "value", event.type)
