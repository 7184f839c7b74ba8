"""Pure. The `on_event` hook over a stream: what follows a dropped opener is dropped too, and a run keeps its beginning
and its end."""

from __future__ import annotations

from collections.abc import Iterable

from ag_ui.core import BaseEvent, EventType

from yai_nexus_agentkit.adapter.source import RunContext
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
_FIXED = frozenset({EventType.RUN_STARTED, EventType.RUN_FINISHED, EventType.RUN_ERROR})


class EventFilter:
    """The hook of one run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._hook = run.hooks.on_event
        self._dropped: set[tuple[str, str]] = set()
        """Spans whose opener was dropped; a call stays in it until its result, other spans until their end."""

    def __call__(self, events: list[BaseEvent]) -> list[BaseEvent]:
        """The events to send. Raises `HookError` if the hook raised."""
        if self._hook is None:
            return events
        return [kept for event in events for kept in self._one(event)]

    def _one(self, event: BaseEvent) -> Iterable[BaseEvent]:
        spec = _KEYS.get(event.type)
        key = (spec[0], str(getattr(event, spec[1]))) if spec is not None else None
        if key is not None and key in self._dropped and event.type not in _OPENERS:
            if event.type in _CLOSERS and key[0] != "call":
                self._dropped.discard(key)
            return ()
        if self._hook is None:
            return (event,)
        try:
            kept = list(self._hook(event, self._run))
        except Exception as error:
            raise HookError(f"the on_event hook raised {type(error).__name__}: {error}", hook="on_event") from error
        if event.type in _FIXED and not any(k.type == event.type for k in kept):
            return (*kept, event) if event.type != EventType.RUN_STARTED else (event, *kept)
        if event.type in _OPENERS and key is not None:
            if any(k.type == event.type for k in kept):
                self._dropped.discard(key)
            else:
                self._dropped.add(key)
        elif event.type in _CLOSERS and not any(k.type == event.type for k in kept):
            return (*kept, event)  # an open span must be closed
        return kept
