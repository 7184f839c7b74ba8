"""Edge. One web socket from its handshake to its end: frames in, a task for each request, everything freed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.errors import OverloadedError
from yai_nexus_agentkit.runs.connections import News
from yai_nexus_agentkit.runs.routing import Connection
from yai_nexus_agentkit.server.body import beside_the_loop, parse_body
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.socket_settings import SocketSettings
from yai_nexus_agentkit.server.sockets.channel import REFUSALS, Channel, Close, ClosedError, Rate
from yai_nexus_agentkit.server.sockets.handshake import chosen_protocol, identified, is_allowed, subprotocol_token
from yai_nexus_agentkit.server.sockets.requests import Framed, SocketRequest, SocketSink
from yai_nexus_agentkit.transport.agui_socket import Hello
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["Dialect", "Session", "Socket"]

_logger = logging.getLogger(__name__)

_SILENCES = 3
"""Unanswered pings after which a client counts as gone."""
_CLOSE_WITHIN = 1.0


class Dialect(Protocol):
    """The frames of one kind of client on one socket."""

    ping: str | None
    """Sent to a silent client, which must answer with any frame; None if its clients know none."""

    def hello(self, data: Any) -> Hello | None:
        """The first frame as an introduction, if it is one. Raises `FrameError`."""

    async def connected(self) -> None:
        """The socket is open for requests."""

    async def take(self, data: Any, raw: bytes) -> None:
        """A frame as JSON data, and its bytes. What it raises is given to `failed`."""

    async def news(self, news: News) -> None:
        """Something happened to a thread, whether or not an active request is about it."""

    async def failed(self, request_id: str | None, error: Exception) -> None:
        """A frame, or a request, failed before anything of its answer was sent."""


@dataclass(frozen=True, slots=True)
class Socket:
    """The ASGI application of one agent's web socket."""

    endpoints: Endpoints
    dialect: Callable[[Session], Dialect]
    """Makes the frames of one socket."""
    end: str = "/ws"
    """The end of its path, behind that of the agent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Session(self, scope, receive, send).serve()


class Session:
    """One web socket."""

    def __init__(self, socket: Socket, scope: Scope, receive: Receive, send: Send) -> None:
        self.endpoints, self._end = socket.endpoints, socket.end
        self.settings = self.endpoints.settings
        self.limits = self.settings.sockets or SocketSettings()
        self.channel = Channel(scope, receive, send, self.limits)
        self.connection = Connection(id=uuid4().hex, agent=self.endpoints.agent.name, user="")
        self.dialect = socket.dialect(self)
        self._requests: dict[str, SocketRequest] = {}
        """By the client's id, which is free again when the last frame was sent."""
        self._tasks: dict[asyncio.Task[None], SocketRequest] = {}
        """Those of the requests, until all of each has ended."""
        self._runs = Rate(self.limits.runs_per_second)
        self._scope = asyncio.timeout(self.limits.max_age)
        self._why = ClosedError(Close.UNIDENTIFIED, "show again who you are")
        """Why `_scope` ends, if it does."""
        self.caller: Caller
        """Set when it is known."""

    @property
    def is_known(self) -> bool:
        """The client has shown who it is."""
        return hasattr(self, "caller")

    async def serve(self) -> None:
        """Shake hands, converse, close."""
        scope, channel = self.channel.scope, self.channel
        if not is_allowed(scope, self.settings.cors):
            _logger.warning("a page of another origin tried to open a web socket")
            self._count(403, Close.FORBIDDEN)
            await channel.refuse()
            return
        try:
            await channel.accept(chosen_protocol(scope))
            try:
                async with self._scope:
                    await self._converse()
            except TimeoutError:
                raise (self._why if self._scope.expired() else ClosedError(Close.FAILED)) from None
        except ClosedError as closed:
            if closed.code in REFUSALS:
                self._count(closed.code, closed.code)
            if closed.code is not Close.DONE:
                await self._close(closed)
        except OSError as broken:
            _logger.debug("a web socket broke: %r", broken)
        except Exception:
            _logger.exception("a web socket failed")
            await self._close(ClosedError(Close.FAILED))

    def _count(self, status: int, why: Close) -> None:
        self.endpoints.service.count_refused(self.connection.agent, status, why.name)

    async def _close(self, closed: ClosedError) -> None:
        with suppress(OSError, RuntimeError, TimeoutError):
            async with asyncio.timeout(_CLOSE_WITHIN):
                await self.channel.close(closed.code, closed.reason)

    async def _converse(self) -> None:
        hello = await self._introduced()
        self.connection = replace(
            self.connection,
            user=self.caller.identity.user,
            device=hello.device or "",
            abilities=hello.abilities or (),
        )
        if self.limits.isolated:
            alone = f"session_{self.connection.user}_{self.connection.id}"
            self.caller = replace(self.caller, identity=replace(self.caller.identity, thread=alone))
        previous = None if self.limits.isolated else hello.previous
        connections = self.endpoints.service.connections
        try:
            async with connections.opened(self.connection, self.dialect.news, previous=previous) as known:
                self.connection, began = known, time.monotonic()
                _logger.info("web socket %s of user %r (%s) is open", known.id, known.user, known.agent)
                try:
                    await self.dialect.connected()
                    await self._read()
                finally:
                    await self._leave_all()
                    _logger.info("web socket %s was open for %.3f s", known.id, time.monotonic() - began)
        except OverloadedError as full:
            raise ClosedError(Close.TOO_MANY, "too many sockets are open") from full

    # ------------------------------------------------------------------ who it is

    async def _introduced(self) -> Hello:
        """Find out who opened the socket. Raises `ClosedError`."""
        scope = self.channel.scope
        try:
            query = HTTPConnection(scope).query_params
            # Addresses are logged, so that a token there counts for nothing.
            hello = Hello.of_address({name: value for name, value in query.items() if name != "token"})
            token = subprotocol_token(scope)
        except Refusal as error:
            raise ClosedError(Close.MALFORMED, str(error)) from None
        except ValueError as error:
            raise ClosedError(Close.UNIDENTIFIED, str(error)) from None
        if await self._identify(token):
            return hello
        if token is not None:
            raise ClosedError(Close.UNIDENTIFIED, "nobody is known by this token")
        try:
            async with asyncio.timeout(self.limits.hello_within):
                first = self.dialect.hello(await self._parsed(await self.channel.text()))
        except Refusal as error:
            raise ClosedError(Close.MALFORMED, str(error)) from None
        except TimeoutError:
            first = None
        if first is None or first.token is None or not await self._identify(first.token):
            raise ClosedError(Close.UNIDENTIFIED, "the first frame must be a hello with a valid token")
        return first

    async def _identify(self, token: str | None) -> bool:
        try:
            caller = await identified(self.channel.scope, token, self.endpoints.agent, self.settings, self._end)
        except PermissionError:
            raise ClosedError(Close.FORBIDDEN, "this is not allowed") from None
        except ValueError as error:
            raise ClosedError(Close.UNIDENTIFIED, str(error)) from None
        if caller is not None:
            self.caller = caller
        return caller is not None

    async def introduce(self, hello: Hello) -> None:
        """The client says something new of itself."""
        known = self.connection
        device = known.device if hello.device is None else hello.device
        abilities = known.abilities if hello.abilities is None else hello.abilities
        self.connection = replace(known, device=device, abilities=abilities)
        await self.endpoints.service.connections.update(self.connection)

    async def looks_at(self, thread_id: str) -> None:
        """The client asked for this thread."""
        self.connection = replace(self.connection, thread=thread_id)
        await self.endpoints.service.connections.update(self.connection)

    # ------------------------------------------------------------------ frames

    async def _read(self) -> None:
        """Take frames until the client leaves, or says nothing any more."""
        silence, now = self.limits.ping, asyncio.get_running_loop().time
        while True:
            try:
                async with asyncio.timeout(silence):
                    text = await self.channel.text()
            except TimeoutError:
                if (ping := self.dialect.ping) is not None:
                    if now() - self.channel.heard >= _SILENCES * silence:
                        raise ClosedError(Close.SILENT, "no answer to a ping") from None
                    await self.channel.send(ping)
                continue
            try:
                with self.endpoints.service.capacity.body() as take:
                    take(len(text))
                    await self.dialect.take(await self._parsed(text), text.encode())
            except ClosedError:
                raise
            except Exception as error:
                await self.dialect.failed(getattr(error, "request_id", None), error)

    async def _parsed(self, text: str) -> Any:
        raw = text.encode()
        return await beside_the_loop(raw, partial(parse_body, raw, self.settings))

    # ------------------------------------------------------------------ requests

    def begin(self, request_id: str, framed: Framed, work: Callable[[SocketRequest], Awaitable[None]]) -> None:
        """Answer a request in a task of its own. Raises `Refusal`, and `OverloadedError` for too many."""
        if request_id in self._requests and not self._requests[request_id].sink.complete:
            raise Refusal(409, "REQUEST_EXISTS", "a request with this id is active")
        if len(self._tasks) >= self.limits.max_requests:
            raise OverloadedError(f"{len(self._tasks)} requests are active on this socket")
        if not self._runs.take(asyncio.get_running_loop().time()):
            raise OverloadedError(f"at most {self.limits.runs_per_second:g} runs per second")
        request = SocketRequest(self.endpoints, self.caller, self.connection, SocketSink(self.channel.raw_send, framed))
        task = asyncio.create_task(self._answer(request_id, request, work), name="agui-socket-request")
        self._requests[request_id], self._tasks[task] = request, request
        task.add_done_callback(self._tasks.pop)

    def shows(self, thread_id: str) -> bool:
        """An active request is about this thread."""
        shown = [request.thread for request in self._requests.values()]
        return any(thread is not None and thread.id == thread_id for thread in shown)

    def request(self, request_id: str) -> SocketRequest | None:
        """An active request."""
        return self._requests.get(request_id)

    async def _answer(
        self, request_id: str, request: SocketRequest, work: Callable[[SocketRequest], Awaitable[None]]
    ) -> None:
        try:
            await work(request)
            if not request.sink.complete:
                self._end_with(ClosedError(Close.COME_AGAIN, "connect again"))
        except Exception as error:
            with suppress(OSError, RuntimeError):  # the socket is closed
                await self.dialect.failed(request_id, error)
        finally:
            if self._requests.get(request_id) is request:
                del self._requests[request_id]

    def _end_with(self, why: ClosedError) -> None:
        if not self._scope.expired():
            self._why = why
            self._scope.reschedule(asyncio.get_running_loop().time())

    async def _leave_all(self) -> None:
        """The client is gone: leave every request. Runs that end with their viewers end here."""
        for task, request in self._tasks.items():
            request.sink.leave()
            if request.joining:
                task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
