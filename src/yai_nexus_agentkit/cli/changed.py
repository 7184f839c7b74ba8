"""Pure. Answers that a graph rewrote or removed after they were streamed: a terminal still shows the first text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from yai_nexus_agentkit.cli.chunks import Event
from yai_nexus_agentkit.transport.facts import renamed, rewritten

__all__ = ["Change", "changes"]


class Change(NamedTuple):
    """An answer that is no longer what was shown."""

    shown: str
    now: str | None
    """The text that the thread has instead; None: it was removed."""


def changes(texts: Mapping[str, str], event: Event, streamed: Collection[str]) -> Iterator[Change]:
    """The changes that a ``MESSAGES_SNAPSHOT`` brings. `texts`: the answers that the client holds, by their ids.
    `streamed`: ids of those that are complete and of this run: only these count as removed. A thread that is
    summed up loses others, which says nothing about them."""
    held = {m["id"]: m.get("content") or "" for m in event["messages"] if m["role"] == "assistant" and _is_own(m)}
    names, new = renamed(event.get("metadata")), [own for own in held if own not in texts]
    others = [own for own in new if own in rewritten(event.get("metadata"))]
    for own, shown in texts.items():
        now = names.get(own, own)
        if now in held:
            if _words(held[now]) != _words(shown):
                yield Change(shown, held[now])
        elif own in streamed and _words(shown) and _words(shown) not in {_words(held[i]) for i in new}:
            yield Change(shown, held[others.pop(0)] if others else None)


def _is_own(message: Mapping[str, Any]) -> bool:
    return not message.get("subagentRunId") and isinstance(message.get("content") or "", str)


def _words(text: str) -> str:
    return "".join(text.split())
