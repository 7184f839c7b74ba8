"""The log of a run: its events as JSON lines, kept for viewers that come later or elsewhere.

Whoever goes on with a run after its worker died reads it, too. An entry is a batch of lines, not a line: a worker
appends for all its runs at once, every few milliseconds. Each write carries the fencing number of the thread's lock
(`ThreadLocks.acquire`), so a worker that lost a run cannot write to it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from yai_nexus_agentkit.runs.identity import ThreadRef

__all__ = ["Batch", "Entry", "MemoryRunLog", "RunHead", "RunLog"]


@dataclass(frozen=True, slots=True)
class RunHead:
    """A run as the log knows it. Times are seconds since the epoch."""

    id: str
    """The log's own id: random, and never shown to clients, whose ``runId`` may recur."""
    thread: ThreadRef
    run_id: str
    """The client's ``runId``."""
    request: str
    """The request, as JSON text of a ``RunAgentInput``."""
    declared: bool = True
    """The client that started the run named a protocol version."""
    facts: str = "{}"
    """The storable facts of the sender, as JSON text; a hook makes an `Identity` of it on another worker."""
    started: float = 0.0
    ended: float | None = None
    fence: int = 0
    """Fencing number of the worker that owns the run."""
    attempt: int = 1
    """How many workers have owned it."""
    base: int = 0
    """Entries up to this one were replaced by a single one with this number (`RunLog.compact`)."""
    size: int = 0
    """Bytes of all entries."""


class Batch(NamedTuple):
    """Lines to append to one run's log."""

    run: str
    fence: int
    data: bytes
    """JSON lines without a line feed at the end."""
    last: bool = False
    """The terminal event is among them: the run has ended."""


class Entry(NamedTuple):
    """A stored batch. `seq` counts from 1 without gaps, but for those that `RunHead.base` replaced."""

    seq: int
    data: bytes
    last: bool


class RunLog(Protocol):
    """Runs by their log id. Knows neither events nor users: whoever calls it has checked that the run is theirs."""

    async def create(self, head: RunHead) -> None:
        """Begin a run's log. The run becomes the current one of its thread."""

    async def claim(self, run: str, fence: int) -> RunHead | None:
        """Own a run that has not ended, as its next attempt. None: it has ended, is unknown, or a newer worker owns
        it."""

    async def append(self, batches: Sequence[Batch]) -> frozenset[str]:
        """Append one batch to each of several runs. Returns the runs that refused theirs: ended, dropped, or owned by
        another worker (their fencing number is another)."""

    async def compact(self, run: str, fence: int, upto: int, data: bytes) -> bool:
        """Replace the entries up to `upto` by one. False, and nothing happened, if `fence` does not own the run."""

    async def read(self, run: str, after: int = 0) -> list[Entry]:
        """The entries beyond `after`, in order."""

    def follow(self, run: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        """The entries beyond `after` as they are appended, until the last one, or until the run is dropped."""

    async def head(self, run: str) -> RunHead | None:
        """A run, if it is still kept."""

    async def runs(self, thread: str, *, limit: int = 20) -> list[RunHead]:
        """The runs of a thread (by its key) that are kept, the newest first."""

    async def unfinished(self, *, limit: int = 1000) -> list[RunHead]:
        """The runs that have not ended, the oldest first."""

    async def drop(self, thread: str) -> None:
        """Forget all runs of a thread."""

    async def sweep(self, *, before: float) -> int:
        """Forget the runs that ended before this time. Returns how many."""


@dataclass(slots=True)
class _Kept:
    head: RunHead
    entries: list[Entry] = field(default_factory=list)
    seq: int = 0
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """Who waits for the next entry."""

    def wake(self) -> None:
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


@dataclass(slots=True)
class MemoryRunLog:
    """The log of one process."""

    clock: Callable[[], float] = time.time
    _runs: dict[str, _Kept] = field(default_factory=dict)
    _threads: dict[str, list[str]] = field(default_factory=dict)
    """Runs by thread, the oldest first."""

    async def create(self, head: RunHead) -> None:
        self._runs[head.id] = _Kept(head)
        self._threads.setdefault(head.thread.key, []).append(head.id)

    async def claim(self, run: str, fence: int) -> RunHead | None:
        kept = self._runs.get(run)
        if kept is None or kept.head.ended is not None or kept.head.fence >= fence:
            return None
        kept.head = replace(kept.head, fence=fence, attempt=kept.head.attempt + 1)
        return kept.head

    async def append(self, batches: Sequence[Batch]) -> frozenset[str]:
        refused: set[str] = set()
        for batch in batches:
            kept = self._owned(batch.run, batch.fence)
            if kept is None or kept.head.ended is not None:
                refused.add(batch.run)
                continue
            kept.seq += 1
            kept.entries.append(Entry(kept.seq, batch.data, batch.last))
            ended = self.clock() if batch.last else None
            kept.head = replace(kept.head, size=kept.head.size + len(batch.data), ended=ended)
            kept.wake()
        return frozenset(refused)

    async def compact(self, run: str, fence: int, upto: int, data: bytes) -> bool:
        kept = self._owned(run, fence)
        if kept is None:
            return False
        later = [entry for entry in kept.entries if entry.seq > upto]
        kept.entries = [Entry(upto, data, False), *later]
        kept.head = replace(kept.head, base=upto, size=sum(len(entry.data) for entry in kept.entries))
        return True

    async def read(self, run: str, after: int = 0) -> list[Entry]:
        kept = self._runs.get(run)
        return [entry for entry in kept.entries if entry.seq > after] if kept is not None else []

    async def follow(self, run: str, after: int = 0) -> AsyncGenerator[Entry, None]:
        while (kept := self._runs.get(run)) is not None:
            for entry in await self.read(run, after):
                after = entry.seq
                yield entry
                if entry.last:
                    return
            if kept.seq <= after:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                kept.waiting.append(waiter)
                await waiter

    async def head(self, run: str) -> RunHead | None:
        kept = self._runs.get(run)
        return kept.head if kept is not None else None

    async def runs(self, thread: str, *, limit: int = 20) -> list[RunHead]:
        return [self._runs[run].head for run in reversed(self._threads.get(thread, ())) if run in self._runs][:limit]

    async def unfinished(self, *, limit: int = 1000) -> list[RunHead]:
        return [kept.head for kept in self._runs.values() if kept.head.ended is None][:limit]

    async def drop(self, thread: str) -> None:
        for run in self._threads.pop(thread, ()):
            self._forget(run)

    async def sweep(self, *, before: float) -> int:
        old = [k.head for k in self._runs.values() if k.head.ended is not None and k.head.ended < before]
        for head in old:
            self._forget(head.id)
            left = self._threads[head.thread.key]
            left.remove(head.id)
            if not left:
                del self._threads[head.thread.key]
        return len(old)

    def _owned(self, run: str, fence: int) -> _Kept | None:
        kept = self._runs.get(run)
        return kept if kept is not None and kept.head.fence == fence else None

    def _forget(self, run: str) -> None:
        kept = self._runs.pop(run, None)
        if kept is not None:
            kept.wake()
