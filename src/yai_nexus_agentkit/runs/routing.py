"""Pure. Which of a user's connections gets a question that a run ended with, and what the others see of it.

The questions of one pause go together: AG-UI wants all of them answered by one request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ag_ui.core import BaseEvent, CustomEvent, RunAgentInput, RunFinishedEvent

__all__ = [
    "APPROVER",
    "ASKED",
    "ELSEWHERE",
    "Connection",
    "Policy",
    "Question",
    "answer_of",
    "answers",
    "contradicts",
    "elsewhere",
    "ids_of",
    "is_question",
    "needs_of",
    "receivers",
]

APPROVER = "approve"
"""With the policy ``ability``: the ability of devices that are asked what needs no other one."""
ASKED = "on_interrupt"
"""Custom event with a question for clients before AG-UI 1.0."""
ELSEWHERE = "waits_elsewhere"
"""Custom event in the place of questions that another connection got."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One connection of a user. Times are seconds since the epoch."""

    id: str
    """Made by the server when the connection was accepted: random, and new for each one."""
    agent: str
    user: str
    device: str = ""
    """The device's name, as the client says it."""
    abilities: tuple[str, ...] = ()
    """Things that the device can do, as the client says: ``geolocation``, ``camera``, ..."""
    thread: str = ""
    """The thread that the user looks at, by the client's id: that of the newest request."""
    since: float = 0.0
    origin: str = ""
    """Id of the first of the connections that took each other's place: the same tab, after a broken line."""
    worker: str = ""
    gone: float | None = None
    """When it was closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The open questions of a thread."""

    thread: str
    """The client's id of the thread."""
    key: str
    """The server's id of the thread."""
    source: str = ""
    """`Connection.origin` of the connection whose message caused the turn; empty for a plain HTTP request."""
    needs: tuple[str, ...] = ()
    """Abilities that a device needs to answer."""
    ids: tuple[str, ...] = ()
    """Of the interrupts."""
    asked: float = 0.0
    """Seconds since the epoch."""
    answer: str = ""
    """`answer_of` the answers that were taken; empty before that."""


Policy: TypeAlias = Literal["source", "all", "ability"] | Callable[[Question, Sequence[Connection]], Collection[str]]
"""The choice of who is asked. A function gets the user's open connections, and returns the ids of those that are."""


def receivers(
    question: Question, connections: Sequence[Connection], policy: Policy, *, now: float, grace: float
) -> frozenset[str]:
    """The ids of the connections that are asked; none while a source that has just gone may come back.

    `connections`: the user's, those that went less than `grace` seconds ago among them.
    """
    live = [one for one in connections if one.gone is None]
    if callable(policy):
        return frozenset(policy(question, live)).intersection(one.id for one in live)
    needs = question.needs or ((APPROVER,) if policy == "ability" else ())
    if needs:
        able = [one for one in live if set(needs) <= set(one.abilities)]
        if able:
            return frozenset(one.id for one in able) if policy == "all" else frozenset({_nearest(able, question).id})
    if policy != "all" and question.source:
        own = [one for one in connections if one.origin == question.source]
        if here := [one.id for one in own if one.gone is None]:
            return frozenset(here)
        if any(one.gone is not None and now - one.gone < grace for one in own):
            return frozenset()
    return frozenset(one.id for one in live)


def _nearest(able: Sequence[Connection], question: Question) -> Connection:
    """The source, else one that looks at the thread, else the one that was opened last."""
    return max(able, key=lambda one: (one.origin == question.source, one.thread == question.thread, one.since))


def ids_of(terminal: BaseEvent) -> tuple[str, ...]:
    """The ids of the interrupts that a run ended with."""
    interrupts = getattr(getattr(terminal, "outcome", None), "interrupts", None) or ()
    return tuple(one.id for one in interrupts) or tuple(map(str, _ids_in_metadata(terminal)))


def answer_of(run_input: RunAgentInput) -> str:
    """A text that is the same for the same answers; empty for a request without answers by id."""
    given = {one.interrupt_id: [one.status, one.payload] for one in run_input.resume or ()}
    text = json.dumps(given, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest() if given else ""


def contradicts(run_input: RunAgentInput, question: Question) -> bool:
    """The request answers questions that were answered already, and in another way."""
    given = {one.interrupt_id for one in run_input.resume or ()}
    return bool(question.answer and given & set(question.ids) and answer_of(run_input) != question.answer)


def is_question(terminal: BaseEvent) -> bool:
    """The run ended with something for a person, or a device, to do."""
    outcome = getattr(terminal, "outcome", None)
    return bool(_ids_in_metadata(terminal)) or bool(
        getattr(outcome, "interrupts", None) or getattr(outcome, "pending_tool_call_ids", None)
    )


def needs_of(terminal: BaseEvent) -> tuple[str, ...]:
    """The abilities that the questions need: ``needs`` in the values of the framework's interrupts."""
    found: dict[str, None] = {}
    for interrupt in getattr(getattr(terminal, "outcome", None), "interrupts", None) or ():
        for fact in (interrupt.metadata or {}).values():
            value = fact.get("value") if isinstance(fact, Mapping) else None
            needs = value.get("needs") if isinstance(value, Mapping) else None
            listed = needs if isinstance(needs, list | tuple) else [needs]
            found.update(dict.fromkeys(need for need in listed if isinstance(need, str)))
    return tuple(found)


def answers(run_input: RunAgentInput) -> bool:
    """The request goes on with a turn, by answers or results of tools; another one begins a turn."""
    props = run_input.forwarded_props
    command = props.get("command") if isinstance(props, Mapping) else None
    if run_input.resume or (isinstance(command, Mapping) and "resume" in command):
        return True
    return bool(run_input.messages) and run_input.messages[-1].role == "tool"


def elsewhere(terminal: BaseEvent, device: str, *, shown: bool) -> list[BaseEvent]:
    """The end of the run for a connection that is not asked: `ELSEWHERE` with the number of questions and the device
    that got them, then a success. `shown`: with reason, message and call of each, but no id to answer by."""
    outcome = getattr(terminal, "outcome", None)
    interrupts = getattr(outcome, "interrupts", None) or ()
    pending = getattr(outcome, "pending_tool_call_ids", None) or ()
    asked: list[dict[str, Any]] = [
        {"reason": one.reason, "message": one.message, "toolCallId": one.tool_call_id} for one in interrupts
    ] or [{"reason": "tool_call", "message": None, "toolCallId": call} for call in pending]
    count = len(asked) or len(_ids_in_metadata(terminal))
    value = {"count": count, "device": device, **({"questions": asked} if shown else {})}
    ended = terminal.model_copy(update={"outcome": None, "metadata": None})
    return [CustomEvent(name=ELSEWHERE, value=value), ended]


def _ids_in_metadata(terminal: BaseEvent) -> list[Any]:
    """Of questions that were sent as events of their own."""
    if not isinstance(terminal, RunFinishedEvent):
        return []
    facts = [fact for fact in (terminal.metadata or {}).values() if isinstance(fact, Mapping)]
    return [one for fact in facts if isinstance(ids := fact.get("interruptIds"), list) for one in ids]
