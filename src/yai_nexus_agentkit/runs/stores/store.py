"""One setting for all that workers share: locks, the index of threads, the log of runs, the
journal, the board."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from yai_nexus_agentkit.runs.board import Board, MemoryBoard
from yai_nexus_agentkit.runs.index import MemoryThreadIndex, ThreadIndex
from yai_nexus_agentkit.runs.journal import MemoryThreadJournal, ThreadJournal
from yai_nexus_agentkit.runs.locks import MemoryThreadLocks, ThreadLocks
from yai_nexus_agentkit.runs.log import RunLog

__all__ = ["Store", "StoreNotOpenError", "StoreUnavailableError"]


class StoreUnavailableError(Exception):
    """The store of threads and runs cannot be reached. Nothing began."""


class StoreNotOpenError(StoreUnavailableError):
    """The lifespan of the application opens it."""

    def __init__(self) -> None:
        super().__init__(
            "the store is not open: the application's lifespan has not begun, or it had when the routes were added"
            " (`async with` what add_agui_routes returns)"
        )


async def _always() -> None:
    """This process's memory can always be reached."""


async def _here() -> float:
    return time.time()


@dataclass(frozen=True, slots=True)
class Store:
    """The members of one store. The default is this process's memory."""

    locks: ThreadLocks = field(default_factory=MemoryThreadLocks)
    index: ThreadIndex = field(default_factory=MemoryThreadIndex)
    journal: ThreadJournal = field(default_factory=MemoryThreadJournal)
    board: Board = field(default_factory=MemoryBoard)
    log: RunLog | None = None
    """Where other workers see this worker's runs, and may go on with them; None where nobody else could."""
    ready: Callable[[], Awaitable[None]] = _always
    """Reaches the store once. Raises whatever the store's client raises."""
    away: tuple[type[Exception], ...] = ()
    """Exceptions of the store's client when the store cannot be reached."""
    now: Callable[[], Awaitable[float]] = _here
    """Seconds since the epoch by the clock of the members, which all workers share: their own may differ. Raises
    whatever the store's client raises."""

    def named(self, error: Exception) -> Exception:
        """The exception itself, or `StoreUnavailableError` if it is one of `away`."""
        if not isinstance(error, self.away):
            return error
        unavailable = StoreUnavailableError("the store of threads and runs cannot be reached")
        unavailable.__cause__ = error
        return unavailable
