"""Pure. The grammar of a run: ``RUN_STARTED`` first, one terminal event last, and between them nothing that goes on
without having begun, begins twice, or is left open.

A state machine over wire dicts; `testing.rules` feeds it. It refuses what the official 1.0 client refuses. Chunk events
open and close for themselves, and ``THINKING_*`` has no ids to pair by, so both may come at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from yai_nexus_agentkit.protocol import events
from yai_nexus_agentkit.protocol.events import Entity, EventRow, row_of

__all__ = ["GRAMMAR", "Grammar"]

GRAMMAR: Mapping[str, str] = {
    "start": "a run begins with RUN_STARTED, which comes once (a lone RUN_ERROR is the one exception)",
    "terminal": "a run has exactly one terminal event, and it is the last (a late RUN_ERROR is the one exception)",
    "text": "text messages are opened once, continued while open, and closed",
    "calls": "tool calls are started once, continued while open, and ended",
    "reasoning": "reasoning spans and messages are opened once, continued while open, and closed",
    "steps": "steps pair per owner, and a name is not open twice for one owner",
    "subagents": "subagents are started once, below a parent that was started, and finished or failed",
}
"""Rules by the name in brackets before each problem."""

_Event = Mapping[str, Any]
_WORDS: Mapping[Entity, tuple[str, str]] = {
    events.TEXT: ("text", "message"),
    events.CALL: ("calls", "call"),
    events.SPAN: ("reasoning", "span"),
    events.REASONING: ("reasoning", "message"),
    events.STEP: ("steps", "step"),
    events.SUBAGENT: ("subagents", "subagent"),
}
"""The rule of each entity, and the word for it."""
_Key = tuple[Entity, str | None, str]
"""Entity, owner (of what is owned), id."""


class Grammar:
    """One stream, which may hold several runs one after the other."""

    def __init__(self) -> None:
        self._begun = False
        """Some event came."""
        self._running = False
        """``RUN_STARTED`` came, and no terminal event since."""
        self._terminal: str | None = None
        self._open: dict[_Key, None] = {}
        """In the order of opening."""
        self._seen: set[_Key] = set()
        """Everything that was opened in this run."""

    @property
    def open_texts(self) -> list[str]:
        """Ids of the text messages that are open."""
        return [name for entity, _, name in self._open if entity is events.TEXT]

    def feed(self, event: _Event) -> list[str]:
        """The problems of the next event."""
        kind = str(event.get("type"))
        found = list(self._order(kind))
        self._begun = True
        if kind == "RUN_STARTED":
            self._running, self._terminal = True, None
            self._open.clear()
            self._seen.clear()
        elif kind in events.TERMINAL:
            if kind == "RUN_FINISHED":  # an error ends whatever is open
                found += [f"{_named(key)} is still open" for key in self._open]
            self._running, self._terminal = False, kind
            self._open.clear()
        else:
            found += self._moved(event, row_of(kind))
        return found

    def finish(self) -> list[str]:
        """The problems of the stream as a whole."""
        return [] if self._terminal else ["[terminal] no RUN_FINISHED or RUN_ERROR"]

    def _order(self, kind: str) -> Iterator[str]:
        """The problems of the event's place in the run."""
        if kind == "RUN_STARTED":
            if self._running:
                yield "[start] RUN_STARTED although a run is active"
        elif self._terminal:
            if (self._terminal, kind) != ("RUN_FINISHED", "RUN_ERROR"):
                yield f"[terminal] {kind} after {self._terminal}"
        elif not self._begun and kind != "RUN_ERROR":
            yield f"[start] the first event is {kind}"

    def _moved(self, event: _Event, row: EventRow) -> Iterator[str]:
        entity, move = row.entity, row.move
        if not entity.wire_id or move == "result":
            return
        name = event.get(entity.wire_id)
        if not isinstance(name, str):
            return  # the models report it, and a chunk may leave it out
        owner = event.get("subagentRunId") if entity.owned else None
        key: _Key = (entity, owner if isinstance(owner, str) else None, name)
        is_open = key in self._open
        if move in ("opens", "chunk"):
            if is_open:
                yield f"{_named(key)} is already open"
            elif move == "opens" and entity.once and key in self._seen:
                yield f"{_named(key)} was already closed in this run"
        elif not is_open:
            yield f"{_named(key)} is not open"
        if move == "opens":
            parent = event.get("parentSubagentRunId") if entity is events.SUBAGENT else None
            if isinstance(parent, str) and (events.SUBAGENT, None, parent) not in self._seen:
                yield f"{_named(key)} has the parent '{parent}', which was not started in this run"
            self._open[key] = None
            self._seen.add(key)
        elif move == "closes":
            self._open.pop(key, None)


def _named(key: _Key) -> str:
    entity, owner, name = key
    rule, noun = _WORDS.get(entity, (entity.kind, entity.kind))
    return f"[{rule}] {noun} '{name}'" + (f" of {owner or 'the parent agent'}" if entity.owned else "")
