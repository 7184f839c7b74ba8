"""Edge. One request of a web socket: its run, or its view of one, and where its frames go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from yai_nexus_agentkit.runs.live_run import LiveRun
from yai_nexus_agentkit.runs.remote_run import RemoteRun
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.stream import Found, show
from yai_nexus_agentkit.server.view import LateView, View
from yai_nexus_agentkit.transport.wire import Posted

__all__ = ["SocketRequest", "SocketSink"]

Framed = Callable[[bytes, bool], str]
"""Makes a frame of the bytes of a wire's encoder; the second argument: they are the last ones."""


class SocketSink:
    """One conversation on a web socket."""

    def __init__(self, send: Callable[[str], Awaitable[None]], framed: Framed) -> None:
        self._send, self._framed = send, framed
        self._left = asyncio.Event()
        self.complete = False
        """The last frame was sent, or the client does not want it."""

    async def begin(self) -> None:
        """Nothing comes before the frames."""

    async def write(self, body: bytes, *, last: bool) -> None:
        """Send one frame."""
        await self._send(self._framed(body, last))
        self.complete = last

    async def gone(self) -> None:
        """Returns when the client has left this request."""
        await self._left.wait()

    def leave(self) -> None:
        """The client has left."""
        self.complete = True
        self._left.set()


class SocketRequest:
    """A request whose answer is a stream."""

    def __init__(self, endpoints: Endpoints, caller: Caller, sink: SocketSink) -> None:
        self._endpoints, self._caller, self.sink = endpoints, caller, sink
        self._run: LiveRun | RemoteRun | None = None
        self._stopped = False
        """The client wants no run, or no more of it."""

    async def start(self, posted: Posted) -> None:
        """Start a run and show it. Raises what makes a run impossible; nothing was sent then."""
        service, settings = self._endpoints.service, self._endpoints.settings
        run = self._run = await service.start(await self._endpoints.wanted(self._caller, posted))
        if self._stopped:
            run.stop()
        await show(run, View(posted.encoder(), self.sink, settings, run.too_slow), service.launch)

    async def join(self, posted: Posted) -> None:
        """Show the thread's run under way, or the thread as it stands. Raises what makes that impossible."""
        found = await self._endpoints.found(self._caller, posted)
        if found.run is None:
            await self._rest(found)
            return
        run = self._run = found.run
        settings = self._endpoints.settings
        view = LateView(found.encoder, self.sink, settings, run.too_slow, older=found.older, kept=found.kept)
        await run.join(view)
        await view.show(run.feed.leave)

    async def _rest(self, found: Found) -> None:
        frames = [frame async for frame in found.whole()]
        await self.sink.write(b"".join(frames), last=True)

    async def cancel(self) -> None:
        """Stop the run that is shown, or that is about to begin."""
        self._stopped, run = True, self._run
        if run is None:
            return
        service, key = self._endpoints.service, self._caller.thread(run.run_input.thread_id).key
        now = await service.current(key)
        if now is not None and now.run_input.run_id == run.run_input.run_id:
            await service.cancel(key)
