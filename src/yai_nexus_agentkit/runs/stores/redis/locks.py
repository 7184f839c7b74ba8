"""Locks of threads in Redis: a hash per lock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

from yai_nexus_agentkit.runs.locks import Lease
from yai_nexus_agentkit.runs.stores.redis.clock import NOW
from yai_nexus_agentkit.runs.stores.redis.news import messages

__all__ = ["RedisLocks"]

CANCELS = "agui:cancel"
_POLL = 0.05
"""Seconds between two attempts of who waits for a lock."""
_STALE = 24 * 3600
"""Seconds after which a lock that nobody renewed is forgotten."""

_ACQUIRE = (
    NOW
    + """
local until_ = redis.call('HGET', KEYS[1], 'until')
if until_ and tonumber(until_) > tonumber(now) then return 0 end
local fence = redis.call('INCR', KEYS[2])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'until', now + ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return fence
"""
)
_RENEW = (
    NOW
    + """
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'until', now + ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return redis.call('HEXISTS', KEYS[1], 'cancelling') == 1 and 'cancelling' or 'held'
"""
)
_RELEASE = """
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
_CANCEL = (
    NOW
    + """
local until_ = redis.call('HGET', KEYS[1], 'until')
if not until_ or tonumber(until_) <= tonumber(now) then return 0 end
redis.call('HSET', KEYS[1], 'cancelling', '1')
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
"""
)
_STATE = (
    NOW
    + """
local until_ = redis.call('HGET', KEYS[1], 'until')
if not until_ or tonumber(until_) <= tonumber(now) then return 'free' end
return redis.call('HEXISTS', KEYS[1], 'cancelling') == 1 and 'cancelling' or 'held'
"""
)


class RedisLocks:
    """`ThreadLocks`: a hash per lock."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._acquire = client.register_script(_ACQUIRE)
        self._renew = client.register_script(_RENEW)
        self._release = client.register_script(_RELEASE)
        self._cancel = client.register_script(_CANCEL)
        self._state = client.register_script(_STATE)

    async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> int | None:
        deadline = time.monotonic() + wait
        while True:
            fence = await self._acquire(keys=[_lock(key), "agui:fence"], args=[holder, lease, _STALE])
            if fence:
                return int(fence)
            if time.monotonic() >= deadline:
                return None
            await asyncio.sleep(min(_POLL, max(0.0, deadline - time.monotonic())))

    async def renew(self, key: str, holder: str, *, lease: float) -> Lease:
        return Lease((await self._renew(keys=[_lock(key)], args=[holder, lease, _STALE])).decode())

    async def release(self, key: str, holder: str) -> bool:
        return bool(await self._release(keys=[_lock(key)], args=[holder]))

    async def request_cancel(self, key: str) -> bool:
        return bool(await self._cancel(keys=[_lock(key)], args=[CANCELS, key]))

    async def state(self, key: str) -> Lease:
        return Lease((await self._state(keys=[_lock(key)])).decode())

    def cancellations(self) -> AsyncGenerator[str, None]:
        return messages(self._client, CANCELS)


def _lock(key: str) -> str:
    return f"agui:lock:{key}"
