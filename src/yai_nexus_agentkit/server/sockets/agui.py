"""Edge. The frames of AG-UI's web socket."""

from __future__ import annotations

import json
from typing import Any

from yai_nexus_agentkit.runs.connections import News
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.body import Body
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.sockets.requests import SocketRequest
from yai_nexus_agentkit.server.sockets.session import Session, Socket
from yai_nexus_agentkit.transport.agui_socket import (
    PING,
    PONG,
    AGUISocketWire,
    Asked,
    Beat,
    Hello,
    Leave,
    Stop,
)
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["agui_socket"]

_WIRE = AGUISocketWire()


class _AGUIDialect:
    """One socket's frames. See `transport.agui_socket`."""

    ping: str | None = PING

    def __init__(self, session: Session) -> None:
        self._session = session

    def hello(self, data: Any) -> Hello | None:
        """The first frame, if it is a ``hello``. Raises `FrameError`."""
        frame = _WIRE.read(data)
        return frame if isinstance(frame, Hello) else None

    async def connected(self) -> None:
        """Send ``connected``."""
        own = self._session.connection
        await self._session.channel.send(_WIRE.connected(own.id, own.device, own.abilities))

    async def take(self, data: Any, raw: bytes) -> None:
        """Do what a frame says."""
        session = self._session
        match _WIRE.read(data):
            case Asked() as asked:
                await self._begin(asked, raw)
            case Stop(request_id, thread_id):
                try:
                    await self._stop(request_id, thread_id)
                except Exception as error:
                    await self.failed(request_id, error)
            case Leave(request_id):
                if (left := session.request(request_id)) is not None:
                    left.sink.leave()
            case Hello(token=None) as hello:
                await session.introduce(hello)
                await self.connected()
            case Hello():
                raise Refusal(409, "IDENTIFIED", "the user of this socket is known; open another one")
            case Beat(wants_answer=True):
                await session.channel.send(PONG)

    async def _begin(self, asked: Asked, raw: bytes) -> None:
        session, head = self._session, _WIRE.head(asked.request_id)

        def framed(body: bytes, last: bool) -> str:
            return _WIRE.events(head, body, last=last)

        try:
            posted = await session.endpoints.posted(session.caller, Body(asked.input, raw))
            work = SocketRequest.start if asked.kind == "run" else SocketRequest.join
            session.begin(asked.request_id, framed, lambda request: work(request, posted))
            await session.looks_at(posted.run_input.thread_id)
        except Exception as error:
            await self.failed(asked.request_id, error)

    async def _stop(self, request_id: str, thread_id: str | None) -> None:
        session, stopped = self._session, False
        if thread_id is not None:
            stopped = await session.endpoints.service.cancel(session.caller.thread(thread_id).key)
        elif (request := session.request(request_id)) is not None:
            await request.cancel()
            return  # its events end with the cancelled outcome
        await session.channel.send(_WIRE.done(request_id, "cancelling" if stopped else "idle"))

    async def news(self, news: News) -> None:
        """Send ``thread``, unless the client is watching: it should ``connect`` then."""
        if not self._session.shows(news.thread):
            here = None if news.status == "running" else news.here
            await self._session.channel.send(_WIRE.thread(news.thread, news.status, here=here))

    async def failed(self, request_id: str | None, error: Exception) -> None:
        """Send ``error`` with the body of the same refusal over HTTP."""
        session = self._session
        answer = session.endpoints.refusal(error)
        detail = json.loads(bytes(answer.body) or b"{}").get("detail", {})
        await session.channel.send(_WIRE.error(request_id, answer.status_code, detail))


def agui_socket(agent: ServedAgent, service: RunService, settings: ServerSettings) -> Socket:
    """The web socket of one agent, with AG-UI's frames."""
    return Socket(Endpoints(agent, service, settings, _WIRE), _AGUIDialect)
