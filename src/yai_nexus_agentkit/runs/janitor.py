"""Driver. Removes threads nobody needs any more. It never touches a thread that runs or waits for an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat

from yai_nexus_agentkit.adapter.shared.threads import Threads
from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import ThreadBusyError, ThreadNotFoundError
from yai_nexus_agentkit.runs.background import meanwhile
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadStatus
from yai_nexus_agentkit.runs.service import RunService

__all__ = ["Janitor"]

_logger = logging.getLogger(__name__)
_BATCH = 200
"""Threads looked at per agent and sweep, so that one sweep is short; the rest has its turn in the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Janitor:
    """Deletes threads that were idle for too long, and each user's oldest beyond a number. Times in seconds."""

    service: RunService
    stores: Mapping[str, Threads]
    """By the agent's name."""
    idle: NonNegativeFloat | None = None
    per_user: NonNegativeInt | None = None
    every: PositiveFloat = 300.0

    def __post_init__(self) -> None:
        check_options(self)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Sweep from time to time, for as long as the block lasts."""
        async with meanwhile(self._work(), name="agui-janitor"):
            yield

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(self.every)
            try:
                await self.sweep()
            except Exception:
                _logger.exception("a sweep of old threads failed; the next one is in %g seconds", self.every)

    async def sweep(self) -> int:
        """One round; the number of threads deleted."""
        removed = 0
        for agent, store in self.stores.items():
            due: dict[str, ThreadEntry] = {}
            if self.idle is not None:
                old = await self.service.index.idle(
                    agent, before=await self.service.store.now() - self.idle, limit=_BATCH
                )
                due.update((entry.thread.key, entry) for entry in old)
            if self.per_user is not None:
                over = await self.service.index.surplus(agent, keep=self.per_user, limit=_BATCH)
                due.update((entry.thread.key, entry) for entry in over)
            for entry in due.values():
                try:
                    removed += await self._remove(store, entry)
                except Exception:
                    _logger.exception("thread %r could not be removed", entry.thread.id)
        return removed

    async def _remove(self, store: Threads, entry: ThreadEntry) -> bool:
        thread = entry.thread
        if await self.service.busy(thread.key):
            return False
        try:
            async with self.service.hold(thread):
                if await store.waits(thread.key):
                    await self.service.index.touch(thread, ThreadStatus.PAUSED)
                    return False
                try:
                    await store.expire(thread.key)
                except ThreadNotFoundError:
                    _logger.debug("thread %r was in the index only", thread.id)
                await self.service.forget(thread.key)
                return True
        except ThreadBusyError:
            return False
