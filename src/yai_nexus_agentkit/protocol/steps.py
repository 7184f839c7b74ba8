"""Pure. The work that is shown as such: steps (node runs) and titled spans (chains that somebody named)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent, Message, StepFinishedEvent, StepStartedEvent

from yai_nexus_agentkit.protocol.deltas import ending
from yai_nexus_agentkit.protocol.entities import OpenEntities
from yai_nexus_agentkit.protocol.events import SPAN, STEP
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable
from yai_nexus_agentkit.protocol.reasoning import ReasoningWriter
from yai_nexus_agentkit.protocol.subagents import Subagents

__all__ = ["Spans", "Steps"]


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
        ids = {message.id for message in messages}
        return [e for span, (span_id, _) in list(self._spans.items()) if span_id in ids for e in self.close(span)]
