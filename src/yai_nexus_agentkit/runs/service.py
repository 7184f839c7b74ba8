"""Driver. Runs as a server has them: one at a time per thread, counted, stoppable, observed. Knows no HTTP and no wire.

`RunService` belongs to one process and one event loop. What several processes must agree on is behind `ThreadLocks` and
`ThreadIndex`; the live runs themselves, and who may stop them directly, are this process's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import OverloadedError, ThreadBusyError
from yai_nexus_agentkit.runs.feed import Viewer
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import MemoryThreadIndex, ThreadIndex, ThreadStatus
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.runs.live_run import LiveRun, RunRequest
from yai_nexus_agentkit.runs.locks import Lease, MemoryThreadLocks, ThreadLocks
from yai_nexus_agentkit.runs.telemetry import Meter, RunRecord

__all__ = ["Busy", "OperationCancelledError", "RunService", "ServiceSettings"]

_logger = logging.getLogger(__name__)
_STATUS = {"interrupt": ThreadStatus.PAUSED, "error": ThreadStatus.FAILED}


def _status(record: RunRecord) -> ThreadStatus:
    """The thread's, after this run."""
    if record.outcome == "success" and record.open_calls:
        return ThreadStatus.PAUSED
    return _STATUS.get(record.outcome, ThreadStatus.IDLE)


Busy = Literal["reject", "wait", "interrupt"]
"""How a request meets the run that its thread has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How runs meet each other. Times in seconds."""

    busy: Busy = "reject"
    """A thread that has a run: refuse the next one, let it wait for up to `busy_wait`, or stop the one under way."""
    busy_wait: NonNegativeFloat = 30.0
    ending_wait: NonNegativeFloat = 2.0
    """How long a request waits for a run that is ending (cancelled, or its client gone): stop and resend is normal."""
    settle: NonNegativeFloat = 0.25
    """How long it waits in any case: the old connection's end may be noticed after the new request."""
    lease: PositiveFloat = 15.0
    """After that long without renewal a holder counts as crashed."""
    kept: PositiveInt = 16 * 1024 * 1024
    """Bytes of a run's events that are kept for viewers who come while it goes on."""

    def __post_init__(self) -> None:
        check_options(self)


class OperationCancelledError(Exception):
    """Somebody ended the operation by `RunService.cancel`."""


@dataclass(slots=True, eq=False)
class _Operation:
    """A holder of a thread that is no run."""

    scope: asyncio.Timeout
    cancelled: bool = False

    def cancel(self) -> None:
        """End it, unless its time is over: a scope that is ending cannot be set anew."""
        if not self.scope.expired():
            self.cancelled = True
            self.scope.reschedule(asyncio.get_running_loop().time())


class RunService:
    """The live runs of one process, and the threads they hold."""

    def __init__(
        self,
        *,
        settings: ServiceSettings | None = None,
        capacity: Capacity | None = None,
        locks: ThreadLocks | None = None,
        index: ThreadIndex | None = None,
        meter: Meter | None = None,
        failure_text: Callable[[Exception], str] = lambda error: "internal error",
    ) -> None:
        """`failure_text`: the client's text for a fault of the server itself."""
        self.settings = settings or ServiceSettings()
        self.capacity = capacity or Capacity()
        self.locks: ThreadLocks = locks if locks is not None else MemoryThreadLocks()
        self.index: ThreadIndex = index if index is not None else MemoryThreadIndex()
        self._meter, self._failure_text = meter, failure_text
        self._tasks: set[asyncio.Task[None]] = set()
        """Those of runs, up to the end of their `after_run` hooks."""
        self._live: dict[str, LiveRun] = {}
        """Runs of this process by thread key, from the taking of the lock to its release."""
        self._held: dict[str, str] = {}
        """Key by holder of every lock to renew: those of live runs, and of `hold`."""
        self._operations: dict[str, _Operation] = {}
        """By thread key: operations that hold a thread and are no runs."""
        self._keeper: asyncio.Task[None] | None = None
        """Renews the locks while there are any."""

    async def start(self, request: RunRequest) -> LiveRun:
        """A run that holds its thread until it has ended. It begins with `launch`, which must follow at once.

        Raises `OverloadedError` when the limits are reached and `ThreadBusyError` when the thread has a run; the agent
        was not touched then.
        """
        thread, held = request.thread, AsyncExitStack()
        try:
            held.enter_context(self.capacity.place(thread.user))
            holder = await held.enter_async_context(self.hold(thread, busy=self.settings.busy))
            run = LiveRun(request, holder, free=held.aclose, failure_text=self._failure_text, kept=self.settings.kept)
            await held.enter_async_context(self._listed(run))
        except BaseException as error:
            await held.aclose()
            if isinstance(error, OverloadedError | ThreadBusyError):
                self.count_refused(thread.agent, error)
            raise
        return run

    async def launch(self, run: LiveRun, viewer: Viewer | None = None) -> asyncio.Task[None]:
        """Begin a run, for a viewer or for nobody. Returns its task, which ends when all of it has ended."""
        task = await run.launch(viewer)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def live_run(self, key: str) -> LiveRun | None:
        """The run that the thread has in this process."""
        return self._live.get(key)

    @asynccontextmanager
    async def hold(self, thread: ThreadRef, *, busy: Busy = "reject") -> AsyncIterator[str]:
        """Hold a thread's lock, as its run would, and keep it alive. `busy`: how to meet a run that the thread has.
        Raises `ThreadBusyError`."""
        key, holder = thread.key, uuid4().hex
        if await self._acquire(key, holder, busy) is None:
            raise ThreadBusyError("the thread has a run under way", retry_after=self.settings.ending_wait)
        self._held[holder] = key
        self._keep()
        try:
            yield holder
        finally:
            del self._held[holder]
            if not self._held and self._keeper is not None:
                self._keeper.cancel()
                self._keeper = None
            await self.locks.release(key, holder)

    @asynccontextmanager
    async def operation(self, thread: ThreadRef, *, limit: float) -> AsyncIterator[None]:
        """Hold a thread for something that is no run. Raises `ThreadBusyError`.

        After `limit` seconds the block is cancelled and `TimeoutError` raised, or `OperationCancelledError` after
        `cancel`. The locks have this time too, beside that for which a request waits for a busy thread.
        """
        settings = self.settings
        busy: Busy = "wait" if settings.busy == "wait" else "reject"
        patience = max(settings.settle, settings.ending_wait, settings.busy_wait if busy == "wait" else 0)
        operation = _Operation(asyncio.timeout(patience + limit))
        try:
            async with operation.scope as scope, self.hold(thread, busy=busy):
                scope.reschedule(asyncio.get_running_loop().time() + limit)
                self._operations[thread.key] = operation
                try:
                    yield
                finally:
                    self._operations.pop(thread.key, None)
        except TimeoutError as error:
            if operation.cancelled:
                raise OperationCancelledError("it was cancelled") from error
            raise

    async def cancel(self, key: str) -> bool:
        """Stop the thread's run or operation, in this process or another one. False: it has none."""
        run = self._live.get(key)
        if run is not None:
            run.stop()
            return True
        if (operation := self._operations.pop(key, None)) is not None:
            operation.cancel()
            return True
        return await self.locks.request_cancel(key)

    async def busy(self, key: str) -> bool:
        """The thread has a run, in this process or another one."""
        return await self.locks.state(key) is not Lease.FREE

    @property
    def live(self) -> int:
        """How many runs of this process hold a thread."""
        return len(self._live)

    @property
    def holders(self) -> dict[str, str]:
        """Thread key by holder of every lock that this process holds."""
        return dict(self._held)

    def count(self, name: str, labels: Mapping[str, str], value: float = 1) -> None:
        """Call the metrics hook, if there is one. Never raises."""
        if self._meter is not None:
            try:
                self._meter(name, value, labels)
            except Exception:
                _logger.exception("the metrics hook raised")

    def count_refused(self, agent: str, error: OverloadedError | ThreadBusyError) -> None:
        """Call the metrics hook for a request that was refused. `start` does so itself."""
        self.count("agui_rejected_total", {"agent": agent, "code": error.code})

    async def aclose(self, *, patience: float = 5.0) -> None:
        """Stop all runs of this process, wait up to `patience` seconds for their ends, and cut off the others."""
        for run in list(self._live.values()):
            run.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        for task in self._tasks:
            task.cancel()

    async def _acquire(self, key: str, holder: str, busy: Busy) -> int | None:
        settings = self.settings
        run = self._live.get(key)
        if run is not None:  # of this process, so it did not crash: it may be late to renew where the loop was blocked
            await self.locks.renew(key, run.holder, lease=settings.lease)
        if (fence := await self.locks.acquire(key, holder, lease=settings.lease)) is not None:
            return fence
        wait = settings.settle
        if busy == "interrupt":
            await self.cancel(key)
        if busy != "reject":
            wait = settings.busy_wait
        elif await self._is_ending(key):
            wait = settings.ending_wait
        if (fence := await self.locks.acquire(key, holder, lease=settings.lease, wait=wait)) is not None:
            return fence
        late = busy == "reject" and wait < settings.ending_wait and await self._is_ending(key)
        left = settings.ending_wait - wait
        return await self.locks.acquire(key, holder, lease=settings.lease, wait=left) if late else None

    async def _is_ending(self, key: str) -> bool:
        run = self._live.get(key)
        return run.ending if run is not None else await self.locks.state(key) is Lease.CANCELLING

    @asynccontextmanager
    async def _listed(self, run: LiveRun) -> AsyncIterator[None]:
        """The run is its thread's, here and in the index, for as long as the block lasts."""
        thread = run.request.thread
        indexed = run.request.adapter.threads() is not None
        self._live[thread.key] = run
        try:
            if indexed:
                await self.index.touch(thread, ThreadStatus.RUNNING, title=run.request.title)
            yield
        finally:
            if self._live.get(thread.key) is run:  # not of whoever took a lost lock over
                del self._live[thread.key]
            run.record.report(self._meter)
            if indexed:
                await self.index.touch(thread, _status(run.record))

    def _keep(self) -> None:
        if self._keeper is None:
            self._keeper = asyncio.get_running_loop().create_task(self._renew(), name="agui-lease-keeper")

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.settings.lease / 3)
            for holder, key in list(self._held.items()):
                try:
                    lease = await self.locks.renew(key, holder, lease=self.settings.lease)
                except Exception:
                    _logger.exception("a thread's lock could not be renewed")
                    continue
                run = self._live.get(key)
                if run is None or run.holder != holder:
                    continue
                if lease is Lease.LOST:
                    _logger.error("run %r lost the lock of its thread", run.request.run_input.run_id)
                    run.control.stop(ThreadBusyError("the thread was taken over by another run"))
                elif lease is Lease.CANCELLING:
                    run.stop()
