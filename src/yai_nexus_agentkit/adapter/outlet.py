"""The way out of a run: the hooks that see its events, the wire that writes them, and the events that are not sent.

The grammar of a run counts every event that it made. If the first event of a message, call, step or span is not sent
(dropped by a hook, lost with a hook that raised, refused by an encoder), its other events are not sent either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ag_ui.core import BaseEvent, RunErrorEvent

from yai_nexus_agentkit.adapter.hook_calls import call_hook
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.smaller import smaller_events
from yai_nexus_agentkit.errors import Code, EncodingError, HookError, TooLargeError
from yai_nexus_agentkit.protocol.events import CALL, RUN, TERMINAL, Entity, Move, row_of

__all__ = ["Outlet"]

T = TypeVar("T")


class Outlet(Generic[T]):
    """The way out of one run. The run's output is what `wire` returns for each event that is sent.

    `wire` raises `EncodingError` for an event that it cannot write. That, or a hook that raises, is the run's
    `failure`: the events before it were sent, the others are lost.
    """

    def __init__(self, run: RunContext, wire: Callable[[BaseEvent], T]) -> None:
        self._run, self.wire = run, wire
        self._dropped: set[tuple[Entity, str]] = set()
        """Entities whose first event was not sent. A call stays in it until its result, others until their end."""
        self._unhooked = False
        """A hook for events raised. It is not called any more."""
        self.ended = False
        """The terminal event went out."""

    def check(self) -> None:
        """Raises the run's failure, if there is one."""
        if self._run.failure is not None:
            raise self._run.failure

    def pass_on(self, events: Sequence[BaseEvent]) -> list[T]:
        """Send the events through the hooks."""
        return self._sent(self.hooked(events))

    def hooked(self, events: Sequence[BaseEvent]) -> list[BaseEvent]:
        """The events that the hooks make of these. A hook that raises is the run's failure, and the rest is lost."""
        kept: list[BaseEvent] = []
        for event in events:
            try:
                for one in self._hooked(event):
                    if self._run.hooks.record is not None:
                        call_hook("record", self._run.hooks.record, one, self._run)
                    kept.append(one)
            except HookError as error:
                self._run.failure, self._unhooked = error, True
                self.lose(events, since=event)
                break
        return kept

    def in_pieces(self, events: Sequence[BaseEvent], event: BaseEvent, error: EncodingError) -> list[T]:
        """Send smaller events in place of this one, which `wire` refused. Where that is no way it is lost, with those
        of `events` after it, and `EncodingError` is raised."""
        try:
            if isinstance(error, TooLargeError) and (pieces := smaller_events(event, error, self._run)):
                return [self.wire(piece) for piece in pieces]
            raise error
        except EncodingError:
            self.lose(events, since=event)
            raise

    def lose(self, events: Sequence[BaseEvent], *, since: BaseEvent) -> None:
        """Of these events, those from `since` on were not sent."""
        first = next(n for n, event in enumerate(events) if event is since)
        for entity, move, key in map(_part, events[first:]):
            if entity.id and move == "opens":
                self._dropped.add((entity, key))

    def end(self, events: Sequence[BaseEvent], last: BaseEvent) -> list[T]:
        """Send the last events of a run that failed or was stopped: through the hooks until one of them raises, and
        without those that cannot be written. `last`: the terminal event, if none of them is or can be sent."""
        sent: list[T] = []
        for event in events:
            if not self._unhooked:
                sent += self.pass_on([event])
                if not self._unhooked:
                    continue
            if not self._follows_dropped(event):
                sent += self._sent([event])
        unwritable = RunErrorEvent(message="the end of the run could not be encoded", code=Code.ENCODING_ERROR)
        for terminal in (last, unwritable):
            if not self.ended:
                sent += self._sent([terminal])
        return sent

    def _sent(self, events: Sequence[BaseEvent]) -> list[T]:
        sent: list[T] = []
        for event in events:
            try:
                sent.append(self.wire(event))
            except EncodingError as error:
                try:
                    sent += self.in_pieces(events, event, error)
                except EncodingError as final:
                    self._run.failure = final
                    break
            self.ended = self.ended or event.type in TERMINAL
        return sent

    def _follows_dropped(self, event: BaseEvent) -> bool:
        if not self._dropped:
            return False
        entity, move, key = _part(event)
        if move == "opens" or (entity, key) not in self._dropped:
            return False
        if move == "closes" and entity is not CALL:
            self._dropped.discard((entity, key))
        return True

    def _hooked(self, event: BaseEvent) -> list[BaseEvent]:
        if self._follows_dropped(event):
            return []
        if self._run.hooks.on_event is None:
            return [event]
        hook, run = self._run.hooks.on_event, self._run
        kept: list[BaseEvent] = call_hook("on_event", hook, event, run)
        if _is_fixed(event):
            return _in_place(event, kept)
        if any(map(_is_fixed, kept)):
            raise HookError("the on_event hook must not begin or end the run", hook="on_event")
        mine = any(one.type == event.type for one in kept)
        entity, move, key = _part(event)
        if entity.id and move == "opens":
            (self._dropped.discard if mine else self._dropped.add)((entity, key))
        elif entity.id and move == "closes" and not mine:
            kept.append(event)  # an open span must be closed
        return kept


def _is_fixed(event: BaseEvent) -> bool:
    return row_of(event.type).entity is RUN


def _in_place(event: BaseEvent, kept: list[BaseEvent]) -> list[BaseEvent]:
    """``RUN_STARTED`` stays first and the terminal event last, and neither is dropped or doubled."""
    own = next((one for one in kept if one.type == event.type), event)
    others = [one for one in kept if not _is_fixed(one)]
    return [*others, own] if event.type in TERMINAL else [own, *others]


def _part(event: BaseEvent) -> tuple[Entity, Move | None, str]:
    """The entity that the event belongs to, what it does to it, and which one it is."""
    entity, move = row_of(event.type).entity, row_of(event.type).move
    return entity, move, str(getattr(event, entity.id, None))  # a hook may make an event without it
