"""`RunService` without HTTP: what several processes see of each other, and what operators see."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from ag_ui.core import BaseEvent, EventType, RunErrorEvent

from tests.support.serving import talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.errors import AGUIAdapterError, EncodingError, ThreadBusyError
from yai_nexus_agentkit.runs.identity import ANONYMOUS, ThreadRef
from yai_nexus_agentkit.runs.index import MemoryThreadIndex
from yai_nexus_agentkit.runs.live_run import RunRequest
from yai_nexus_agentkit.runs.locks import MemoryThreadLocks
from yai_nexus_agentkit.runs.log import Batch, Entry
from yai_nexus_agentkit.runs.recorder import Recorder
from yai_nexus_agentkit.runs.service import RunService, ServiceSettings
from yai_nexus_agentkit.runs.stores.store import Store
from yai_nexus_agentkit.testing import run_input

THREAD = ThreadRef("agent", "ann", "t1", "key")


class Watching:
    """A viewer that keeps the events."""

    def __init__(self, refuse: Callable[[BaseEvent], bool] = lambda event: False) -> None:
        self.events: list[BaseEvent] = []
        self.complete_after: int | None = None
        self.dropped = False
        self._refuse = refuse

    def put(self, event: BaseEvent) -> None:
        if self._refuse(event):
            raise EncodingError("no")
        self.events.append(event)

    def end(self, event: BaseEvent) -> None:
        self.put(event)

    def complete(self) -> None:
        self.complete_after = len(self.events)

    def lose(self, closing: Sequence[BaseEvent], error: AGUIAdapterError) -> None:
        self.events += [*closing, RunErrorEvent(message=str(error), code=error.code)]

    def drop(self) -> None:
        self.dropped = True


async def drive(service: RunService, graph: Any, viewer: Watching | None = None) -> list[BaseEvent]:
    given = run_input("hi", thread_id="t1", run_id="r1")
    wanted = RunRequest(adapter=AGUIAdapter(graph), run_input=given, thread=THREAD, identity=ANONYMOUS)
    viewer = viewer or Watching()
    await (await service.launch(await service.start(wanted), viewer))
    assert viewer.complete_after == len(viewer.events)
    return viewer.events


async def test_two_processes_share_locks_and_one_cancels_the_other_s_run() -> None:
    locks = MemoryThreadLocks()
    settings = ServiceSettings(lease=0.9, settle=0.01, ending_wait=5.0)
    here, there = (RunService(settings=settings, store=Store(locks=locks)) for _ in range(2))
    task = asyncio.create_task(drive(here, talker(200, 0.02)))
    await asyncio.sleep(0.1)
    with pytest.raises(ThreadBusyError):
        await drive(there, talker(1))
    assert await there.busy("key")
    assert await there.cancel("key")
    async with asyncio.timeout(6):
        again = await drive(there, talker(1))
    assert again[-1].type == EventType.RUN_FINISHED
    events = await task
    assert events[-1].outcome.type == "cancelled"  # type: ignore[attr-defined]


async def test_a_living_run_keeps_its_lock_beyond_the_lease() -> None:
    locks = MemoryThreadLocks()
    service = RunService(settings=ServiceSettings(lease=0.6), store=Store(locks=locks))
    task = asyncio.create_task(drive(service, talker(4, 0.4)))
    for _ in range(5):
        await asyncio.sleep(0.3)
        assert not await locks.acquire("key", "somebody", lease=1)
    assert (await task)[-1].type == EventType.RUN_FINISHED
    assert await locks.acquire("key", "somebody", lease=1)
    assert not [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]


async def test_a_run_that_lost_its_lock_ends(caplog: pytest.LogCaptureFixture) -> None:
    locks = MemoryThreadLocks()
    service = RunService(settings=ServiceSettings(lease=0.3), store=Store(locks=locks))
    task = asyncio.create_task(drive(service, talker(200, 0.02)))
    await asyncio.sleep(0.05)
    (holder,) = service.holders
    await locks.release("key", holder)
    assert await locks.acquire("key", "somebody", lease=5)
    async with asyncio.timeout(6):
        events = await task
    assert (events[-1].type, events[-1].code) == (EventType.RUN_ERROR, "THREAD_BUSY")  # type: ignore[attr-defined]
    assert not await locks.acquire("key", "third", lease=1), "somebody else's lock was not released"


async def test_an_event_that_cannot_be_encoded_ends_the_run() -> None:
    service, viewer = RunService(), Watching(lambda event: event.type == EventType.TEXT_MESSAGE_CONTENT)
    taken = await drive(service, talker(3), viewer)
    assert (taken[-1].type, taken[-1].code) == (EventType.RUN_ERROR, "ENCODING_ERROR")  # type: ignore[attr-defined]
    assert EventType.TEXT_MESSAGE_END in [event.type for event in taken]
    assert service.live == 0


async def test_a_terminal_event_that_cannot_be_encoded_is_replaced() -> None:
    taken = await drive(RunService(), talker(1), Watching(lambda event: event.type == EventType.RUN_FINISHED))
    assert taken[-1].type == EventType.RUN_ERROR


async def test_a_run_is_logged_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics: list[tuple[str, float, dict[str, str]]] = []

    def meter(name: str, value: float, labels: Mapping[str, str]) -> None:
        metrics.append((name, value, dict(labels)))

    service = RunService(meter=meter)
    with caplog.at_level(logging.INFO, "yai_nexus_agentkit"):
        events = await drive(service, talker(50))
    logged = [record for record in caplog.records if record.name == "yai_nexus_agentkit.runs.telemetry"]
    assert len(logged) == 1
    assert "run 'r1' of thread 't1' (agent): success" in logged[0].getMessage()
    counted = {name: (value, labels) for name, value, labels in metrics}
    assert counted["agui_runs_total"] == (1, {"agent": "agent", "outcome": "success", "code": ""})
    assert counted["agui_events_total"][0] == len(events)
    assert 0 < counted["agui_first_event_seconds"][0] <= counted["agui_run_seconds"][0]


async def test_a_metrics_hook_that_fails_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def meter(name: str, value: float, labels: Mapping[str, str]) -> None:
        raise RuntimeError("statsd is down")

    assert (await drive(RunService(meter=meter), talker(1)))[-1].type == EventType.RUN_FINISHED


async def test_an_index_that_fails_frees_the_thread() -> None:
    class Broken(MemoryThreadIndex):
        async def touch(self, thread: Any, status: Any, *, title: str = "") -> None:
            raise ConnectionError("the database is gone")

    service = RunService(store=Store(index=Broken()))
    with pytest.raises(ConnectionError):
        await drive(service, talker(1))
    assert not await service.busy("key")
    assert service.capacity.taken == 0


async def test_a_run_that_two_notice_to_be_lost_lets_its_viewers_go() -> None:
    """By its lock and by its log: the second one must not cut the cleaning up off."""

    class Slow(MemoryThreadLocks):
        async def release(self, key: str, holder: str) -> bool:
            await asyncio.sleep(0.2)
            return await super().release(key, holder)

    service, viewer = RunService(store=Store(locks=Slow())), Watching()
    given = run_input("hi", thread_id="t1", run_id="r1")
    wanted = RunRequest(adapter=AGUIAdapter(talker(200, 0.02)), run_input=given, thread=THREAD, identity=ANONYMOUS)
    run = await service.start(wanted)
    task = await service.launch(run, viewer)
    await asyncio.sleep(0.1)
    run.hand_over()
    await asyncio.sleep(0.1)
    run.hand_over()
    await asyncio.wait([task])
    assert viewer.dropped
    assert not await service.busy("key")


async def test_two_writes_to_the_log_at_once_repeat_nothing() -> None:
    class SlowLog:
        entries: list[Entry] = []

        async def append(self, batches: Sequence[Batch]) -> frozenset[str]:
            await asyncio.sleep(0.05)
            self.entries += [Entry(len(self.entries) + 1, batch.data, batch.last) for batch in batches]
            return frozenset()

        async def read(self, run: str, after: int = 0) -> list[Entry]:
            return [entry for entry in self.entries if entry.seq > after]

    log: Any = SlowLog()
    recorder = Recorder(log, flush=0.02)
    recording = recorder.open("run", 1, lost=lambda: None, shortened=lambda: None)
    recording.put(RunErrorEvent(message="one"))
    await asyncio.gather(recorder.flush(), recorder.flush())
    assert [entry.data.count(b"one") for entry in log.entries] == [1]
