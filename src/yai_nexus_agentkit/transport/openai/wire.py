"""Pure. The wire of chat completions: a posted conversation as a run's request, and refusals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ag_ui.core import Interrupt, Message, RunAgentInput

from yai_nexus_agentkit.protocol.request import OFFERED, RequestLimits, parse_request
from yai_nexus_agentkit.transport.openai.answers import Shown
from yai_nexus_agentkit.transport.openai.errors import error_body, param_of
from yai_nexus_agentkit.transport.openai.functions import with_ids_of
from yai_nexus_agentkit.transport.openai.placing import Conversation, called, conversation_key, place
from yai_nexus_agentkit.transport.openai.questions import asks, resumed_by_calls, resumed_by_text
from yai_nexus_agentkit.transport.openai.request import INSTRUCTIONS, ChatRequest, texts_of
from yai_nexus_agentkit.transport.openai.writers import Chunks, Completion
from yai_nexus_agentkit.transport.wire import Answer, Encoder, Posted, Refusal

__all__ = ["Chat", "Given", "OpenAIWire"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer to questions, as a thread took it: JSON, so that it can be kept."""

    key: str
    """The key of the conversation that brought it."""
    resume: Sequence[Mapping[str, Any]]
    after: str
    """Id of the newest message that the thread had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A request for an answer, with the thread in which it is looked for."""

    asked: ChatRequest
    conversation: Conversation
    shown: Shown
    stored: bool = True
    """The thread may be there already."""
    tail: bool = False
    """The thread remembers the conversation: only what follows the last answer counts."""
    questions: Sequence[Interrupt] = ()
    """Those that are open in the thread, if the request seems to answer."""
    rewritten: Collection[str] = ()
    """Ids of the thread's answers whose text was another one when it was sent, if the request is to be compared with
    these."""
    given: Given | None = None
    """The last answer that the thread took, if the request seems to answer."""

    @classmethod
    def of(cls, asked: ChatRequest, shown: Shown) -> Chat:
        """A chat in a thread that is not there yet. Its messages get ids: instructions the same ones each time, so that
        they replace each other."""
        named: list[Mapping[str, Any]] = []
        for n, message in enumerate(asked.messages):
            own = message["role"] in INSTRUCTIONS
            named.append({"id": f"instructions-{n}" if own else f"{shown.id}-{n}", **message})
        return cls(asked=asked, conversation=Conversation(named), shown=shown, stored=False)

    def at(self, thread_id: str, *, stored: bool = True) -> Chat:
        """The same request in another thread."""
        return replace(self, shown=replace(self.shown, thread_id=thread_id), stored=stored)

    def named(self) -> Chat:
        """The same, where the next request will name the thread by itself."""
        return self.referring("")

    def referring(self, reference: str) -> Chat:
        """The same, with another reference in its questions."""
        return replace(self, shown=replace(self.shown, reference=reference))

    @property
    def key(self) -> str:
        """The same for the same messages, whatever the instructions."""
        return conversation_key([m for m in self.asked.messages if m["role"] not in INSTRUCTIONS])

    def answered(self, asked: RunAgentInput) -> Given:
        """The answer that this run of the chat brings."""
        new = (self.shown.id, "instructions-")
        after = next((m.id for m in reversed(asked.messages) if not m.id.startswith(new)), "")
        resume = [entry.model_dump(mode="json", by_alias=True) for entry in asked.resume or ()]
        return Given(key=self.key, resume=resume, after=after)

    def encoder(self) -> Encoder:
        """Writes the answer."""
        return Chunks(self.shown, usage=self.asked.include_usage) if self.asked.stream else Completion(self.shown)


def _again(chat: Chat, history: Sequence[Message]) -> str:
    """The text with which the thread answered the same request before. Raises `Refusal` if it is not the same, or if
    the thread went on since: nothing is answered twice."""
    given, ids = chat.given, [message.id for message in history]
    reply = history[ids.index(given.after) + 1 :] if given is not None and given.after in ids else ()
    called = {call.function.name for m in reply if m.role == "assistant" for call in m.tool_calls or ()}
    gone_on = any(message.role == "user" for message in reply) or not called.isdisjoint(chat.shown.tools)
    if given is None or given.after not in ids or given.key != chat.key or gone_on:
        where, headers = f"/messages/{len(chat.conversation.messages) - 1}", {"x-should-retry": "false"}
        raise Refusal(409, "ALREADY_ANSWERED", "this question is not open any more", path=where, headers=headers)
    own = (m for m in reply if m.role == "assistant" and not getattr(m, "subagent_run_id", None))
    return "\n\n".join(filter(None, ("".join(texts_of(message)) for message in own)))


def _resumed(questions: Sequence[Interrupt], posted: Conversation) -> list[Mapping[str, Any]]:
    """Entries of ``resume`` for these open questions; none if the conversation answers others."""
    if posted.question is None:
        return [*resumed_by_calls(questions, posted.results)]
    asked = bool(questions) and asks(posted.question_text, questions)
    return [*resumed_by_text(questions, posted.last_text)] if asked else []


def _check_result(messages: Sequence[Any], posted: Conversation) -> None:
    """Raises `Refusal` if these messages of a run end with the result of a call that nobody made."""
    last = messages[-1] if messages else None
    if not isinstance(last, Mapping) or last["role"] != "tool" or last["toolCallId"] in called(messages):
        return
    path = f"/messages/{[message['id'] for message in posted.messages].index(last['id'])}/tool_call_id"
    raise Refusal(400, "NO_TOOL_RESULTS", "this is the result of a call that nobody made", path=path)


def _answered_tools(messages: Sequence[Any], offered: Collection[str]) -> list[Mapping[str, Any]]:
    """Tools of the caller whose results are posted, and which are not offered any more: ``tool_choice`` is ``none``, or
    they are left out. Without a declaration the agent would take no results of them."""
    results = [m["toolCallId"] for m in messages if isinstance(m, Mapping) and m["role"] == "tool"]
    names = called(messages) if results else {}
    answered = dict.fromkeys(names[own] for own in results if own in names and names[own] not in offered)
    return [{"name": name, "description": "", "parameters": {}, "metadata": {OFFERED: False}} for name in answered]


@dataclass(frozen=True, slots=True)
class OpenAIWire:
    """OpenAI's chat completions. What it parses is a `Chat`, not a body."""

    def needs_history(self, data: Chat) -> str | None:
        """The thread of the chat."""
        return data.shown.thread_id if data.stored else None

    def parse(self, data: Chat, history: Sequence[Message], limits: RequestLimits) -> Posted:
        """The run's request. Raises `Elsewhere` if the conversation is another one than the thread's, `RunInputError`
        and `Refusal`, also for an answer that the thread does not wait for."""
        asked, thread_id = data.asked, data.shown.thread_id
        posted = Conversation(with_ids_of(history, data.conversation.messages))
        if limits.messages is not None and len(posted.messages) > limits.messages:
            text = f"{len(posted.messages)} messages; at most {limits.messages} are accepted"
            raise Refusal(400, "INVALID_INPUT", text, path="/messages")
        placed = place(posted, history, thread_id, tail=data.tail, rewritten=data.rewritten)
        messages = list(placed.messages)
        resume: list[Mapping[str, Any]] = []
        warnings: list[str] = []
        if placed.answer and not (resume := _resumed(data.questions, posted)):
            data, messages = replace(data, shown=replace(data.shown, again=_again(data, history))), list(history)
            resume = list(data.given.resume) if data.given is not None and not data.questions else []
        _check_result(messages, posted)
        raw = {
            "threadId": thread_id,
            "runId": data.shown.id,
            "protocolVersion": "1.0",
            "state": {},
            "messages": messages,
            "tools": [*asked.tools, *_answered_tools(messages, {tool["name"] for tool in asked.tools})],
            "context": [],
            "forwardedProps": {"openai": dict(asked.parameters)},
            "resume": resume or None,
        }
        # The thread's own messages are not part of the request: its limit does not count them.
        run_input = parse_request(raw, warnings=warnings, limits=replace(limits, messages=None))
        return Posted(run_input, data.encoder, warnings)

    def refuse(self, refusal: Refusal, *, trace_id: str, now: datetime) -> Answer:
        """``{"error": {"message", "type", "param", "code"}}``. Faults of a request are 400, as OpenAI has them."""
        status = 400 if refusal.status == 422 else refusal.status
        body = error_body(refusal.description, refusal.code, status=status, param=param_of(refusal.path))
        headers = {"content-type": "application/json", "x-request-id": trace_id, **refusal.headers}
        return Answer(status, headers, body)
