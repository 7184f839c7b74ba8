"""The log of runs in Redis: a hash and a stream per run."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.log import Batch, Entry, RunHead, Unfinished
from yai_nexus_agentkit.runs.stores.followers import EVERY_RUN, Followers
from yai_nexus_agentkit.runs.stores.redis.clock import NOW
from yai_nexus_agentkit.runs.stores.redis.news import APPENDS, RedisNews

__all__ = ["RedisLog"]

_CREATE = (
    NOW
    + """
local run, runs = KEYS[1], KEYS[2]
local earlier = redis.call('ZREVRANGE', runs, 0, 0)[1]
if earlier then
    local kept = 'agui:run:' .. earlier
    if redis.call('EXISTS', kept) == 0 or redis.call('HEXISTS', kept, 'ended') == 1 then earlier = nil end
end
redis.call('HSET', run, 'started', now, unpack(ARGV, 2))
redis.call('ZADD', runs, now, ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])
return earlier or ''
"""
)
_APPEND = (
    NOW
    + """
local refused = {}
for place = 1, #ARGV do
    local head, data = string.match(ARGV[place], '^([^\\n]*)\\n(.*)$')
    local id, fence, last = string.match(head, '^(%S+) (%S+) (%S+)$')
    local run = 'agui:run:' .. id
    local owner = redis.call('HMGET', run, 'fence', 'ended')
    if owner[1] ~= fence or owner[2] then
        refused[#refused + 1] = id
    else
        local seq = redis.call('HINCRBY', run, 'seq', 1)
        redis.call('XADD', 'agui:log:' .. id, seq .. '-1', 'd', data, 'l', last)
        redis.call('HINCRBY', run, 'size', #data)
        if last == '1' then
            redis.call('HSET', run, 'ended', now)
            redis.call('ZREM', KEYS[1], id)
            redis.call('ZADD', KEYS[2], now, id)
        end
        redis.call('PUBLISH', 'agui:news:' .. id, seq .. ' ' .. last .. ' ' .. data)
    end
end
return refused
"""
)
_CLAIM = """
local fence = redis.call('HGET', KEYS[1], 'fence')
if not fence or tonumber(fence) >= tonumber(ARGV[1]) or redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
return redis.call('HINCRBY', KEYS[1], 'attempt', 1)
"""
_HAND_OVER = """
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], 'ended') == 1 then return end
redis.call('HSET', KEYS[1], 'fence', 0)
redis.call('HINCRBY', KEYS[1], 'handed', 1)
"""
_COMPACT = """
local run, log = KEYS[1], KEYS[2]
if redis.call('HGET', run, 'fence') ~= ARGV[1] then return 0 end
local size = #ARGV[3]
redis.call('XTRIM', log, 'MINID', (ARGV[2] + 1) .. '-0')
for _, entry in ipairs(redis.call('XRANGE', log, '-', '+')) do size = size + #entry[2][2] end
redis.call('HSET', run, 'base', ARGV[2], 'data', ARGV[3], 'size', size)
return 1
"""


class RedisLog:
    """`RunLog`: a hash and a stream per run. The stream's ids are the entries' numbers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._create = client.register_script(_CREATE)
        self._append = client.register_script(_APPEND)
        self._claim = client.register_script(_CLAIM)
        self._hand_over = client.register_script(_HAND_OVER)
        self._compact = client.register_script(_COMPACT)
        self._followers = Followers(RedisNews(client))

    async def create(self, head: RunHead) -> str | None:
        thread = head.thread
        fields: dict[str, int | str] = {
            "thread": json.dumps([thread.agent, thread.user, thread.id, thread.key]),
            "run_id": json.dumps(head.run_id),
            "request": head.request,
            "declared": int(head.declared),
            "facts": head.facts,
            "fence": head.fence,
            "attempt": head.attempt,
            "size": 0,
        }
        members = [part for field in fields.items() for part in field]
        keys = [_run(head.id), _runs(thread.key), "agui:open"]
        earlier: bytes = await self._create(keys=keys, args=[head.id, *members])
        return earlier.decode() or None

    async def claim(self, run: str, fence: int) -> RunHead | None:
        claimed = await self._claim(keys=[_run(run)], args=[fence])
        return await self.head(run) if claimed else None

    async def hand_over(self, run: str, fence: int) -> None:
        await self._hand_over(keys=[_run(run)], args=[fence])

    async def append(self, batches: Sequence[Batch]) -> frozenset[str]:
        # One argument per batch: the client takes longer to pack many than the server to part one.
        args = [f"{batch.run} {batch.fence} {batch.last:d}\n".encode() + batch.data for batch in batches]
        refused = await self._append(keys=["agui:open", "agui:ended"], args=args)
        return frozenset(run.decode() for run in refused)

    async def compact(self, run: str, fence: int, upto: int, data: bytes) -> bool:
        return bool(await self._compact(keys=[_run(run), _stream(run)], args=[fence, upto, data]))

    async def read(self, run: str, after: int = 0) -> list[Entry]:
        async with self._client.pipeline() as steps:
            steps.hmget(_run(run), "base", "data")
            steps.xrange(_stream(run), f"{after + 1}-0", "+")
            (base, data), found = await steps.execute()
        entries = [Entry(int(own.split(b"-")[0]), fields[b"d"], fields[b"l"] == b"1") for own, fields in found]
        return [Entry(int(base), data, False), *entries] if base is not None and int(base) > after else entries

    async def follow(self, run: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        async with aclosing(self._followers.follow(run, after, self.read, self._kept)) as entries:
            async for entry in entries:
                yield entry

    async def head(self, run: str) -> RunHead | None:
        return (await self._heads([run.encode()]))[0]

    async def runs(self, thread: str, *, limit: int = 20) -> list[RunHead]:
        found = await self._heads(await self._client.zrevrange(_runs(thread), 0, limit - 1))
        return [head for head in found if head is not None]

    async def unfinished(self, *, limit: int = 1000) -> list[Unfinished]:
        runs = await self._client.zrange("agui:open", 0, limit - 1)
        async with self._client.pipeline(transaction=False) as steps:
            for run in runs:
                steps.hget(_run(run.decode()), "thread")
            threads = await steps.execute()
        found = zip(runs, threads, strict=True)
        return [Unfinished(run.decode(), json.loads(thread)[-1]) for run, thread in found if thread is not None]

    async def drop(self, thread: str) -> None:
        await self._forget(await self._client.zrange(_runs(thread), 0, -1))

    async def sweep(self, *, before: float) -> int:
        old = await self._client.zrangebyscore("agui:ended", "-inf", f"({before}")
        await self._forget(old)
        return len(old)

    async def _kept(self, run: str) -> bool:
        return bool(await self._client.exists(_run(run)))

    async def _forget(self, runs: Sequence[bytes]) -> None:
        for run, head in zip(runs, await self._heads(runs), strict=True):
            own = run.decode()
            async with self._client.pipeline() as steps:
                steps.delete(_run(own), _stream(own))
                if head is not None:  # Redis may have evicted it
                    steps.zrem(_runs(head.thread.key), own)
                steps.zrem("agui:open", own)
                steps.zrem("agui:ended", own)
                await steps.execute()
        if runs:
            await self._client.publish(APPENDS, EVERY_RUN)

    async def _heads(self, runs: Sequence[bytes]) -> list[RunHead | None]:
        if not runs:
            return []
        async with self._client.pipeline(transaction=False) as steps:
            for run in runs:
                steps.hgetall(_run(run.decode()))
            return [_head(run.decode(), fields) for run, fields in zip(runs, await steps.execute(), strict=True)]


def _head(run: str, fields: Mapping[bytes, bytes]) -> RunHead | None:
    if b"thread" not in fields:
        return None
    head = RunHead(
        run,
        ThreadRef(*json.loads(fields[b"thread"])),
        json.loads(fields[b"run_id"]),
        fields[b"request"].decode(),
        declared=fields[b"declared"] == b"1",
        facts=fields[b"facts"].decode(),
        started=float(fields[b"started"]),
    )
    return replace(
        head,
        ended=float(fields[b"ended"]) if b"ended" in fields else None,
        fence=int(fields[b"fence"]),
        attempt=int(fields[b"attempt"]),
        handed=int(fields.get(b"handed", 0)),
        seq=int(fields.get(b"seq", 0)),
        base=int(fields.get(b"base", 0)),
        size=int(fields[b"size"]),
    )


def _run(run: str) -> str:
    return f"agui:run:{run}"


def _stream(run: str) -> str:
    return f"agui:log:{run}"


def _runs(thread: str) -> str:
    return f"agui:runs:{thread}"
