"""Driver. One run per thread: who holds a thread, for how long, and who asked the holder to stop.

A lock is a lease. The holder renews it while its run lives; a holder that crashed loses it to the next one who wants it
after the lease ran out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from yai_nexus_agentkit.runs.background import Broadcast

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

    Each operation is atomic, also where several processes share the locks.
    """

    async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> int | None:
        """Take the lock for `lease`, waiting for it up to `wait`. None: somebody else holds it.

        Returns the fencing number: above zero, and larger than all that were given out for this key before.
        """

    async def renew(self, key: str, holder: str, *, lease: float) -> Lease:
        """Hold it for `lease` more, even if it ran out meanwhile, unless somebody took it: a busy process renews late.
        `Lease.CANCELLING`: held, but somebody asked for the run's end."""

    async def release(self, key: str, holder: str) -> bool:
        """Give it back. False, and nothing happened, if `holder` does not hold it."""

    async def request_cancel(self, key: str) -> bool:
        """Ask the holder, in whatever process it is, to stop. False: nobody holds the lock."""

    async def state(self, key: str) -> Lease:
        """Free, held, or cancelling."""

    def cancellations(self) -> AsyncGenerator[str, None]:
        """The keys for which `request_cancel` was called, in any process, from now on."""


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
    _fence: int = 0
    """The last fencing number that was given out."""
    _cancellations: Broadcast[str] = field(default_factory=Broadcast)
    _waiting: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)
    """The waiting requests by key; a key without any has no entry."""

    async def acquire(self, key: str, holder: str, *, lease: float, wait: float = 0.0) -> int | None:
        if self._current(key) is None and not self._waiting.get(key):
            return self._take(key, holder, self.clock() + lease)
        return await self._in_turn(key, holder, lease, self.clock() + wait) if wait > 0 else None

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
            self._cancellations.send(key)
        return held is not None

    async def state(self, key: str) -> Lease:
        held = self._current(key)
        if held is None:
            return Lease.FREE
        return Lease.CANCELLING if held.cancelling else Lease.HELD

    def cancellations(self) -> AsyncGenerator[str, None]:
        return self._cancellations.heard()

    def _take(self, key: str, holder: str, until: float) -> int:
        self._held[key] = _Held(holder, until)
        self._fence += 1
        return self._fence

    def _current(self, key: str) -> _Held | None:
        """The lock, unless its lease ran out."""
        held = self._held.get(key)
        return held if held is not None and held.until > self.clock() else None

    async def _in_turn(self, key: str, holder: str, lease: float, deadline: float) -> int | None:
        """Take the lock when it is free and everybody who came before was served; None after `deadline`."""
        queue = self._waiting.setdefault(key, deque())
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(ticket)
        try:
            while (now := self.clock()) < deadline:
                held = self._current(key)
                if held is None and queue[0] is ticket:
                    return self._take(key, holder, now + lease)
                # A crashed holder wakes nobody: look again when its lease runs out.
                until = deadline if held is None else min(deadline, held.until)
                await asyncio.wait([ticket], timeout=max(0.0, until - now))
                if ticket.done():
                    ticket = queue[0] = asyncio.get_running_loop().create_future()
            return None
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
