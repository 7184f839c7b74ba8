"""Driver. Runs as a server has them: one at a time per thread, counted, stoppable, observed. Knows no HTTP and no wire.

`RunService` belongs to one process and one event loop. What several processes must agree on is behind `ThreadLocks` and
`ThreadIndex`; the live runs themselves, and who may stop them directly, are this process's own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from ag_ui.core import BaseEvent, RunAgentInput
from pydantic import NonNegativeFloat, PositiveFloat

from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import OverloadedError, ThreadBusyError
from yai_nexus_agentkit.protocol.events import TERMINAL
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef
from yai_nexus_agentkit.runs.index import MemoryThreadIndex, ThreadIndex, ThreadStatus
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.runs.locks import Lease, MemoryThreadLocks, ThreadLocks
from yai_nexus_agentkit.runs.telemetry import Meter, RunRecord, run_span

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter

__all__ = ["LiveRun", "OperationCancelledError", "RunService", "ServiceSettings"]

_logger = logging.getLogger(__name__)
_STATUS = {"interrupt": ThreadStatus.PAUSED, "error": ThreadStatus.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How runs meet each other. Times in seconds."""

    busy: Literal["reject", "wait"] = "reject"
    """A thread that has a run: refuse the next one, or let it wait for up to `busy_wait`."""
    busy_wait: NonNegativeFloat = 30.0
    ending_wait: NonNegativeFloat = 2.0
    """How long a request waits for a run that is ending (cancelled, or its client gone): stop and resend is normal."""
    settle: NonNegativeFloat = 0.25
    """How long it waits in any case: the old connection's end may be noticed after the new request."""
    lease: PositiveFloat = 15.0
    """After that long without renewal a holder counts as crashed."""

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(slots=True, eq=False)
class LiveRun:
    """A run that holds its thread. Made by `RunService.open`; driven once."""

    adapter: AGUIAdapter
    run_input: RunAgentInput
    thread: ThreadRef
    identity: Identity
    request: Mapping[str, Any]
    headers: Mapping[str, str]
    holder: str
    record: RunRecord
    control: RunControl = field(default_factory=RunControl)
    ending: bool = False
    """It was stopped, its client is gone, or its terminal event is out: the thread will be free in a moment."""
    _begun: AsyncGenerator[None, None] | None = field(default=None, init=False)

    def stop(self) -> None:
        """End it as cancelled."""
        self.ending = True
        self.control.stop()

    async def begin(self, put: Callable[[BaseEvent], None]) -> None:
        """Hand ``RUN_STARTED`` to `put` at once, where nothing must be awaited before it: its client need not wait for
        the turn of another task. `drive` goes on from there, in whatever task; `aclose` ends a run that nobody drove.
        """
        if self.adapter.hooks.before_run is None:
            self._begun = self._events(put)
            await anext(self._begun)
            self.record.note_first()
            self.record.events += 1

    async def aclose(self) -> None:
        """End what was begun; nothing if it has ended."""
        if self._begun is not None:
            await self._begun.aclose()

    async def drive(self, put: Callable[[BaseEvent], None]) -> None:
        """Run the agent, handing every event to `put` as it comes.

        `put` does not wait. If it raises `EncodingError` the run ends with an event that it can encode. Cancelling the
        caller cancels the agent.
        """
        record = self.record
        with run_span(record, self.headers):
            async with aclosing(self._begun or self._events(put)) as events:
                async for _ in events:
                    if not record.events:
                        record.note_first()
                        await asyncio.sleep(0)  # whoever writes shall do so before the agent begins its work
                    record.events += 1

    def _events(self, put: Callable[[BaseEvent], None]) -> AsyncGenerator[None, None]:
        def noting(event: BaseEvent) -> None:
            put(event)
            if event.type in TERMINAL:
                self.ending = True
                self.record.note_end(event)

        return self.adapter.stream(
            self.run_input,
            noting,
            config=_run_config(self.identity.config, self.thread.key),
            context=self.identity.context,
            request=self.request,
            control=self.control,
        )


class OperationCancelledError(Exception):
    """Somebody ended the operation by `RunService.cancel`."""


@dataclass(slots=True, eq=False)
class _Operation:
    """What holds a thread and is no run."""

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
    ) -> None:
        self.settings = settings or ServiceSettings()
        self.capacity = capacity or Capacity()
        self.locks: ThreadLocks = locks if locks is not None else MemoryThreadLocks()
        self.index: ThreadIndex = index if index is not None else MemoryThreadIndex()
        self._meter = meter
        self._live: dict[str, LiveRun] = {}
        """Runs of this process by thread key, from the taking of the lock to its release."""
        self._held: dict[str, str] = {}
        """Key by holder of every lock to renew: those of live runs, and of `hold`."""
        self._operations: dict[str, _Operation] = {}
        """By thread key: operations that hold a thread and are no runs."""
        self._keeper: asyncio.Task[None] | None = None
        """Renews the locks while there are any."""
        self._drained: asyncio.Future[None] | None = None
        """Somebody waits for the last live run to end."""

    @asynccontextmanager
    async def open(
        self,
        adapter: AGUIAdapter,
        run_input: RunAgentInput,
        *,
        thread: ThreadRef,
        identity: Identity,
        request: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[LiveRun]:
        """A run that holds its thread for as long as the block lasts.

        Raises `OverloadedError` when the limits are reached and `ThreadBusyError` when the thread has a run; the agent
        was not touched then.
        """
        try:
            with self.capacity.place(thread.user):
                async with self.hold(thread) as holder:
                    record = RunRecord(thread, run_input.run_id)
                    run = LiveRun(adapter, run_input, thread, identity, request or {}, headers or {}, holder, record)
                    self._live[thread.key] = run
                    indexed = adapter.threads() is not None
                    try:
                        if indexed:
                            await self.index.touch(thread, ThreadStatus.RUNNING)
                        yield run
                    finally:
                        if self._live.get(thread.key) is run:  # not of whoever took a lost lock over
                            del self._live[thread.key]
                        await self._ended(run, indexed)
        except (OverloadedError, ThreadBusyError) as error:
            self.count_refused(thread.agent, error)
            raise

    @asynccontextmanager
    async def hold(self, thread: ThreadRef) -> AsyncIterator[str]:
        """Hold a thread's lock, as its run would, and keep it alive. Raises `ThreadBusyError`."""
        key, holder = thread.key, uuid4().hex
        if await self._acquire(key, holder) is None:
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
        patience = max(settings.settle, settings.ending_wait, settings.busy_wait if settings.busy == "wait" else 0)
        operation = _Operation(asyncio.timeout(patience + limit))
        try:
            async with operation.scope as scope, self.hold(thread):
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
        """Tell the metrics hook, if there is one. Never raises."""
        if self._meter is not None:
            try:
                self._meter(name, value, labels)
            except Exception:
                _logger.exception("the metrics hook raised")

    def count_refused(self, agent: str, error: OverloadedError | ThreadBusyError) -> None:
        """Tell the metrics hook of a request that was refused. `open` does so itself."""
        self.count("agui_rejected_total", {"agent": agent, "code": error.code})

    async def aclose(self, *, patience: float = 5.0) -> None:
        """Stop all runs of this process, and wait up to `patience` seconds for their ends."""
        for run in list(self._live.values()):
            run.stop()
        if self._live:
            self._drained = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._drained], timeout=patience)

    async def _acquire(self, key: str, holder: str) -> int | None:
        settings = self.settings
        run = self._live.get(key)
        if run is not None:  # of this process, so it did not crash: it may be late to renew where the loop was blocked
            await self.locks.renew(key, run.holder, lease=settings.lease)
        if (fence := await self.locks.acquire(key, holder, lease=settings.lease)) is not None:
            return fence
        wait = settings.settle
        if settings.busy == "wait":
            wait = settings.busy_wait
        elif await self._is_ending(key):
            wait = settings.ending_wait
        if (fence := await self.locks.acquire(key, holder, lease=settings.lease, wait=wait)) is not None:
            return fence
        late = settings.busy == "reject" and wait < settings.ending_wait and await self._is_ending(key)
        left = settings.ending_wait - wait
        return await self.locks.acquire(key, holder, lease=settings.lease, wait=left) if late else None

    async def _is_ending(self, key: str) -> bool:
        run = self._live.get(key)
        return run.ending if run is not None else await self.locks.state(key) is Lease.CANCELLING

    async def _ended(self, run: LiveRun, indexed: bool) -> None:
        run.record.report(self._meter)
        if not self._live and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if indexed:
            await self.index.touch(run.thread, _STATUS.get(run.record.outcome, ThreadStatus.IDLE))

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
                    _logger.error("run %r lost the lock of its thread", run.run_input.run_id)
                    run.control.stop(ThreadBusyError("the thread was taken over by another run"))
                elif lease is Lease.CANCELLING:
                    run.stop()


def _run_config(given: RunnableConfig | None, key: str) -> RunnableConfig:
    """The identity's configuration, for this thread and no other."""
    config: RunnableConfig = {**(given or {})}
    config["configurable"] = {**(config.get("configurable") or {}), "thread_id": key}
    return config
