"""Driver. Leaves time to other tasks between the pieces of all downloads."""

from __future__ import annotations

import asyncio

__all__ = ["Pace"]

_RATE = 64 * 1024 * 1024
"""Bytes in a second. One core handles about three times as many; the rest is for streams."""


class Pace:
    """The rate of all downloads of a process. Without it, a dozen fast ones keep the loop busy: each of the steps
    between a token and its client waits for a piece of every download."""

    def __init__(self) -> None:
        self._next = 0.0

    async def wait(self, size: int) -> None:
        """Wait for the turn of the next piece, after one of `size` bytes."""
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now) + size / _RATE
        await asyncio.sleep(self._next - now)
