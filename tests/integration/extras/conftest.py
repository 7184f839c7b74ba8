"""Databases of the tests' own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.support.postgres import pool, postgres
from tests.support.redis_server import RedisServer, redis_server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
            yield opened
    else:
        async with pool(request.getfixturevalue("database")) as connections:
            checkpointer = AsyncPostgresSaver(connections)
            await checkpointer.setup()
            yield checkpointer
            async with connections.connection() as connection:
                await connection.execute("TRUNCATE checkpoints, checkpoint_blobs, checkpoint_writes")
