"""The log of a run: its events as JSON lines, kept for viewers that come later or elsewhere.

Whoever goes on with a run after its worker died reads it, too. An entry is a batch of lines, not a line: a worker
appends for all its runs at once, every few milliseconds. Each write carries the fencing number of the thread's lock
(`ThreadLocks.acquire`), so a worker that lost a run cannot write to it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from yai_nexus_agentkit.runs.identity import ThreadRef

__all__ = ["Batch", "Entry", "RunHead", "RunLog", "Unfinished"]


@dataclass(frozen=True, slots=True)
class RunHead:
    """A run as the log knows it. Times are seconds since the epoch, by the log's clock."""

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
    """Fencing number of the worker that owns the run; 0 after a worker handed it over."""
    attempt: int = 1
    """How many workers have owned it."""
    handed: int = 0
    """How many of them handed it over when they stopped; the others died."""
    seq: int = 0
    """Number of its last entry."""
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


class Unfinished(NamedTuple):
    """A run that has not ended."""

    run: str
    thread: str
    """The thread's key."""


@runtime_checkable
class RunLog(Protocol):
    """Runs by their log id. Knows neither events nor users: whoever calls it has checked that the run is theirs."""

    async def create(self, head: RunHead) -> str | None:
        """Begin a run's log, which has started now. The run becomes the current one of its thread. Returns the one
        before, by its log id, if it has not ended."""

    async def claim(self, run: str, fence: int) -> RunHead | None:
        """Own a run that has not ended, as its next attempt. None: it has ended, is unknown, or a newer worker owns
        it."""

    async def hand_over(self, run: str, fence: int) -> None:
        """The owner stops, and leaves the run to the next one. Nothing happens if `fence` does not own the run, or it
        has ended."""

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

    async def unfinished(self, *, limit: int = 1000) -> list[Unfinished]:
        """The runs that have not ended, the oldest first."""

    async def drop(self, thread: str) -> None:
        """Forget all runs of a thread."""

    async def sweep(self, *, before: float) -> int:
        """Forget the runs that ended before this time. Returns how many."""
