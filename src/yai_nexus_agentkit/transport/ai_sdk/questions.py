"""Pure. Questions to the user as parts of a message: approvals of calls, and calls that the page answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ag_ui.core import Interrupt, ResumeEntry

from yai_nexus_agentkit.protocol.endings import PastQuestion
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk
from yai_nexus_agentkit.transport.facts import fact

__all__ = [
    "QUESTION",
    "approvals_of",
    "divided",
    "past_approval",
    "past_steps",
    "question_chunk",
    "refusal",
    "verdicts_of",
]

QUESTION = "question:"
"""Before the interrupt's id in the id of a call that asks the user."""
_TEXT = "aiSdkErrorText"
"""Key in the metadata of a cancelled answer: the text that the page gave with it."""


def approvals_of(question: Interrupt) -> list[tuple[str, str]]:
    """The approvals that a question asks for, as (approval id, call id); none for a question of another kind.

    LangChain's middleware asks about several calls at once: the approval ids have the place of each behind a colon.
    """
    if question.tool_call_id is not None:
        return [(question.id, question.tool_call_id)]
    calls, value = fact(question.metadata, "toolCallIds"), fact(question.metadata, "value")
    requests = value.get("action_requests") if isinstance(value, Mapping) else None
    if not isinstance(calls, list) or not isinstance(requests, list) or not 0 < len(requests) == len(calls):
        return []
    return [(f"{question.id}:{n}", str(call)) for n, call in enumerate(calls)]


def divided(
    questions: Iterable[Interrupt], can_wait: Callable[[str], bool]
) -> tuple[list[tuple[str, str]], list[Interrupt]]:
    """The approvals that are asked, as (approval id, call id), and the other questions. `can_wait`: this call can be
    asked about."""
    approvals: dict[str, str] = {}
    others: list[Interrupt] = []
    for question in questions:
        asked = approvals_of(question)
        calls = [call for _, call in asked]
        if calls and all(map(can_wait, calls)) and approvals.keys().isdisjoint(calls):
            approvals |= {call: approval for approval, call in asked}
        else:
            others.append(question)
    return [(approval, call) for call, approval in approvals.items()], others


def question_chunk(question: Interrupt) -> Chunk:
    """A question as a call that the page answers: its tool is the question's reason."""
    asked = question.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"id", "reason"})
    return {
        "type": "tool-input-available",
        "toolCallId": QUESTION + question.id,
        "toolName": question.reason,
        "input": asked,
        "dynamic": True,
    }


def refusal(question: str, text: str | None) -> dict[str, Any]:
    """The answer of a page that does not answer this question, but says why."""
    said = {"metadata": {_TEXT: text}} if text else {}
    return {"interruptId": question, "status": "cancelled", **said}


def past_steps(asked: Iterable[PastQuestion], *, approvals: bool) -> Iterator[list[Chunk]]:
    """The answered questions of each run. `approvals`: those that ask for approvals are a part of their calls."""
    for _, each in groupby(asked, key=lambda one: one.run):
        answers = [
            (one.question, one.answer) for one in each if one.answer and not (approvals and approvals_of(one.question))
        ]
        if answers:
            yield [chunk for question, answer in answers for chunk in _past(question, answer)]


def _past(question: Interrupt, answer: ResumeEntry) -> Iterator[Chunk]:
    asked = question_chunk(question)
    own = {"toolCallId": asked["toolCallId"], "dynamic": True}
    yield asked
    if answer.status == "cancelled":
        text = (answer.metadata or {}).get(_TEXT) or "The user cancelled the request."
        yield {"type": "tool-output-error", **own, "errorText": str(text)}
    else:
        yield {"type": "tool-output-available", **own, "output": answer.payload}


def past_approval(call_id: str, verdict: Mapping[str, Any]) -> Iterator[Chunk]:
    """An approval that was answered (`ai` 7): what `verdicts_of` says of a call."""
    yield {"type": "tool-approval-request", "approvalId": verdict["id"], "toolCallId": call_id}
    said = {name: verdict[name] for name in ("approved", "reason") if name in verdict}
    yield {"type": "tool-approval-response", "approvalId": verdict["id"], **said}


def verdicts_of(asked: Iterable[PastQuestion]) -> dict[str, dict[str, Any]]:
    """What pages keep of approvals that were answered, by call."""
    found: dict[str, dict[str, Any]] = {}
    for one in asked:
        if one.answer is None:
            continue
        payload = one.answer.payload if isinstance(one.answer.payload, Mapping) else {}
        decisions = payload.get("decisions")
        for n, (approval, call) in enumerate(approvals_of(one.question)):
            said: Any = decisions[n] if isinstance(decisions, list) and n < len(decisions) else payload
            said = said if isinstance(said, Mapping) else {}
            approved = said.get("approved") is True or said.get("type") in ("approve", "edit")
            reason = said.get("reason") or said.get("message")
            found[call] = {"id": approval, "approved": approved, **({"reason": reason} if reason else {})}
    return found
