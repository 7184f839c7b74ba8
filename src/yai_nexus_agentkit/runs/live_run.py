"""Driver. A run that a server owns: a task of its own, watched by any number of viewers, or by nobody."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.adapter.run_context import Attempt
from yai_nexus_agentkit.errors import AGUIAdapterError, Code, OverloadedError
from yai_nexus_agentkit.protocol.replay import Shown
from yai_nexus_agentkit.runs.feed import Feed, Viewer
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef, run_config
from yai_nexus_agentkit.runs.kept import NOTED, Keeper
from yai_nexus_agentkit.runs.leases import Held
from yai_nexus_agentkit.runs.outage import log_failure
from yai_nexus_agentkit.runs.routing import is_question
from yai_nexus_agentkit.runs.telemetry import RunRecord, run_span

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter

__all__ = ["Disconnect", "LiveRun", "Past", "RunRequest"]

_logger = logging.getLogger(__name__)

_FREE_WITHIN = 5.0
"""Seconds that the index and the locks may take to note a run's end, while its viewers wait for the terminal event."""

_ENDS = frozenset({RunFinishedEvent, RunErrorEvent})
_LOOKED_AT = NOTED | _ENDS | {RunStartedEvent}
"""The events of a run that are more than passed on."""

Disconnect = Literal["cancel", "continue"]
"""The fate of a run whose last viewer has left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """All that makes a run."""

    adapter: AGUIAdapter
    run_input: RunAgentInput
    thread: ThreadRef
    identity: Identity
    facts: Mapping[str, Any] = field(default_factory=dict)
    """``RunContext.request`` for hooks."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the HTTP request: W3C trace context."""
    disconnect: Disconnect = "cancel"
    orphaned: float | None = None
    """Seconds that a continuing run may be without viewers; None: for ever."""
    title: str = ""
    """The thread's, if it has none yet."""
    alone: bool = False
    """The locks are this process's own: a thread that another process writes is warned of."""
    admit: Callable[[RunAgentInput, AsyncExitStack], Awaitable[RunAgentInput]] | None = None
    """Makes of `run_input` the request as the agent gets it, before the thread is held. The stack is closed at the end
    of the run."""
    before_end: Callable[[], Awaitable[None]] | None = None
    """Awaited before anybody sees the terminal event: notes that the next request needs."""
    stored: str = "{}"
    """The sender's facts that another worker needs, as JSON text."""
    source: str = ""
    """`Connection.origin` of the web socket that asked for the run; empty for plain HTTP."""
    name: str | None = None
    """The thread's in lists; None: the client's."""

    @property
    def listed(self) -> ThreadRef:
        """The thread as lists show it."""
        return self.thread if self.name is None else replace(self.thread, id=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An earlier try of a run, on a worker that is gone."""

    attempt: Attempt
    events: Sequence[BaseEvent] = ()
    """From the first one on."""
    cancelled: bool = False
    """It was to stop when its worker was gone."""


class LiveRun:
    """A run of this process. `RunService.start` makes it; it begins with `launch`."""

    def __init__(
        self,
        request: RunRequest,
        held: Held,
        *,
        free: Callable[[], Coroutine[Any, Any, None]],
        ended: Callable[[RunRequest, BaseEvent], Awaitable[None]],
        failure_text: Callable[[Exception], str],
        kept: int,
        past: Past | None = None,
    ) -> None:
        """`held`: the thread's lock. `free`: gives the thread back; called once or more. `ended`: notes what a
        terminal event asks. `failure_text`: the client's text for a fault of the server. `kept`: bytes kept for later
        viewers. `past`: what another worker did of it."""
        self.request, self.held = request, held
        self.record = RunRecord(request.thread, request.run_input.run_id)
        self.control, self.keeper = RunControl(), Keeper(request.run_input)
        self.feed = Feed(request.run_input, self._unwatched, most=kept)
        self.attempt: Attempt | None = past.attempt if past is not None else None
        self.ending = False
        """It was stopped or abandoned, or its terminal event is out: the thread will be free in a moment."""
        self.handed_over = False
        """Another worker goes on with it, or has already: nothing ends here but the views."""
        self.lost = False
        """It was handed over because this worker owns it no more."""
        self.task: asyncio.Task[None] | None = None
        self._free, self._ended, self._failure_text, self._past = free, ended, failure_text, past
        self._begun: AsyncGenerator[None, None] | None = None
        self._entered = self._abandoned = False
        """The task took its first step; it must only clean up."""
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """``RUN_STARTED`` was sent, or never will be: no further viewer can do without it."""
        self._orphan: asyncio.TimerHandle | None = None
        self._freeing: asyncio.Task[None] | None = None

    @property
    def run_input(self) -> RunAgentInput:
        """The request."""
        return self.request.run_input

    async def launch(self, viewer: Viewer | None) -> asyncio.Task[None]:
        """Begin, and go on in a task. ``RUN_STARTED`` reaches the viewer at once where nothing must be awaited before
        it: its client need not wait for the turn of another task."""
        failure: Exception | None = None
        if self._past is not None:
            self._replay(self._past)
        if viewer is None:
            self._unwatched()
        else:
            self.feed.begin(viewer)
        try:
            if self.request.adapter.hooks.before_run is None and not self._abandoned:
                self._begun = self._events()
                await anext(self._begun)
                self._first()
                self.record.events += 1
        except Exception as early:
            failure = early
        task = self.task = asyncio.get_running_loop().create_task(self._work(failure), name="agui-run")
        return task

    async def join(self, viewer: Viewer, shown: Shown | None = None) -> None:
        """Show the run to a further viewer, from its first event on. Raises as `Feed.join` does."""
        if self._orphan is not None:
            self._orphan.cancel()
            self._orphan = None
        await asyncio.wait((self._started,))
        self.feed.join(viewer, shown)

    def stop(self) -> None:
        """End it as cancelled."""
        self.ending = True
        self.control.stop()

    def abandon(self) -> None:
        """End it without a terminal event, for nobody watches."""
        if self._abandoned:  # a second cancellation would cut the cleaning up off
            return
        self.ending = self._abandoned = True
        if self.task is not None and self._entered:  # a task that is cancelled before its first step cleans nothing up
            self.task.cancel()

    async def ended(self) -> None:
        """Returns when the run has ended."""
        if self.task is not None:
            await asyncio.wait((self.task,))

    def hand_over(self) -> None:
        """Leave the run to another worker: the agent is cancelled here, and viewers lose their connection. Nothing
        happens if its end is known."""
        if self.feed.terminal is None:
            self.handed_over = True
            self.record.outcome = "handed_over"
            self.abandon()

    def lose(self) -> None:
        """Hand it over because this worker owns it no more."""
        self.lost = True
        self.hand_over()

    def too_slow(self, viewer: Viewer) -> None:
        """A viewer reads too slowly. It loses its view; a run that ends with its viewers ends with this error."""
        error = OverloadedError("the client reads too slowly")
        if self.feed.viewers > 1 or self.request.disconnect == "continue":
            self.feed.lose(viewer, error)
        else:
            self.control.stop(error)

    def _unwatched(self) -> None:
        """The last viewer left."""
        if self.request.disconnect == "cancel":
            self.abandon()
        elif self.request.orphaned is not None:
            self._orphan = asyncio.get_running_loop().call_later(self.request.orphaned, self.stop)

    async def _work(self, failure: Exception | None) -> None:
        """Run the agent, unless its beginning failed: it ends with this `failure` then, as with any other."""
        record, self._entered = self.record, True
        try:
            if self._abandoned:
                return
            if failure is not None:
                raise failure
            with run_span(record, self.request.headers):
                async with aclosing(self._begun or self._events()) as events:
                    async for _ in events:
                        if not record.events:
                            self._first()
                            await asyncio.sleep(0)  # let the writer write before the agent begins its work
                        record.events += 1
                        if record.ended:
                            await self._over()
        except Exception as error:  # the adapter sends failures itself: this is a fault of the server or the wire
            self._fail(error)
        finally:
            if self._begun is not None:
                await self._begun.aclose()
            if self._orphan is not None:
                self._orphan.cancel()
            self.ending = True
            if not self._started.done():
                self._started.set_result(None)
            await self._give_back()
            if self.handed_over:
                self.feed.drop()
            self.feed.cut(_cut_off())
            self.feed.complete()
            if self._freeing is not None and not self._freeing.done():
                await asyncio.wait((self._freeing,))

    def _first(self) -> None:
        """``RUN_STARTED`` was sent."""
        self.record.note_first()
        self._started.set_result(None)

    async def _give_back(self) -> None:
        """Free the thread, if it is not free yet. Viewers do not wait long for a store that does not answer; the thread
        stays taken until it does, since the run's end must be in the log before somebody else may have it."""
        if self._freeing is None:
            self._freeing = asyncio.get_running_loop().create_task(self._free(), name="agui-free")
            self._freeing.add_done_callback(self._freed)
            await asyncio.sleep(0)  # most often that is all it takes
        if not self._freeing.done():
            await asyncio.wait((self._freeing,), timeout=_FREE_WITHIN)

    def _freed(self, freeing: asyncio.Task[None]) -> None:
        if not freeing.cancelled() and isinstance(error := freeing.exception(), Exception):
            log_failure(_logger, f"the end of run {self.run_input.run_id!r} could not be noted", error)

    async def _over(self) -> None:
        """The terminal event is known: free the thread first, since some clients answer within a millisecond. An
        `after_run` hook may still need the thread, and nobody waits for it but the next request."""
        if (terminal := self.feed.terminal) is not None and (self.run_input.resume or is_question(terminal)):
            await self._noted("the questions", self._ended(self.request, terminal))
        if self.request.before_end is not None:
            await self._noted("the end", self.request.before_end())
        if self.request.adapter.hooks.after_run is None:
            await self._give_back()
        self.feed.complete()

    async def _noted(self, what: str, noting: Awaitable[None]) -> None:
        """Note what must be known before anybody sees the end: who is asked, for example."""
        try:
            async with asyncio.timeout(_FREE_WITHIN):
                await noting
        except Exception as error:
            log_failure(_logger, f"{what} of run {self.run_input.run_id!r} could not be noted", error)

    def _fail(self, error: Exception) -> None:
        if self.record.ended:
            return
        try:
            self._end(RunErrorEvent(message=self._failure_text(error), code=Code.AGENT_ERROR))
        except Exception:
            _logger.exception("the wire cannot write the error of run %r", self.run_input.run_id)

    def _replay(self, past: Past) -> None:
        """Show what the earlier try sent, and close what it left open."""
        recorded, self.feed.recorded = self.feed.recorded, None  # the log has them
        for event in past.events:
            if type(event) in NOTED:
                self._note(event)
            self.feed.put(event)
        self.feed.recorded = recorded
        self.feed.mend()

    def _events(self) -> AsyncGenerator[None, None]:
        request, put = self.request, self.feed.put
        begun = self._past is not None and bool(self._past.events)

        def noting(event: BaseEvent) -> None:
            nonlocal begun
            kind = type(event)
            if kind not in _LOOKED_AT:  # first, and no isinstance: it happens for every token
                put(event)
                return
            if kind in _ENDS:
                self._end(event)
                return
            if begun and kind is RunStartedEvent:
                begun = False  # the earlier try has sent it
                return
            if kind in NOTED:
                self._note(event)
            put(event)

        return request.adapter.stream(
            request.run_input,
            noting,
            config=run_config(request.identity.config, request.thread.key, alone=request.alone),
            context=request.identity.context,
            request=request.facts,
            control=self.control,
            attempt=self.attempt,
        )

    def _note(self, event: BaseEvent) -> None:
        self.keeper.note(event)
        if type(event) is CustomEvent:  # an application may emit thousands: nothing below looks at them
            return
        if isinstance(event, ToolCallStartEvent | ToolCallChunkEvent | ToolCallResultEvent):
            self.record.note_call(event)

    def _end(self, event: BaseEvent) -> None:
        self.feed.end(event)
        self.keeper.end(event)
        self.ending = True
        self.record.note_end(event)


def _cut_off() -> AGUIAdapterError:
    error = AGUIAdapterError("the run was cut off")
    error.code = Code.CANCELLED
    return error
