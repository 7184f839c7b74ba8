"""Pure. The AI SDK's UI message stream over HTTP: chunks as server-sent events, ``[DONE]`` at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from json.encoder import encode_basestring
from typing import Any

from ag_ui.core import BaseEvent, Message, ReasoningMessageContentEvent, RunAgentInput, TextMessageContentEvent
from pydantic_core import to_json

from yai_nexus_agentkit.protocol.endings import PastQuestion
from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.agui_sse import KEEP_ALIVE, SSEEncoder
from yai_nexus_agentkit.transport.ai_sdk.chunks import UIMessageStream, Version
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk, values_json
from yai_nexus_agentkit.transport.ai_sdk.request import read_request
from yai_nexus_agentkit.transport.wire import Answer, Posted, Refusal, short_refusal

__all__ = ["AISDKWire", "ChunkEncoder", "frame"]

_TOKENS = frozenset({TextMessageContentEvent, ReasoningMessageContentEvent})


def frame(chunk: Chunk) -> bytes:
    """One server-sent event. Raises `EncodingError`."""
    return b"data: %b\n\n" % values_json(chunk)


class ChunkEncoder:
    """The chunks of one response as frames."""

    status = 200
    headers: Mapping[str, str] = {**SSEEncoder.headers, "x-vercel-ai-ui-message-stream": "v1"}
    keep_alive = KEEP_ALIVE

    def __init__(self, stream: UIMessageStream) -> None:
        self._stream = stream
        self._class: type[BaseEvent] | None = None
        """Class of the last event if it was a delta: the next one is mostly of the same message."""
        self._id = self._head = ""
        """Its message, and its frame up to the text."""

    def encode(self, event: BaseEvent) -> bytes:
        """The frames of an event. Raises `EncodingError`."""
        kind, fields = type(event), event.__dict__  # no isinstance: it happens for every token
        if kind is self._class and fields["message_id"] is self._id:
            try:
                return f"{self._head}{encode_basestring(fields['delta'])}}}\n\n".encode()
            except UnicodeEncodeError:  # half of a surrogate pair
                return b"".join(map(frame, self._stream.feed(event)))
        self._class = None
        chunks = self._stream.feed(event)
        if kind in _TOKENS and len(chunks) == 1 and "delta" in chunks[0]:
            self._class, self._id = kind, fields["message_id"]
            like = to_json({**chunks[0], "delta": ""}).decode()
            self._head = f"data: {like.removesuffix(_NO_DELTA)}"
        return b"".join(map(frame, chunks))

    def finish(self) -> bytes:
        """The last frame."""
        return b"data: [DONE]\n\n"


_NO_DELTA = '""}'


@dataclass(frozen=True, slots=True)
class AISDKWire:
    """The wire of ``useChat``. `version`: the major version of the page's npm package ``ai``."""

    version: Version = 6

    def needs_history(self, data: Any) -> None:
        """Never: a page sends all messages that it has."""

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """`data`: what ``useChat`` posts. Raises `RunInputError`."""
        asked = read_request(data, limits)
        stream = partial(UIMessageStream.of, self.version, asked.run_input, asked.message_id, asked.verdicts)
        return Posted(asked.run_input, lambda: ChunkEncoder(stream()), asked.warnings)

    def joining(
        self, run_input: RunAgentInput, message_id: str | None = None, asked: Sequence[PastQuestion] = ()
    ) -> Posted:
        """For a page that joins the run of this request: it gets the whole answer. `message_id`, `asked`: the answer's
        id, if the request does not say it, and its questions so far."""
        stream = partial(UIMessageStream.of, self.version, run_input, message_id, joined=True, asked=asked)
        return Posted(run_input, lambda: ChunkEncoder(stream()))

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """``{"error", "message", "traceId"}``; ``useChat`` shows the text of the body."""
        return short_refusal(refusal, trace_id)
