"""The board of the workers in Redis: a hash for each kind and owner."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from math import ceil
from typing import Any

from yai_nexus_agentkit.runs.stores.redis.news import messages

__all__ = ["RedisBoard"]

_NEWS = "agui:connections"


class RedisBoard:
    """`Board`. A note says itself until when it is kept; a hash goes with the last of its notes."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def put(self, kind: str, owner: str, name: str, note: str, *, keep: float) -> None:
        async with self._client.pipeline() as steps:
            steps.hset(_notes(kind, owner), json.dumps(name), json.dumps([time.time() + keep, note]))
            steps.expire(_notes(kind, owner), ceil(keep) + 1)
            await steps.execute()

    async def drop(self, kind: str, owner: str, name: str) -> None:
        await self._client.hdel(_notes(kind, owner), json.dumps(name))

    async def notes(self, kind: str, owner: str) -> Mapping[str, str]:
        now = time.time()
        kept: dict[str, str] = {}
        for name, written in (await self._client.hgetall(_notes(kind, owner))).items():
            until, note = json.loads(written)
            if until >= now:
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
