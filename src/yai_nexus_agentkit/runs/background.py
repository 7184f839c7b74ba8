"""Driver. Background work: tasks that live as long as a block, and that go on when their store fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any, Generic, TypeVar

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.runs.outage import Outage

__all__ = ["Broadcast", "listening", "meanwhile", "repeated"]

_RETRY = 1.0
"""Seconds after a failure until the next attempt."""

T = TypeVar("T")


class Broadcast(Generic[T]):
    """News within one process."""

    def __init__(self) -> None:
        self._listening: list[asyncio.Queue[T]] = []

    def send(self, news: T) -> None:
        """Send to all who listen now."""
        for queue in self._listening:
            queue.put_nowait(news)

    async def heard(self) -> AsyncGenerator[T, None]:
        """The news from now on."""
        queue: asyncio.Queue[T] = asyncio.Queue()
        self._listening.append(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._listening.remove(queue)


@asynccontextmanager
async def meanwhile(*work: Coroutine[Any, Any, None], name: str) -> AsyncIterator[None]:
    """Do `work`, each in a task called `name`, for as long as the block lasts."""
    tasks = [asyncio.get_running_loop().create_task(one, name=name) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def repeated(outage: Outage, step: Callable[[], Awaitable[float]]) -> None:
    """Do `step` again and again, after the seconds that it returns. Ends when it is cancelled."""
    while not being_cancelled():
        pause = _RETRY
        try:
            pause = await step()
            outage.over()
        except Exception as error:
            if being_cancelled():  # the store's client made an error of its own of it
                return
            outage.failed(error)
        await asyncio.sleep(pause)


async def listening(
    outage: Outage, subscribe: Callable[[], AsyncGenerator[T, None]], take: Callable[[T], Awaitable[None]]
) -> None:
    """Give what `subscribe` yields to `take`, and subscribe again after a failure. Ends when it is cancelled."""
    while not being_cancelled():
        try:
            outage.trying()
            async with aclosing(subscribe()) as news:
                async for one in news:
                    outage.over()
                    await take(one)
        except Exception as error:
            if being_cancelled():  # the store's client made an error of its own of it
                return
            outage.failed(error)
            await asyncio.sleep(_RETRY)
