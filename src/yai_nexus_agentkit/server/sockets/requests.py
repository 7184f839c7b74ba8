"""Edge. One request of a web socket: its run, or its view of one, and where its frames go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from ag_ui.core import BaseEvent, CustomEvent
from starlette.types import Send

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.live_run import LiveRun
from yai_nexus_agentkit.runs.remote_run import RemoteRun
from yai_nexus_agentkit.runs.routing import ASKED, Connection, elsewhere, is_question
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.restoring import for_one_connection
from yai_nexus_agentkit.server.socket_settings import SocketSettings
from yai_nexus_agentkit.server.sockets.gate import Gate
from yai_nexus_agentkit.server.stream import show
from yai_nexus_agentkit.server.view import LateView, View
from yai_nexus_agentkit.transport.wire import Posted

__all__ = ["SocketRequest", "SocketSink"]

Framed = Callable[[bytes, bool], str | Iterable[str]]
"""Makes one frame, or several, of the bytes of a wire's encoder; the second argument: they are the last ones."""


class SocketSink:
    """One conversation on a web socket."""

    def __init__(self, send: Send, framed: Framed) -> None:
        self._send, self._framed = send, framed
        self._left = asyncio.Event()
        self.complete = False
        """The last frame was sent, or the client does not want it."""

    async def begin(self) -> None:
        """Nothing comes before the frames."""

    async def write(self, body: bytes, *, last: bool) -> None:
        """Send what came."""
        self.complete = self.complete or last  # first: the client may answer while this still waits
        frames = self._framed(body, last)
        if isinstance(frames, str):  # it happens for every token
            await self._send({"type": "websocket.send", "text": frames})
        else:
            for frame in frames:
                await self._send({"type": "websocket.send", "text": frame})

    async def gone(self) -> None:
        """Returns when the client has left this request."""
        await self._left.wait()

    def leave(self) -> None:
        """The client has left."""
        self.complete = True
        self._left.set()


class SocketRequest:
    """A request whose answer is a stream."""

    def __init__(self, endpoints: Endpoints, caller: Caller, connection: Connection, sink: SocketSink) -> None:
        self._endpoints, self._caller, self._connection, self.sink = endpoints, caller, connection, sink
        self.thread: ThreadRef | None = None
        """The thread that it shows."""
        self._run: LiveRun | RemoteRun | None = None
        self.joining = False
        """It shows what others started: nothing is lost if its task is cancelled."""
        self._stopped = False
        """The client wants no run, or no more of it."""

    async def start(self, posted: Posted) -> None:
        """Start a run and show it. Raises what makes a run impossible; nothing was sent then."""
        endpoints, service = self._endpoints, self._endpoints.service
        wanted = await endpoints.wanted(self._caller, posted, self._connection.origin)
        if self._sockets.isolated:  # nobody could join it
            facts = {**wanted.facts, "abilities": self._connection.abilities}
            wanted = replace(wanted, disconnect="cancel", facts=facts, stored=for_one_connection(wanted.stored))
        self.thread = wanted.thread
        run = self._run = await service.start(wanted)
        if self._stopped:
            run.stop()
        gate: Gate
        view = View(posted.encoder(), self.sink, endpoints.settings, lambda _: run.too_slow(gate))
        gate = self._gate(view, wanted.thread, wanted.adapter)
        await show(run, view, service.launch, gate)

    async def join(self, posted: Posted) -> None:
        """Show the thread's active run, or the thread as it is now. Raises what makes that impossible."""
        endpoints, self.joining = self._endpoints, True
        self.thread = thread = self._caller.thread(posted.run_input.thread_id)
        found = await endpoints.found(self._caller, posted, gate=self._gated)
        if found.run is None:
            frames = [frame async for frame in found.whole()]
            await self.sink.write(b"".join(frames), last=True)
            return
        run, settings = found.run, endpoints.settings
        self._run = run
        gate: Gate
        view = LateView(
            found.encoder,
            self.sink,
            settings,
            lambda _: run.too_slow(gate),
            older=found.older,
            kept=found.kept,
        )
        gate = self._gate(view, thread, await self._caller.adapter())
        await run.join(gate, found.shown)
        await view.show(lambda _: run.feed.leave(gate))

    def _gate(self, view: View, thread: ThreadRef, adapter: AGUIAdapter) -> Gate:
        asked = partial(self._endpoints.service.connections.asked, self._connection, thread)
        apart = adapter.options.interrupts != "outcome"
        return Gate(view, asked, shown=self._sockets.show_elsewhere, apart=apart)

    @property
    def _sockets(self) -> SocketSettings:
        return self._endpoints.settings.sockets or SocketSettings()

    async def _gated(self, thread: ThreadRef, encode: Callable[[BaseEvent], bytes]) -> Callable[[BaseEvent], bytes]:
        """`encode` for a thread at rest."""
        here, device = await self._endpoints.service.connections.asked(self._connection, thread)
        if here:
            return encode

        def gated(event: BaseEvent) -> bytes:
            if isinstance(event, CustomEvent) and event.name == ASKED:
                return b""
            if not is_question(event):
                return encode(event)
            return b"".join(map(encode, elsewhere(event, device, shown=self._sockets.show_elsewhere)))

        return gated

    async def cancel(self) -> None:
        """Stop the run that is shown, or that is about to begin."""
        self._stopped, run = True, self._run
        if run is None or self.thread is None:
            return
        service, key = self._endpoints.service, self.thread.key
        now = await service.current(key)
        if now is not None and now.run_input.run_id == run.run_input.run_id:
            await service.cancel(key)
