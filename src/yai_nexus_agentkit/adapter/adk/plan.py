"""The meaning of a request for its session: the messages that are new, the answers in it, and what runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import AssistantMessage, ContentPart, Message, ResumeEntry, ToolMessage, UserMessage
from google.genai import types

from yai_nexus_agentkit.adapter.adk.content import response_of, to_content
from yai_nexus_agentkit.adapter.adk.history import MARKS, History, responses_of, seeded, shows
from yai_nexus_agentkit.adapter.adk.questions import Question, answer_to
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.shared.answers import complete_answers
from yai_nexus_agentkit.adapter.shared.state import client_changes
from yai_nexus_agentkit.errors import NoToolResultsError, ResumeError
from yai_nexus_agentkit.protocol.fetched_media import sent_form
from yai_nexus_agentkit.protocol.parts import parts_text

__all__ = ["Entry", "Plan", "back_to", "is_unfinished", "plan_of"]

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Entry:
    """Something that the session gets: a message of the user's, or of the agent's before (`author`)."""

    content: types.Content | None = None
    marks: dict[str, Any] = field(default_factory=dict)
    author: str = "user"
    id: str = ""
    invocation: str = ""

    def delta(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The change of the state that goes with it."""
        return {**state, **({MARKS: self.marks} if self.marks else {})}


@dataclass(slots=True)
class Plan:
    """The work for a request. Nothing runs without a `message`, unless `invocation` is to go on."""

    stored: list[Entry] = field(default_factory=list)
    """Stored before the agent runs, and nothing else."""
    message: Entry | None = None
    state: dict[str, Any] = field(default_factory=dict)
    """The keys that the client changed."""
    invocation: str | None = None
    """The turn that goes on."""
    refused: NoToolResultsError | None = None

    @property
    def runs(self) -> bool:
        """The agent runs."""
        return self.message is not None or self.invocation is not None


def plan_of(run: RunContext, history: History, state: Mapping[str, Any], shown: Mapping[str, Any], agent: str) -> Plan:
    """`state`: the session's, and `shown`: as the client was shown it. `agent`: name of the root agent.

    Raises `ResumeError` for answers that do not fit.
    """
    given = run.run_input
    if run.looking:
        return Plan()
    attempt = run.attempt
    if attempt is not None and attempt.number > 1 and (begun := history.invocation_of_run(attempt.key)):
        return Plan(invocation=None if _ended(history, begun, agent) else begun)
    seen = history.seen()
    fresh = [message for message in given.messages if message.id not in seen]
    questions = history.questions()
    marks: dict[str, Any] = {} if attempt is None else {"run": attempt.key}
    if questions:
        return _answered(history, questions, given.resume or _by_tools(fresh, questions), fresh, marks)
    if given.resume:
        _refuse_unknown(history, given.resume)
    plan = _continued(history, fresh, marks) if history.events else _seeded(fresh, marks, agent)
    plan.state = _changes(given.state, shown, state)
    return plan


def is_unfinished(history: History, agent: str, *, resumable: bool) -> bool:
    """The last turn was stopped, failed, or lost its worker. `resumable`: the app stores the ends of its agents."""
    if not resumable or not history.events:
        return history.is_broken_off
    return not _ended(history, history.events[-1].invocation_id, agent)


def back_to(run: RunContext, history: History) -> str | None:
    """The turn before which the session is to be rewound: the user edited its message, repeated it, or went back behind
    it. None for a request that goes on."""
    given, again = run.run_input, run.attempt is not None and run.attempt.number > 1
    if run.looking or again or given.resume or history.questions():
        return None
    own = [m for m in given.messages if isinstance(m, UserMessage | AssistantMessage | ToolMessage)]
    held = [m for m in history.messages() if m.role in ("user", "assistant", "tool")]
    sent = {message.id: message for message in own}
    for message in held:
        if isinstance(message, UserMessage) and message.id in sent and not _alike(sent[message.id], message):
            return history.turn_of(message.id)
    last = next((n for n in reversed(range(len(held))) if held[n].id in sent), None)
    if last is None:
        return None
    if own[-1].id == held[last].id and isinstance(own[-1], UserMessage):
        return history.turn_of(own[-1].id)
    known = {message.id for message in held}
    behind = next((m for m in held[last + 1 :] if isinstance(m, UserMessage)), None)
    news = isinstance(own[-1], UserMessage) and own[-1].id not in known
    return history.turn_of(behind.id) if behind is not None and news else None


def _alike(sent: Message, held: UserMessage) -> bool:
    """Texts are compared; other parts come back in other forms."""
    return isinstance(sent, UserMessage) and _text(sent.content) == _text(held.content)


def _text(content: str | Sequence[ContentPart]) -> str:
    return content if isinstance(content, str) else parts_text(content, "")


# ---------------------------------------------------------------- answers


def _answered(
    history: History,
    questions: Sequence[Question],
    entries: Sequence[ResumeEntry],
    fresh: Sequence[Message],
    marks: dict[str, Any],
) -> Plan:
    """The thread waits: without answers it is asked again, and nothing runs. Results of the client's tools may come
    with the answers."""
    if not entries:
        return Plan()
    answers = complete_answers(entries, [question.id for question in questions])
    responses = [answer_to(question, answers[question.id]) for question in questions]
    waiting = history.open_calls()
    tools = [m for m in fresh if isinstance(m, ToolMessage)]
    entry = _result_entry([m for m in tools if m.tool_call_id in waiting], waiting, marks)
    parts = [types.Part(function_response=response) for response in responses]
    content = types.Content(role="user", parts=[*parts, *(entry.content.parts if entry.content else ())])
    turn = history.last_invocation[-1].invocation_id
    return Plan(message=Entry(content, {**entry.marks, "seen": [m.id for m in tools]}, invocation=turn))


def _by_tools(fresh: Sequence[Message], questions: Sequence[Question]) -> list[ResumeEntry]:
    """Answers that came as results: of the question's own id, or of the call that it is about."""
    by_call = {key: question.id for question in questions for key in (question.call_id, question.id) if key}
    found: list[ResumeEntry] = []
    for message in fresh:
        if isinstance(message, ToolMessage) and message.tool_call_id in by_call:
            payload: Any = response_of(message.content)
            if payload.keys() == {"result"}:
                payload = payload["result"]
            found.append(ResumeEntry(interrupt_id=by_call[message.tool_call_id], status="resolved", payload=payload))
    return found


def _refuse_unknown(history: History, entries: Sequence[ResumeEntry]) -> None:
    """A client that lost the response sends its answers again; those are ignored."""
    taken = {given.id for event in history.events if event.author == "user" for given in responses_of(event)}
    unknown = [entry.interrupt_id for entry in entries if entry.interrupt_id not in taken]
    if unknown:
        raise ResumeError(f"these interrupts are not open: {', '.join(unknown)}; none is open")


def _ended(history: History, invocation: str, agent: str) -> bool:
    """The turn waits, or came to its end: that of the root agent, and of those that it was transferred to."""
    turn = [event for event in history.events if event.invocation_id == invocation]
    if history.questions() or history.open_calls(turn):
        return True
    entered = {agent, *(event.actions.transfer_to_agent for event in turn if event.actions.transfer_to_agent)}
    return entered <= {event.author for event in turn if event.actions.end_of_agent}


# ---------------------------------------------------------------- messages


def _continued(history: History, fresh: Sequence[Message], marks: dict[str, Any]) -> Plan:
    """Results come before a user's message. The model goes on when every open call of its turn has one."""
    waiting = history.open_calls()
    results = [m for m in fresh if isinstance(m, ToolMessage) and m.tool_call_id in waiting]
    said = [m for m in fresh if isinstance(m, UserMessage)]
    plan = Plan()
    if not results and not said:
        plan.refused = _stray(history, fresh)
    if results:
        entry = _result_entry(results, waiting, marks)
        entry.invocation = history.invocation_of(results[-1].tool_call_id) or ""
        turn = [event for event in history.events if event.invocation_id == entry.invocation]
        left = history.open_calls(turn).keys() - {m.tool_call_id for m in results}
        if said or left:
            plan.stored.append(entry)
        else:
            plan.message = entry
    _say(plan, said, marks)
    return _recorded(plan, fresh)


def _seeded(fresh: Sequence[Message], marks: dict[str, Any], agent: str) -> Plan:
    """A thread that the server does not know: what the client holds of it, then what is new at its end, a message or
    results. Without that nothing is begun."""
    made = [call for m in fresh if isinstance(m, AssistantMessage) for call in m.tool_calls or ()]
    names = {call.id: call.function.name for call in made}
    own = [m for m in fresh if isinstance(m, AssistantMessage | UserMessage) or _answers(m, names)]
    cut = len(own)
    while cut and isinstance(own[cut - 1], ToolMessage):
        cut -= 1
    results = [m for m in own[cut:] if isinstance(m, ToolMessage)]
    if not results and (not own or not isinstance(own[-1], UserMessage)):
        return Plan(refused=_stray(History(), fresh))
    plan = Plan(stored=[_as_entry(m, names, agent) for m in (own[:cut] if results else own[:-1])])
    if results:
        plan.message = _result_entry(results, names, marks)
    else:
        _say(plan, [m for m in own[-1:] if isinstance(m, UserMessage)], marks)
    return plan


def _answers(message: Message, names: Mapping[str, str]) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id in names


def _as_entry(message: Message, names: Mapping[str, str], agent: str) -> Entry:
    """A message of the client's history."""
    if isinstance(message, UserMessage):
        return _users_entry(message, {})
    if isinstance(message, ToolMessage):
        return _result_entry([message], names, {})
    assert isinstance(message, AssistantMessage)
    return Entry(_assistant(message), author=agent, id=message.id)


def _say(plan: Plan, said: Sequence[UserMessage], marks: dict[str, Any]) -> None:
    """All but the newest are stored before it."""
    entries = [_users_entry(message, marks) for message in said]
    plan.stored += entries[:-1]
    if entries:
        plan.message = entries[-1]


def _users_entry(message: UserMessage, marks: Mapping[str, Any]) -> Entry:
    own = {**marks, "messages": {"": message.id}}
    if sent := sent_form(message.content):
        own["sent"] = sent
    return Entry(to_content(message.content), own)


def _recorded(plan: Plan, fresh: Sequence[Message]) -> Plan:
    """Messages that are not acted on are remembered with those that are."""
    acted = {i for entry in (*plan.stored, plan.message) if entry for i in entry.marks["messages"].values()}
    others = [message.id for message in fresh if message.id not in acted]
    last = plan.message or (plan.stored[-1] if plan.stored else None)
    if last is not None and others:
        last.marks = {**last.marks, "seen": others}
    return plan


def _result_entry(results: Sequence[ToolMessage], names: Mapping[str, str], marks: dict[str, Any]) -> Entry:
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=m.tool_call_id, name=names[m.tool_call_id], response=response_of(m.error or m.content)
            )
        )
        for m in results
    ]
    ids = {m.tool_call_id: m.id for m in results}
    texts = {m.tool_call_id: m.content for m in results if isinstance(m.content, str)}
    return Entry(types.Content(role="user", parts=parts), {**marks, "messages": ids, "results": texts})


def _assistant(message: AssistantMessage) -> types.Content:
    parts = [types.Part(text=message.content)] if message.content else []
    for call in message.tool_calls or ():
        made = types.FunctionCall(id=call.id, name=call.function.name, args=seeded(call.function.arguments))
        parts.append(types.Part(function_call=made))
    return types.Content(role="model", parts=parts)


def _stray(history: History, fresh: Sequence[Message]) -> NoToolResultsError | None:
    """All that the request brings is the result of a call that nobody made."""
    last = fresh[-1] if fresh else None
    if not isinstance(last, ToolMessage) or history.invocation_of(last.tool_call_id) is not None:
        return None
    made = {call.id for m in fresh if isinstance(m, AssistantMessage) for call in m.tool_calls or ()}
    if last.tool_call_id in made:
        return None
    return NoToolResultsError("this is the result of a call that nobody made", path="/messages")


# ---------------------------------------------------------------- state


def _changes(sent: Any, shown: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that the client set. It may not touch those of other scopes, internal ones, and those that it is not
    shown."""
    given = sent if isinstance(sent, Mapping) else {}
    refused = sorted(str(key) for key in given if not shows(str(key)))
    if refused:
        _logger.warning("keys of the client's state are left out, they are not the session's: %s", ", ".join(refused))
    own = {k: v for k, v in given.items() if shows(str(k)) and (k in shown or state.get(k) is None)}
    return {key: value for key, value, _ in client_changes(own, shown)}
