"""Pure. Facts in the metadata of events and messages: sources and applications write them under names of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["fact", "renamed", "rewritten", "word"]


def fact(metadata: Mapping[str, Any] | None, name: str) -> Any:
    """A fact of an event or a message, whichever source wrote it; None without it."""
    for facts in (metadata or {}).values():
        if isinstance(facts, Mapping) and name in facts:
            return facts[name]
    return None


def word(metadata: Mapping[str, Any] | None, name: str) -> str:
    """A fact that is text; else ``""``."""
    found = fact(metadata, name)
    return found if isinstance(found, str) else ""


def renamed(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """The messages of a ``MESSAGES_SNAPSHOT`` that were streamed under other ids: the new ids by those."""
    found = fact(metadata, "renamed")
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {old: new for old, new in pairs if isinstance(old, str) and isinstance(new, str)}


def rewritten(metadata: Mapping[str, Any] | None) -> Collection[str]:
    """Ids of the messages of a ``MESSAGES_SNAPSHOT`` that have another text than was streamed."""
    found = fact(metadata, "rewritten")
    return {own for own in found if isinstance(own, str)} if isinstance(found, list | tuple) else set()
