"""Pure. Which subagent invocations a run has, who spawned whom, and the events that say so (AG-UI 1.0, subagents)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ag_ui.core import (
    BaseEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
)

from yai_nexus_agentkit.protocol.entities import OpenEntities
from yai_nexus_agentkit.protocol.events import SUBAGENT
from yai_nexus_agentkit.protocol.message_ids import usable

__all__ = ["Subagents"]

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
