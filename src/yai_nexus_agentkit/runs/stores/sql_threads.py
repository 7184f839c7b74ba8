"""The index of threads and their journals in tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadStatus
from yai_nexus_agentkit.runs.journal import JournalEntry

if TYPE_CHECKING:
    from yai_nexus_agentkit.runs.stores.sql import Database

__all__ = ["SqlJournal", "SqlThreads"]


class SqlThreads:
    """`ThreadIndex` in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def touch(self, thread: ThreadRef, status: ThreadStatus, *, title: str = "") -> None:
        shown = _named(title) if title else ""
        await self._database.rows(
            "INSERT INTO agui_threads (key, agent, owner, id, title, folded, metadata, status, created, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, '{}', ?, {now}, {now})"
            " ON CONFLICT (key) DO UPDATE SET status = excluded.status,"
            " updated = excluded.updated,"
            " title = CASE WHEN agui_threads.title = '' THEN excluded.title ELSE agui_threads.title END,"
            " folded = CASE WHEN agui_threads.title = '' THEN excluded.folded ELSE agui_threads.folded END",
            thread.key, _named(thread.agent), _named(thread.user), _named(thread.id), shown, _folded(title),
            status.value,
        )  # fmt: skip

    async def entry(self, key: str) -> ThreadEntry | None:
        found = await self._select("key = ?", key)
        return found[0] if found else None

    async def describe(
        self, key: str, *, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> ThreadEntry | None:
        if title is not None:
            shown = _named(title) if title else ""
            await self._database.rows(
                "UPDATE agui_threads SET title = ?, folded = ? WHERE key = ?", shown, _folded(title), key
            )
        if metadata is not None:
            text = json.dumps(dict(metadata))
            await self._database.rows("UPDATE agui_threads SET metadata = ? WHERE key = ?", text, key)
        return await self.entry(key)

    async def entries(
        self,
        agent: str,
        user: str,
        *,
        limit: int,
        before: float | None = None,
        before_key: str | None = None,
        search: str = "",
    ) -> list[ThreadEntry]:
        conditions, args = "agent = ? AND owner = ?", list[Any]([_named(agent), _named(user)])
        if before is not None:
            conditions, args = f"{conditions} AND (updated, key) < (?, ?)", [*args, before, before_key or ""]
        if search:
            conditions, args = f"{conditions} AND folded LIKE ? ESCAPE '!'", [*args, f"%{_pattern(search)}%"]
        return await self._select(f"{conditions} ORDER BY updated DESC, key DESC LIMIT {int(limit)}", *args)

    async def remove(self, key: str) -> None:
        await self._database.rows("DELETE FROM agui_threads WHERE key = ?", key)

    async def idle(self, agent: str, *, before: float, limit: int) -> list[ThreadEntry]:
        condition = f"agent = ? AND updated < ? AND status <> 'paused' ORDER BY updated LIMIT {int(limit)}"
        return await self._select(condition, _named(agent), before)

    async def surplus(self, agent: str, *, keep: int, limit: int) -> list[ThreadEntry]:
        ranked = (
            "SELECT key, row_number() OVER (PARTITION BY owner ORDER BY updated DESC) AS place FROM agui_threads"
            " WHERE agent = ?"
        )
        condition = (
            f"status <> 'paused' AND key IN (SELECT key FROM ({ranked}) AS ranked WHERE place > ?)"
            f" ORDER BY updated LIMIT {int(limit)}"
        )
        return await self._select(condition, _named(agent), keep)

    async def _select(self, condition: str, *args: Any) -> list[ThreadEntry]:
        columns = "agent, owner, id, key, created, updated, status, title, metadata"
        found = await self._database.rows(f"SELECT {columns} FROM agui_threads WHERE {condition}", *args)
        return [
            ThreadEntry(
                ThreadRef(json.loads(agent), json.loads(owner), json.loads(own), key),
                created, updated, ThreadStatus(status), json.loads(title) if title else "", json.loads(metadata),
            )
            for agent, owner, own, key, created, updated, status, title, metadata in found
        ]  # fmt: skip


def _folded(title: str) -> str:
    """A title as it is searched for."""
    return json.dumps(title.casefold())[1:-1]


def _pattern(search: str) -> str:
    text = _folded(search)
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return text


class SqlJournal:
    """`ThreadJournal` in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, thread: str, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            await self._database.rows(
                "INSERT INTO agui_journal (thread, id, place, after, data)"
                " SELECT ?, ?, coalesce(max(place), 0) + 1, ?, ? FROM agui_journal WHERE thread = ?"
                " ON CONFLICT (thread, id) DO UPDATE SET data = excluded.data",
                thread, _named(entry.id), _named(entry.after), entry.data, thread,
            )  # fmt: skip

    async def kept(self, thread: str) -> list[JournalEntry]:
        found = await self._database.rows(
            "SELECT id, after, data FROM agui_journal WHERE thread = ? ORDER BY place", thread
        )
        return [JournalEntry(json.loads(own), json.loads(after), data) for own, after, data in found]

    async def drop(self, thread: str) -> None:
        await self._database.rows("DELETE FROM agui_journal WHERE thread = ?", thread)


def _named(text: str) -> str:
    """A name as ASCII text: databases refuse NUL and half surrogates, which clients may send."""
    return json.dumps(text)
