"""Pure. What is open in a run, in the order of opening, and the work that is shown as such: subagent invocations, steps
(node runs), and titled spans (chains that somebody named)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ag_ui.core import (
    BaseEvent,
    Message,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
)

from yai_nexus_agentkit.protocol.deltas import ending
from yai_nexus_agentkit.protocol.events import SPAN, STEP, SUBAGENT, Entity
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable
from yai_nexus_agentkit.protocol.reasoning import ReasoningWriter

__all__ = ["Closer", "OpenEntities", "Spans", "Steps", "Subagents"]

Closer: TypeAlias = Callable[[str], list[BaseEvent]]
"""Closes the entity of this name, takes it out of `OpenEntities`, and returns the events that say so."""


@dataclass(slots=True, eq=False)
class OpenEntities:
    """The open entities of one run. Names are unique per kind; owners are subagent invocations."""

    _entries: dict[tuple[Entity, str], tuple[str | None, Closer]] = field(default_factory=dict)
    """Owner and closer by kind and name. Set when an entity opens, dropped by its closer."""

    def add(self, entity: Entity, name: str, owner: str | None, close: Closer) -> None:
        """Note an entity as open. A subagent invocation is owned by the one that spawned it."""
        self._entries[entity, name] = (owner, close)

    def remove(self, entity: Entity, name: str) -> bool:
        """Note it as closed; False if it was not open."""
        return self._entries.pop((entity, name), None) is not None

    @property
    def streaming(self) -> bool:
        """A message or call is open."""
        return any(entity.message for entity, _ in self._entries)

    def close_all(self) -> list[BaseEvent]:
        """Close everything, the last opened first."""
        return list(self._closing(lambda _: True))

    def close_owned(self, owner: str) -> list[BaseEvent]:
        """Close everything of one subagent invocation and of those that it spawned, the last opened first."""
        return list(self._closing(lambda entry_owner: entry_owner == owner))

    def _closing(self, matches: Callable[[str | None], bool]) -> Iterator[BaseEvent]:
        for key in reversed(list(self._entries)):
            entry = self._entries.get(key)  # gone if a closer before took it along
            if entry is not None and matches(entry[0]):
                yield from entry[1](key[1])


UNNAMED = "subagent"
"""Name of an invocation that something was tagged with before anybody announced it."""


@dataclass(slots=True, eq=False)
class Subagents:
    """The invocations of one run.

    `announce` off: they are known, but no events are sent, which clients before 0.0.59 would end the run at. Tags do
    them no harm.
    """

    _open: OpenEntities
    announce: bool
    _started: set[str] = field(default_factory=set)
    """Every invocation of the run, kept after its end: an id is started once per run."""

    def introduce(self, owner: str | None) -> list[BaseEvent]:
        """The start of `owner`, for the first event that is tagged with it. Tags may also come after its end."""
        if owner is None or owner in self._started or not self.announce:
            return []
        return self.start(owner, UNNAMED)

    def knows(self, subagent: str | None) -> bool:
        """Whether a tag inside an event, such as an interrupt's, can refer to it: it was started, or none is."""
        return not self.announce or subagent in self._started

    def start(
        self,
        subagent: str,
        name: str,
        *,
        parent: str | None = None,
        call_id: str | None = None,
        message_id: str | None = None,
    ) -> list[BaseEvent]:
        """``SUBAGENT_STARTED``, once per id.

        A `parent` that was not started in this run is not named, since clients refuse it.
        """
        if not usable(subagent) or subagent in self._started:
            return []
        spawner = parent if parent in self._started else None
        event = SubagentStartedEvent(
            subagent_run_id=subagent,
            name=name or UNNAMED,
            parent_subagent_run_id=spawner,
            parent_tool_call_id=call_id,
            parent_message_id=message_id,
        )
        self._started.add(subagent)
        self._open.add(SUBAGENT, subagent, spawner, self.end)
        return [event] if self.announce else []

    def end(
        self, subagent: str, *, error: str | None = None, suspended: Sequence[str] | None = None
    ) -> list[BaseEvent]:
        """Close an invocation and whatever of it is open: ``SUBAGENT_ERROR`` with `error`, else ``SUBAGENT_FINISHED``.

        `suspended` are the interrupts that it raised itself, possibly none.
        """
        ending = self._ending(subagent, error, suspended)
        if not self._open.remove(SUBAGENT, subagent):
            return []
        events = self._open.close_owned(subagent)
        return [*events, ending] if self.announce else events

    @staticmethod
    def _ending(subagent: str, error: str | None, suspended: Sequence[str] | None) -> BaseEvent:
        if error is not None:
            return SubagentErrorEvent(subagent_run_id=subagent, message=error)
        if suspended is None:
            return SubagentFinishedEvent(subagent_run_id=subagent)
        raised = [interrupt for interrupt in suspended if usable(interrupt)]
        outcome = SubagentFinishedSuspendedOutcome(interrupt_ids=raised or None)
        return SubagentFinishedEvent(subagent_run_id=subagent, outcome=outcome)


@dataclass(slots=True, eq=False)
class Steps:
    """The node runs of one run. `step` identifies a node run; its name is what the client sees."""

    _open: OpenEntities
    _subagents: Subagents
    _steps: dict[str, tuple[StepStartedEvent, str, int]] = field(default_factory=dict)
    """The open steps: start event, given name, and number among the steps of that name."""
    _names: set[str] = field(default_factory=set)
    _free: dict[str, int] = field(default_factory=dict)
    """By given name, the first number that may be free; 1 for names that are missing."""

    def start(self, step: str, name: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]:
        """``STEP_STARTED`` under a name that no open step has; clients before 0.0.59 have one space of names."""
        if step in self._steps:
            return []
        owner = usable(owner)
        n = self._free.get(name, 1)
        while (unique := name if n == 1 else f"{name}#{n}") in self._names:
            n += 1
        self._free[name] = n + 1
        self._names.add(unique)
        event = StepStartedEvent(step_name=unique, subagent_run_id=owner, metadata=metadata)
        self._steps[step] = event, name, n
        self._open.add(STEP, step, owner, self.finish)
        return [*self._subagents.introduce(owner), event]

    def finish(self, step: str) -> list[BaseEvent]:
        """``STEP_FINISHED`` with exactly the tag of the start: here an absent one does not agree (AG-UI 1.0, steps)."""
        if step not in self._steps:
            return []
        start, name, n = self._steps.pop(step)
        self._names.remove(start.step_name)
        self._free[name] = min(n, self._free[name])
        self._open.remove(STEP, step)
        return [ending(StepFinishedEvent, step_name=start.step_name, subagent_run_id=start.subagent_run_id)]


@dataclass(slots=True, eq=False)
class Spans:
    """Titled reasoning spans. `span` identifies the chain's run; on the wire it has another id where that is taken."""

    _ids: MessageIds
    _open: OpenEntities
    _subagents: Subagents
    _writer: ReasoningWriter | None
    _spans: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Id on the wire and owner of the open spans."""

    def open(self, span: str, title: str, owner: str | None) -> list[BaseEvent]:
        """Begin a span, unless it is open."""
        if self._writer is None or span in self._spans:
            return []
        owner = usable(owner)
        span_id = self._ids.claim(span, "span", owner, spare="span")
        events = self._writer.open_span(span_id, owner, title)
        self._spans[span] = (span_id, owner)
        self._open.add(SPAN, span, owner, self.close)
        return [*self._subagents.introduce(owner), *events]

    def close(self, span: str) -> list[BaseEvent]:
        """End a span, if it is open."""
        if self._writer is None or span not in self._spans:
            return []
        self._open.remove(SPAN, span)
        return self._writer.close_span(*self._spans.pop(span))

    def make_way(self, messages: Iterable[Message]) -> list[BaseEvent]:
        """End the spans whose ids a snapshot gives to messages: a client then takes them for those messages' owners."""
        ids = {message.id for message in messages} if self._spans else ()
        return [e for span, (span_id, _) in list(self._spans.items()) if span_id in ids for e in self.close(span)]
