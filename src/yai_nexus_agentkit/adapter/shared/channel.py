"""A queue that any thread fills and one coroutine empties.

`asyncio.Queue` belongs to its loop: a thread reaches it through ``call_soon_threadsafe`` only, which costs 7 µs per
item, and the order is then the loop's. Here an item's place is fixed when it is put, and the loop is woken at most once
per time that the reader waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from threading import get_ident
from typing import Generic, TypeVar

__all__ = ["BoundedChannel", "Channel"]

_MOST_WAITING = 256
"""Items of a `BoundedChannel` that may wait for the reader."""

T = TypeVar("T")


class Channel(Generic[T]):
    """Unbounded. `put` from any thread; `open`, `more` and `close` from the reader's loop only."""

    def __init__(self) -> None:
        self.items: deque[T] = deque()
        """Items that were not read yet; the reader takes from the left."""
        self._closed = False
        self._idle: deque[asyncio.Future[None]] = deque()
        """The future that the reader waits for, if it waits. Whoever takes it out wakes the reader, so that is done
        once, however many threads put at that moment."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    def open(self) -> None:
        """The calling coroutine's loop is the reader's."""
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()

    def put(self, item: T) -> None:
        """Append an item. After `close` nothing happens: the thread of a cancelled node may still be running."""
        if self._closed:
            return
        self.items.append(item)
        if self._idle:
            self._wake()

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._wake()

    async def more(self) -> bool:
        """Wait until there is an item to read; False when the channel is closed and empty."""
        while not self.items:
            if self._closed:
                return False
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            if self.items or self._closed:  # put before the waiter could be seen
                self._idle.clear()
            else:
                await waiter
        return True

    def _wake(self) -> None:
        try:
            waiter = self._idle.pop()
        except IndexError:
            return  # nobody waits, or another thread was quicker
        if self._loop is None or get_ident() == self._thread:
            _resolve(waiter)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(_resolve, waiter)


class BoundedChannel(Channel[T]):
    """A channel whose writer, a coroutine on the reader's loop, can wait until the reader has taken enough."""

    def __init__(self) -> None:
        super().__init__()
        self._room = asyncio.Event()

    def take(self) -> T:
        """The next item. Raises IndexError if there is none."""
        self._room.set()
        return self.items.popleft()

    async def room(self) -> None:
        """Wait while too many items were not read."""
        while len(self.items) >= _MOST_WAITING:
            self._room.clear()
            await self._room.wait()


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
