"""Pure. Which subagent invocations are open, who spawned whom, and the events that say so (AG-UI 1.0 §9)."""

from __future__ import annotations

from collections.abc import Sequence

from ag_ui.core import (
    BaseEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
)

__all__ = ["Subagents"]


class Subagents:
    """The invocations of one run. With `announce` off they are known but not told: clients before 0.0.59 end the run at the unknown events."""

    def __init__(self, *, announce: bool) -> None:
        self._announce = announce
        self._parents: dict[str, str | None] = {}
        """Parent of every invocation of the run, kept after its end: an id is started once per run."""

    def start(self, subagent: str, parent: str | None) -> bool:
        """Note an invocation; False if the id was used before in this run."""
        if subagent in self._parents:
            return False
        self._parents[subagent] = parent if parent in self._parents else None
        return True

    def parent(self, subagent: str) -> str | None:
        """The invocation that spawned this one."""
        return self._parents.get(subagent)

    def started(self, subagent: str, name: str, call_id: str | None, message_id: str | None) -> list[BaseEvent]:
        """``SUBAGENT_STARTED``"""
        if not self._announce:
            return []
        return [
            SubagentStartedEvent(
                subagent_run_id=subagent,
                name=name,
                parent_subagent_run_id=self._parents[subagent],
                parent_tool_call_id=call_id,
                parent_message_id=message_id,
            )
        ]

    def ended(self, subagent: str, *, error: str | None, suspended: Sequence[str] | None) -> list[BaseEvent]:
        """``SUBAGENT_ERROR``, or ``SUBAGENT_FINISHED``; `suspended` are the interrupts it raised itself, possibly none."""
        if not self._announce:
            return []
        if error is not None:
            return [SubagentErrorEvent(subagent_run_id=subagent, message=error)]
        if suspended is None:
            return [SubagentFinishedEvent(subagent_run_id=subagent)]
        outcome = {"type": "suspended", **({"interruptIds": list(suspended)} if suspended else {})}
        return [SubagentFinishedEvent.model_validate({"subagent_run_id": subagent, "outcome": outcome})]
