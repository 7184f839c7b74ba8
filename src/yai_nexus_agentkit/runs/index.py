"""Driver. The threads of each user: an index of our own, since listing a checkpointer reads whole histories."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

from yai_nexus_agentkit.runs.identity import ThreadRef

__all__ = ["MemoryThreadIndex", "ThreadEntry", "ThreadIndex", "ThreadStatus"]


class ThreadStatus(StrEnum):
    """The state of a thread between and during runs."""

    RUNNING = "running"
    IDLE = "idle"
    PAUSED = "paused"
    """The last run ended with questions to the user."""
    FAILED = "failed"
    """The last run ended with an error."""


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """One thread of the index. Times are seconds since the epoch."""

    thread: ThreadRef
    created: float
    updated: float
    status: ThreadStatus
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The application's own, as JSON data."""


@runtime_checkable
class ThreadIndex(Protocol):
    """Threads by key. Holds no content and decides nothing; the janitor does."""

    async def touch(self, thread: ThreadRef, status: ThreadStatus, *, title: str = "") -> None:
        """Note a thread, new or known, as of now. `title` counts where the thread has none yet."""

    async def entry(self, key: str) -> ThreadEntry | None:
        """One thread."""

    async def describe(
        self, key: str, *, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> ThreadEntry | None:
        """Replace the title, the metadata or both. Returns the entry as it is then; None: the thread is unknown."""

    async def entries(
        self,
        agent: str,
        user: str,
        *,
        limit: int,
        before: float | None = None,
        before_key: str | None = None,
        search: str = "",
    ) -> list[ThreadEntry]:
        """The user's threads with this agent, last updated first, those of the same moment by their keys, the greatest
        first. Only threads whose titles contain `search` (case does not matter), and which were updated earlier
        than `before`; with `before_key`, also those of that moment with a lesser key."""

    async def remove(self, key: str) -> None:
        """Forget a thread; nothing happens if it is unknown."""

    async def idle(self, agent: str, *, before: float, limit: int) -> list[ThreadEntry]:
        """Threads of all users not updated since `before` and not paused, the oldest first."""

    async def surplus(self, agent: str, *, keep: int, limit: int) -> list[ThreadEntry]:
        """Threads that are not paused and beyond the `keep` last updated of each user, the oldest first."""


@dataclass(slots=True)
class MemoryThreadIndex:
    """The index of one process; empty after a restart, whatever the checkpointer holds.

    Beyond `most` threads the least recently used one is forgotten, never a running or paused one. It is the user's own
    where they have more than a hundredth of them: nobody can push out everybody else's.
    """

    clock: Callable[[], float] = time.time
    most: int = 50_000
    _entries: dict[str, ThreadEntry] = field(default_factory=dict)
    """By key, least recently updated first: a touched entry moves to the end."""
    _idle: dict[str, ThreadRef] = field(default_factory=dict)
    """Threads that may be forgotten, in the same order."""
    _own: dict[str, dict[str, None]] = field(default_factory=dict)
    """Keys of the same threads by user, in the same order; a user without any has no entry."""

    async def touch(self, thread: ThreadRef, status: ThreadStatus, *, title: str = "") -> None:
        now = round(self.clock(), 6)  # as exact as the time that clients get and send back
        known = self._forget(thread.key) or ThreadEntry(thread, now, now, status)
        self._entries[thread.key] = replace(known, updated=now, status=status, title=known.title or title)
        if status not in (ThreadStatus.RUNNING, ThreadStatus.PAUSED):
            self._idle[thread.key] = thread
            self._own.setdefault(thread.user, {})[thread.key] = None
        if len(self._entries) > self.most:
            own = self._own.get(thread.user, {})
            oldest = next(iter(own if len(own) * 100 > self.most else self._idle), None)
            if oldest is not None:
                self._forget(oldest)

    def _forget(self, key: str) -> ThreadEntry | None:
        if (idle := self._idle.pop(key, None)) is not None:
            del self._own[idle.user][key]
            if not self._own[idle.user]:
                del self._own[idle.user]
        return self._entries.pop(key, None)

    async def entry(self, key: str) -> ThreadEntry | None:
        return self._entries.get(key)

    async def describe(
        self, key: str, *, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> ThreadEntry | None:
        known = self._entries.get(key)
        if known is None:
            return None
        changed = replace(
            known,
            title=known.title if title is None else title,
            metadata=known.metadata if metadata is None else metadata,
        )
        self._entries[key] = changed
        return changed

    async def entries(
        self,
        agent: str,
        user: str,
        *,
        limit: int,
        before: float | None = None,
        before_key: str | None = None,
        search: str = "",
    ) -> list[ThreadEntry]:
        border = math.inf if before is None else before
        found = (
            entry
            for moment in _moments(reversed(self._entries.values()))
            for entry in moment
            if entry.thread.agent == agent
            and entry.thread.user == user
            and (entry.updated, entry.thread.key) < (border, before_key or "")
            and search.casefold() in entry.title.casefold()
        )
        return _first(found, limit)

    async def remove(self, key: str) -> None:
        self._forget(key)

    async def idle(self, agent: str, *, before: float, limit: int) -> list[ThreadEntry]:
        own = (entry for entry in self._entries.values() if entry.thread.agent == agent and _removable(entry))
        return _first((entry for entry in own if entry.updated < before), limit)

    async def surplus(self, agent: str, *, keep: int, limit: int) -> list[ThreadEntry]:
        seen: dict[str, int] = {}
        over: list[ThreadEntry] = []
        for entry in reversed(self._entries.values()):
            if entry.thread.agent != agent:
                continue
            seen[entry.thread.user] = seen.get(entry.thread.user, 0) + 1
            if seen[entry.thread.user] > keep and _removable(entry):
                over.append(entry)
        return _first(reversed(over), limit)


def _moments(entries: Iterator[ThreadEntry]) -> Iterator[list[ThreadEntry]]:
    """The entries of each moment together, those with the greatest keys first."""
    for _, moment in groupby(entries, key=lambda entry: entry.updated):
        yield sorted(moment, key=lambda entry: entry.thread.key, reverse=True)


def _removable(entry: ThreadEntry) -> bool:
    return entry.status is not ThreadStatus.PAUSED


def _first(found: Iterator[ThreadEntry] | Sequence[ThreadEntry], limit: int) -> list[ThreadEntry]:
    return [entry for entry, _ in zip(found, range(limit), strict=False)]
