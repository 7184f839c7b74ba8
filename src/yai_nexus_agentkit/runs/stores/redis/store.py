"""Opens a store in Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from yai_nexus_agentkit.runs.stores.redis.board import RedisBoard
from yai_nexus_agentkit.runs.stores.redis.locks import RedisLocks
from yai_nexus_agentkit.runs.stores.redis.log import RedisLog
from yai_nexus_agentkit.runs.stores.redis.threads import RedisJournal, RedisThreads
from yai_nexus_agentkit.runs.stores.store import Store

try:
    from redis.asyncio import Redis
except ImportError as error:
    raise ImportError('a store in Redis needs redis: pip install "yai-nexus-agentkit[redis]"') from error

__all__ = ["redis_store"]

_CONNECTIONS = 2_000
"""Connections of one process at most. A burst of runs opens one for each; the client's default would refuse them."""


@asynccontextmanager
async def redis_store(address: str) -> AsyncIterator[Store]:
    """The store in the database at `address`; its keys begin with ``agui:``."""
    async with Redis.from_url(address, max_connections=_CONNECTIONS) as client:
        await client.ping()

        async def ready() -> None:
            await client.ping()

        yield Store(
            locks=RedisLocks(client),
            index=RedisThreads(client),
            log=RedisLog(client),
            journal=RedisJournal(client),
            board=RedisBoard(client),
            ready=ready,
        )
