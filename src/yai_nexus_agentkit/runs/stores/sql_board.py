"""The board of the workers in a table."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yai_nexus_agentkit.runs.stores.sql import Database

__all__ = ["NEWS", "SqlBoard"]

NEWS = "agui_board"
"""Channel of the workers' news."""


class SqlBoard:
    """`Board`. Whoever writes removes notes that are too old."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, kind: str, owner: str, name: str, note: str, *, keep: float) -> None:
        await self._database.rows("DELETE FROM agui_board WHERE until < {now}")
        await self._database.rows(
            "INSERT INTO agui_board (kind, owner, name, note, until) VALUES (?, ?, ?, ?, {now} + ?)"
            " ON CONFLICT (kind, owner, name) DO UPDATE SET note = excluded.note, until = excluded.until",
            kind, json.dumps(owner), json.dumps(name), note, keep,
        )  # fmt: skip

    async def drop(self, kind: str, owner: str, name: str) -> None:
        where = "kind = ? AND owner = ? AND name = ?"
        await self._database.rows(f"DELETE FROM agui_board WHERE {where}", kind, json.dumps(owner), json.dumps(name))

    async def notes(self, kind: str, owner: str) -> Mapping[str, str]:
        found = await self._database.rows(
            "SELECT name, note FROM agui_board WHERE kind = ? AND owner = ? AND until >= {now}",
            kind, json.dumps(owner),
        )  # fmt: skip
        return {json.loads(name): note for name, note in found}

    async def publish(self, text: str) -> None:
        await self._database.notify(NEWS, text)

    async def news(self) -> AsyncGenerator[str, None]:
        async with aclosing(self._database.news(NEWS)) as messages:
            async for message in messages:
                if message:
                    yield message
