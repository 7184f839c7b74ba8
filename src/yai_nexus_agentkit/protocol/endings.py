"""Pure. The terminal event of a run, by peer: what ended it, what is left to be answered, what it used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ag_ui.core import (
    BaseEvent,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    TokenUsage,
    aggregate_token_usage,
)

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.calls import Calls
from yai_nexus_agentkit.protocol.message_ids import usable
from yai_nexus_agentkit.protocol.subagents import Subagents
from yai_nexus_agentkit.protocol.thread_calls import ThreadCalls

__all__ = ["Endings", "outcome_of", "with_questions"]

Outcome: TypeAlias = RunFinishedSuccessOutcome | RunFinishedInterruptOutcome | RunFinishedCancelledOutcome


def with_questions(terminal: BaseEvent, ids: Sequence[str], source: str) -> BaseEvent:
    """The end of a run whose questions were told by events of their own: as a success, with their ids under `source`
    in the metadata."""
    mark = {**(terminal.metadata or {}), source: {"interruptIds": list(ids)}}
    return terminal.model_copy(update={"metadata": mark})


def outcome_of(terminal: BaseEvent) -> Literal["success", "interrupt", "cancelled", "error"]:
    """How the run of this terminal event ended. The questions of a paused run may be in events of their own."""
    if isinstance(terminal, RunErrorEvent):
        return "cancelled" if terminal.code == Code.CANCELLED else "error"
    kind = getattr(getattr(terminal, "outcome", None), "type", None)
    facts = [fact for fact in (terminal.metadata or {}).values() if isinstance(fact, Mapping)]
    if kind == "interrupt" or any(fact.get("interruptIds") for fact in facts):
        return "interrupt"
    return "cancelled" if kind == "cancelled" else "success"


class Endings:
    """The ways one run can end. Whether it has ended, `RunLifecycle` knows."""

    def __init__(
        self, thread_id: str, run_id: str, calls: Calls, thread: ThreadCalls, subagents: Subagents, *, declared: bool
    ) -> None:
        self._thread_id, self._run_id = thread_id, run_id
        self._calls, self._thread = calls, thread
        self._subagents = subagents
        self._declared = declared

    def done(self, interrupts: Sequence[Interrupt], result: Any, usage: Sequence[TokenUsage]) -> RunFinishedEvent:
        """Paused if there are `interrupts`, else a success; it names the pending calls to peers that know the field."""
        if interrupts:
            return self._finished(RunFinishedInterruptOutcome(interrupts=self._questions(interrupts)), result, usage)
        if self._declared and (pending := self._calls.pending):
            return self._finished(RunFinishedSuccessOutcome(pending_tool_call_ids=pending), result, usage)
        return self._finished(None, result, usage)

    def cancelled(self, message: str, usage: Sequence[TokenUsage]) -> RunFinishedEvent | RunErrorEvent:
        """The cancelled outcome, which ends in an error at clients before 1.0: they get one that says so."""
        if self._declared:
            return self._finished(RunFinishedCancelledOutcome(), None, usage)
        return self.failed(message, Code.CANCELLED, usage)

    def failed(self, message: str, code: str, usage: Sequence[TokenUsage]) -> RunErrorEvent:
        """``RUN_ERROR``"""
        return RunErrorEvent(message=message, code=code, usage=_entries(usage))

    def _finished(self, outcome: Outcome | None, result: Any, usage: Sequence[TokenUsage]) -> RunFinishedEvent:
        return RunFinishedEvent(
            thread_id=self._thread_id, run_id=self._run_id, outcome=outcome, result=result, usage=_entries(usage)
        )

    def _questions(self, interrupts: Sequence[Interrupt]) -> list[Interrupt]:
        """Each question once, without references to what the client does not have (AG-UI 1.0, interrupts)."""
        questions: dict[str, Interrupt] = {}
        for interrupt in interrupts:
            interrupt_id, call, owner = interrupt.id, interrupt.tool_call_id, interrupt.subagent_run_id
            mended = {
                "id": usable(interrupt_id) or "interrupt",
                "tool_call_id": call if self._thread.is_announced(call) else None,
                "subagent_run_id": owner if self._subagents.knows(owner) else None,
                # Clients 0.0.54 to 0.0.59 refuse any answer to an expired question, which blocks the thread for good.
                "expires_at": interrupt.expires_at if self._declared else None,
            }
            questions.setdefault(interrupt_id, interrupt.model_copy(update=mended))
        return list(questions.values())


def _entries(usage: Sequence[TokenUsage]) -> list[TokenUsage] | None:
    """One entry per provider and model (AG-UI 1.0, usage); None is left out."""
    return aggregate_token_usage(usage) or None
