"""Driver. One run per thread: who holds a thread, for how long, and who asked the holder to stop.

A lock is a lease. The holder renews it while its run lives; a holder that crashed loses it to the next one who wants it
after the lease ran out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

__all__ = ["Lease", "MemoryThreadLocks", "ThreadLocks"]


class Lease(StrEnum):
    """The state of a thread's lock."""

    FREE = "free"
    HELD = "held"
    CANCELLING = "cancelling"
    """Held, and the holder was asked to stop."""
    LOST = "lost"
    """As an answer to its holder: somebody else has it, or nobody."""


@runtime_checkable
class ThreadLocks(Protocol):
    """Locks by thread key. Knows neither runs nor requests. All times in seconds.

    A member that several processes share needs no more than these five operations, each atomic.
    """

    async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> bool:
        """Take the lock for `lease`, waiting for it up to `wait`. False: somebody else holds it."""

    async def renew(self, key: str, holder: str, *, lease: float) -> Lease:
        """Hold it for `lease` more, even if it ran out meanwhile, unless somebody took it: a busy process renews late.
        `Lease.CANCELLING`: held, but somebody asked for the run's end."""

    async def release(self, key: str, holder: str) -> bool:
        """Give it back. False, and nothing happened, if `holder` does not hold it."""

    async def request_cancel(self, key: str) -> bool:
        """Ask the holder, in whatever process it is, to stop. False: nobody holds the lock."""

    async def state(self, key: str) -> Lease:
        """Free, held, or cancelling."""


@dataclass(slots=True)
class _Held:
    holder: str
    until: float
    cancelling: bool = False


@dataclass(slots=True)
class MemoryThreadLocks:
    """The locks of one process. Waiting requests are served in order of arrival."""

    clock: Callable[[], float] = time.monotonic
    _held: dict[str, _Held] = field(default_factory=dict)
    """By key; gone when released, kept when a lease ran out until somebody takes the lock."""
    _waiting: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)
    """The waiting requests by key; a key without any has no entry."""

    async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> bool:
        if self._current(key) is None and not self._waiting.get(key):
            self._held[key] = _Held(holder, self.clock() + lease)
            return True
        return wait > 0 and await self._in_turn(key, holder, lease, self.clock() + wait)

    async def renew(self, key: str, holder: str, *, lease: float) -> Lease:
        held = self._held.get(key)
        if held is None or held.holder != holder:
            return Lease.LOST
        held.until = self.clock() + lease
        return Lease.CANCELLING if held.cancelling else Lease.HELD

    async def release(self, key: str, holder: str) -> bool:
        held = self._held.get(key)
        if held is None or held.holder != holder:
            return False
        del self._held[key]
        self._wake(key)
        return True

    async def request_cancel(self, key: str) -> bool:
        held = self._current(key)
        if held is not None:
            held.cancelling = True
        return held is not None

    async def state(self, key: str) -> Lease:
        held = self._current(key)
        if held is None:
            return Lease.FREE
        return Lease.CANCELLING if held.cancelling else Lease.HELD

    def _current(self, key: str) -> _Held | None:
        """The lock, unless its lease ran out."""
        held = self._held.get(key)
        return held if held is not None and held.until > self.clock() else None

    async def _in_turn(self, key: str, holder: str, lease: float, deadline: float) -> bool:
        """Take the lock when it is free and everybody who came before was served; False after `deadline`."""
        queue = self._waiting.setdefault(key, deque())
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(ticket)
        try:
            while (now := self.clock()) < deadline:
                held = self._current(key)
                if held is None and queue[0] is ticket:
                    self._held[key] = _Held(holder, now + lease)
                    return True
                # A crashed holder wakes nobody: look again when its lease runs out.
                until = deadline if held is None else min(deadline, held.until)
                await asyncio.wait([ticket], timeout=max(0.0, until - now))
                if ticket.done():
                    ticket = queue[0] = asyncio.get_running_loop().create_future()
            return False
        finally:
            queue.remove(ticket)
            if not queue:
                del self._waiting[key]
            elif self._current(key) is None:
                self._wake(key)

    def _wake(self, key: str) -> None:
        """Only the first in line."""
        queue = self._waiting.get(key)
        if queue and not queue[0].done():
            queue[0].set_result(None)
