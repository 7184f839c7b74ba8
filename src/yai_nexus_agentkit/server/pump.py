"""Edge. One run and one client: events go in as they come, bytes go out to a sink, and either end may stop the other.

Three tasks share this. One drives the agent from its first event to its last; an agent's context variables and cancel
scopes need that. One writes: everything that waits when it comes round goes out as one piece. One waits for the client
to leave. A timer sends keep-alive bytes and gives up clients that take nothing. It looks at the last write when it
fires, so it costs nothing per event and never interrupts a wait for the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from ag_ui.core import BaseEvent, RunErrorEvent

from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.errors import Code, OverloadedError
from yai_nexus_agentkit.runs.service import LiveRun
from yai_nexus_agentkit.server.outbox import Outbox
from yai_nexus_agentkit.server.problems import client_text
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.wire import Encoder

__all__ = ["Pump", "Sink", "View"]

_logger = logging.getLogger(__name__)
_AFTERWARDS = 10.0
"""Seconds for the `after_run` hook of a run whose client left right after the terminal event."""


class Sink(Protocol):
    """Where the bytes of one response go: an HTTP response, or one conversation on a web socket."""

    async def begin(self) -> None:
        """Send what comes before the bytes, status and headers, unless it was sent."""

    async def write(self, body: bytes, *, last: bool) -> None:
        """Send bytes; with `last` the response is complete. Returns when the connection has room for more."""

    async def gone(self) -> None:
        """Returns when the client has left."""


class View:
    """One client's view of a run. Memory is bounded: a client that reads too slowly is reported to `overflow`."""

    def __init__(self, encoder: Encoder, sink: Sink, settings: ServerSettings, overflow: Callable[[int], None]) -> None:
        self.outbox = Outbox(encoder)
        self._encoder, self._sink, self._settings, self._overflow = encoder, sink, settings, overflow
        self._loop = asyncio.get_running_loop()
        self._idle: asyncio.Future[None] | None = None
        """The writer waits for this while there is nothing to write."""
        self._complete = False
        """No further event will come."""
        self._since = self._loop.time()
        """When the current write began, or the last one ended."""
        self._give_up: Callable[[], object] | None = None
        """Ends the current write, and the response."""
        self._timer: asyncio.TimerHandle | None = None

    def put(self, event: BaseEvent) -> None:
        """Take an event. Raises `EncodingError` if it, or a delta before it, cannot be encoded."""
        outbox = self.outbox
        waited = outbox.waiting
        outbox.put(event)
        if self._idle is not None:
            self._wake()
        elif waited > self._settings.max_buffer and outbox.busy:
            self._overflow(waited)

    def complete(self) -> None:
        """No further event will come: the wire's last bytes are due."""
        try:
            self.outbox.add(self._encoder.finish())
        except Exception:
            _logger.exception("the wire failed at its last bytes")
        self._complete = True
        self._wake()

    async def write_first(self, gone: asyncio.Task[None]) -> None:
        """Write what is there. Raises what the sink raises, and `Stopped` if the client is gone or takes nothing."""
        control = RunControl()
        self._give_up = control.stop
        gone.add_done_callback(lambda _: control.stop())
        self._beat()
        await control.wait(self._flush)

    def write(self) -> asyncio.Task[None]:
        """A task that writes the rest as it comes, until the view is complete or the client takes nothing."""
        writer = self._loop.create_task(self._write(), name="agui-writer")
        self._give_up = writer.cancel
        return writer

    def close(self) -> None:
        """Nothing will be written any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wake(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        self._idle = None

    async def _write(self) -> None:
        while True:
            if not self.outbox and not self._complete:
                idle = self._idle = self._loop.create_future()
                await idle
            if await self._flush():
                return

    async def _flush(self) -> bool:
        """Write what waits. True if that was the last."""
        outbox, time = self.outbox, self._loop.time
        body = outbox.take()
        last = self._complete and not outbox
        if body or last:
            self._since = time()
            outbox.busy = True
            await self._sink.write(body, last=last)
            outbox.busy = False
            self._since = time()
        return last

    def _beat(self) -> None:
        """Send keep-alive bytes after a silence; give up a client that takes nothing."""
        settings, now = self._settings, self._loop.time()
        if self.outbox.busy:
            if now - self._since >= settings.stalled and self._give_up is not None:
                self._give_up()
                return
            due = min(self._since + settings.stalled, now + settings.keep_alive)
        else:
            if now - self._since >= settings.keep_alive:
                self.outbox.add(self._encoder.keep_alive)
                self._wake()
                self._since = now
            due = self._since + settings.keep_alive
        self._timer = self._loop.call_later(max(due - now, 0.001), self._beat)


class Pump:
    """Drives a run and writes its one view. `release` gives the thread back. It is called when the agent has ended,
    although a slow client may still be reading."""

    def __init__(
        self,
        run: LiveRun,
        encoder: Encoder,
        sink: Sink,
        settings: ServerSettings,
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self._run, self._encoder, self._sink, self._release = run, encoder, sink, release
        self._expose = settings.expose_errors
        self._view = view = View(encoder, sink, settings, self._too_slow)
        run.record.written = lambda: view.outbox.total

    async def serve(self) -> None:
        """Work until the run or the client's connection ends, whichever is first."""
        run, view, loop = self._run, self._view, asyncio.get_running_loop()
        if self._encoder.keep_alive:
            await self._sink.begin()
        failure: Exception | None = None
        try:
            await run.begin(view.put)
        except Exception as early:
            failure = early
        agent = loop.create_task(self._drive(failure), name="agui-run")
        agent.add_done_callback(self._ended)
        gone = loop.create_task(self._sink.gone(), name="agui-disconnect")
        tasks = [agent, gone]
        try:
            # By the task of the request: each request of a burst is answered in its turn, not all at the burst's end.
            await view.write_first(gone)
            tasks.append(writer := view.write())
            await asyncio.wait((writer, gone), return_when=asyncio.FIRST_COMPLETED)
            if run.record.ended:
                await asyncio.wait((agent,), timeout=_AFTERWARDS)
        except Exception as broken:
            self._note_broken("the first write", broken)
        finally:
            view.close()
            run.ending = True
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await run.aclose()  # a task that was cancelled before its first step closed nothing
            for task in tasks:
                if not task.cancelled() and (error := task.exception()) is not None:
                    self._note_broken(task.get_name(), error)

    async def _drive(self, failure: Exception | None) -> None:
        """Run the agent, unless its beginning failed: it ends with this `failure` then, as with any other."""
        try:
            if failure is not None:
                raise failure
            await self._run.drive(self._view.put)
        finally:
            await self._release()

    def _ended(self, agent: asyncio.Task[None]) -> None:
        """The agent's task ended. It sends failures itself; one that is left is a fault of the server or the wire."""
        error = None if agent.cancelled() else agent.exception()
        try:
            if error is not None and not self._run.record.ended:
                self._view.put(RunErrorEvent(message=client_text(error, expose=self._expose), code=Code.AGENT_ERROR))
        except Exception:
            _logger.exception("the wire cannot write the error of run %r", self._run.run_input.run_id)
        self._view.complete()

    def _too_slow(self, waiting: int) -> None:
        run = self._run
        if not run.control.stopped:
            _logger.warning("run %r: its client reads too slowly, %d bytes wait", run.run_input.run_id, waiting)
            run.control.stop(OverloadedError("the client reads too slowly"))

    def _note_broken(self, what: str, error: BaseException) -> None:
        """A broken connection counts as a client that is gone."""
        _logger.debug("%s of run %r broke: %r", what, self._run.run_input.run_id, error)
