"""The index of threads and their journals in Redis."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadStatus
from yai_nexus_agentkit.runs.journal import JournalEntry
from yai_nexus_agentkit.runs.stores.redis.clock import NOW

__all__ = ["RedisJournal", "RedisThreads"]

_KEEP = """
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
"""
_TOUCH = (
    NOW
    + """
local thread = KEYS[1]
redis.call('HSET', thread, 'thread', ARGV[2], 'updated', now, 'status', ARGV[3])
redis.call('HSETNX', thread, 'created', now)
if ARGV[4] ~= '' then redis.call('HSETNX', thread, 'title', ARGV[4]) end
redis.call('ZADD', KEYS[2], now, ARGV[1])
if ARGV[3] == 'paused' then
    redis.call('ZREM', KEYS[3], ARGV[1])
else
    redis.call('ZADD', KEYS[3], now, ARGV[1])
end
redis.call('SADD', KEYS[4], KEYS[2])
"""
)


class RedisThreads:
    """`ThreadIndex`: a hash per thread, a sorted set of each user's threads, and one of each agent's idle ones."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._touch = client.register_script(_TOUCH)

    async def touch(self, thread: ThreadRef, status: ThreadStatus, *, title: str = "") -> None:
        keys = [
            _thread(thread.key),
            _owned(thread.agent, thread.user),
            _idle(thread.agent),
            _users(thread.agent),
        ]
        name = json.dumps([thread.agent, thread.user, thread.id])
        shown = json.dumps(title) if title else ""
        await self._touch(keys=keys, args=[thread.key, name, status.value, shown])

    async def entry(self, key: str) -> ThreadEntry | None:
        return (await self._entries([key]))[0]

    async def describe(
        self, key: str, *, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> ThreadEntry | None:
        if await self._client.exists(_thread(key)):
            if title is not None:
                await self._client.hset(_thread(key), "title", json.dumps(title))
            if metadata is not None:
                await self._client.hset(_thread(key), "metadata", json.dumps(dict(metadata)))
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
        border = math.inf if before is None else before
        found: list[ThreadEntry] = []
        start, page, wanted = 0, max(limit, 1), search.casefold()
        newest = "+inf" if before is None else f"{before}"
        while len(found) < limit:
            keys = await self._client.zrevrangebyscore(_owned(agent, user), newest, "-inf", start=start, num=page)
            shown = [entry for entry in await self._entries([key.decode() for key in keys]) if entry is not None]
            found += [
                entry
                for entry in shown
                if (entry.updated, entry.thread.key) < (border, before_key or "") and wanted in entry.title.casefold()
            ]
            if len(keys) < page:
                break
            start += page
        return found[:limit]

    async def remove(self, key: str) -> None:
        entry = await self.entry(key)
        if entry is not None:
            async with self._client.pipeline() as steps:
                steps.delete(_thread(key))
                steps.zrem(_owned(entry.thread.agent, entry.thread.user), key)
                steps.zrem(_idle(entry.thread.agent), key)
                await steps.execute()

    async def idle(self, agent: str, *, before: float, limit: int) -> list[ThreadEntry]:
        keys = await self._client.zrangebyscore(_idle(agent), "-inf", f"({before}", start=0, num=limit)
        return [entry for entry in await self._entries([key.decode() for key in keys]) if entry is not None]

    async def surplus(self, agent: str, *, keep: int, limit: int) -> list[ThreadEntry]:
        over: list[ThreadEntry] = []
        for own in await self._client.smembers(_users(agent)):
            keys = await self._client.zrevrange(own, keep, -1)
            if not keys and not await self._client.exists(own):
                await self._client.srem(_users(agent), own)
            found = await self._entries([key.decode() for key in keys])
            over += [entry for entry in found if entry is not None and entry.status is not ThreadStatus.PAUSED]
        return sorted(over, key=lambda entry: entry.updated)[:limit]

    async def _entries(self, keys: Sequence[str]) -> list[ThreadEntry | None]:
        if not keys:
            return []
        async with self._client.pipeline(transaction=False) as steps:
            for key in keys:
                steps.hgetall(_thread(key))
            return [_entry(key, fields) for key, fields in zip(keys, await steps.execute(), strict=True)]


def _entry(key: str, fields: Mapping[bytes, bytes]) -> ThreadEntry | None:
    if b"thread" not in fields:
        return None
    return ThreadEntry(
        ThreadRef(*[*json.loads(fields[b"thread"]), key]),
        float(fields[b"created"]),
        float(fields[b"updated"]),
        ThreadStatus(fields[b"status"].decode()),
        json.loads(fields.get(b"title", b'""')),
        json.loads(fields.get(b"metadata", b"{}")),
    )


def _thread(key: str) -> str:
    return f"agui:thread:{key}"


def _owned(agent: str, user: str) -> str:
    return f"agui:threads:{json.dumps([agent, user])}"


def _users(agent: str) -> str:
    return f"agui:users:{json.dumps(agent)}"


def _idle(agent: str) -> str:
    return f"agui:idle:{json.dumps(agent)}"


class RedisJournal:
    """`ThreadJournal`: the order of the ids, where each entry is, and what each holds."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._keep = client.register_script(_KEEP)

    async def keep(self, thread: str, entries: Sequence[JournalEntry]) -> None:
        places, order, contents = _journal(thread)
        async with self._client.pipeline() as steps:
            for entry in entries:
                args = [json.dumps(entry.id), json.dumps(entry.after), entry.data]
                await self._keep(keys=[places, order, contents], args=args, client=steps)
            await steps.execute()

    async def kept(self, thread: str) -> list[JournalEntry]:
        places, order, contents = _journal(thread)
        async with self._client.pipeline() as steps:
            steps.lrange(order, 0, -1)
            steps.hgetall(places)
            steps.hgetall(contents)
            ids, after, data = await steps.execute()
        return [JournalEntry(json.loads(own), json.loads(after[own]), data[own].decode()) for own in ids]

    async def drop(self, thread: str) -> None:
        await self._client.delete(*_journal(thread))


def _journal(thread: str) -> tuple[str, str, str]:
    return tuple(f"agui:journal:{part}:{thread}" for part in ("places", "order", "contents"))  # type: ignore[return-value]
