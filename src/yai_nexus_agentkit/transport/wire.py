"""Pure. One wire: what its clients post, and how a run's AG-UI events, and refusals, are written for them.

A wire knows bytes and data. It does not know sockets, users, threads or limits of a server: the server reads the body
as JSON, runs the agent, and writes what an encoder returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ag_ui.core import BaseEvent, Message, RunAgentInput
from pydantic_core import to_json

from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.protocol.request import RequestLimits

__all__ = ["Answer", "Encoder", "Posted", "Refusal", "Wire", "short_refusal"]


class Encoder(Protocol):
    """Writes the events of one response. One instance per response; it may hold state."""

    @property
    def status(self) -> int:
        """The HTTP status. Read once, when the response begins."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers, ``content-type`` among them. Read with `status`."""

    @property
    def keep_alive(self) -> bytes:
        """Sent after a silence, so that proxies do not cut the stream; clients ignore it. With ``b""`` nothing is sent,
        and the response begins with the first bytes: the form of an answer that comes in one piece."""

    def encode(self, event: BaseEvent) -> bytes:
        """The bytes of one event; ``b""`` if the wire has nothing for it. Raises `EncodingError`: the run then ends.
        After a `TooLargeError` the same is tried in smaller events."""

    def finish(self) -> bytes:
        """The bytes after the last event. Called once, also after an error or a cancellation."""


class Refusal(Exception):
    """A request that is refused before anything was executed, or an operation that failed.

    `status`: the HTTP status. `code`: a constant for programs. `description`: a text for people. `path`: a JSON Pointer
    into the body, ``""`` for the whole. `headers`: further HTTP headers.
    """

    def __init__(
        self, status: int, code: str, description: str, *, path: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(description)
        self.status, self.code, self.description, self.path = status, code, description, path
        self.headers: Mapping[str, str] = headers or {}


class Answer(NamedTuple):
    """A whole HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def short_refusal(refusal: Refusal, trace_id: str) -> Answer:
    """A refusal as ``{"error", "message", "traceId"}``. The message begins with the place, if there is one."""
    text = f"{refusal.path}: {refusal.description}" if refusal.path else refusal.description
    body = {"error": refusal.code, "message": clean_text(text), "traceId": trace_id}
    return Answer(refusal.status, {"content-type": "application/json", **refusal.headers}, to_json(body))


@dataclass(frozen=True, slots=True)
class Posted:
    """A request, understood."""

    run_input: RunAgentInput
    encoder: Callable[[], Encoder]
    """Makes the encoder of a response to this request."""
    warnings: Sequence[str] = ()
    """Parts of the request that were left out, for the server's log."""
    body: Any = None
    """The JSON data that it was made of: refusals name its parts. The server sets it."""


class Wire(Protocol):
    """One wire. Immutable; one object serves any number of requests."""

    def needs_history(self, data: Any) -> str | None:
        """The id of the thread whose stored messages `parse` needs for this body; None for most bodies."""

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """Read a posted body: `data` is JSON data without halves of surrogate pairs, NaN or infinities, `history` the
        messages that `needs_history` asked for. May be called in a thread.

        Raises `RunInputError` or `Refusal`, also for more than `limits` allow.
        """

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """Write a refusal. `trace_id`: the id under which the server's log has more."""
