"""Pure. AG-UI over a web socket: JSON text frames. Several runs share one socket; a `requestId` tells them apart.

Clients send ``{"type": "run" | "connect", "requestId", "input": RunAgentInput}``, ``{"type": "cancel", "requestId"[,
"threadId"]}``, ``{"type": "leave", "requestId"}``, ``{"type": "hello", ...}``, ``ping`` and ``pong``. The server sends
``{"type": "events", "requestId", "events": [...], "done"?: true}``; the events are those of AG-UI over SSE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from ag_ui.core import Message
from pydantic_core import to_json

from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.agui_sse import AGUIWire, SSEEncoder
from yai_nexus_agentkit.transport.wire import Posted, Refusal

__all__ = ["PING", "PONG", "AGUISocketWire", "Asked", "Beat", "ClientFrame", "FrameError", "Hello", "Leave", "Stop"]

PING, PONG = '{"type":"ping"}', '{"type":"pong"}'

_ABILITY = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_MOST_ABILITIES = 32
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST = 200
"""Characters of a request's id, and of a device's name."""


class FrameError(Refusal):
    """A frame that is not understood. `request_id`: the request that it belongs to, as far as it says so."""

    def __init__(self, description: str) -> None:
        super().__init__(422, "INVALID_FRAME", description)
        self.request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """``run`` or ``connect``: a request whose answer is a stream of events."""

    kind: Literal["run", "connect"]
    request_id: str
    input: Any
    """A ``RunAgentInput`` as JSON data, not checked yet."""


@dataclass(frozen=True, slots=True)
class Stop:
    """``cancel``: stop the run of an earlier request, or that of a thread."""

    request_id: str
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """``leave``: the client watches this request no more."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Hello:
    """The client introduces itself. None: the frame says nothing about it."""

    token: str | None = None
    device: str | None = None
    abilities: tuple[str, ...] | None = None
    previous: str | None = None
    """The connection that this one takes the place of."""

    @classmethod
    def of_address(cls, query: Mapping[str, str]) -> Hello:
        """Read the query of the socket's address: ``abilities=a,b``. Raises `FrameError`."""
        given: dict[str, Any] = dict(query)
        if "abilities" in given:
            given["abilities"] = [name for name in given["abilities"].split(",") if name]
        return cls.of(given)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Hello:
        """Read a ``hello`` frame. Raises `FrameError`."""
        abilities = given.get("abilities")
        if abilities is not None:
            if not isinstance(abilities, list) or len(abilities) > _MOST_ABILITIES:
                raise FrameError(f"abilities must be a list of at most {_MOST_ABILITIES} names")
            if not all(isinstance(name, str) and _ABILITY.fullmatch(name) for name in abilities):
                raise FrameError("an ability must be a name of at most 64 letters, digits and '._:-'")
            abilities = tuple(dict.fromkeys(abilities))
        for name in ("device", "previous"):
            if _CONTROL.search(_text(given, name) or ""):
                raise FrameError(f"{name} has control characters")
        return cls(_text(given, "token", 16_384), _text(given, "device"), abilities, _text(given, "previous"))


@dataclass(frozen=True, slots=True)
class Beat:
    """``ping``, which wants ``pong`` back, or ``pong``."""

    wants_answer: bool


ClientFrame = Asked | Stop | Leave | Hello | Beat


class _Encoder(SSEEncoder):
    """A socket has pings of its own."""

    keep_alive = b""


@dataclass(frozen=True, slots=True)
class AGUISocketWire(AGUIWire):
    """The frames of AG-UI's socket. One object serves any number of sockets."""

    def read(self, data: Any) -> ClientFrame:
        """The client's frame from JSON data. Raises `FrameError`."""
        if not isinstance(data, Mapping):
            raise FrameError("a frame must be a JSON object")
        kind = data.get("type")
        if kind in ("ping", "pong"):
            return Beat(kind == "ping")
        if kind == "hello":
            return Hello.of(data)
        request_id = _text(data, "requestId")
        if not request_id:
            raise FrameError("requestId is missing")
        try:
            return self._request(kind, request_id, data)
        except FrameError as error:
            error.request_id = request_id
            raise

    def _request(self, kind: Any, request_id: str, data: Mapping[str, Any]) -> ClientFrame:
        match kind:
            case "run" | "connect":
                return Asked(kind, request_id, data.get("input"))
            case "cancel":
                return Stop(request_id, _text(data, "threadId", 16_384))
            case "leave":
                return Leave(request_id)
        raise FrameError("type must be 'run', 'connect', 'cancel', 'leave', 'hello', 'ping' or 'pong'")

    def parse(self, data: Any, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """`data` is a `RunAgentInput` as JSON data. Raises `RunInputError`."""
        return replace(AGUIWire.parse(self, data, history, limits), encoder=partial(_Encoder))

    def head(self, request_id: str) -> str:
        """The beginning of each frame of a request, for `events`."""
        return f'{{"type":"events","requestId":{_json(request_id)},"events":['

    def events(self, head: str, body: bytes, *, last: bool) -> str:
        """One frame with all events of `body`, which are SSE frames: JSON has no line feed, so these part them."""
        inner = body[6:-2].replace(b"\n\ndata: ", b",").decode()
        return f'{head}{inner}],"done":true}}' if last else f"{head}{inner}]}}"

    def done(self, request_id: str, status: str) -> str:
        """The answer to a request that has no events. `status`: ``cancelling`` or ``idle``."""
        return f'{{"type":"done","requestId":{_json(request_id)},"status":{_json(status)}}}'

    def error(self, request_id: str | None, status: int, detail: Mapping[str, Any]) -> str:
        """A refused request or frame. `detail`: as in AG-UI's answer to an HTTP request."""
        named = {} if request_id is None else {"requestId": request_id}
        return _json({"type": "error", **named, "status": status, "error": detail})

    def thread(self, thread_id: str, status: str, *, here: bool | None) -> str:
        """A thread has changed that no active request is about. `status`: ``running``, or ``paused`` with a
        question, then `here`: this connection is asked."""
        asked = {} if here is None else {"here": here}
        return _json({"type": "thread", "threadId": thread_id, "status": status, **asked})

    def connected(self, connection_id: str, device: str, abilities: Sequence[str]) -> str:
        """The socket is open for requests."""
        known = {"connectionId": connection_id, "device": device, "abilities": list(abilities)}
        return _json({"type": "connected", **known})


def _text(given: Mapping[str, Any], name: str, most: int = _LONGEST) -> str | None:
    value = given.get(name)
    if value is not None and (not isinstance(value, str) or len(value) > most):
        raise FrameError(f"{name} must be a string of at most {most} characters")
    return value


def _json(value: Any) -> str:
    return to_json(value).decode()
