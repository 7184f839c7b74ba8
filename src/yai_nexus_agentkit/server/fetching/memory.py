"""Driver. Bytes that requests share: whoever finds too few of them waits for its turn.

The data of a run that has ended hangs in cycles of references, and Python collects those by their number, not by their
size: a hundred megabytes are a few objects to it. So what ended runs held is not free before a collection, and one is
made when somebody waits for it.
"""

from __future__ import annotations

import asyncio
import gc
from collections import deque

__all__ = ["Memory", "Share"]

_ENDING = 0.05
"""Seconds that a run needs to be gone, once its share is released."""


class Share:
    """A part of the memory. It is given back once, by `release`."""

    def __init__(self, memory: Memory, size: int) -> None:
        self._memory, self.size = memory, size

    def shrink(self, size: int) -> None:
        """Keep `size` bytes, if they are fewer. The others were never used."""
        given, self.size = max(self.size - size, 0), min(self.size, size)
        self._memory.give_back(given)

    def release(self) -> None:
        """Give all of it back. May be called again."""
        given, self.size = self.size, 0
        self._memory.leave(given)


class Memory:
    """A number of bytes for all. Requests get their shares in the order in which they ask."""

    def __init__(self, total: int) -> None:
        self.total = self._free = total
        self._left = 0
        """Bytes of runs that have ended since the last collection."""
        self._collecting: asyncio.TimerHandle | None = None
        """A collection that will be made. Set while somebody waits, and bytes were left."""
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> Share:
        """A share of `size` bytes, as soon as there is one; of all bytes, if there are fewer."""
        size = min(size, self.total)
        if self._waiting or size > self._free:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((size, turn))
            self._serve()
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # it came in the same moment
                    self._free += size
                self._serve()  # those behind it may be smaller
                raise
        else:
            self._free -= size
        return Share(self, size)

    def give_back(self, size: int) -> None:
        """Bytes that nobody used."""
        self._free += size
        self._serve()

    def leave(self, size: int) -> None:
        """Bytes of a run that ends."""
        self._left += size
        self._serve()

    def _serve(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.cancelled():
                if size > self._free:
                    break
                self._free -= size
                turn.set_result(None)
            self._waiting.popleft()
        if self._waiting and self._left and self._collecting is None:
            self._collecting = asyncio.get_running_loop().call_later(_ENDING, self._collect)

    def _collect(self) -> None:
        self._collecting = None
        gc.collect()
        self._free, self._left = self._free + self._left, 0
        self._serve()
