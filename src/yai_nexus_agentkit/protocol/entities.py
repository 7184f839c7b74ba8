"""Pure. Everything that is open in a run: in the order of opening, with its owner and its closing function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.protocol.events import Entity

__all__ = ["Closer", "OpenEntities"]

Closer: TypeAlias = Callable[[str], list[BaseEvent]]
"""Closes the entity of this name, takes it out of `OpenEntities`, and returns the events that say so."""


@dataclass(slots=True, eq=False)
class OpenEntities:
    """The open entities of one run. Names are unique per kind; owners are subagent invocations."""

    _entries: dict[tuple[Entity, str], tuple[str | None, Closer]] = field(default_factory=dict)
    """Owner and closer by kind and name. Set when an entity opens, dropped by its closer."""

    def add(self, entity: Entity, name: str, owner: str | None, close: Closer) -> None:
        """Note an entity as open. A subagent invocation is owned by the one that spawned it."""
        self._entries[entity, name] = (owner, close)

    def remove(self, entity: Entity, name: str) -> bool:
        """Note it as closed; False if it was not open."""
        return self._entries.pop((entity, name), None) is not None

    @property
    def streaming(self) -> bool:
        """A message or call is open."""
        return any(entity.message for entity, _ in self._entries)

    def close_all(self) -> list[BaseEvent]:
        """Close everything, the last opened first."""
        return list(self._closing(lambda _: True))

    def close_owned(self, owner: str) -> list[BaseEvent]:
        """Close everything of one subagent invocation and of those that it spawned, the last opened first."""
        return list(self._closing(lambda entry_owner: entry_owner == owner))

    def _closing(self, matches: Callable[[str | None], bool]) -> Iterator[BaseEvent]:
        for key in reversed(list(self._entries)):
            entry = self._entries.get(key)  # gone if a closer before took it along
            if entry is not None and matches(entry[0]):
                yield from entry[1](key[1])
