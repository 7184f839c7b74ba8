"""Pure. The way out of a run: the hooks that see its events, the wire that writes them, and what follows from an event
that was not sent.

The grammar of a run counts every event it made. So whatever is not sent after all (dropped by a hook, lost with a hook
that raised, refused by an encoder) takes along what belongs to it: content and end of a message that never began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ag_ui.core import BaseEvent, EventType, RunErrorEvent

from yai_nexus_agentkit.adapter.hook_calls import call_hook
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import Code, EncodingError, HookError

__all__ = ["TERMINAL", "Outlet"]

T = TypeVar("T")

_KEYS: dict[str, tuple[str, str]] = {
    EventType.TEXT_MESSAGE_START: ("text", "message_id"),
    EventType.TEXT_MESSAGE_CONTENT: ("text", "message_id"),
    EventType.TEXT_MESSAGE_END: ("text", "message_id"),
    EventType.REASONING_START: ("span", "message_id"),
    EventType.REASONING_END: ("span", "message_id"),
    EventType.REASONING_MESSAGE_START: ("reasoning", "message_id"),
    EventType.REASONING_MESSAGE_CONTENT: ("reasoning", "message_id"),
    EventType.REASONING_MESSAGE_END: ("reasoning", "message_id"),
    EventType.TOOL_CALL_START: ("call", "tool_call_id"),
    EventType.TOOL_CALL_ARGS: ("call", "tool_call_id"),
    EventType.TOOL_CALL_END: ("call", "tool_call_id"),
    EventType.TOOL_CALL_RESULT: ("call", "tool_call_id"),
    EventType.STEP_STARTED: ("step", "step_name"),
    EventType.STEP_FINISHED: ("step", "step_name"),
    EventType.SUBAGENT_STARTED: ("subagent", "subagent_run_id"),
    EventType.SUBAGENT_FINISHED: ("subagent", "subagent_run_id"),
    EventType.SUBAGENT_ERROR: ("subagent", "subagent_run_id"),
}
"""What an event belongs to: kind of span, and the field that names it."""
_OPENERS = frozenset(t for t in _KEYS if t.endswith(("_START", "_STARTED")))
_CLOSERS = frozenset(t for t in _KEYS if t.endswith(("_END", "_FINISHED", "SUBAGENT_ERROR")))
TERMINAL = frozenset({EventType.RUN_FINISHED, EventType.RUN_ERROR})
"""Exactly one of these is the last event of a run."""
_FIXED = TERMINAL | {EventType.RUN_STARTED}


class Outlet(Generic[T]):
    """The way out of one run. `wire` takes each event that is sent, and what it returns is the run's output.

    `wire` raises `EncodingError` for an event that it cannot write. That, or a hook that fails, is the run's `failure`:
    what came before it was sent, the other events are lost.
    """

    def __init__(self, run: RunContext, wire: Callable[[BaseEvent], T]) -> None:
        self._run, self.wire = run, wire
        self._dropped: set[tuple[str, str]] = set()
        """Spans whose opener was not sent; a call stays in it until its result, other spans until their end."""
        self._unhooked = False
        """A hook for events failed, and is not called any more."""
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
        """What the hooks for events make of these. A hook that raises is the run's failure, and the rest is lost."""
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

    def lose(self, events: Sequence[BaseEvent], *, since: BaseEvent) -> None:
        """Of these events, those from `since` on were not sent."""
        first = next(n for n, event in enumerate(events) if event is since)
        self._dropped.update(_key(event) for event in events[first:] if event.type in _OPENERS)

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
                self.lose(events, since=event)
                self._run.failure = error
                break
            self.ended = self.ended or event.type in TERMINAL
        return sent

    def _follows_dropped(self, event: BaseEvent) -> bool:
        if event.type not in _KEYS or event.type in _OPENERS:
            return False
        key = _key(event)
        if key not in self._dropped:
            return False
        if event.type in _CLOSERS and key[0] != "call":
            self._dropped.discard(key)
        return True

    def _hooked(self, event: BaseEvent) -> list[BaseEvent]:
        if self._follows_dropped(event):
            return []
        if self._run.hooks.on_event is None:
            return [event]
        hook, run = self._run.hooks.on_event, self._run
        kept: list[BaseEvent] = call_hook("on_event", hook, event, run)
        if event.type in _FIXED:
            return _in_place(event, kept)
        if not _FIXED.isdisjoint(one.type for one in kept):
            raise HookError("the on_event hook must not begin or end the run", hook="on_event")
        mine = any(one.type == event.type for one in kept)
        if event.type in _OPENERS:
            (self._dropped.discard if mine else self._dropped.add)(_key(event))
        elif event.type in _CLOSERS and not mine:
            kept.append(event)  # an open span must be closed
        return kept


def _in_place(event: BaseEvent, kept: list[BaseEvent]) -> list[BaseEvent]:
    """``RUN_STARTED`` stays first and the terminal event last, and neither is dropped or doubled."""
    own = next((one for one in kept if one.type == event.type), event)
    others = [one for one in kept if one.type not in _FIXED]
    return [own, *others] if event.type == EventType.RUN_STARTED else [*others, own]


def _key(event: BaseEvent) -> tuple[str, str]:
    kind, name = _KEYS[event.type]
    return kind, str(getattr(event, name, None))  # a hook may make an event without it
