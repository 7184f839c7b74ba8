"""A real server in this process, and tabs that hold a web socket to it."""

from __future__ import annotations

import asyncio
import json
import socket as sockets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.serving import run_body

Frame = dict[str, Any]


@asynccontextmanager
async def listening(app: Any, **config: Any) -> AsyncIterator[str]:
    """Serve an application; its address, without the scheme."""
    with sockets.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        given = {"log_level": "warning", "timeout_graceful_shutdown": 2, "ws": "websockets-sansio", **config}
        server = uvicorn.Server(uvicorn.Config(app, **given))
        task = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
            if task.done():
                task.result()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


class Tab:
    """One socket, and all frames that came."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[Frame] = []
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())
        self._sent = 0
        self._asked: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        """Thread and messages of the requests, by their ids."""

    async def _read(self) -> None:
        try:
            async for text in self.socket:
                self.frames.append(json.loads(text))
                if self.frames[-1]["type"] == "ping":
                    await self.send(type="pong")
                async with self._news:
                    self._news.notify_all()
        except ConnectionClosed:
            pass
        async with self._news:
            self._news.notify_all()

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def ask(self, kind: str, text: str | None = "hello", *, thread: str = "t1", **more: Any) -> str:
        """Send ``run`` or ``connect``; the request's id."""
        self._sent += 1
        name = f"q{self._sent}"
        body = run_body(text, thread=thread, run=f"{name}-{id(self)}", **more)
        if text is not None:
            body["messages"] = [*self._said(thread), {**body["messages"][0], "id": f"u-{name}-{id(self)}"}]
            self._asked[name] = thread, body["messages"]
        else:
            self._asked[name] = thread, []
        await self.send(type=kind, requestId=name, input=body)
        return name

    def _said(self, thread: str) -> list[dict[str, Any]]:
        """The user's messages of a thread, as this tab knows them."""
        said: list[dict[str, Any]] = []
        for name, (of, messages) in self._asked.items():
            if of == thread:
                shown = [e["messages"] for e in self.events(name) if e["type"] == "MESSAGES_SNAPSHOT"]
                said = messages or ([m for m in shown[-1] if m["role"] == "user"] if shown else said)
        return said

    def of(self, request: str) -> list[Frame]:
        """The frames of a request."""
        return [frame for frame in self.frames if frame.get("requestId") == request]

    def events(self, request: str) -> list[dict[str, Any]]:
        return [event for frame in self.of(request) for event in frame.get("events", [])]

    def types(self, request: str) -> list[str]:
        return [event["type"] for event in self.events(request)]

    def text(self, request: str) -> str:
        return "".join(event["delta"] for event in self.events(request) if event["type"] == "TEXT_MESSAGE_CONTENT")

    def is_over(self, request: str) -> bool:
        return any(frame.get("done") or frame["type"] in ("done", "error") for frame in self.of(request))

    async def until(self, condition: Callable[[], Any], seconds: float = 40.0) -> None:
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(condition)

    async def whole(self, request: str) -> list[dict[str, Any]]:
        """The events of a request, when it is over."""
        await self.until(lambda: self.is_over(request))
        return self.events(request)

    async def played(self, text: str | None = "hello", **more: Any) -> list[dict[str, Any]]:
        """The events of a whole run."""
        return await self.whole(await self.ask("run", text, **more))

    async def frame(self, kind: str) -> Frame:
        """The first frame of a type."""
        await self.until(lambda: any(frame["type"] == kind for frame in self.frames))
        return next(frame for frame in self.frames if frame["type"] == kind)

    async def closed(self) -> tuple[int, str]:
        """Code and reason of the server's closing."""
        async with asyncio.timeout(40):
            await self.socket.wait_closed()
        return self.socket.close_code or 0, self.socket.close_reason or ""

    async def close(self) -> None:
        await self.socket.close()
        await self._reader


@asynccontextmanager
async def tab(
    host: str, path: str = "/ws", headers: Mapping[str, str] | None = None, *, ready: bool = True, **more: Any
) -> AsyncIterator[Tab]:
    """A tab; `ready`: only when the server says that it is connected."""
    async with connect(f"ws://{host}{path}", additional_headers=dict(headers or {}), max_size=None, **more) as socket:
        it = Tab(socket)
        try:
            if ready:
                await it.frame("connected")
            yield it
        finally:
            await it.close()
