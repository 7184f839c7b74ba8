"""A store in PostgreSQL, for any number of workers on any number of machines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from yai_nexus_agentkit.runs.log import Batch
from yai_nexus_agentkit.runs.stores.followers import EVERY_RUN
from yai_nexus_agentkit.runs.stores.sql import APPENDS, MIGRATIONS, sql_store
from yai_nexus_agentkit.runs.stores.store import Store

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
    from psycopg.errors import ReadOnlySqlTransaction as _NoPrimary
    from psycopg_pool import AsyncConnectionPool
except ImportError as error:
    raise ImportError('a store in PostgreSQL needs psycopg: pip install "yai-nexus-agentkit[postgres]"') from error

__all__ = ["postgres_store"]

_MIGRATING = 0x61677569
"""Key of the advisory lock under which one worker migrates and the others wait."""
_CONNECTIONS = 5
"""Connections of one process, besides one for each channel that it listens to."""
_PATIENCE = 3.0
"""Seconds that a statement waits for a connection: while the database is away, requests are refused after that."""
_LINK = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 30}
"""How soon a machine that does not answer any more counts as gone, unless the address says it; else it takes a quarter
of an hour."""
_NAMED = 7000
"""Characters of a notification; PostgreSQL refuses 8,000 bytes."""

_NOW = "extract(epoch FROM clock_timestamp())::double precision"
_APPEND = f"""
WITH given AS (
    SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bytea[], %s::boolean[]) AS g (run, fence, data, last)
),
taken AS (
    UPDATE agui_runs r SET seq = r.seq + 1, size = r.size + length(g.data),
        ended = CASE WHEN g.last THEN {_NOW} END
    FROM given g WHERE r.id = g.run AND r.fence = g.fence AND r.ended IS NULL RETURNING r.id, r.seq
)
INSERT INTO agui_log (run, seq, data, last)
SELECT t.id, t.seq, g.data, g.last::integer FROM taken t JOIN given g ON g.run = t.id RETURNING run
"""


@asynccontextmanager
async def postgres_store(address: str) -> AsyncIterator[Store]:
    """The store in the database at `address`, in the schema that its user sees first."""
    given: dict[str, Any] = conninfo_to_dict(address)
    address = make_conninfo(**{**_LINK, **given})
    options = {"autocommit": True}
    async with await psycopg.AsyncConnection.connect(address):
        pass  # it says at once why it fails; the pool tries again for half a minute
    async with AsyncConnectionPool(
        address,
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=_PATIENCE,
        check=_still_open,
        kwargs=options,
        open=False,
    ) as pool:
        await pool.wait()
        database = _Postgres(address, pool)
        await database.prepare()
        yield sql_store(database, psycopg.OperationalError, _NoPrimary)


async def _still_open(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raises if the server closed the connection while nobody used it: it was restarted, or closes idle ones. That has
    arrived already, so nothing is sent: first its reason is read, then the end."""
    connection.pgconn.consume_input()
    connection.pgconn.consume_input()


class _Postgres:
    def __init__(self, address: str, pool: AsyncConnectionPool[Any]) -> None:
        self._address, self._pool = address, pool

    async def prepare(self) -> None:
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            await connection.execute("CREATE TABLE IF NOT EXISTS agui_version (version INTEGER NOT NULL)")
            found = await (await connection.execute("SELECT version FROM agui_version")).fetchone()
            version = found[0] if found is not None else 0
            for statements in MIGRATIONS[version:]:
                for statement in statements.format(BYTES="BYTEA").split(";")[:-1]:
                    await connection.execute(statement.encode())
            if version < len(MIGRATIONS):
                await connection.execute("DELETE FROM agui_version")
                await connection.execute("INSERT INTO agui_version VALUES (%s)", (len(MIGRATIONS),))

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self._pool.connection() as connection:
            try:
                yield connection
            except _NoPrimary:  # another server may have taken its place
                await connection.close()
                raise

    async def rows(self, statement: str, *args: Any) -> list[tuple[Any, ...]]:
        statement = statement.replace("%", "%%").replace("?", "%s").replace("{now}", _NOW)
        async with self._connected() as connection:
            cursor = await connection.execute(statement.encode(), args)
            return await cursor.fetchall() if cursor.description is not None else []

    async def append(self, batches: Sequence[Batch]) -> set[str]:
        async with self._connected() as connection, connection.pipeline():
            cursor = await connection.execute(
                _APPEND.encode(),
                (
                    [batch.run for batch in batches],
                    [batch.fence for batch in batches],
                    [batch.data for batch in batches],
                    [batch.last for batch in batches],
                ),
            )
            runs = ",".join(batch.run for batch in batches)
            await connection.execute("SELECT pg_notify(%s, %s)", (APPENDS, runs if len(runs) <= _NAMED else EVERY_RUN))
            return {run for (run,) in await cursor.fetchall()}

    async def notify(self, channel: str, text: str) -> None:
        async with self._connected() as connection:
            await connection.execute("SELECT pg_notify(%s, %s)", (channel, text))

    async def news(self, channel: str) -> AsyncGenerator[str, None]:
        async with await psycopg.AsyncConnection.connect(self._address, autocommit=True) as connection:
            await connection.execute(f"LISTEN {channel}".encode())
            yield ""
            async with aclosing(connection.notifies()) as notices:
                async for notice in notices:
                    yield notice.payload
