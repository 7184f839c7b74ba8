"""Pure. Runs for tests of the grammar, and their events as they look on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["brief", "live", "wire"]

_NAMES = ("messageId", "toolCallId", "stepName", "entityId", "name")


def thread_calls(*known: str, answered: Iterable[str] = ()) -> ThreadCalls:
    """The calls of a thread: those that the client has, and those that have a result."""
    calls = ThreadCalls()
    for call in known:
        calls.announce(call)
    for call in answered:
        calls.answer(call, f"{call}-result")
    return calls


def live(**options: Any) -> RunLifecycle:
    """A run that has started."""
    return RunLifecycle(thread_id="t", run_id="r", **options)


def wire(events: Iterable[BaseEvent]) -> list[dict[str, Any]]:
    """The events as JSON data."""
    return [event.model_dump(mode="json", by_alias=True) for event in events]


def brief(events: Iterable[BaseEvent]) -> list[str]:
    """``TYPE name`` of each event, whatever it is that names its entity."""
    return [" ".join([event["type"], *(event[name] for name in _NAMES if name in event)][:2]) for event in wire(events)]
