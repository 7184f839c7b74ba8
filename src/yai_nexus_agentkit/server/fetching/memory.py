"""Driver. Bytes that requests share: whoever finds too few of them waits for its turn."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Memory", "Share"]


class Share:
    """A part of the memory. It is given back once, by `release`."""

    def __init__(self, memory: Memory, size: int) -> None:
        self._memory, self.size = memory, size

    def shrink(self, size: int) -> None:
        """Keep `size` bytes, if they are fewer."""
        given, self.size = max(self.size - size, 0), min(self.size, size)
        self._memory.give_back(given)

    def release(self) -> None:
        """Give all of it back. May be called again."""
        self.shrink(0)


class Memory:
    """A number of bytes for all. Requests get their shares in the order in which they ask."""

    def __init__(self, total: int) -> None:
        self.total = self.free = total
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> Share:
        """A share of `size` bytes, as soon as there is one; of all bytes, if there are fewer."""
        size = min(size, self.total)
        if self._waiting or size > self.free:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((size, turn))
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # it came in the same moment
                    self.give_back(size)
                self._serve()  # those behind it may be smaller
                raise
        else:
            self.free -= size
        return Share(self, size)

    def give_back(self, size: int) -> None:
        """Bytes that nobody needs any more."""
        self.free += size
        self._serve()

    def _serve(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.cancelled():
                if size > self.free:
                    return
                self.free -= size
                turn.set_result(None)
            self._waiting.popleft()
