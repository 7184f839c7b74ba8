"""Edge. The AI SDK's web socket of one agent: official frames, or the older ones if the first frame is ``submit``."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import HTTPConnection

from yai_nexus_agentkit.runs.connections import News
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.ai_sdk import joining
from yai_nexus_agentkit.server.body import Body
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.sockets.session import Session, Socket
from yai_nexus_agentkit.transport.agui_socket import PONG, Hello
from yai_nexus_agentkit.transport.ai_sdk import AISDKWire, Version
from yai_nexus_agentkit.transport.ai_sdk.socket import (
    DONE,
    OfficialFrames,
    error_chunk,
    is_older,
    no_active,
    older_frames,
    refused,
)
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["ai_sdk_socket"]

_logger = logging.getLogger(__name__)

_OFFICIAL: Version = 7
"""The version that has the transport; ``?ai=5`` or ``6`` asks for the chunks of an older one in the same frames."""
_ASKED = {"id", "messages", "trigger", "messageId"}
"""The parts of a frame that are posted over HTTP, in addition to those of its ``body``."""
_TURN = "turn"
"""Id of the one request that older frames have at a time."""


class _AISDKDialect:
    """One socket's frames. See `transport.ai_sdk.socket`."""

    ping: str | None = None
    """Official clients close a socket that sends one; uvicorn's own pings find those that are gone."""

    def __init__(self, session: Session) -> None:
        self._session, endpoints = session, session.endpoints
        asked = HTTPConnection(session.channel.scope).query_params.get("ai")
        self._wire = AISDKWire(5 if asked == "5" else 6 if asked == "6" else _OFFICIAL)
        self._official = Endpoints(endpoints.agent, endpoints.service, endpoints.settings, self._wire)
        self._older: bool | None = None
        """Which frames the client speaks; None before the first one that says it."""

    def hello(self, data: Any) -> Hello | None:
        """The first frame, if it is a ``hello``. Raises `FrameError`."""
        return Hello.of(data) if isinstance(data, Mapping) and data.get("type") == "hello" else None

    async def connected(self) -> None:
        """Official clients close a socket that says so."""

    async def news(self, news: News) -> None:
        """Neither kind of frame has a place for it."""

    async def take(self, data: Any, raw: bytes) -> None:
        """Do what a frame says."""
        kind = data.get("type") if isinstance(data, Mapping) else None
        if self._older is None and kind in ("submit", "send", "resume"):
            self._older = is_older(data)
        if self._older or (self._older is None and kind == "ping"):
            await self._take_older(data, raw)
        elif isinstance(data, Mapping) and isinstance(data.get("requestId"), str):
            try:
                await self._take_official(data, data["requestId"], raw)
            except Exception as error:
                await self.failed(data["requestId"], error)
        else:
            _logger.warning("a frame without a requestId is ignored")

    async def _take_official(self, data: Mapping[str, Any], request_id: str, raw: bytes) -> None:
        session = self._session
        match data.get("type"):
            case "send":
                more = data.get("body")
                asked = {**more} if isinstance(more, Mapping) else {}
                asked |= {name: data[name] for name in _ASKED & data.keys()}
                posted = await self._official.posted(session.caller, Body(asked, raw))
                session.begin(request_id, OfficialFrames(request_id), lambda request: request.start(posted))
                await session.looks_at(posted.run_input.thread_id)
            case "resume":
                chat = str(data.get("id") or "")
                joined = await joining(session.endpoints, self._wire, session.caller, chat)
                if joined is None:
                    await session.channel.send(no_active(request_id))
                    return
                session.begin(request_id, OfficialFrames(request_id), lambda request: request.join(joined))
                await session.looks_at(chat)
            case "abort":
                await self._abort(request_id, leave=True)
            case kind:
                raise Refusal(422, "INVALID_FRAME", f"type must be 'send', 'resume' or 'abort', not {str(kind)[:40]!r}")

    async def _take_older(self, data: Any, raw: bytes) -> None:
        session = self._session
        match data.get("type") if isinstance(data, Mapping) else None:
            case "submit":
                posted = await session.endpoints.posted(session.caller, Body(data, raw))
                session.begin(_TURN, older_frames, lambda request: request.start(posted))
                await session.looks_at(posted.run_input.thread_id)
            case "abort":
                await self._abort(_TURN, leave=False)
            case "ping":
                await session.channel.send(PONG)
            case "tool-approval-response" | "tool-output":
                text = "no run waits for this: the answer belongs into the last message of a submit"
                raise Refusal(409, "NOTHING_WAITS", text)
            case None:
                raise Refusal(422, "INVALID_FRAME", "a frame must be a JSON object with a type")
            case kind:
                _logger.warning("a frame of type %r is ignored", str(kind)[:40])

    async def _abort(self, request_id: str, *, leave: bool) -> None:
        request = self._session.request(request_id)
        if request is not None:
            await request.cancel()
            if leave:
                request.sink.leave()

    async def failed(self, request_id: str | None, error: Exception) -> None:
        """Send the text that the same refusal has over HTTP."""
        session = self._session
        answer = session.endpoints.refusal(error)
        text = json.loads(bytes(answer.body) or b"{}").get("message", "")
        if not self._older:
            if request_id is not None:
                await session.channel.send(refused(request_id, text))
            return
        await session.channel.send(error_chunk(text))
        if request_id is not None and session.request(request_id) is not None:
            await session.channel.send(DONE)


def ai_sdk_socket(agent: ServedAgent, service: RunService, settings: ServerSettings) -> Socket:
    """The web socket of one agent, with the frames of the AI SDK."""
    own, wire = replace(settings, disconnect="continue"), AISDKWire(settings.ai_sdk_version)
    return Socket(Endpoints(agent, service, own, wire), _AISDKDialect)
