"""Pure. What of a run's events is really sent: the hooks that see them, and what follows from one that was not sent.

The grammar of a run counts every event it made. So whatever is not sent after all (dropped by a hook, lost with a hook
that raised, refused by an encoder) takes along what belongs to it: content and end of a message that never began.
"""

from __future__ import annotations

from collections.abc import Iterable

from ag_ui.core import BaseEvent, EventType

from yai_nexus_agentkit.adapter.source import RunContext, call_hook
from yai_nexus_agentkit.errors import HookError

__all__ = ["EventFilter"]

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
_TERMINAL = frozenset({EventType.RUN_FINISHED, EventType.RUN_ERROR})
_FIXED = _TERMINAL | {EventType.RUN_STARTED}


class EventFilter:
    """The way out of one run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._dropped: set[tuple[str, str]] = set()
        """Spans whose opener was not sent; a call stays in it until its result, other spans until their end."""
        self.error: HookError | None = None
        """A hook raised. The events before that were returned, the others are lost."""
        self.ended = False
        """The terminal event went out."""

    def __call__(self, events: list[BaseEvent]) -> list[BaseEvent]:
        """The events to send, through the hooks."""
        sent: list[BaseEvent] = []
        for n, event in enumerate(events):
            try:
                kept = self._hooked(event)
                for one in kept:
                    if self._run.hooks.record is not None:
                        call_hook("record", self._run.hooks.record, one, self._run)
                    sent.append(one)
            except HookError as error:
                self.error = error
                self.lose(events[n:])
                break
        return self._noted(sent)

    def without_hooks(self, events: list[BaseEvent]) -> list[BaseEvent]:
        """The events to send when a hook is why the run ends."""
        return self._noted([event for event in events if not self._follows_dropped(event)])

    def lose(self, events: Iterable[BaseEvent]) -> None:
        """These events were not sent."""
        for event in events:
            if event.type in _OPENERS:
                self._dropped.add(_key(event))

    def _noted(self, events: list[BaseEvent]) -> list[BaseEvent]:
        self.ended = self.ended or any(event.type in _TERMINAL for event in events)
        return events

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
        kept: list[BaseEvent] = call_hook("on_event", lambda: list(hook(event, run)))
        if event.type in _FIXED:
            return _in_place(event, kept)
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
    return kind, str(getattr(event, name))
