"""Runs that several workers know: each writes the logs of its own, follows those of others, and goes on with runs whose
worker is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from uuid import uuid4

from ag_ui.core import BaseEvent, RunErrorEvent

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.adapter.run_context import Attempt
from yai_nexus_agentkit.errors import Code, OverloadedError
from yai_nexus_agentkit.protocol.json.model_json import clean_json
from yai_nexus_agentkit.protocol.replay import Replay
from yai_nexus_agentkit.protocol.request import parse_request, peer_declares
from yai_nexus_agentkit.runs.background import meanwhile, repeated
from yai_nexus_agentkit.runs.board import Board
from yai_nexus_agentkit.runs.index import ThreadIndex, ThreadStatus
from yai_nexus_agentkit.runs.leases import Held, Leases
from yai_nexus_agentkit.runs.live_run import LiveRun, Past, RunRequest
from yai_nexus_agentkit.runs.log import Batch, RunHead, RunLog
from yai_nexus_agentkit.runs.outage import Outage
from yai_nexus_agentkit.runs.recorder import Recorder
from yai_nexus_agentkit.runs.remote_run import RemoteRun, events_of

__all__ = ["CannotGoOnError", "Restorer", "SharedRuns"]

_logger = logging.getLogger(__name__)
_LOOK = 0.25
"""Seconds between two looks for runs without a worker, while other workers have runs."""
_PER_RUN = 0.002
"""Seconds added to that for each run of another worker."""
_SWEEP = 60.0
"""Seconds between two sweeps of old logs."""
_CANCELLED, _CANCELLED_KEPT = "cancelled", 24 * 3600.0
"""Kind of the notes of runs that are to stop, and the seconds for which they are kept."""
_MOST_DEATHS = 5
"""A run that took this many workers with it is given up."""

Restorer = Callable[[RunHead], Awaitable[RunRequest]]
"""Makes a run's request of what the log knows of it. Raises `CannotGoOnError`."""


Start = Callable[[RunHead, Held, RunRequest, Past], Awaitable[None]]
"""Begins the next try of a run, with the lock of its thread."""


class CannotGoOnError(Exception):
    """The run cannot go on on another worker. Its text says why, for the log."""


class SharedRuns:
    """One worker's part in the runs of all workers."""

    def __init__(
        self,
        log: RunLog,
        leases: Leases,
        index: ThreadIndex,
        *,
        lease: float,
        flush: float,
        retention: float,
        kept: int,
        now: Callable[[], Awaitable[float]],
        board: Board,
    ) -> None:
        """Seconds: `lease` of a lock, `flush` between two writes to the log, `retention` of logs after the end.
        `kept`: bytes of a run's events that are kept for later viewers. `now`, `board`: see `Store`."""
        self.log, self._leases, self._index = log, leases, index
        self._lease, self._retention, self._kept = lease, retention, kept
        self._recorder, self._now = Recorder(log, flush=flush), now
        self._board = board
        self._remote: dict[str, RemoteRun] = {}
        """Runs of other workers that are watched here, by log id."""
        self._following: set[asyncio.Task[None]] = set()
        """Those of `_remote`, and of those that nobody watches any more until they have ended."""
        self._own: set[str] = set()
        """Log ids of runs of this worker."""

    # ------------------------------------------------------------------ runs of this worker

    @asynccontextmanager
    async def recorded(self, run: LiveRun, *, head: RunHead | None = None) -> AsyncIterator[None]:
        """Write the log of a run, for as long as the block lasts. `head`: of a run that another worker began."""
        seq = 0
        if head is None:
            head = await self._begin(run)
            run.attempt = Attempt(head.id)
        else:
            entries = await self.log.read(head.id)
            seq = entries[-1].seq if entries else 0
        self._own.add(head.id)
        recording = self._recorder.open(head.id, run.held.fence, seq=seq, lost=run.lose, shortened=run.feed.so_far)
        run.feed.recorded = recording.put
        try:
            yield
        finally:
            try:
                if run.handed_over:
                    with contextlib.suppress(Exception):
                        await self._recorder.flush()
                        if not run.lost:
                            await self.log.hand_over(head.id, run.held.fence)
                else:
                    last = run.feed.terminal or RunErrorEvent(message="nobody watched the run", code=Code.CANCELLED)
                    await recording.end(last)
            finally:
                self._recorder.close(recording)
                self._own.discard(head.id)

    async def _begin(self, run: LiveRun) -> RunHead:
        thread = run.request.thread
        head = RunHead(
            uuid4().hex,
            thread,
            run.run_input.run_id,
            clean_json(run.run_input).decode(),
            declared=peer_declares(run.run_input),
            facts=run.request.stored,
            fence=run.held.fence,
        )
        earlier = await self.log.create(head)
        if earlier is not None and (lost := await self.log.claim(earlier, run.held.fence)) is not None:
            await self._give_up(lost, "a new request came before another worker could go on with it")
        return head

    # ------------------------------------------------------------------ runs of other workers

    async def remote(self, thread: str, *, lost: bool = False) -> RemoteRun | None:
        """The run that a thread (by its key) has on another worker, or whose worker is gone. `lost`: also if it was
        given up, and is the thread's last one."""
        head = await self._last(thread)
        if head is None or (head.ended is not None and not (lost and await self._was_given_up(head))):
            return None
        if head.id not in self._remote:
            run = self._remote[head.id] = RemoteRun(head, self.log, self._left, kept=self._kept)
            self._following.add(run.task)
            run.task.add_done_callback(self._following.discard)
        return self._remote[head.id]

    async def _last(self, thread: str) -> RunHead | None:
        return next(iter(await self.log.runs(thread, limit=1)), None)

    async def unfinished(self, thread: str) -> RunHead | None:
        """The run of a thread (by its key) that has not ended, wherever it goes on, or whose worker is gone."""
        head = await self._last(thread)
        return head if head is not None and head.ended is None else None

    async def cancel(self, thread: str) -> bool:
        """Let whoever goes on with the thread's run end it: its worker may be gone. False: it has none."""
        head = await self.unfinished(thread)
        if head is not None:
            await self._board.put(_CANCELLED, head.id, "", "", keep=_CANCELLED_KEPT)
        return head is not None

    async def _was_given_up(self, head: RunHead) -> bool:
        last = [event for entry in await self.log.read(head.id, head.seq - 1) for event in events_of(entry)]
        return bool(last) and isinstance(last[-1], RunErrorEvent) and last[-1].code == Code.WORKER_LOST

    def drop_views(self) -> None:
        """Break the connections of all who watch runs of other workers here."""
        for run in list(self._remote.values()):
            run.drop()

    def _left(self, run: RemoteRun) -> None:
        if self._remote.get(run.head.id) is run:
            del self._remote[run.head.id]

    # ------------------------------------------------------------------ runs whose worker is gone

    @asynccontextmanager
    async def working(
        self, start: Start, has_room: Callable[[], bool], restorers: Mapping[str, Restorer]
    ) -> AsyncIterator[None]:
        """Write logs and go on with runs whose worker is gone, for as long as the block lasts.

        `start` begins such a run, while this worker has room for it. `restorers`: by the agent's name.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._recorder.working())
            look = partial(self._look, start, has_room, restorers)
            looking = repeated(Outage(_logger, "runs without a worker are not looked for"), look)
            sweeping = repeated(Outage(_logger, "old logs of runs are not removed"), self._sweep)
            await stack.enter_async_context(meanwhile(looking, sweeping, name="agui-shared-runs"))
            try:
                yield
            finally:
                for run in list(self._remote.values()):
                    run.close()
                if self._following:
                    await asyncio.wait(self._following)

    async def _look(self, start: Start, has_room: Callable[[], bool], restorers: Mapping[str, Restorer]) -> float:
        """Go on with the runs that nobody holds. Returns the seconds until the next look."""
        others = [run for run in await self.log.unfinished() if run.run not in self._own]
        for run in others:
            if has_room() and (held := await self._leases.take(run.thread)) is not None:
                begun = False
                try:
                    begun = await self._adopt(run.run, held, start, restorers)
                finally:
                    if not begun:
                        await self._leases.give_back(held)
        return max(_LOOK, _PER_RUN * len(others)) if others else self._lease / 4

    async def _adopt(
        self,
        run: str,
        held: Held,
        start: Start,
        restorers: Mapping[str, Restorer],
    ) -> bool:
        """Go on with a run whose thread's lock is held. True: it has begun, and the lock is its own."""
        before = await self.log.head(run)
        head = await self.log.claim(run, held.fence)
        if before is None or head is None:  # it ended in between
            return False
        if before.fence == 0:
            _logger.info("run %r is taken over from a worker that stopped", head.run_id)
        else:
            _logger.warning("run %r lost its worker; this is attempt %d", head.run_id, head.attempt)
        try:
            if head.attempt - head.handed > _MOST_DEATHS:
                raise CannotGoOnError(f"it took {_MOST_DEATHS} workers with it")
            if head.thread.agent not in restorers:
                raise CannotGoOnError(f"this server has no agent {head.thread.agent!r}")
            request = await restorers[head.thread.agent](head)
            if not request.adapter.source.continues:
                raise CannotGoOnError("its agent keeps nothing from which another worker could go on")
            events = [event for entry in await self.log.read(run) for event in events_of(entry)]
            cancelled = bool(await self._board.notes(_CANCELLED, run))
            attempt = Attempt(head.id, head.attempt)
            await start(head, held, request, Past(attempt=attempt, events=events, cancelled=cancelled))
        except OverloadedError:
            return False
        except Exception as error:
            if being_cancelled():  # this worker ends: the next one takes the run over
                return False
            if not isinstance(error, CannotGoOnError):
                _logger.exception("run %r cannot be taken over", head.run_id)
            await self._give_up(head, str(error))
            if await self._index.entry(head.thread.key) is not None:
                await self._index.touch(head.thread, ThreadStatus.FAILED)
            return False
        return True

    async def _give_up(self, head: RunHead, reason: str) -> None:
        _logger.warning("run %r cannot go on: %s", head.run_id, reason)
        replay = Replay(parse_request(head.request))
        for entry in await self.log.read(head.id):
            for event in events_of(entry):
                replay.put(event)
        end: list[BaseEvent] = [
            *replay.closing(),
            RunErrorEvent(message="the run's server is gone", code=Code.WORKER_LOST),
        ]
        await self.log.append([Batch(head.id, head.fence, b"\n".join(map(clean_json, end)), True)])

    async def _sweep(self) -> float:
        await self.log.sweep(before=await self._now() - self._retention)
        return _SWEEP
