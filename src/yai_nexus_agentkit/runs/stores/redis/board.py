"""The board of the workers in Redis: a hash for each kind and owner."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from math import ceil
from typing import Any

from yai_nexus_agentkit.runs.stores.redis.clock import NOW, seconds
from yai_nexus_agentkit.runs.stores.redis.news import messages

__all__ = ["RedisBoard"]

_NEWS = "agui:connections"
_PUT = (
    NOW
    + """
redis.call('HSET', KEYS[1], ARGV[1], '[' .. string.format('%.6f', now + ARGV[2]) .. ', ' .. ARGV[3] .. ']')
redis.call('EXPIRE', KEYS[1], ARGV[4])
"""
)


class RedisBoard:
    """`Board`. A note says itself until when it is kept; a hash goes with the last of its notes."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._put = client.register_script(_PUT)

    async def put(self, kind: str, owner: str, name: str, note: str, *, keep: float) -> None:
        args = [json.dumps(name), keep, json.dumps(note), ceil(keep) + 1]
        await self._put(keys=[_notes(kind, owner)], args=args)

    async def drop(self, kind: str, owner: str, name: str) -> None:
        await self._client.hdel(_notes(kind, owner), json.dumps(name))

    async def notes(self, kind: str, owner: str) -> Mapping[str, str]:
        async with self._client.pipeline() as steps:
            steps.time()
            steps.hgetall(_notes(kind, owner))
            now, found = await steps.execute()
        kept: dict[str, str] = {}
        for name, written in found.items():
            until, note = json.loads(written)
            if until >= seconds(now):
                kept[json.loads(name)] = note
            else:
                await self._client.hdel(_notes(kind, owner), name)
        return kept

    async def publish(self, text: str) -> None:
        await self._client.publish(_NEWS, text)

    async def news(self) -> AsyncGenerator[str, None]:
        async with aclosing(messages(self._client, _NEWS)) as heard:
            async for message in heard:
                yield message


def _notes(kind: str, owner: str) -> str:
    return f"agui:board:{kind}:{json.dumps(owner)}"
