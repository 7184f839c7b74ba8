"""Edge. The response of a run: frames to the socket as they come, and what happens when the client goes away.

Three tasks share a response. One drives the agent from its first event to its last; an agent's context variables and
cancel scopes need that. One writes: whatever waits when it comes round goes out as one piece. One waits for the
disconnect. Keep-alive comments come from a timer that looks at the last write when it fires, so they cost nothing per
frame and never interrupt a wait for the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial

from ag_ui.core import BaseEvent, RunErrorEvent
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.errors import Code, OverloadedError
from yai_nexus_agentkit.runs.service import LiveRun
from yai_nexus_agentkit.server.outbox import Outbox
from yai_nexus_agentkit.server.problems import client_text, problem_of, problem_response
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.agui_sse import CONTENT_TYPE, KEEP_ALIVE, SSEEncoder

__all__ = ["RunResponse"]

_logger = logging.getLogger(__name__)
_AFTERWARDS = 10.0
"""Seconds for the `after_run` hook of a run whose client left right after the terminal event."""
_HEADERS = {"content-type": CONTENT_TYPE, "cache-control": "no-cache", "x-accel-buffering": "no"}


class RunResponse(Response):
    """Opens a run and streams it. A run that cannot begin is answered with a problem instead, and no stream."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[LiveRun]], settings: ServerSettings) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._opened, self._settings = opened, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._settings
        async with AsyncExitStack() as held:
            try:
                run = await held.enter_async_context(self._opened())
            except Exception as error:
                problem = problem_of(error, retry_after=settings.retry_after, expose=settings.expose_errors)
                await problem_response(problem)(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _Stream(run, settings, held.aclose).serve(receive, send)
        if self.background is not None:
            await self.background()


class _Stream:
    """One response body. `release` gives the thread back; it is called when the agent is through, although a slow
    client may still be reading."""

    def __init__(self, run: LiveRun, settings: ServerSettings, release: Callable[[], Awaitable[None]]) -> None:
        self._run, self._settings, self._release = run, settings, release
        self._outbox = Outbox(SSEEncoder(event_lines=settings.event_lines, reused=True))
        self._loop = asyncio.get_running_loop()
        self._idle: asyncio.Future[None] | None = None
        """What the writer waits on when there is nothing to write."""
        self._done = False
        """The agent is through: nothing more will come."""
        self._since = self._loop.time()
        """When the write under way began, or the last one ended."""
        self._give_up: Callable[[], object] | None = None
        """Ends the write under way, and the response."""
        self._timer: asyncio.TimerHandle | None = None

    async def serve(self, receive: Receive, send: Send) -> None:
        """Write until the run or the client's connection ends, whichever is first."""
        await self._run.begin(self._put)
        agent = self._loop.create_task(self._drive(), name="agui-run")
        agent.add_done_callback(self._through)
        gone = self._loop.create_task(_disconnect(receive), name="agui-disconnect")
        tasks = [agent, gone]
        try:
            await self._write_first(send, gone)
            writer = self._loop.create_task(self._write(send), name="agui-writer")
            self._give_up = writer.cancel
            tasks.append(writer)
            await asyncio.wait((writer, gone), return_when=asyncio.FIRST_COMPLETED)
            if self._run.record.ended:
                await asyncio.wait((agent,), timeout=_AFTERWARDS)
        except Exception as broken:
            self._note_broken("the first write", broken)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._run.ending = True
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._run.aclose()  # a task that was cancelled before its first step closed nothing
            for task in tasks:
                if not task.cancelled() and (error := task.exception()) is not None:
                    self._note_broken(task.get_name(), error)

    async def _write_first(self, send: Send, gone: asyncio.Task[None]) -> None:
        """Write what is there by the task of the request: in a burst of requests each is answered in its turn, and not
        all at its end. Raises what `send` raises, and `Stopped` where the client is gone or takes nothing."""
        control = RunControl()
        self._give_up = control.stop
        gone.add_done_callback(lambda _: control.stop())
        self._beat()
        await control.wait(partial(self._flush, send))

    def _note_broken(self, what: str, error: BaseException) -> None:
        """Whatever breaks a connection counts as a client that is gone."""
        _logger.debug("%s of run %r broke: %r", what, self._run.run_input.run_id, error)

    async def _drive(self) -> None:
        try:
            await self._run.drive(self._put)
        finally:
            await self._release()

    def _put(self, event: BaseEvent) -> None:
        outbox = self._outbox
        waited = outbox.waiting
        outbox.put(event)
        self._run.record.bytes = outbox.total
        if self._idle is not None:
            self._wake()
        elif waited > self._settings.max_buffer and outbox.busy and not self._run.control.stopped:
            _logger.warning("run %r: its client reads too slowly, %d bytes wait", self._run.run_input.run_id, waited)
            self._run.control.stop(OverloadedError("the client reads too slowly"))

    def _wake(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
        self._idle = None

    def _through(self, agent: asyncio.Task[None]) -> None:
        """The agent's task ended. It tells failures itself; one that is left is a fault of the server."""
        error = None if agent.cancelled() else agent.exception()
        if error is not None and not self._run.record.ended:
            text = client_text(error, expose=self._settings.expose_errors)
            self._outbox.put(RunErrorEvent(message=text, code=Code.AGENT_ERROR))
        self._done = True
        self._wake()

    async def _write(self, send: Send) -> None:
        while True:
            if not self._outbox and not self._done:
                idle = self._idle = self._loop.create_future()
                await idle
            if await self._flush(send):
                return

    async def _flush(self, send: Send) -> bool:
        """Write what waits. True if that was the last."""
        outbox, time = self._outbox, self._loop.time
        body = outbox.take()
        last = self._done and not outbox
        if body or last:
            self._since = time()
            outbox.busy = True
            await send({"type": "http.response.body", "body": body, "more_body": not last})
            outbox.busy = False
            self._since = time()
        return last

    def _beat(self) -> None:
        """Send a comment after a silence; give up a client that takes nothing."""
        settings, now = self._settings, self._loop.time()
        if self._outbox.busy:
            if now - self._since >= settings.stalled and self._give_up is not None:
                self._give_up()
                return
            due = min(self._since + settings.stalled, now + settings.keep_alive)
        else:
            if now - self._since >= settings.keep_alive:
                self._outbox.comment(KEEP_ALIVE)
                self._wake()
                self._since = now
            due = self._since + settings.keep_alive
        self._timer = self._loop.call_later(max(due - now, 0.001), self._beat)


async def _disconnect(receive: Receive) -> None:
    """Returns when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
