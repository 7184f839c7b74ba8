"""Messages of Redis' channels."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from yai_nexus_agentkit.runs.log import Entry
from yai_nexus_agentkit.runs.stores.followers import EVERY_RUN

__all__ = ["APPENDS", "RedisNews", "messages"]

APPENDS = "agui:news"
"""A channel for all runs; each has one of its own below it, whose messages hold the new entries."""


async def messages(client: Any, channel: str) -> AsyncGenerator[str, None]:
    """The messages of one channel from now on."""
    async with client.pubsub() as subscription:
        await subscription.subscribe(channel)
        async with aclosing(subscription.listen()) as heard:
            async for message in heard:
                if message["type"] == "message":
                    yield message["data"].decode()


class RedisNews:
    """`News` with the entries themselves: who follows a run need not read them."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._runs: set[str] = set()
        self._subscription: Any = None

    async def watch(self, run: str) -> None:
        self._runs.add(run)
        if self._subscription is not None:
            with contextlib.suppress(Exception):  # `listen` meets the same failure, and subscribes again
                await self._subscription.subscribe(_channel(run))

    async def unwatch(self, run: str) -> None:
        self._runs.discard(run)
        if self._subscription is not None:
            with contextlib.suppress(Exception):
                await self._subscription.unsubscribe(_channel(run))

    async def listen(self) -> AsyncGenerator[tuple[str, Entry | None], None]:
        async with self._client.pubsub() as subscription:
            await subscription.subscribe(APPENDS)
            subscribed: set[str] = set()
            while missing := self._runs - subscribed:
                subscribed |= missing
                await subscription.subscribe(*map(_channel, missing))
            self._subscription = subscription
            try:
                async with aclosing(subscription.listen()) as heard:
                    async for message in heard:
                        run = message["channel"].decode().removeprefix(APPENDS).removeprefix(":") or EVERY_RUN
                        if message["type"] == "message" and run != EVERY_RUN:
                            yield run, _entry(message["data"])
                        elif message["type"] != "unsubscribe":  # it hears from now on: what came before must be read
                            yield run, None
            finally:
                self._subscription = None


def _channel(run: str) -> str:
    return f"{APPENDS}:{run}"


def _entry(message: bytes) -> Entry:
    seq, last, data = message.split(b" ", 2)
    return Entry(int(seq), data, last == b"1")
