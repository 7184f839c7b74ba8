"""Edge. The HTTP response of a run: of a new one, of an active one, or of a thread as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from ag_ui.core import BaseEvent, RunErrorEvent
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.errors import Code, ThreadBusyError
from yai_nexus_agentkit.protocol.replay import Shown
from yai_nexus_agentkit.runs.feed import Viewer
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.kept import Kept
from yai_nexus_agentkit.runs.live_run import LiveRun
from yai_nexus_agentkit.runs.remote_run import RemoteRun
from yai_nexus_agentkit.server.cut import cut_on_purpose
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.view import LateView, View
from yai_nexus_agentkit.transport.wire import Encoder

__all__ = ["Found", "Gated", "HttpSink", "RunResponse", "show", "ungated"]


Encode = Callable[[BaseEvent], bytes]
Gated = Callable[[ThreadRef, Encode], Awaitable[Encode]]
"""The encoding of a thread at rest, for one viewer."""


async def ungated(thread: ThreadRef, encode: Encode) -> Encode:
    """Everything is shown."""
    return encode


Refuse = Callable[[Exception], Response]
Launch = Callable[[LiveRun, Viewer], Awaitable[asyncio.Task[None]]]


class HttpSink:
    """The body of one HTTP response. `more_headers`: sent in addition to the encoder's."""

    def __init__(
        self, encoder: Encoder, receive: Receive, send: Send, more_headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        self._encoder, self._receive, self._send, self._more_headers = encoder, receive, send, more_headers
        self._begun = self._complete = False

    @property
    def is_cut(self) -> bool:
        """The response began, and was left incomplete."""
        return self._begun and not self._complete

    async def begin(self) -> None:
        """Send status and headers, if they were not sent yet."""
        if not self._begun:
            self._begun = True
            own = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._encoder.headers.items()]
            headers = [*own, *self._more_headers]
            await self._send({"type": "http.response.start", "status": self._encoder.status, "headers": headers})

    async def write(self, body: bytes, *, last: bool) -> None:
        """Send a piece of the body."""
        if not self._begun:
            await self.begin()
        await self._send({"type": "http.response.body", "body": body, "more_body": not last})
        self._complete = last

    async def gone(self) -> None:
        """Returns when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class _Streamed(Response):
    """A response whose body is written by a view. `refuse`: makes the refusal that is sent instead of it."""

    def __init__(self, encoder: Encoder, settings: ServerSettings, refuse: Refuse) -> None:
        super().__init__()
        del self.headers["content-length"]  # what is left are headers that FastAPI's dependencies set
        self.encoder, self.settings, self.refuse = encoder, settings, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sink = HttpSink(self.encoder, receive, send, self.raw_headers)
        await self.stream(sink, scope, receive, send)
        if sink.is_cut:
            cut_on_purpose()
        if self.background is not None:
            await self.background()

    async def stream(self, sink: HttpSink, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the body, or refuse."""
        raise NotImplementedError


class RunResponse(_Streamed):
    """Starts a run and shows it. If it cannot begin, the wire's refusal is sent instead of a stream."""

    def __init__(
        self,
        start: Callable[[], Awaitable[LiveRun]],
        launch: Launch,
        encoder: Encoder,
        settings: ServerSettings,
        refuse: Refuse,
        *,
        locked_as_event: bool,
    ) -> None:
        """`locked_as_event`: a busy thread is no refusal but the event ``THREAD_IS_LOCKED``."""
        super().__init__(encoder, settings, refuse)
        self._start, self._launch, self._locked_as_event = start, launch, locked_as_event

    async def stream(self, sink: HttpSink, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the run."""
        try:
            run = await self._start()
        except Exception as error:
            refusal = self.refuse(error)
            if isinstance(error, ThreadBusyError) and self._locked_as_event:
                event = RunErrorEvent(message=str(error), code=Code.THREAD_IS_LOCKED)
                await sink.write(self.encoder.encode(event) + self.encoder.finish(), last=True)
                return
            await refusal(scope, receive, send)
            return
        del self._start  # it holds the request as it was posted
        view = View(self.encoder, sink, self.settings, run.too_slow)
        try:
            if self.encoder.keep_alive:
                await sink.begin()
        except Exception:  # the client is gone before anything was sent
            run.abandon()
        await show(run, view, self._launch)


async def show(run: LiveRun, view: View, launch: Launch, viewer: Viewer | None = None) -> None:
    """Begin a run and show it to who asked for it. `viewer`: comes between the run and the view."""
    watching = viewer or view
    run.record.written = lambda: view.outbox.total
    task = await launch(run, watching)
    await view.show(lambda _: run.feed.leave(watching))
    if run.ending and not task.done():
        await asyncio.wait((task,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The view of a further viewer: a run, or the thread as it is now."""

    encoder: Encoder
    kept: Kept
    run: LiveRun | RemoteRun | None = None
    older: bool = False
    """The viewer's client knows less of AG-UI than the one that started the run."""
    shown: Shown | None = None
    """What clients may see of the messages before the run."""
    frames: AsyncGenerator[bytes, None] | None = None
    """The thread, where no run is active. None: there is no such thread."""

    def response(self, settings: ServerSettings, refuse: Refuse) -> Response:
        """The HTTP response. `refuse`: makes the one that is sent if the run cannot be joined."""
        if self.run is not None:
            return _JoinResponse(self, self.run, settings, refuse)
        return StreamingResponse(self.whole(), self.encoder.status, dict(self.encoder.headers))

    async def whole(self) -> AsyncIterator[bytes]:
        """All bytes of the thread as it is now."""
        if self.frames is not None:
            async with aclosing(self.frames) as each:
                async for frame in each:
                    yield frame
        yield self.encoder.finish()


class _JoinResponse(_Streamed):
    """Shows an active run to a further viewer."""

    def __init__(
        self,
        found: Found,
        run: LiveRun | RemoteRun,
        settings: ServerSettings,
        refuse: Refuse,
    ) -> None:
        super().__init__(found.encoder, settings, refuse)
        self._found, self._run = found, run

    async def stream(self, sink: HttpSink, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the run, from its beginning."""
        found, run = self._found, self._run
        view = LateView(self.encoder, sink, self.settings, run.too_slow, older=found.older, kept=found.kept)
        try:
            await run.join(view, found.shown)
        except Exception as error:
            await self.refuse(error)(scope, receive, send)
            return
        await view.show(run.feed.leave)
