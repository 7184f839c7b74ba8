"""AG-UI's events as an EventSource reads them: the type in the ``event`` line only, an id and a time for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar
from uuid import uuid4

from ag_ui.core import BaseEvent, Message
from pydantic_core import from_json, to_json

from yai_nexus_agentkit.errors import EncodingError, TooLargeError
from yai_nexus_agentkit.protocol.json.model_json import clean_json
from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.agui_sse import MAX_FRAME, AGUIWire, SSEEncoder
from yai_nexus_agentkit.transport.wire import Answer, Posted, Refusal

__all__ = ["StrictSSEEncoder", "StrictSSEWire"]


class StrictSSEEncoder:
    """The events of one response as ``id`` (unique beyond the response), ``event`` (the type) and ``data`` (the event
    without its type, with a ``timestamp`` in milliseconds). Lines end with LF."""

    status = SSEEncoder.status
    headers: Mapping[str, str] = SSEEncoder.headers
    keep_alive = SSEEncoder.keep_alive

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock

    def encode(self, event: BaseEvent) -> bytes:
        """One frame. Raises `EncodingError`, and `TooLargeError` for one that is larger than clients read."""
        kind = str(getattr(event.type, "value", event.type))
        try:
            data = from_json(clean_json(event))
        except Exception as error:
            raise EncodingError(f"{kind} cannot be written as JSON: {error}") from error
        del data["type"]
        data.setdefault("timestamp", int(self._clock() * 1000))
        frame = b"id: %b\nevent: %b\ndata: %b\n\n" % (uuid4().hex.encode(), kind.encode(), to_json(data))
        if len(frame) > MAX_FRAME:
            text = f"{kind} has {len(frame)} bytes; clients read {MAX_FRAME} at most"
            raise TooLargeError(text, size=len(frame), limit=MAX_FRAME)
        return frame

    def finish(self) -> bytes:
        """Nothing follows the last event."""
        return b""


@dataclass(frozen=True, slots=True)
class StrictSSEWire:
    """AG-UI's requests, and its events in standard SSE, for ``create_app(wire=...)``. AG-UI clients read the type in
    ``data``: they need the default wire.

    A request for a thread that has a run already is not refused: it gets a stream whose only event is ``RUN_ERROR``
    with ``THREAD_IS_LOCKED``; `ServerSettings.busy` and `busy_wait` say how long a request waits before.
    """

    clock: Callable[[], float] = time.time
    locked_as_event: ClassVar[bool] = True

    def needs_history(self, data: Any) -> None:
        """Never: a client sends all messages that it has."""

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """`data` is a `RunAgentInput` as JSON data. Raises `RunInputError`."""
        posted = AGUIWire().parse(data, history, limits)
        return replace(posted, encoder=lambda: StrictSSEEncoder(self.clock))

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """As `AGUIWire`."""
        return AGUIWire().refuse(refusal, trace_id=trace_id, now=now)
