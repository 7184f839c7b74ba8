"""Opens a store in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from yai_nexus_agentkit.runs.stores.redis.board import RedisBoard
from yai_nexus_agentkit.runs.stores.redis.clock import seconds
from yai_nexus_agentkit.runs.stores.redis.locks import RedisLocks
from yai_nexus_agentkit.runs.stores.redis.log import RedisLog
from yai_nexus_agentkit.runs.stores.redis.threads import RedisJournal, RedisThreads
from yai_nexus_agentkit.runs.stores.store import Store

try:
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.exceptions import ConnectionError as BrokenError
    from redis.exceptions import TimeoutError as LateError
except ImportError as error:
    raise ImportError('a store in Redis needs redis: pip install "yai-nexus-agentkit[redis]"') from error

__all__ = ["redis_store"]

_CONNECTIONS = 50
"""Connections of one process at most, besides one for each subscription. A burst of runs waits for them."""
_PATIENCE = 30.0
"""Seconds that it waits."""


@asynccontextmanager
async def redis_store(address: str) -> AsyncIterator[Store]:
    """The store in the database at `address`; its keys begin with ``agui:``."""
    pool = BlockingConnectionPool.from_url(address, max_connections=_CONNECTIONS, timeout=_PATIENCE)
    async with Redis.from_pool(pool) as client:
        await client.ping()

        async def ready() -> None:
            await client.ping()

        async def now() -> float:
            return seconds(await client.time())

        yield Store(
            locks=RedisLocks(client),
            index=RedisThreads(client),
            log=RedisLog(client),
            journal=RedisJournal(client),
            board=RedisBoard(client),
            ready=ready,
            away=(BrokenError, LateError),
            now=now,
        )
