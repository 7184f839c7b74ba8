"""A store in a SQL database. The same statements serve SQLite and PostgreSQL; `Database` hides what differs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol, cast

from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.locks import Lease
from yai_nexus_agentkit.runs.log import Batch, Entry, RunHead, Unfinished
from yai_nexus_agentkit.runs.stores.followers import EVERY_RUN, Followers
from yai_nexus_agentkit.runs.stores.sql_board import SqlBoard
from yai_nexus_agentkit.runs.stores.sql_threads import SqlJournal, SqlThreads
from yai_nexus_agentkit.runs.stores.store import Store

__all__ = ["MIGRATIONS", "Database", "SqlLocks", "SqlLog", "sql_store"]

CANCELS, APPENDS = "agui_cancel", "agui_log"
"""Channels of news: keys of locks whose holder must stop, and runs with new entries."""

_POLL = 0.05
"""Seconds between two attempts of who waits for a lock."""

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE agui_locks (key TEXT PRIMARY KEY, holder TEXT NOT NULL, fence BIGINT NOT NULL,
        until DOUBLE PRECISION NOT NULL, cancelling INTEGER NOT NULL);
    CREATE TABLE agui_threads (key TEXT PRIMARY KEY, agent TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL,
        title TEXT NOT NULL, folded TEXT NOT NULL, metadata TEXT NOT NULL, status TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, updated DOUBLE PRECISION NOT NULL);
    CREATE INDEX agui_threads_of ON agui_threads (agent, owner, updated);
    CREATE INDEX agui_threads_idle ON agui_threads (agent, updated);
    CREATE TABLE agui_runs (id TEXT PRIMARY KEY, thread TEXT NOT NULL, head TEXT NOT NULL,
        started DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION, fence BIGINT NOT NULL, attempt INTEGER NOT NULL,
        seq BIGINT NOT NULL, base BIGINT NOT NULL, size BIGINT NOT NULL);
    CREATE INDEX agui_runs_of ON agui_runs (thread, started);
    CREATE INDEX agui_runs_ended ON agui_runs (ended, started);
    CREATE TABLE agui_log (run TEXT NOT NULL, seq BIGINT NOT NULL, data {BYTES} NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (run, seq));
    CREATE TABLE agui_journal (thread TEXT NOT NULL, id TEXT NOT NULL, place BIGINT NOT NULL, after TEXT NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (thread, id));
    """,
    """
    CREATE TABLE agui_board (kind TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL,
        until DOUBLE PRECISION NOT NULL, PRIMARY KEY (kind, owner, name));
    CREATE INDEX agui_board_until ON agui_board (until);
    CREATE TABLE agui_news (seq BIGINT PRIMARY KEY, news TEXT NOT NULL, sent DOUBLE PRECISION NOT NULL);
    """,
    """
    ALTER TABLE agui_runs ADD COLUMN handed INTEGER NOT NULL DEFAULT 0;
    """,
)
"""Statements by version, each with a semicolon at its end. One worker applies a version once, in one transaction."""


class Database(Protocol):
    """One database. Statements have ``?`` for each argument, and ``{now}`` for the seconds since the epoch by a clock
    that all workers share."""

    async def rows(self, statement: str, *args: Any) -> list[tuple[Any, ...]]:
        """Run one statement in a transaction of its own; its rows, if it returns any."""

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        """Append to the logs of several runs, in one transaction, and send the news. The runs that took theirs."""

    async def notify(self, channel: str, text: str) -> None:
        """Send news to all processes."""

    def news(self, channel: str) -> AsyncGenerator[str, None]:
        """The news of a channel; first ``""``, when it listens."""


class SqlLocks:
    """`ThreadLocks` in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> int | None:
        deadline = time.monotonic() + wait
        while True:
            # Fencing numbers begin with the time, so that they grow even if a lock's row was removed in between.
            found = await self._database.rows(
                "INSERT INTO agui_locks (key, holder, fence, until, cancelling)"
                " VALUES (?, ?, CAST({now} * 1000000 AS BIGINT), {now} + ?, 0)"
                " ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, until = excluded.until, cancelling = 0,"
                " fence = CASE WHEN excluded.fence > agui_locks.fence THEN excluded.fence ELSE agui_locks.fence + 1 END"
                " WHERE agui_locks.until <= {now} RETURNING fence",
                key, holder, lease,
            )  # fmt: skip
            if found:
                return int(found[0][0])
            if time.monotonic() >= deadline:
                return None
            await asyncio.sleep(min(_POLL, max(0.0, deadline - time.monotonic())))

    async def renew(self, key: str, holder: str, *, lease: float) -> Lease:
        found = await self._database.rows(
            "UPDATE agui_locks SET until = {now} + ? WHERE key = ? AND holder = ? RETURNING cancelling",
            lease, key, holder,
        )  # fmt: skip
        return Lease.LOST if not found else Lease.CANCELLING if found[0][0] else Lease.HELD

    async def release(self, key: str, holder: str) -> bool:
        found = await self._database.rows(
            "UPDATE agui_locks SET holder = '', until = 0, cancelling = 0 WHERE key = ? AND holder = ? RETURNING key",
            key, holder,
        )  # fmt: skip
        return bool(found)

    async def request_cancel(self, key: str) -> bool:
        found = await self._database.rows(
            "UPDATE agui_locks SET cancelling = 1 WHERE key = ? AND until > {now} RETURNING key", key
        )
        if found:
            await self._database.notify(CANCELS, key)
        return bool(found)

    async def state(self, key: str) -> Lease:
        found = await self._database.rows("SELECT cancelling FROM agui_locks WHERE key = ? AND until > {now}", key)
        return Lease.FREE if not found else Lease.CANCELLING if found[0][0] else Lease.HELD

    async def cancellations(self) -> AsyncGenerator[str, None]:
        async with aclosing(self._database.news(CANCELS)) as news:
            async for key in news:
                if key:
                    yield key


class _News:
    """`News` without entries: all runs have one channel."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def watch(self, run: str) -> None:
        """It hears of every run."""

    async def unwatch(self, run: str) -> None:
        """It hears of every run."""

    async def listen(self) -> AsyncGenerator[tuple[str, Entry | None], None]:
        async with aclosing(self._database.news(APPENDS)) as news:
            async for runs in news:
                for run in runs.split(",") if runs else (EVERY_RUN,):
                    yield run, None


class SqlLog:
    """`RunLog` in two tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._followers = Followers(_News(database))

    async def create(self, head: RunHead) -> str | None:
        thread = head.thread
        fixed = json.dumps(
            {
                "thread": [thread.agent, thread.user, thread.id, thread.key],
                "run_id": head.run_id,
                "request": head.request,
                "declared": head.declared,
                "facts": head.facts,
            }
        )
        [(earlier,)] = await self._database.rows(
            "INSERT INTO agui_runs (id, thread, head, started, ended, fence, attempt, seq, base, size)"
            " VALUES (?, ?, ?, {now}, NULL, ?, ?, 0, 0, 0) RETURNING (SELECT id FROM agui_runs AS other"
            " WHERE thread = ? AND ended IS NULL AND other.id <> ? ORDER BY started DESC LIMIT 1)",
            head.id, thread.key, fixed, head.fence, head.attempt, thread.key, head.id,
        )  # fmt: skip
        return cast("str | None", earlier)

    async def claim(self, run: str, fence: int) -> RunHead | None:
        found = await self._database.rows(
            "UPDATE agui_runs SET fence = ?, attempt = attempt + 1 WHERE id = ? AND fence < ? AND ended IS NULL"
            " RETURNING id",
            fence, run, fence,
        )  # fmt: skip
        return await self.head(run) if found else None

    async def hand_over(self, run: str, fence: int) -> None:
        await self._database.rows(
            "UPDATE agui_runs SET fence = 0, handed = handed + 1 WHERE id = ? AND fence = ? AND ended IS NULL",
            run, fence,
        )  # fmt: skip

    async def append(self, batches: Sequence[Batch]) -> frozenset[str]:
        taken = await self._database.append(batches)
        return frozenset(batch.run for batch in batches) - taken

    async def compact(self, run: str, fence: int, upto: int, data: bytes) -> bool:
        owned = await self._database.rows(
            "UPDATE agui_runs SET base = ? WHERE id = ? AND fence = ? RETURNING id", upto, run, fence
        )
        if not owned:
            return False
        await self._database.rows("UPDATE agui_log SET data = ? WHERE run = ? AND seq = ?", data, run, upto)
        await self._database.rows("DELETE FROM agui_log WHERE run = ? AND seq < ?", run, upto)
        size = "SELECT coalesce(sum(length(data)), 0) FROM agui_log WHERE run = ?"
        await self._database.rows(f"UPDATE agui_runs SET size = ({size}) WHERE id = ?", run, run)
        return True

    async def read(self, run: str, after: int = 0) -> list[Entry]:
        found = await self._database.rows(
            "SELECT seq, data, last FROM agui_log WHERE run = ? AND seq > ? ORDER BY seq", run, after
        )
        return [Entry(seq, bytes(data), bool(last)) for seq, data, last in found]

    async def follow(self, run: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        async with aclosing(self._followers.follow(run, after, self.read, self._kept)) as entries:
            async for entry in entries:
                yield entry

    async def head(self, run: str) -> RunHead | None:
        found = await self._heads("id = ?", run)
        return found[0] if found else None

    async def runs(self, thread: str, *, limit: int = 20) -> list[RunHead]:
        return await self._heads(f"thread = ? ORDER BY started DESC LIMIT {int(limit)}", thread)

    async def unfinished(self, *, limit: int = 1000) -> list[Unfinished]:
        found = await self._database.rows(
            f"SELECT id, thread FROM agui_runs WHERE ended IS NULL ORDER BY started LIMIT {int(limit)}"
        )
        return [Unfinished(*one) for one in found]

    async def drop(self, thread: str) -> None:
        await self._forget("thread = ?", thread)

    async def sweep(self, *, before: float) -> int:
        return await self._forget("ended < ?", before)

    async def _kept(self, run: str) -> bool:
        return bool(await self._database.rows("SELECT id FROM agui_runs WHERE id = ?", run))

    async def _forget(self, condition: str, arg: Any) -> int:
        # Entries first: a worker that ends in between leaves runs, which are found again, and no entries without a run.
        runs = f"SELECT id FROM agui_runs WHERE {condition}"
        await self._database.rows(f"DELETE FROM agui_log WHERE run IN ({runs})", arg)
        gone = await self._database.rows(f"DELETE FROM agui_runs WHERE {condition} RETURNING id", arg)
        if gone:
            await self._database.notify(APPENDS, ",".join(run for (run,) in gone[:100]) if len(gone) <= 100 else "*")
        return len(gone)

    async def _heads(self, condition: str, *args: Any) -> list[RunHead]:
        columns = "id, head, started, ended, fence, attempt, handed, seq, base, size"
        found = await self._database.rows(f"SELECT {columns} FROM agui_runs WHERE {condition}", *args)
        heads: list[RunHead] = []
        for run, fixed, started, ended, fence, attempt, handed, seq, base, size in found:
            known = json.loads(fixed)
            head = RunHead(run, ThreadRef(*known.pop("thread")), **known)
            changing = {"ended": ended, "fence": fence, "attempt": attempt, "handed": handed}
            heads.append(replace(head, started=started, seq=seq, base=base, size=size, **changing))
        return heads


def sql_store(database: Database, *away: type[Exception]) -> Store:
    """The members of a store in this database. `away`: what its client raises when it cannot be reached."""

    async def ready() -> None:
        await database.rows("SELECT 1")

    async def now() -> float:
        [(seconds,)] = await database.rows("SELECT {now}")
        return float(seconds)

    return Store(
        locks=SqlLocks(database),
        index=SqlThreads(database),
        log=SqlLog(database),
        journal=SqlJournal(database),
        board=SqlBoard(database),
        ready=ready,
        away=away,
        now=now,
    )
