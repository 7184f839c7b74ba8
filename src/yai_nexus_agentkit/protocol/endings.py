"""Pure. Terminal events: how they are made, the questions in them, and how a run ended by its terminal event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from ag_ui.core import (
    BaseEvent,
    Interrupt,
    ResumeEntry,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    TokenUsage,
    aggregate_token_usage,
)

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.message_ids import usable

__all__ = ["PastQuestion", "answered", "failed", "finished", "outcome_of", "questions", "with_questions"]


class _Run(Protocol):
    thread_id: str
    run_id: str


class PastQuestion(NamedTuple):
    """A question of an earlier run."""

    run: str
    """The id of the run that asked."""
    turn: str
    """The id of the user message that the run answered; empty if there was none."""
    after: str
    """The id of the message that the question comes after."""
    question: Interrupt
    answer: ResumeEntry | None = None


def answered(asked: Iterable[PastQuestion], answers: Iterable[ResumeEntry]) -> list[PastQuestion]:
    """The questions with these answers, which each go to the newest question with their id."""
    found = list(asked)
    for answer in answers:
        places = [n for n, one in enumerate(found) if one.question.id == answer.interrupt_id]
        for n in places[-1:]:
            found[n] = found[n]._replace(answer=answer)
    return found


def finished(
    run: _Run,
    interrupts: Sequence[Interrupt] = (),
    pending: Sequence[str] = (),
    *,
    cancelled: bool = False,
    result: Any = None,
    usage: Sequence[TokenUsage] = (),
    metadata: dict[str, Any] | None = None,
) -> BaseEvent:
    """``RUN_FINISHED``: paused at these `interrupts`, cancelled, or done. `pending`: the calls that nobody answered."""
    outcome: Any = None
    if cancelled:
        outcome = RunFinishedCancelledOutcome()
    elif interrupts:
        outcome = RunFinishedInterruptOutcome(interrupts=list(interrupts))
    elif pending:
        outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=list(pending))
    return RunFinishedEvent(
        thread_id=run.thread_id,
        run_id=run.run_id,
        outcome=outcome,
        result=result,
        usage=aggregate_token_usage(usage) or None,
        metadata=metadata,
    )


def failed(message: str, code: str, usage: Sequence[TokenUsage]) -> BaseEvent:
    """``RUN_ERROR``."""
    return RunErrorEvent(message=message, code=code, usage=aggregate_token_usage(usage) or None)


def questions(
    interrupts: Sequence[Interrupt],
    *,
    is_call: Callable[[str | None], bool],
    is_owner: Callable[[str | None], bool],
    may_expire: bool,
) -> list[Interrupt]:
    """Each question once, without references to calls and subagents that the client does not have (AG-UI 1.0,
    interrupts).

    `may_expire`: false for clients 0.0.54 to 0.0.59. They refuse any answer to an expired question, which blocks the
    thread for good.
    """
    found: dict[str, Interrupt] = {}
    for interrupt in interrupts:
        mended = {
            "id": usable(interrupt.id) or "interrupt",
            "tool_call_id": interrupt.tool_call_id if is_call(interrupt.tool_call_id) else None,
            "subagent_run_id": interrupt.subagent_run_id if is_owner(interrupt.subagent_run_id) else None,
            "expires_at": interrupt.expires_at if may_expire else None,
        }
        found.setdefault(interrupt.id, interrupt.model_copy(update=mended))
    return list(found.values())


def with_questions(terminal: BaseEvent, ids: Sequence[str], source: str) -> BaseEvent:
    """The terminal event of a run whose questions were sent as events of their own: a success, with their ids in the
    metadata, under `source`."""
    facts = terminal.metadata or {}
    mark = {**facts, source: {**facts.get(source, {}), "interruptIds": list(ids)}}
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
