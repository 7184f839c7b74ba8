"""Pure. The grammar of a run: ``RUN_STARTED`` first, one terminal event last, and between them nothing that goes on
without having begun, begins twice, or is left open.

A state machine over wire dicts; `testing.rules` feeds it. It refuses what the official 1.0 client refuses. Chunk events
open and close for themselves, and ``THINKING_*`` has no ids to pair by, so both may come at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
"""Rules by the name that stands in brackets before each problem."""

_Event = Mapping[str, Any]
_Move = Literal["open", "continue", "close", "chunk"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """Something that is opened and closed by events."""

    rule: str
    noun: str
    id: str
    """The field that names it."""
    once: bool = False
    """Its id does not open again in the same run."""
    owned: bool = False
    """Each agent has names of its own for it."""


_TEXT = _Kind("text", "message", "messageId", once=True)
_CALL = _Kind("calls", "call", "toolCallId", once=True)
_SPAN = _Kind("reasoning", "span", "messageId")
_THOUGHT = _Kind("reasoning", "message", "messageId")
_STEP = _Kind("steps", "step", "stepName", owned=True)
_SUBAGENT = _Kind("subagents", "subagent", "subagentRunId", once=True)

_MOVES: Mapping[str, tuple[_Kind, _Move]] = {
    "TEXT_MESSAGE_START": (_TEXT, "open"),
    "TEXT_MESSAGE_CONTENT": (_TEXT, "continue"),
    "TEXT_MESSAGE_END": (_TEXT, "close"),
    "TEXT_MESSAGE_CHUNK": (_TEXT, "chunk"),
    "TOOL_CALL_START": (_CALL, "open"),
    "TOOL_CALL_ARGS": (_CALL, "continue"),
    "TOOL_CALL_END": (_CALL, "close"),
    "TOOL_CALL_CHUNK": (_CALL, "chunk"),
    "REASONING_START": (_SPAN, "open"),
    "REASONING_END": (_SPAN, "close"),
    "REASONING_MESSAGE_START": (_THOUGHT, "open"),
    "REASONING_MESSAGE_CONTENT": (_THOUGHT, "continue"),
    "REASONING_MESSAGE_END": (_THOUGHT, "close"),
    "REASONING_MESSAGE_CHUNK": (_THOUGHT, "chunk"),
    "STEP_STARTED": (_STEP, "open"),
    "STEP_FINISHED": (_STEP, "close"),
    "SUBAGENT_STARTED": (_SUBAGENT, "open"),
    "SUBAGENT_FINISHED": (_SUBAGENT, "close"),
    "SUBAGENT_ERROR": (_SUBAGENT, "close"),
}
_Key = tuple[_Kind, str | None, str]
"""Kind, owner (of what is owned), id."""


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
        return [name for kind, _, name in self._open if kind is _TEXT]

    def feed(self, event: _Event) -> list[str]:
        """The problems of the next event."""
        kind = str(event.get("type"))
        found = list(self._order(kind))
        self._begun = True
        if kind == "RUN_STARTED":
            self._running, self._terminal = True, None
            self._open.clear()
            self._seen.clear()
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            if kind == "RUN_FINISHED":  # an error ends whatever is open
                found += [f"{_named(key)} is still open" for key in self._open]
            self._running, self._terminal = False, kind
            self._open.clear()
        elif kind in _MOVES:
            found += self._moved(event, *_MOVES[kind])
        return found

    def finish(self) -> list[str]:
        """The problems of the stream as a whole."""
        return [] if self._terminal else ["[terminal] no RUN_FINISHED or RUN_ERROR"]

    def _order(self, kind: str) -> Iterator[str]:
        """The problems of the event's place in the run."""
        if kind == "RUN_STARTED":
            if self._running:
                yield "[start] RUN_STARTED although a run is under way"
        elif self._terminal:
            if (self._terminal, kind) != ("RUN_FINISHED", "RUN_ERROR"):
                yield f"[terminal] {kind} after {self._terminal}"
        elif not self._begun and kind != "RUN_ERROR":
            yield f"[start] the first event is {kind}"

    def _moved(self, event: _Event, kind: _Kind, move: _Move) -> Iterator[str]:
        name = event.get(kind.id)
        if not isinstance(name, str):
            return  # the models report it, and a chunk may leave it out
        owner = event.get("subagentRunId") if kind.owned else None
        key: _Key = (kind, owner if isinstance(owner, str) else None, name)
        is_open = key in self._open
        if move in ("open", "chunk"):
            if is_open:
                yield f"{_named(key)} is already open"
            elif move == "open" and kind.once and key in self._seen:
                yield f"{_named(key)} was already closed in this run"
        elif not is_open:
            yield f"{_named(key)} is not open"
        if move == "open":
            parent = event.get("parentSubagentRunId") if kind is _SUBAGENT else None
            if isinstance(parent, str) and (_SUBAGENT, None, parent) not in self._seen:
                yield f"{_named(key)} has the parent '{parent}', which was not started in this run"
            self._open[key] = None
            self._seen.add(key)
        elif move == "close":
            self._open.pop(key, None)


def _named(key: _Key) -> str:
    kind, owner, name = key
    return f"[{kind.rule}] {kind.noun} '{name}'" + (f" of {owner or 'the parent agent'}" if kind.owned else "")
