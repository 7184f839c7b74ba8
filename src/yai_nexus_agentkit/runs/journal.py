"""The journal of a thread: what the application showed next to the conversation and wants to be there after a reload.

Charts, progress bars and widgets reach clients as activities and custom events, which no agent framework stores. Each
entry comes after a message, so that a snapshot puts it back where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["JournalEntry", "MemoryThreadJournal", "ThreadJournal"]


class JournalEntry(NamedTuple):
    """One thing that was shown."""

    id: str
    """Of the activity's message, or of the custom event. An entry with a known id replaces the earlier content, in its
    place."""
    after: str
    """Id of the message that it comes after; empty at the start of the conversation."""
    data: str
    """JSON text: an activity message, or a custom event."""


@runtime_checkable
class ThreadJournal(Protocol):
    """Entries by thread key."""

    async def keep(self, thread: str, entries: Sequence[JournalEntry]) -> None:
        """Add entries, or replace the content of those whose ids are known."""

    async def kept(self, thread: str) -> list[JournalEntry]:
        """The thread's entries, in the order in which they were first kept."""

    async def drop(self, thread: str) -> None:
        """Forget the thread's entries."""


@dataclass(slots=True)
class MemoryThreadJournal:
    """The journal of one process. Beyond `most` characters the threads that wrote least recently are forgotten."""

    most: int = 64 * 1024 * 1024
    _threads: dict[str, dict[str, JournalEntry]] = field(default_factory=dict)
    """By key, the one that wrote last at the end."""
    _size: int = 0

    async def keep(self, thread: str, entries: Sequence[JournalEntry]) -> None:
        known = self._threads[thread] = self._threads.pop(thread, {})
        for entry in entries:
            before = known.get(entry.id)
            known[entry.id] = entry if before is None else entry._replace(after=before.after)
            self._size += len(entry.data) - (len(before.data) if before is not None else 0)
        while self._size > self.most and len(self._threads) > 1:
            await self.drop(next(iter(self._threads)))

    async def kept(self, thread: str) -> list[JournalEntry]:
        return list(self._threads.get(thread, {}).values())

    async def drop(self, thread: str) -> None:
        self._size -= sum(len(entry.data) for entry in self._threads.pop(thread, {}).values())
