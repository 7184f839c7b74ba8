"""Messages of a channel of Redis."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

__all__ = ["news"]


async def news(client: Any, channel: str) -> AsyncGenerator[str, None]:
    async with client.pubsub() as subscription:
        await subscription.subscribe(channel)
        async with aclosing(subscription.listen()) as messages:
            async for message in messages:
                if message["type"] == "message":
                    yield message["data"].decode()
