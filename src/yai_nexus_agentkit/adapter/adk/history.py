"""Pure. The stored events of an ADK session: the conversation in them, its calls, and what is open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ag_ui.core import AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall, ToolMessage, UserMessage
from google.genai import types

from yai_nexus_agentkit.adapter.adk.code_runs import CodeRuns
from yai_nexus_agentkit.adapter.adk.content import cited, result_text, user_content
from yai_nexus_agentkit.adapter.adk.questions import ASKING, CREDENTIAL, Question
from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.fetched_media import read_sent_form
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe, json_text

__all__ = ["MARKS", "History", "calls_of", "interim", "public_state", "responses_of", "shows", "texts_of", "thought_id"]

MARKS = "_agentkit"
"""Key of the state whose values in a user's event say how the client knows the message: ``messages`` (its id, by the
id of the call that it answers, or under the empty text), ``run`` (the run that brought it), ``seen``, ``results``
(texts of the client's results, by call), and ``sent`` (its parts as the client sent them, where files were fetched)."""
_SCOPES = ("app:", "user:", "temp:", "_")


def shows(key: str) -> bool:
    """Clients see this key of the state: it is of this session, and not internal."""
    return not key.startswith(_SCOPES)


def public_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The public keys. ADK's sessions keep a removed key as None."""
    return {key: value for key, value in state.items() if value is not None and shows(key)}


def parts_of(event: Any) -> Sequence[Any]:
    """The parts of an event's content; of one of live mode, what was said in it, too."""
    if event.content is not None:
        return event.content.parts or ()
    said = event.input_transcription or event.output_transcription
    return (types.Part(text=said.text),) if said is not None and said.text else ()


def calls_of(event: Any) -> list[Any]:
    """The function calls of an event."""
    return [part.function_call for part in parts_of(event) if part.function_call is not None]


def responses_of(event: Any) -> list[Any]:
    """The function responses of an event."""
    return [part.function_response for part in parts_of(event) if part.function_response is not None]


def texts_of(event: Any) -> tuple[str, str]:
    """Text and thoughts of an event."""
    written = [part for part in parts_of(event) if part.text]
    text, thoughts = ("".join(p.text for p in written if bool(p.thought) is kind) for kind in (False, True))
    return clean_text(text), clean_text(thoughts)


def interim(event: Any, long_running: Iterable[str]) -> set[str]:
    """The calls whose response in this event is none: the tool waits for a person, or for the client."""
    actions = event.actions
    return {*actions.requested_tool_confirmations, *actions.requested_auth_configs, *long_running}


def thought_id(event_id: str) -> str:
    """Id of the reasoning message of an event."""
    return f"{event_id}-thought"


def arguments(call: Any) -> str:
    """The arguments of a call as JSON text."""
    return json_text(json_safe(call.args or {}))


@dataclass(slots=True)
class _Marks:
    """The marks of one user's event: the client's ids, and more."""

    messages: Mapping[str, str]
    run: str | None
    seen: Sequence[str]
    sent: Any
    results: Mapping[str, str]

    @classmethod
    def of(cls, event: Any) -> _Marks:
        marks = event.actions.state_delta.get(MARKS)
        given = marks if isinstance(marks, Mapping) else {}
        return cls(
            given.get("messages") or {},
            given.get("run"),
            given.get("seen") or (),
            given.get("sent"),
            given.get("results") or {},
        )


@dataclass
class History:
    """The events of a session that count, oldest first. More may be added while a run goes on."""

    events: list[Any] = field(default_factory=list)
    _nameless: dict[str, list[str]] = field(default_factory=dict)
    """By tool, the ids given to calls without one that have no response yet."""

    @classmethod
    def of(cls, events: Iterable[Any]) -> History:
        """Without those that were rewound."""
        kept: list[Any] = []
        for event in events:
            back = event.actions.rewind_before_invocation_id
            if back:
                first = next((n for n, other in enumerate(kept) if other.invocation_id == back), len(kept))
                del kept[first:]
            else:
                kept.append(event)
        history = cls()
        for event in kept:
            history.add(event)
        return history

    def add(self, event: Any) -> Any:
        """The next event, as it counts: calls that an agent of one's own makes may have no id. They get one, and so do
        their responses."""
        if not all(one.id for one in (*calls_of(event), *responses_of(event))):
            event = event.model_copy(deep=True)
            for number, call in enumerate(calls_of(event)):
                if not call.id:
                    call.id = f"{event.id}-{number}"
                    self._nameless.setdefault(call.name, []).append(call.id)
            for number, response in enumerate(responses_of(event)):
                if not response.id:
                    waiting = self._nameless.get(response.name)
                    response.id = waiting.pop(0) if waiting else f"{event.id}-{number}"
        self.events.append(event)
        return event

    def long_running(self) -> set[str]:
        """The calls of long running tools, of the events so far."""
        return {i for event in self.events for i in event.long_running_tool_ids or ()}

    @property
    def last_invocation(self) -> list[Any]:
        """The events of the last turn."""
        last = self.events[-1].invocation_id if self.events else None
        return [event for event in self.events if event.invocation_id == last]

    def invocation_of(self, call_id: str) -> str | None:
        """The turn in which a call was made."""
        return next((e.invocation_id for e in reversed(self.events) for c in calls_of(e) if c.id == call_id), None)

    # ------------------------------------------------------------------ what is open

    def open_calls(self, events: Iterable[Any] | None = None) -> dict[str, str]:
        """Id → name of the calls that wait for the client's result, those of `events` or of the whole thread."""
        found: dict[str, str] = {}
        for event in self.events if events is None else events:
            long = event.long_running_tool_ids or ()
            found |= {c.id: c.name for c in calls_of(event) if c.id in long and c.name not in ASKING}
            if event.author == "user" or event.error_code:
                for response in responses_of(event):
                    found.pop(response.id, None)
        return found

    @property
    def is_broken_off(self) -> bool:
        """The last turn stands before its end, as far as its last event shows: a message of the user's, a call, the
        result of one, or an error."""
        last = next((event for event in reversed(self.events) if event.author != "user" or parts_of(event)), None)
        if last is None or self.questions() or self.open_calls(self.last_invocation):
            return False
        over = last.is_final_response() or last.actions.escalate
        return last.author == "user" or bool(last.error_code) or not over

    def questions(self) -> list[Question]:
        """The open requests to a person, of the last turn: a later turn leaves them behind."""
        found: dict[str, Question] = {}
        names: dict[str, str] = {}
        for event in self.last_invocation:
            for call in calls_of(event):
                names[call.id] = call.name
                if call.name in ASKING:
                    args = json_safe(call.args or {})
                    tool = names.get(args.get("functionCallId"), "") if call.name == CREDENTIAL else ""
                    owner = owner_of(event)
                    around = (one.partition("@")[2] for one in (event.branch or "").split("."))
                    hosts = frozenset(one for one in (owner, *around) if one)
                    found[call.id] = Question(call.id, call.name, args, tool, owner, hosts)
            if event.author == "user" or event.error_code:
                for response in responses_of(event):
                    found.pop(response.id, None)
                    found = {i: q for i, q in found.items() if q.name != CREDENTIAL or q.call_id != response.id}
        return list(found.values())

    # ------------------------------------------------------------------ what the client knows

    def seen(self) -> set[str]:
        """Ids of the client's messages that were dealt with."""
        found = {event.id for event in self.events}
        for event in self.events:
            if event.author == "user":
                marks = _Marks.of(event)
                found.update(marks.messages.values(), marks.seen)
        return found

    def turn_of(self, message_id: str) -> str | None:
        """The turn that a message of the user's began."""
        for event in self.events:
            if event.author == "user" and _Marks.of(event).messages.get("", event.id) == message_id:
                return str(event.invocation_id)
        return None

    def invocation_of_run(self, run: str) -> str | None:
        """The turn that an earlier try of a run began."""
        events = (event for event in self.events if event.author == "user")
        return next((event.invocation_id for event in events if _Marks.of(event).run == run), None)

    def calls(self) -> ThreadCalls:
        """Every call of the thread."""
        calls = ThreadCalls()
        for message in self.messages():
            if message.role == "assistant":
                for call in message.tool_calls or ():
                    calls.shown(call.id, message.id, name=call.function.name)
            elif message.role == "tool":
                calls.answer(message.tool_call_id, message.id)
        return calls

    def messages(self) -> list[Message]:
        """The conversation."""
        answered: set[str] = set()
        long, code = self.long_running(), CodeRuns()
        return [message for event in self.events for message in self._messages_of(event, answered, long, code)]

    def _messages_of(self, event: Any, answered: set[str], long: set[str], code: CodeRuns) -> Iterator[Message]:
        if event.author == "user":
            yield from self._users(event, answered)
            return
        if event.partial:
            return
        text, thoughts = texts_of(event)
        owner = owner_of(event)
        if thoughts:
            yield ReasoningMessage(id=thought_id(event.id), role="reasoning", content=thoughts, subagent_run_id=owner)
        calls = [*code.calls(event), *(call for call in calls_of(event) if call.name not in ASKING)]
        made = [_tool_call(call) for call in calls]
        if text or made:
            yield AssistantMessage(
                id=event.id,
                role="assistant",
                name=event.author,
                content=text or None,
                tool_calls=made or None,
                subagent_run_id=owner,
                metadata=cited_facts(event, text),
            )
        for call_id, result in code.results(event):
            text = result_text(result)
            yield ToolMessage(id=f"{call_id}-result", role="tool", tool_call_id=call_id, content=text)
        yield from self._results(event, answered, interim(event, long), {})

    def _users(self, event: Any, answered: set[str]) -> Iterator[Message]:
        marks = _Marks.of(event)
        ids = marks.messages
        yield from self._results(event, answered, (), ids, marks.results)
        sent = read_sent_form(marks.sent) if marks.sent else []
        content = sent or user_content([part for part in parts_of(event) if part.function_response is None])
        if content:
            yield UserMessage(id=ids.get("", event.id), role="user", content=content)

    def _results(
        self,
        event: Any,
        answered: set[str],
        skipped: Iterable[str],
        ids: Mapping[str, str],
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[Message]:
        for response in responses_of(event):
            if response.name in ASKING or response.id in skipped or response.id in answered:
                continue
            answered.add(response.id)
            yield ToolMessage(
                id=ids.get(response.id, f"{response.id}-result"),
                role="tool",
                tool_call_id=response.id,
                content=texts.get(response.id, result_text(response.response)),
                subagent_run_id=owner_of(event) if event.author != "user" else None,
            )


def cited_facts(event: Any, text: str) -> dict[str, Any] | None:
    """The metadata of an answer that cites sources."""
    citations = cited(event, text)
    return {"adk": {"citations": citations}} if citations else None


def owner_of(event: Any) -> str | None:
    """The subagent that an event belongs to: the call by which the task was delegated to it."""
    scope: str | None = event.isolation_scope
    return scope


def _tool_call(call: Any) -> ToolCall:
    return ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=arguments(call)))


def seeded(arguments_text: str) -> dict[str, Any]:
    """The arguments of a call that a client sent, as an object."""
    try:
        value = json.loads(arguments_text or "{}")
    except ValueError:
        return {}
    return dict(value) if isinstance(value, Mapping) else {}
