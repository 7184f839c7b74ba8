"""Driver. Runs as a server has them: one at a time per thread, counted, stoppable, observed. Knows no HTTP and no wire.

`RunService` belongs to one process and one event loop. What several processes must agree on is behind `ThreadLocks` and
`ThreadIndex`; the live runs themselves, and who may stop them directly, are this process's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from uuid import uuid4

from yai_nexus_agentkit.errors import OverloadedError, ResumeError, RunInputError, ThreadBusyError
from yai_nexus_agentkit.runs.background import meanwhile
from yai_nexus_agentkit.runs.connections import Connections
from yai_nexus_agentkit.runs.feed import Viewer
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import ThreadIndex, ThreadStatus
from yai_nexus_agentkit.runs.leases import Held, Leases
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.runs.live_run import LiveRun, Past, RunRequest
from yai_nexus_agentkit.runs.locks import Lease, MemoryThreadLocks, ThreadLocks
from yai_nexus_agentkit.runs.log import RunHead
from yai_nexus_agentkit.runs.operations import Operation, OperationCancelledError
from yai_nexus_agentkit.runs.remote_run import RemoteRun
from yai_nexus_agentkit.runs.settings import Busy, ServiceSettings
from yai_nexus_agentkit.runs.shared_runs import Restorer, SharedRuns
from yai_nexus_agentkit.runs.stores.store import Store, StoreNotOpenError, StoreUnavailableError
from yai_nexus_agentkit.runs.telemetry import Meter
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["Busy", "RunService", "ServiceSettings", "StoreUnavailableError"]

_logger = logging.getLogger(__name__)

_REFUSALS = (OverloadedError, ResumeError, ThreadBusyError, StoreUnavailableError, RunInputError, Refusal)


class RunService:
    """The live runs of one process, and the threads they hold."""

    def __init__(
        self,
        *,
        settings: ServiceSettings | None = None,
        capacity: Capacity | None = None,
        connections: Connections | None = None,
        store: Store | None = None,
        opened: bool = True,
        meter: Meter | None = None,
        failure_text: Callable[[Exception], str] = lambda error: "internal error",
    ) -> None:
        """`store`: default: this process's memory. `opened`: False where `use` gives it another one before the first
        run. `failure_text`: the client's text for a fault of the server itself."""
        self.settings = settings or ServiceSettings()
        self.capacity = capacity or Capacity()
        self.connections = connections or Connections()
        self._meter, self._failure_text = meter, failure_text
        self._tasks: set[asyncio.Task[None]] = set()
        """Those of runs, up to the end of their `after_run` hooks."""
        self._live: dict[str, LiveRun] = {}
        """Runs of this process by thread key, from the taking of the lock to its release."""
        self._operations: dict[str, Operation] = {}
        """By thread key: operations that hold a thread and are not runs."""
        self.restorers: dict[str, Restorer] = {}
        """Make the request of a run that another worker began, by the agent's name."""
        self._closing = False
        self.use(store or Store())
        self._opened = opened

    def use(self, store: Store) -> None:
        """Keep threads and runs in this store from now on. For the time before the first run."""
        settings = self.settings
        self.store, self._opened = store, True
        self.connections.use(store.board, store.now)
        self.leases = Leases(store.locks, lease=settings.lease, noticed=self._noticed)
        self._shared: SharedRuns | None = None
        if store.log is not None:
            self._shared = SharedRuns(
                store.log,
                self.leases,
                store.index,
                lease=settings.lease,
                flush=settings.flush,
                retention=settings.retention,
                kept=settings.kept,
                now=store.now,
                board=store.board,
            )

    def check_open(self) -> None:
        """Raises `StoreNotOpenError`."""
        if not self._opened:
            raise StoreNotOpenError

    @property
    def locks(self) -> ThreadLocks:
        """The store's locks."""
        return self.store.locks

    @property
    def index(self) -> ThreadIndex:
        """The store's index of threads."""
        return self.store.index

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Take part in the runs of all workers, for as long as the block lasts; then end those of this one, or hand
        them over."""
        async with AsyncExitStack() as stack:
            if self._shared is not None:
                await stack.enter_async_context(self._shared.working(self._go_on, self._has_room, self.restorers))
                await stack.enter_async_context(meanwhile(self.leases.listen(), name="agui-cancellations"))
            await stack.enter_async_context(self.connections.working(self.store.index))
            try:
                yield
            finally:
                await self.aclose()

    async def start(self, request: RunRequest) -> LiveRun:
        """A run that holds its thread until it has ended. It begins with `launch`, which must follow at once.

        Raises what `RunRequest.admit` raises, `OverloadedError` when the limits are reached, `ThreadBusyError` when the
        thread has a run, and `StoreUnavailableError` when the store cannot be reached; the agent was not touched then.
        """
        thread, resources = request.thread, AsyncExitStack()
        try:
            resources.enter_context(self.capacity.place(thread.user))
            if request.admit is not None:  # it holds the body, which the run does not need
                request = replace(request, run_input=await request.admit(request.run_input, resources), admit=None)
            held = await self._hold(thread, self.settings.busy)
            resources.push_async_callback(self.leases.give_back, held)
            await self.connections.check(request)
            run = await self._made(request, held, resources)
            await self.connections.started(request)
            return run
        except BaseException as error:
            await resources.aclose()
            known = isinstance(error, _REFUSALS) or not isinstance(error, Exception)
            if self._shared is not None and not known:
                if not isinstance(error, self.store.away):
                    _logger.error("a run cannot begin", exc_info=error)
                raise StoreUnavailableError("the store of runs cannot be reached") from error
            raise

    async def _made(
        self,
        request: RunRequest,
        held: Held,
        resources: AsyncExitStack,
        *,
        head: RunHead | None = None,
        past: Past | None = None,
    ) -> LiveRun:
        """A run with this lock. `resources` are given back at its end. `head`, `past`: of one that another worker
        began."""
        kept, text, ended = self.settings.kept, self._failure_text, self.connections.ended
        run = LiveRun(request, held, free=resources.aclose, ended=ended, failure_text=text, kept=kept, past=past)
        resources.push_async_callback(self._unlist, run)
        await self._list(run)
        if self._shared is not None:
            await resources.enter_async_context(self._shared.recorded(run, head=head))
        resources.push_async_callback(self._keep_shown, run)  # first at the end: who finds no run finds what it kept
        return run

    async def _go_on(self, head: RunHead, held: Held, request: RunRequest, past: Past) -> None:
        """Go on with a run whose worker is gone. Raises `OverloadedError`."""
        resources = AsyncExitStack()
        try:
            resources.enter_context(self.capacity.place(request.thread.user))
            resources.push_async_callback(self.leases.give_back, held)
            run = await self._made(request, held, resources, head=head, past=past)
        except BaseException:
            await resources.aclose()
            raise
        if past.cancelled:
            run.stop()
        await self.launch(run)

    def _has_room(self) -> bool:
        return not self._closing and not self.capacity.full

    async def launch(self, run: LiveRun, viewer: Viewer | None = None) -> asyncio.Task[None]:
        """Begin a run, for a viewer or for nobody. Returns its task, which ends when all of it has ended."""
        task = await run.launch(viewer)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def current(self, key: str, *, lost: bool = False) -> LiveRun | RemoteRun | None:
        """The run that the thread has, in this process or another one. `lost`: or its last one, if that ended with its
        worker. Raises `StoreUnavailableError`."""
        self.check_open()
        run = self._live.get(key)
        if run is not None or self._shared is None:
            return run
        return await self._shared.remote(key, lost=lost)

    @asynccontextmanager
    async def hold(self, thread: ThreadRef, *, busy: Busy = "reject") -> AsyncIterator[Held]:
        """Hold a thread's lock, as its run would, and keep it alive. `busy`: how to meet a run that the thread has.
        Raises `ThreadBusyError`."""
        held = await self._hold(thread, busy)
        try:
            yield held
        finally:
            await self.leases.give_back(held)

    async def _hold(self, thread: ThreadRef, busy: Busy) -> Held:
        self.check_open()
        held = await self._acquire(thread.key, busy)
        if held is None:
            raise ThreadBusyError("the thread has an active run", retry_after=self.settings.ending_wait)
        return held

    @asynccontextmanager
    async def operation(self, thread: ThreadRef, *, limit: float) -> AsyncIterator[None]:
        """Hold a thread for something that is not a run. Raises `ThreadBusyError`.

        After `limit` seconds the block is cancelled and `TimeoutError` raised, or `OperationCancelledError` after
        `cancel`. The locks have this time too, in addition to the time for which a request waits for a busy thread.
        """
        settings = self.settings
        busy: Busy = "wait" if settings.busy == "wait" else "reject"
        patience = max(settings.settle, settings.ending_wait, settings.busy_wait if busy == "wait" else 0)
        operation = Operation(asyncio.timeout(patience + limit))
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
        if self._stop_here(key):
            return True
        asked = await self.locks.request_cancel(key)
        return (self._shared is not None and await self._shared.cancel(key)) or asked

    def _stop_here(self, key: str) -> bool:
        if (run := self._live.get(key)) is not None:
            run.stop()
        elif (operation := self._operations.pop(key, None)) is not None:
            operation.cancel()
        return run is not None or operation is not None

    async def busy(self, key: str) -> bool:
        """The thread has a run, in this process or another one, or one whose worker is gone."""
        if await self.locks.state(key) is not Lease.FREE:
            return True
        return self._shared is not None and await self._shared.unfinished(key) is not None

    @property
    def shares_runs(self) -> bool:
        """Other workers see the runs of this one, and go on with them."""
        return self._shared is not None

    @property
    def shares_locks(self) -> bool:
        """Other workers see the locks of this one."""
        return not isinstance(self.locks, MemoryThreadLocks)

    @property
    def live(self) -> int:
        """How many runs of this process hold a thread."""
        return len(self._live)

    @property
    def holders(self) -> dict[str, str]:
        """Thread key by holder of every lock that this process holds."""
        return {held.holder: held.key for held in self.leases.held}

    def count(self, name: str, labels: Mapping[str, str], value: float = 1) -> None:
        """Call the metrics hook, if there is one. Never raises."""
        if self._meter is not None:
            try:
                self._meter(name, value, labels)
            except Exception:
                _logger.exception("the metrics hook raised")

    def count_refused(self, agent: str, status: int, code: str) -> None:
        """Call the metrics hook for a request that was refused. `agent`: "" for none in particular."""
        self.count("agui_rejected_total", {"agent": agent, "status": str(status), "code": code})

    async def aclose(self, *, patience: float = 5.0) -> None:
        """Hand the runs of this process over to other workers, where there may be some; else stop them. Wait up to
        `patience` seconds for their ends, and cut off the others. Who watches other workers' runs here loses them."""
        self._closing = True
        if self._shared is not None:
            self._shared.drop_views()
        for run in list(self._live.values()):
            if self._shared is not None and run.request.adapter.source.continues:
                run.hand_over()
            else:
                run.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        late = set(self._tasks)
        for task in late:
            task.cancel()
        if late:  # they give their threads back, to a store that is closed soon
            await asyncio.wait(late, timeout=patience)

    async def _acquire(self, key: str, busy: Busy) -> Held | None:
        settings, holder = self.settings, uuid4().hex
        run = self._live.get(key)
        if run is not None:  # of this process, so it did not crash: it may be late to renew where the loop was blocked
            await self.leases.renew(run.held)
        if (held := await self.leases.take(key, holder)) is not None:
            return held
        wait = settings.settle
        if busy == "interrupt":
            await self.cancel(key)
        if busy != "reject":
            wait = settings.busy_wait
        elif await self._is_ending(key):
            wait = settings.ending_wait
        if (held := await self.leases.take(key, holder, wait=wait)) is not None:
            return held
        late = busy == "reject" and wait < settings.ending_wait and await self._is_ending(key)
        return await self.leases.take(key, holder, wait=settings.ending_wait - wait) if late else None

    async def _is_ending(self, key: str) -> bool:
        run = self._live.get(key)
        return run.ending if run is not None else await self.locks.state(key) is Lease.CANCELLING

    async def _keep_shown(self, run: LiveRun) -> None:
        if not run.handed_over and run.request.adapter.threads() is not None:
            await run.keeper.store(self.store.journal, run.request.thread.key)

    async def forget(self, key: str) -> None:
        """The thread was deleted: drop what was kept with its messages."""
        await self.store.journal.drop(key)
        if (log := self.store.log) is not None:
            await log.drop(key)
        await self.index.remove(key)  # last: what could not be deleted is still listed

    async def _list(self, run: LiveRun) -> None:
        """The run is its thread's from now on, here and in the index."""
        thread = run.request.thread
        self._live[thread.key] = run
        if self.leases.cancelled(run.held):
            run.stop()
        if run.request.adapter.threads() is not None:
            await self.index.touch(run.request.listed, ThreadStatus.RUNNING, title=run.request.title)

    async def _unlist(self, run: LiveRun) -> None:
        thread = run.request.thread
        if self._live.get(thread.key) is run:  # not of whoever took a lost lock over
            del self._live[thread.key]
        run.record.report(self._meter)
        if not run.handed_over and (store := run.request.adapter.threads()) is not None:
            if run.record.idle and not await store.exists(thread.key):
                await self.index.remove(thread.key)  # it was deleted
            else:
                await self.index.touch(run.request.listed, run.record.status)

    def _noticed(self, held: Held, lease: Lease) -> None:
        """A lock of this process was lost, or somebody in another one cancels."""
        run = self._live.get(held.key)
        if run is not None and run.held != held:
            return
        if lease is Lease.CANCELLING or run is None:
            self._stop_here(held.key)
            return
        _logger.error("run %r lost the lock of its thread", run.run_input.run_id)
        if self._shared is not None:
            run.lose()
        else:
            run.control.stop(ThreadBusyError("the thread was taken over by another run"))
