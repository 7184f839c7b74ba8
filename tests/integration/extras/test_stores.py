"""The promises of every store: memory, SQLite, Redis and PostgreSQL, the real ones."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import psycopg
import pytest

from yai_nexus_agentkit.runs.identity import ThreadRef, thread_key
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadStatus
from yai_nexus_agentkit.runs.journal import JournalEntry
from yai_nexus_agentkit.runs.locks import Lease
from yai_nexus_agentkit.runs.log import Batch, RunHead, RunLog
from yai_nexus_agentkit.runs.stores.opening import open_store
from yai_nexus_agentkit.runs.stores.store import Store

ODD = 'nul \x00, quote \', half \ud83d, percent %, {brace}, "quotes", 🙂'


SHARED = pytest.mark.parametrize("stores", ["sqlite", "redis", "postgres"], indirect=True)
"""A process's memory has no log, since nobody else could read it."""


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Store]]:
    """Two workers' views of one store; of memory there is only one."""
    address = {
        "memory": lambda: "memory:",
        "sqlite": lambda: f"sqlite:{tmp_path / 'store.db'}",
        "redis": lambda: request.getfixturevalue("redis").address,
        "postgres": lambda: request.getfixturevalue("database"),
    }[request.param]()
    async with AsyncExitStack() as opened:
        one = await opened.enter_async_context(open_store(address))
        other = one if request.param == "memory" else await opened.enter_async_context(open_store(address))
        await one.ready()
        yield [one, other]


@pytest.fixture
def agent() -> str:
    """A name of its own for each test: they share databases."""
    return f"agent-{uuid4().hex}"


def ref(agent: str, thread: str = "t1", user: str = "ann") -> ThreadRef:
    return ThreadRef(agent, user, thread, thread_key(agent, user, thread))


def head(thread: ThreadRef, **more: Any) -> RunHead:
    return RunHead(uuid4().hex, thread, "r1", '{"threadId": "t1"}', started=time.time(), **more)


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.02)


# ------------------------------------------------------------------ locks


async def test_one_holder_at_a_time_and_fences_grow(stores: list[Store], agent: str) -> None:
    (one, other), key = stores, ref(agent).key
    first = await one.locks.acquire(key, "a", lease=60)
    assert first is not None
    assert first > 0
    assert await other.locks.acquire(key, "b", lease=60) is None
    assert await other.locks.state(key) is Lease.HELD
    assert not await other.locks.release(key, "b")
    assert await one.locks.release(key, "a")
    assert await other.locks.state(key) is Lease.FREE
    second = await other.locks.acquire(key, "b", lease=60)
    assert second is not None
    assert second > first
    assert await one.locks.renew(key, "a", lease=60) is Lease.LOST


async def test_only_one_of_many_gets_a_lock(stores: list[Store], agent: str) -> None:
    key = ref(agent).key
    taken = await asyncio.gather(*(stores[n % 2].locks.acquire(key, f"h{n}", lease=60) for n in range(20)))
    assert sum(fence is not None for fence in taken) == 1


async def test_a_lease_that_ran_out_can_be_renewed_until_somebody_takes_it(stores: list[Store], agent: str) -> None:
    (one, other), key = stores, ref(agent).key
    assert await one.locks.acquire(key, "a", lease=0.05)
    await asyncio.sleep(0.1)
    assert await other.locks.state(key) is Lease.FREE
    assert await one.locks.renew(key, "a", lease=0.05) is Lease.HELD
    await asyncio.sleep(0.1)
    assert await other.locks.acquire(key, "b", lease=60)
    assert await one.locks.renew(key, "a", lease=60) is Lease.LOST


async def test_waiting_for_a_lock(stores: list[Store], agent: str) -> None:
    (one, other), key = stores, ref(agent).key
    await one.locks.acquire(key, "a", lease=60)
    waiting = asyncio.ensure_future(other.locks.acquire(key, "b", lease=60, wait=30))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await one.locks.release(key, "a")
    assert await asyncio.wait_for(waiting, 10)
    assert await one.locks.acquire(key, "c", lease=60, wait=0.1) is None


async def test_a_cancellation_reaches_the_other_worker(stores: list[Store], agent: str) -> None:
    (one, other), key = stores, ref(agent).key
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def listen() -> None:
        async for asked in one.locks.cancellations():
            heard.put_nowait(asked)

    task = asyncio.ensure_future(listen())
    assert not await other.locks.request_cancel(key)
    await one.locks.acquire(key, "a", lease=60)
    while heard.empty():  # whoever does not listen yet hears nothing
        assert await other.locks.request_cancel(key)
        await asyncio.sleep(0.1)
    assert await heard.get() == key
    assert await one.locks.renew(key, "a", lease=60) is Lease.CANCELLING
    task.cancel()
    await asyncio.wait([task])


# ------------------------------------------------------------------ threads


async def test_threads_are_listed_searched_and_described(stores: list[Store], agent: str) -> None:
    one, other = stores
    for n, title in enumerate(["Trip to ROME", "", "100% of _all_ rome"]):
        await one.index.touch(ref(agent, f"t{n}"), ThreadStatus.IDLE, title=title)
    await one.index.touch(ref(agent, "t9", user="bob"), ThreadStatus.IDLE)
    listed = await other.index.entries(agent, "ann", limit=10)
    assert [entry.thread.id for entry in listed] == ["t2", "t1", "t0"]
    page = await other.index.entries(agent, "ann", limit=10, before=listed[0].updated)
    assert [entry.thread.id for entry in page] == ["t1", "t0"]
    for search, found in {"rome": ["t2", "t0"], "0% of _": ["t2"], "%": ["t2"], "x": []}.items():
        assert [e.thread.id for e in await other.index.entries(agent, "ann", limit=10, search=search)] == found
    await one.index.touch(ref(agent, "t0"), ThreadStatus.RUNNING, title="another")
    described = await other.index.describe(ref(agent, "t0").key, metadata={"a": [1, None]})
    assert described is not None
    assert (described.title, described.metadata, described.status) == ("Trip to ROME", {"a": [1, None]}, "running")
    renamed = await one.index.describe(ref(agent, "t0").key, title="Paris")
    assert renamed is not None
    assert (renamed.title, renamed.metadata) == ("Paris", {"a": [1, None]})
    await one.index.remove(ref(agent, "t0").key)
    assert await other.index.entry(ref(agent, "t0").key) is None
    assert await other.index.describe(ref(agent, "t0").key, title="x") is None


def sent_back(seconds: float) -> float:
    """A moment as clients get it and send it back."""
    return datetime.fromisoformat(datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")).timestamp()


async def test_pages_of_the_list_lose_and_double_no_thread(
    stores: list[Store], agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several threads have the same moment, as far as the store's clock can be stopped."""
    one, other = stores
    moment = time.time()
    monkeypatch.setattr(time, "time", lambda: moment)
    for n in range(20):
        await one.index.touch(ref(agent, f"t{n}"), ThreadStatus.IDLE)
    whole = await other.index.entries(agent, "ann", limit=50)
    assert [(e.updated, e.thread.key) for e in whole] == sorted(
        ((e.updated, e.thread.key) for e in whole), reverse=True
    )
    read: list[ThreadEntry] = []
    while page := await other.index.entries(
        agent,
        "ann",
        limit=3,
        before=sent_back(read[-1].updated) if read else None,
        before_key=read[-1].thread.key if read else None,
    ):
        read += page
    assert read == whole


async def test_odd_names_come_back_as_they_were(stores: list[Store], agent: str) -> None:
    thread = ref(agent, ODD, user=ODD)
    await stores[0].index.touch(thread, ThreadStatus.IDLE, title=ODD)
    entry = await stores[1].index.entry(thread.key)
    assert entry is not None
    assert (entry.thread, entry.title) == (thread, ODD)
    assert [e.title for e in await stores[1].index.entries(agent, ODD, limit=5, search="PERCENT %")] == [ODD]


async def test_what_a_janitor_may_remove(stores: list[Store], agent: str) -> None:
    one, other = stores
    for n in range(4):
        await one.index.touch(ref(agent, f"t{n}"), ThreadStatus.PAUSED if n == 1 else ThreadStatus.IDLE)
    await one.index.touch(ref(agent, "t0", user="bob"), ThreadStatus.FAILED)
    later = time.time() + 1
    assert [e.thread.id for e in await other.index.idle(agent, before=later, limit=2)] == ["t0", "t2"]
    assert await other.index.idle(agent, before=later - 3600, limit=9) == []
    assert [e.thread.id for e in await other.index.surplus(agent, keep=1, limit=9)] == ["t0", "t2"]


# ------------------------------------------------------------------ the log


@pytest.fixture
def logs(stores: list[Store]) -> list[RunLog]:
    """Two workers' views of one log."""
    return [store.log for store in stores if store.log is not None]


@SHARED
async def test_a_log_is_read_and_followed_from_another_worker(logs: list[RunLog], agent: str) -> None:
    (one, other), run = logs, head(ref(agent), fence=1)
    await one.create(run)
    assert not await one.append([Batch(run.id, 1, b"a\nb")])
    got: list[tuple[int, bytes, bool]] = []

    async def follow() -> None:
        async for entry in other.follow(run.id):
            got.append(tuple(entry))

    following = asyncio.ensure_future(follow())
    await eventually(lambda: got == [(1, b"a\nb", False)])
    await one.append([Batch(run.id, 1, "ü".encode())])
    await eventually(lambda: got == [(1, b"a\nb", False), (2, "ü".encode(), False)])
    await one.append([Batch(run.id, 1, b"end", last=True)])
    await asyncio.wait_for(following, 20)
    assert [tuple(entry) for entry in await other.read(run.id, 1)] == [(2, "ü".encode(), False), (3, b"end", True)]
    assert await one.append([Batch(run.id, 1, b"more")]) == {run.id}
    known = await other.head(run.id)
    assert known is not None
    assert known.ended is not None
    assert known.size == 3 + 2 + 3
    assert await other.runs(run.thread.key) == [known]


@SHARED
async def test_a_worker_that_lost_a_run_cannot_write(logs: list[RunLog], agent: str) -> None:
    (one, other), run = logs, head(ref(agent), fence=5)
    elsewhere = head(ref(agent, "t2"), fence=6)
    await one.create(run)
    await one.create(elsewhere)
    claimed = await other.claim(run.id, 7)
    assert claimed is not None
    assert (claimed.attempt, claimed.handed, claimed.fence) == (2, 0, 7)
    assert await other.claim(run.id, 7) is None
    for owner, handed in ((6, 0), (7, 1), (7, 1)):
        await other.hand_over(run.id, owner)
        assert (left := await one.head(run.id)) is not None
        assert (left.handed, left.fence) == (handed, 0 if handed else 7)
    claimed = await other.claim(run.id, 8)
    assert claimed is not None
    assert (claimed.attempt, claimed.handed, claimed.fence) == (3, 1, 8)
    refused = await one.append([Batch(run.id, 5, b"late"), Batch(elsewhere.id, 6, b"fine")])
    assert refused == {run.id}
    assert [entry.data for entry in await one.read(run.id)] == []
    assert not await one.compact(run.id, 5, 1, b"late")
    assert not await other.append([Batch(run.id, 8, b"mine", last=True)])
    assert await one.claim(run.id, 9) is None
    assert [left.run for left in await one.unfinished() if left.thread in (run.thread.key, elsewhere.thread.key)] == [
        elsewhere.id
    ]


@SHARED
async def test_entries_can_be_replaced_by_one(logs: list[RunLog], agent: str) -> None:
    (one, other), run = logs, head(ref(agent), fence=1)
    await one.create(run)
    for n in range(5):
        await one.append([Batch(run.id, 1, f"{n}".encode())])
    assert await one.compact(run.id, 1, 3, b"0+1+2")
    assert [tuple(e) for e in await other.read(run.id)] == [
        (3, b"0+1+2", False),
        (4, b"3", False),
        (5, b"4", False),
    ]
    known = await other.head(run.id)
    assert known is not None
    assert (known.base, known.size) == (3, 7)


@SHARED
async def test_runs_are_dropped_and_swept(logs: list[RunLog], agent: str) -> None:
    one, other = logs
    first, second, third = head(ref(agent), fence=1), head(ref(agent), fence=2), head(ref(agent, "t2"), fence=3)
    for run in (first, second, third):
        await one.create(run)
    following = asyncio.ensure_future(_all(other, third.id))
    await one.append([Batch(first.id, 1, b"x", last=True)])
    assert [h.id for h in await other.runs(first.thread.key)] == [second.id, first.id]
    assert await other.sweep(before=time.time() - 60) == 0
    assert await other.sweep(before=time.time() + 60) >= 1
    assert await other.head(first.id) is None
    assert await other.read(first.id) == []
    await one.drop(third.thread.key)
    assert await asyncio.wait_for(following, 30) == []
    assert [h.id for h in await other.runs(third.thread.key)] == []
    assert [h.id for h in await other.runs(second.thread.key)] == [second.id]


async def test_a_sweep_that_fails_in_the_middle_leaves_no_entries_for_ever(tmp_path: Path, agent: str) -> None:
    path, run = tmp_path / "store.db", head(ref(agent), fence=1)
    async with open_store(f"sqlite:{path}") as store:
        assert store.log is not None
        await store.log.create(run)
        await store.log.append([Batch(run.id, 1, b"x", last=True)])
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(
                "CREATE TRIGGER broken BEFORE DELETE ON agui_log BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
            with pytest.raises(sqlite3.Error, match="the disk is full"):
                await store.log.sweep(before=time.time() + 60)
            database.execute("DROP TRIGGER broken")
            assert await store.log.sweep(before=time.time() + 60) == 1
            assert database.execute("SELECT count(*) FROM agui_log").fetchall() == [(0,)]


async def _all(log: RunLog, run: str) -> list[bytes]:
    return [entry.data async for entry in log.follow(run)]


# ------------------------------------------------------------------ the journal


async def test_a_journal_keeps_places_and_the_last_contents(stores: list[Store], agent: str) -> None:
    (one, other), key = stores, ref(agent).key
    await one.journal.keep(key, [JournalEntry("chart", "m1", '{"n": 1}'), JournalEntry("bar", "m1", "{}")])
    await one.journal.keep(key, [JournalEntry("chart", "m9", '{"n": 2}'), JournalEntry(ODD, ODD, '"x"')])
    assert await other.journal.kept(key) == [
        JournalEntry("chart", "m1", '{"n": 2}'),
        JournalEntry("bar", "m1", "{}"),
        JournalEntry(ODD, ODD, '"x"'),
    ]
    await other.journal.drop(key)
    assert await one.journal.kept(key) == []


# ------------------------------------------------------------------ opening


async def test_several_workers_may_make_the_tables_at_once(tmp_path: Path, database: str) -> None:
    async def use(address: str) -> None:
        async with open_store(address) as store:
            await store.ready()
            await store.index.entries("a", "b", limit=1)

    for address in (*(f"sqlite:{tmp_path / f'new{n}.db'}" for n in range(20)), database):
        await asyncio.gather(*(use(address) for _ in range(6)))


@pytest.mark.parametrize("address", ["mysql://x", "", "threads.db", "sqlite:"])
async def test_an_unknown_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="a store is memory:, sqlite:PATH"):
        async with open_store(address):
            pass


# ------------------------------------------------------------------ connections


async def test_connections_that_postgresql_closed_are_replaced(database: str) -> None:
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'agui'"
    async with (
        await psycopg.AsyncConnection.connect(database, autocommit=True) as admin,
        open_store(database) as store,
    ):

        async def close(*before: LiteralString) -> None:
            for statement in before:
                await admin.execute(statement)
            # Again and again: the pool may open one just now.
            while await (await admin.execute(f"SELECT pg_terminate_backend(pid) {others}")).fetchall():
                await asyncio.sleep(0.01)

        async def use() -> None:
            found = await asyncio.gather(*(store.locks.acquire(uuid4().hex, "me", lease=60) for _ in range(20)))
            assert all(found)

        await use()
        await close()  # a restart, a limit for idle connections
        await use()
        try:
            await close("ALTER ROLE agui SET default_transaction_read_only = on")  # it is no primary any more
            with pytest.raises(store.away):
                await use()
            await admin.execute("ALTER ROLE agui RESET default_transaction_read_only")
            await use()
            await close("ALTER ROLE agui NOLOGIN")
            async with asyncio.timeout(8):
                with pytest.raises(store.away):
                    await use()
        finally:
            for change in ("LOGIN", "RESET default_transaction_read_only"):
                await admin.execute(f"ALTER ROLE agui {change}")


# ------------------------------------------------------------------ clocks


@pytest.mark.parametrize("stores", ["redis", "postgres"], indirect=True)
@pytest.mark.parametrize("minutes", [10, -10])
async def test_a_worker_whose_clock_is_wrong_writes_the_times_of_the_others(
    stores: list[Store], agent: str, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    (wrong, right), real, thread = stores, time.time, ref(agent)
    assert wrong.log is not None
    assert right.log is not None

    @contextmanager
    def elsewhere() -> Iterator[None]:
        """What happens in here happens on the other machine."""
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda: real() + 60 * minutes)
            yield

    async def begun(store: Store, fence: int) -> RunHead:
        run = head(thread, fence=fence)
        assert store.log is not None
        await store.log.create(run)
        return run

    first = await begun(right, 1)
    with elsewhere():
        second = await begun(wrong, 2)
        await wrong.log.append([Batch(second.id, 2, b"end", last=True)])
        await wrong.index.touch(thread, ThreadStatus.IDLE)
        await wrong.board.put("worker", agent, "wrong", "", keep=15)
        assert abs(await wrong.now() - real()) < 60
    third = await begun(right, 3)
    assert [run.id for run in await right.log.runs(thread.key)] == [third.id, second.id, first.id], "the newest first"
    ended, entry = await right.log.head(second.id), await right.index.entry(thread.key)
    assert ended is not None
    assert ended.ended is not None
    assert entry is not None
    assert all(abs(one - real()) < 60 for one in (ended.started, ended.ended, entry.updated, entry.created))
    await right.board.put("worker", agent, "right", "", keep=15)
    with elsewhere():
        assert sorted(await wrong.board.notes("worker", agent)) == ["right", "wrong"]
    assert sorted(await right.board.notes("worker", agent)) == ["right", "wrong"]


# ------------------------------------------------------------------ the board


async def test_notes_are_shared_replaced_and_forgotten(stores: list[Store], agent: str) -> None:
    one, other = (store.board for store in stores)
    await one.put("connection", agent, "a", "first", keep=60)
    await one.put("connection", agent, "a", "second", keep=60)
    await other.put("connection", agent, ODD, "odd", keep=60)
    await one.put("question", agent, "a", "another kind", keep=60)
    assert await other.notes("connection", agent) == {"a": "second", ODD: "odd"}
    await other.drop("connection", agent, "a")
    await other.drop("connection", agent, "a")
    assert list(await one.notes("connection", agent)) == [ODD]
    assert await one.notes("connection", f"{agent}-other") == {}
    await one.put("connection", agent, "b", "short", keep=0.1)
    await asyncio.sleep(0.2)
    assert list(await other.notes("connection", agent)) == [ODD]


async def test_news_reach_all_workers(stores: list[Store], agent: str) -> None:
    heard: list[list[str]] = [[], []]

    async def listen(number: int) -> None:
        async for text in stores[number].board.news():
            heard[number].append(text)

    listening = [asyncio.create_task(listen(number)) for number in (0, 1)]
    try:
        async with asyncio.timeout(20):
            while not all(heard):  # until both listen
                await stores[0].board.publish(f"{agent} is there")
                await asyncio.sleep(0.05)
        await stores[1].board.publish(f"{agent} last")
        await eventually(lambda: all(texts[-1] == f"{agent} last" for texts in heard))
    finally:
        for task in listening:
            task.cancel()
        await asyncio.wait(listening)
