"""The tool calls of a thread: one record each, from the answer that makes the call to its result. Pure.

Every part of a run asks `ThreadCalls`: which calls exist, by which id the client knows them, and what became of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call", "ThreadCalls"]


@dataclass(slots=True, eq=False)
class Call:
    """One tool call. It is made, announced to the client, run, and answered; each step may be missing."""

    id: str
    """On the wire, where it is unique in the thread."""
    raw: str
    """The model's own id. It recurs: models number their calls anew in each answer, and so does each subagent."""
    maker: str = ""
    """Id of the message that made the call; empty if it is unknown."""
    scope: str | None = None
    """The graph or agent whose model made the call; None if it is unknown."""
    name: str = ""
    args: Any = None
    """The arguments, once they are complete."""
    announced: bool = False
    """The client has the call: this run or an earlier one sent it."""
    run: str | None = None
    """The tool run that executes it."""
    result: str | None = None
    """Id of the tool message that answers it."""


@dataclass(slots=True, eq=False)
class ThreadCalls:
    """The calls of one thread, in the order in which they were made. Belongs to one run."""

    _calls: dict[str, Call] = field(default_factory=dict)
    """By id on the wire."""
    _made: dict[tuple[str, str], Call] = field(default_factory=dict)
    """By message and raw id."""
    _alike: dict[str, list[Call]] = field(default_factory=dict)
    """By raw id, oldest first."""
    renumbered: bool = False
    """Some call has another id on the wire than its model gave it."""

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls.values())

    # ------------------------------------------------------------------ recording

    def made(self, maker: str, raw: str, *, scope: str | None = "", name: str = "", args: Any = None) -> Call:
        """The call `raw` of the message `maker`; recorded when it is asked for the first time.

        Its id on the wire is `raw` if no other call has that, else one made from both.
        """
        call = self._made.get((maker, raw))
        if call is None:
            call_id = raw
            while (taken := self._calls.get(call_id)) is not None and (taken.maker or taken.announced):
                call_id = f"{call_id}-{maker}"
            call = self._register(self._recorded(call_id), maker, raw, scope)
        call.name = call.name or name
        call.args = call.args if args is None else args
        return call

    def shown(self, call_id: str, maker: str, *, scope: str | None = "", name: str = "") -> Call:
        """Record that the client has this call of the message `maker`, by a snapshot or of its own."""
        call, raw = self._recorded(call_id), call_id.removesuffix(f"-{maker}")
        call.announced, call.name = True, call.name or name
        if not call.maker and (maker, raw) not in self._made:
            self._register(call, maker, raw, scope)
        return call

    def announce(self, call_id: str, name: str = "") -> None:
        """Record that this run announces the call of this id."""
        call = self._recorded(call_id)
        call.announced, call.name = True, call.name or name

    def answer(self, call_id: str, message_id: str) -> Call:
        """Record that this tool message is the result of a call. Threads are trimmed: the call may be missing."""
        call = self._recorded(call_id)
        call.result = call.result or message_id
        return call

    def _register(self, call: Call, maker: str, raw: str, scope: str | None) -> Call:
        call.raw, call.maker, call.scope = raw, maker, scope
        self._made[maker, raw] = call
        self._alike.setdefault(raw, []).append(call)
        self.renumbered = self.renumbered or call.id != raw
        return call

    def _recorded(self, call_id: str) -> Call:
        return self._calls.setdefault(call_id, Call(call_id, call_id))

    # ------------------------------------------------------------------ asking

    def get(self, call_id: str | None) -> Call | None:
        """The call that the client knows by this id."""
        return self._calls.get(call_id or "")

    def of(self, maker: str, raw: str) -> Call | None:
        """The call `raw` of the message `maker`, if it is recorded."""
        return self._made.get((maker, raw))

    def meant(
        self, raw: str, scopes: Sequence[str] = ("",), *, name: str = "", hosts: Collection[str] = ()
    ) -> Call | None:
        """The call that a tool run or tool message means by `raw`: the newest one of its scope.

        If there is none, a call of the scopes around it, then of an unknown scope, then of any. `scopes`: innermost
        first. `name`: the tool's, if it is known. `hosts`: ids of the calls whose tools the run is part of; they
        cannot be meant.
        """
        alike = self._alike.get(raw, ())
        for call in reversed(alike):
            if call.scope == scopes[0]:
                return call
        order = {scope: place for place, scope in enumerate((*scopes, None))}
        found: Call | None = None
        for call in alike:
            if call.id in hosts or (name and call.name and call.name != name):
                continue
            if found is None or order.get(call.scope, len(order)) <= order.get(found.scope, len(order)):
                found = call
        return found

    def is_announced(self, call_id: str | None) -> bool:
        """The client has the call."""
        call = self.get(call_id)
        return call is not None and call.announced

    def is_answered(self, call_id: str) -> bool:
        """The call has its result."""
        call = self.get(call_id)
        return call is not None and call.result is not None

    def open(self) -> list[Call]:
        """The calls that have no result."""
        return [call for call in self._calls.values() if call.result is None]
