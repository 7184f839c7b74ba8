"""A store in one SQLite file: for the workers of one machine, and for what stays after a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from yai_nexus_agentkit.runs.log import Batch
from yai_nexus_agentkit.runs.stores.followers import EVERY_RUN
from yai_nexus_agentkit.runs.stores.sql import CANCELS, MIGRATIONS, sql_store
from yai_nexus_agentkit.runs.stores.sql_board import NEWS
from yai_nexus_agentkit.runs.stores.store import Store

try:
    import aiosqlite
except ImportError as error:
    raise ImportError('a store in SQLite needs aiosqlite: pip install "yai-nexus-agentkit[sqlite]"') from error

__all__ = ["sqlite_store"]

_POLL = 0.02
"""Seconds between two looks for what other processes wrote. SQLite sends no news."""
_NEWS_KEPT = 60.0
"""Seconds for which news stay, for processes that are slow to look."""
_BUSY = 10_000
"""Milliseconds that a statement waits for another process's write."""


@asynccontextmanager
async def sqlite_store(path: str) -> AsyncIterator[Store]:
    """The store in the file at `path`, which is made if it is not there."""
    async with _connection(path) as own:
        database = _SQLite(path, own)
        await database.prepare()
        yield sql_store(database, aiosqlite.OperationalError)


@asynccontextmanager
async def _connection(path: str) -> AsyncIterator[aiosqlite.Connection]:
    """A connection of its own. Who is cancelled while it is made waits for it: else aiosqlite's thread reports it to a
    loop that may have ended, and nobody closes it."""
    opening = asyncio.ensure_future(aiosqlite.connect(path, isolation_level=None).__aenter__())
    try:
        yield await asyncio.shield(opening)
    finally:
        await (await opening).close()


class _SQLite:
    def __init__(self, path: str, own: aiosqlite.Connection) -> None:
        self._path, self._own = path, own
        self._turn = asyncio.Lock()
        """One transaction at a time: the connection is shared."""

    async def prepare(self) -> None:
        await self._own.execute(f"PRAGMA busy_timeout = {_BUSY}")
        await self._log_ahead()
        await self._own.execute("PRAGMA synchronous = NORMAL")
        await self._own.execute("BEGIN IMMEDIATE")
        try:
            [(version,)] = await self._own.execute_fetchall("PRAGMA user_version")
            for statements in MIGRATIONS[version:]:
                for statement in statements.format(BYTES="BLOB").split(";")[:-1]:
                    await self._own.execute(statement)
            await self._own.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
        except BaseException:
            await self._own.execute("ROLLBACK")
            raise
        await self._own.execute("COMMIT")

    async def _log_ahead(self) -> None:
        """Switch to the write-ahead log. SQLite does not wait by itself for others that do the same just now."""
        until = time.monotonic() + _BUSY / 1000
        while True:
            try:
                await self._own.execute("PRAGMA journal_mode = WAL")
                return
            except aiosqlite.OperationalError:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_POLL)

    async def rows(self, statement: str, *args: Any) -> list[tuple[Any, ...]]:
        now = round(time.time() * 1_000_000)  # a number with a point is not always read as it was written
        statement = statement.replace("{now}", f"({now} / 1000000.0)")
        async with self._turn:
            return [tuple(row) for row in await self._own.execute_fetchall(statement, args)]

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        now = time.time()
        async with self._turn:
            await self._own.execute("BEGIN IMMEDIATE")
            try:
                taken = {batch.run for batch in batches if await self._append(batch, now)}
            except BaseException:
                await self._own.execute("ROLLBACK")
                raise
            await self._own.execute("COMMIT")
        return taken

    async def _append(self, batch: Batch, now: float) -> bool:
        found = list(
            await self._own.execute_fetchall(
                "UPDATE agui_runs SET seq = seq + 1, size = size + ?, ended = ?"
                " WHERE id = ? AND fence = ? AND ended IS NULL RETURNING seq",
                (len(batch.data), now if batch.last else None, batch.run, batch.fence),
            )
        )
        if not found:
            return False
        await self._own.execute(
            "INSERT INTO agui_log (run, seq, data, last) VALUES (?, ?, ?, ?)",
            (batch.run, found[0][0], batch.data, int(batch.last)),
        )
        return True

    async def notify(self, channel: str, text: str) -> None:
        """Other processes look by themselves, except for the news of the board, which are nowhere else."""
        if channel == NEWS:
            now = time.time()
            await self.rows("DELETE FROM agui_news WHERE sent < ?", now - _NEWS_KEPT)
            # By the time, so that the numbers grow even if all news before were removed.
            number = "SELECT max(?, coalesce(max(seq), 0) + 1), ?, ? FROM agui_news"
            await self.rows(f"INSERT INTO agui_news (seq, news, sent) {number}", int(now * 1e6), text, now)

    async def news(self, channel: str) -> AsyncGenerator[str, None]:
        # The version of the data changes with writes by other connections, so this needs one of its own.
        async with _connection(self._path) as watching:
            seen = None
            asked: set[str] = set()
            [(last,)] = await watching.execute_fetchall("SELECT coalesce(max(seq), 0) FROM agui_news")
            yield ""
            while True:
                [(version,)] = await watching.execute_fetchall("PRAGMA data_version")
                if version != seen:
                    seen = version
                    if channel == NEWS:
                        wanted = "SELECT seq, news FROM agui_news WHERE seq > ? ORDER BY seq"
                        for number, text in await watching.execute_fetchall(wanted, (last,)):
                            last = number
                            yield text
                    elif channel != CANCELS:
                        yield EVERY_RUN
                    else:
                        found = await watching.execute_fetchall("SELECT key FROM agui_locks WHERE cancelling = 1")
                        keys = {key for (key,) in found}
                        for key in keys - asked:
                            yield key
                        asked = keys
                await asyncio.sleep(_POLL)
