"""Notes that the workers of a service share for a while, and news between them: who is connected, which questions wait.

A note is ASCII text, JSON for example, under a kind, an owner and a name. It is forgotten after some time, so that
nothing of a worker that died stays.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from yai_nexus_agentkit.runs.background import Broadcast

__all__ = ["Board", "MemoryBoard"]


@runtime_checkable
class Board(Protocol):
    """The notes of all workers. Times in seconds."""

    async def put(self, kind: str, owner: str, name: str, note: str, *, keep: float) -> None:
        """Write a note, in place of an earlier one of this name. It is kept for that long."""

    async def drop(self, kind: str, owner: str, name: str) -> None:
        """Forget a note, if it is there."""

    async def notes(self, kind: str, owner: str) -> Mapping[str, str]:
        """The notes of an owner, by name."""

    async def publish(self, news: str) -> None:
        """Send news to all workers, this one too."""

    def news(self) -> AsyncGenerator[str, None]:
        """The news of all workers, from now on."""


@dataclass(slots=True)
class MemoryBoard:
    """The notes of one process. Beyond `most` owners those are forgotten whose notes are the oldest."""

    most: int = 100_000
    _notes: dict[tuple[str, str], dict[str, tuple[float, str]]] = field(default_factory=dict)
    """By kind and owner, then by name: until when it is kept, and the note."""
    _broadcast: Broadcast[str] = field(default_factory=Broadcast)

    async def put(self, kind: str, owner: str, name: str, note: str, *, keep: float) -> None:
        mine = self._notes[kind, owner] = self._notes.pop((kind, owner), {})
        mine[name] = time.time() + keep, note
        if len(self._notes) > self.most:
            del self._notes[next(iter(self._notes))]

    async def drop(self, kind: str, owner: str, name: str) -> None:
        mine = self._notes.get((kind, owner), {})
        mine.pop(name, None)
        if not mine:
            self._notes.pop((kind, owner), None)

    async def notes(self, kind: str, owner: str) -> Mapping[str, str]:
        mine, now = self._notes.get((kind, owner), {}), time.time()
        for name in [name for name, (until, _) in mine.items() if until < now]:
            await self.drop(kind, owner, name)
        return {name: note for name, (_, note) in mine.items()}

    async def publish(self, news: str) -> None:
        self._broadcast.send(news)

    def news(self) -> AsyncGenerator[str, None]:
        return self._broadcast.heard()
