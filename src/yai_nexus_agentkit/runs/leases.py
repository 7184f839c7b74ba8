"""The thread locks that one worker holds, kept alive while it holds them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple
from uuid import uuid4

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.runs.background import listening
from yai_nexus_agentkit.runs.locks import Lease, ThreadLocks
from yai_nexus_agentkit.runs.outage import Outage

__all__ = ["Held", "Leases"]

_logger = logging.getLogger(__name__)


class Held(NamedTuple):
    """A lock that this worker holds."""

    key: str
    holder: str
    fence: int


class Leases:
    """Takes locks, renews them three times per lease, and gives them back.

    `noticed` is called with a lock that was lost, or whose holder was asked to stop.
    """

    def __init__(self, locks: ThreadLocks, *, lease: float, noticed: Callable[[Held, Lease], None]) -> None:
        """`lease`: seconds."""
        self.locks, self._lease, self._noticed = locks, lease, noticed
        self._outage = Outage(_logger, "the locks of threads cannot be renewed")
        self._held: dict[str, Held] = {}
        """By holder."""
        self._cancelled: set[str] = set()
        """Those of them that were asked to stop."""
        self._keeper: asyncio.Task[None] | None = None
        """Renews the locks while there are any."""

    @property
    def held(self) -> list[Held]:
        """The locks of this worker."""
        return list(self._held.values())

    async def take(self, key: str, holder: str | None = None, *, wait: float = 0.0) -> Held | None:
        """Take a lock, waiting for it up to `wait` seconds. None: somebody else holds it."""
        holder = holder or uuid4().hex
        fence = await self.locks.acquire(key, holder, lease=self._lease, wait=wait)
        if fence is None:
            return None
        held = self._held[holder] = Held(key, holder, fence)
        if self._keeper is None:
            self._keeper = asyncio.get_running_loop().create_task(self._renew(), name="agui-lease-keeper")
        return held

    async def give_back(self, held: Held) -> None:
        """Give a lock back."""
        self._held.pop(held.holder, None)
        self._cancelled.discard(held.holder)
        idle = None
        if not self._held and self._keeper is not None:
            idle, self._keeper = self._keeper, None
            idle.cancel()
        try:
            await self.locks.release(held.key, held.holder)
        finally:
            if idle is not None:  # it may be talking to the store, which is closed soon
                await asyncio.wait((idle,))

    async def renew(self, held: Held) -> None:
        """Hold it for a whole lease from now on."""
        await self.locks.renew(held.key, held.holder, lease=self._lease)

    def cancelled(self, held: Held) -> bool:
        """Somebody in another process asked its holder to stop."""
        return held.holder in self._cancelled

    async def listen(self) -> None:
        """Notice at once that somebody in another process asks a holder to stop. Ends when it is cancelled."""

        async def take(key: str) -> None:
            for held in self.held:
                if held.key == key:
                    self._cancelled.add(held.holder)
                    self._noticed(held, Lease.CANCELLING)

        await listening(Outage(_logger, "cancellations of other workers come late"), self.locks.cancellations, take)

    async def _renew(self) -> None:
        while not being_cancelled():  # a client of a store may turn a cancellation into an error of its own
            await asyncio.sleep(self._lease / 3)
            for held in self.held:
                try:
                    lease = await self.locks.renew(held.key, held.holder, lease=self._lease)
                except Exception as error:
                    if being_cancelled():
                        return
                    self._outage.failed(error)
                    continue
                self._outage.over()
                if lease is not Lease.HELD and held.holder in self._held:
                    self._noticed(held, lease)
