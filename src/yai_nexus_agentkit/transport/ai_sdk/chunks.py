"""Pure. The events of a run as the chunks of one message of the AI SDK (its UI message stream, version 1).

One message answers one turn, and one of its steps is one message of the agent. A chunk that a client does not know is
fatal for it, and requests do not say the client's version: whoever makes a stream must know it. `ai` 5 has neither
approvals nor denials; `reset-step` is of 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import ag_ui.core as agui
from ag_ui.core import BaseEvent, Interrupt, Message, RunAgentInput

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.activities import AFTER
from yai_nexus_agentkit.protocol.endings import PastQuestion, outcome_of
from yai_nexus_agentkit.transport.ai_sdk.calls import Calls
from yai_nexus_agentkit.transport.ai_sdk.conversation import events_of, last_user, now_named, reply_id, since, thinker
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk, facts_of, finish_reason, run_facts
from yai_nexus_agentkit.transport.ai_sdk.questions import divided, past_steps, question_chunk, verdicts_of
from yai_nexus_agentkit.transport.ai_sdk.values import Values
from yai_nexus_agentkit.transport.facts import renamed

__all__ = ["UIMessageStream", "Version"]

Version: TypeAlias = Literal[5, 6, 7]
"""The major version of the npm package ``ai`` that a page uses."""

_NONE: Mapping[str, bool | None] = {}
_Key = tuple[str, str]
"""``text`` or ``reasoning``, and an id."""


class UIMessageStream:
    """The chunks of one response. One instance per response; each event goes in once, in order."""

    def __init__(
        self,
        version: Version,
        turn: str,
        message_id: str | None = None,
        *,
        held: Iterable[Message] = (),
        earlier: Sequence[Message] = (),
        verdicts: Mapping[str, bool | None] = _NONE,
        asked: Iterable[PastQuestion] = (),
    ) -> None:
        """`turn`: id of the user message that is answered. `message_id`: that of the client's answer, which goes on;
        default: `reply_id`. `held`: what the client's answer has already. `earlier`: the whole conversation, for
        questions about older calls. `verdicts`: the calls in the client's answer that wait, and what the user decided
        about them. `asked`: the turn's questions so far, for a client that has nothing of the answer."""
        self._version, self._turn, self.id = version, turn, message_id or reply_id(turn)
        self._started = self._in_step = False
        self._step_calls: list[str] = []
        """The calls in the newest step."""
        self._step_texts: set[_Key] = set()
        """Text and reasoning in the newest step."""
        self._torn: Sequence[Message] | None = None
        """The turn in the last snapshot, which lacks the message of the step. That is taken back unless the next event
        is a snapshot that has it: one that changes the order of messages comes behind one that ends before them."""
        self._message: str | None = None
        """The agent's message that the step shows, if it is known."""
        self._open: dict[_Key, dict[str, Any]] = {}
        """Text and reasoning that may go on, with the facts of its part."""
        self._loose: set[_Key] = set()
        """Those of them that chunk events opened: nothing says their ends."""
        self._seen: set[_Key] = set()
        self._resumed: dict[_Key, str] = {}
        """Those that went on after their ends, and the ids of their newest parts: no part goes on after its end."""
        self._past = True
        """The events are of messages that the client may have."""
        self._stored: set[str] = set()
        """Ids of the messages that the thread should have: what subagents say is stored by no thread."""
        self._places: set[str] = set()
        """Ids of the turn's messages in the last snapshot, and its user message."""
        self._asked = list(asked)
        """The questions that are not shown yet."""
        self._calls = Calls(version, earlier, verdicts, verdicts_of(self._asked))
        self._values = Values()
        for event in events_of(held):
            self.feed(event)
        for call in verdicts:
            self._calls.hold(call)
        list(self._leave())
        self._started = self._past = False
        self._bare = bool(held) and message_id is not None
        """The client's last step has nothing but answers, and is still the last."""

    @classmethod
    def of(
        cls,
        version: Version,
        run_input: RunAgentInput,
        message_id: str | None = None,
        verdicts: Mapping[str, bool | None] = _NONE,
        *,
        joined: bool = False,
        asked: Iterable[PastQuestion] = (),
    ) -> UIMessageStream:
        """The stream of a run. `joined`: for a client that comes while it goes on, and gets the whole answer. The other
        arguments: as of the class."""
        messages = run_input.messages
        turn = last_user(messages)
        held = () if joined else since(messages, turn)
        return cls(version, turn, message_id, held=held, earlier=messages, verdicts=verdicts, asked=asked)

    def feed(self, event: BaseEvent) -> list[Chunk]:
        """The chunks of an event: none, one or several."""
        handler = _HANDLERS.get(type(event))
        if handler is None:
            return []
        torn = self._torn is not None and not isinstance(event, agui.MessagesSnapshotEvent)
        chunks = [*(self._take_back() if torn else ()), *handler(self, event)]
        if not self._started and (chunks or isinstance(event, agui.RunStartedEvent)):
            self._started = True
            chunks.insert(0, {"type": "start", "messageId": self.id, **run_facts(event)})
        return chunks

    # ------------------------------------------------------------------ steps

    def _into(self, message: str | None) -> Iterator[Chunk]:
        """A step for what belongs to this message of the agent. A step in which something goes on stays."""
        if self._in_step:
            if self._message in (None, message) or message is None or self._goes_on:
                self._message = self._message or message
                return
            yield from self._leave()
        self._in_step, self._message, self._step_calls, self._step_texts = True, message, [], set()
        self._bare = False
        yield {"type": "start-step"}

    @property
    def _goes_on(self) -> bool:
        return bool(self._open.keys() - self._loose) or self._calls.streaming

    def _leave(self) -> Iterator[Chunk]:
        """Close what is open, and the step."""
        for kind, own in list(self._open):
            yield from self._close(kind, own, None)
        yield from self._calls.complete()
        if self._in_step:
            self._in_step, self._message = False, None
            yield {"type": "finish-step"}

    def over(self) -> Iterator[Chunk]:
        """Close everything: no answer of the page is awaited. Pages send a message whose last step has nothing but
        answered calls once more, so a step without any is added to such a one."""
        yield from self._leave()
        if self._bare or self._calls.are_over(self._step_calls):
            self._step_calls, self._bare = [], False
            yield from ({"type": "start-step"}, {"type": "finish-step"})
            yield {"type": "message-metadata", "messageMetadata": {}}  # else a page does not look at the new step

    # ------------------------------------------------------------------ text and reasoning

    def _begin(self, kind: str, own: str, message: str | None, facts: dict[str, Any]) -> Iterator[Chunk]:
        key = kind, own
        if key in self._seen:
            if self._past or key in self._open:
                return
            self._resumed[key] = f"{self._resumed.get(key, own)}+"
        yield from self._into(message)
        self._seen.add(key)
        self._step_texts.add(key)
        self._open[key] = facts
        part = self._resumed.get(key, own)
        yield {"type": f"{kind}-start", "id": part, "providerMetadata": {"agui": dict(facts)}}

    def _delta(self, kind: str, own: str, delta: str) -> Iterator[Chunk]:
        if (kind, own) in self._open:
            yield {"type": f"{kind}-delta", "id": self._resumed.get((kind, own), own), "delta": delta}

    def _close(self, kind: str, own: str, metadata: Mapping[str, Any] | None) -> Iterator[Chunk]:
        facts = self._open.pop((kind, own), None)
        if facts is None:
            return
        self._loose.discard((kind, own))
        chunk: Chunk = {"type": f"{kind}-end", "id": self._resumed.get((kind, own), own)}
        if metadata:
            facts["metadata"] = {**facts.get("metadata", {}), **metadata}
        if metadata or "encryptedValue" in facts:
            chunk["providerMetadata"] = {"agui": facts}
        yield chunk

    def _text_start(self, event: agui.TextMessageStartEvent) -> Iterator[Chunk]:
        if event.role in (None, "assistant"):
            if event.subagent_run_id is None:
                self._stored.add(event.message_id)
            yield from self._begin("text", event.message_id, event.message_id, facts_of(event, event.message_id))

    def _text_delta(self, event: agui.TextMessageContentEvent) -> Iterator[Chunk]:
        return self._delta("text", event.message_id, event.delta)

    def _text_end(self, event: agui.TextMessageEndEvent) -> Iterator[Chunk]:
        return self._close("text", event.message_id, event.metadata)

    def _thought_start(self, event: agui.ReasoningMessageStartEvent) -> Iterator[Chunk]:
        own = event.message_id
        yield from self._begin("reasoning", own, thinker(own), facts_of(event, own))

    def _thought_delta(self, event: agui.ReasoningMessageContentEvent) -> Iterator[Chunk]:
        return self._delta("reasoning", event.message_id, event.delta)

    def _thought_end(self, event: agui.ReasoningMessageEndEvent) -> Iterator[Chunk]:
        return self._close("reasoning", event.message_id, event.metadata)

    def _chunk(self, event: agui.TextMessageChunkEvent | agui.ReasoningMessageChunkEvent) -> Iterator[Chunk]:
        kind, own = "text" if isinstance(event, agui.TextMessageChunkEvent) else "reasoning", event.message_id
        if own is None:
            return
        if (kind, own) not in self._open:
            yield from self._begin(kind, own, own if kind == "text" else thinker(own), facts_of(event, own))
            self._loose.add((kind, own))
        if event.delta:
            yield from self._delta(kind, own, event.delta)

    def _encrypted(self, event: agui.ReasoningEncryptedValueEvent) -> Iterator[Chunk]:
        if event.subtype == "tool-call":
            self._calls.sign(event.entity_id, event.encrypted_value)
        elif (facts := self._open.get(("reasoning", event.entity_id))) is not None:
            facts["encryptedValue"] = event.encrypted_value
        return iter(())

    # ------------------------------------------------------------------ tool calls

    def _call_start(self, event: agui.ToolCallStartEvent) -> Iterator[Chunk]:
        if event.tool_call_id not in self._calls:
            yield from self._into(event.parent_message_id)
            yield self._called(self._calls.begin(event.tool_call_id, event.tool_call_name, event))

    def _called(self, chunk: Chunk) -> Chunk:
        """Note that the step has a call."""
        self._step_calls.append(chunk["toolCallId"])
        return chunk

    def _call_chunk(self, event: agui.ToolCallChunkEvent) -> Iterator[Chunk]:
        own, name = event.tool_call_id, event.tool_call_name
        if own is None:
            return
        if own not in self._calls and name is not None:
            yield from self._into(event.parent_message_id)
            yield self._called(self._calls.begin(own, name, event, loose=True))
        if event.delta:
            yield from self._calls.more(own, event.delta)

    # ------------------------------------------------------------------ state, activities, custom events

    def _state_patch(self, event: agui.StateDeltaEvent) -> Iterator[Chunk]:
        self._values.patch_state(event.delta)
        return iter(())

    def _custom(self, event: agui.CustomEvent) -> Iterator[Chunk]:
        place = (event.metadata or {}).get(AFTER)
        if place in (None, self._turn) or place in self._places:  # else it is of another turn
            yield self._values.custom(event)

    def _step(self, event: agui.StepStartedEvent | agui.StepFinishedEvent) -> Iterator[Chunk]:
        yield from self._values.flush()
        status = "started" if isinstance(event, agui.StepStartedEvent) else "done"
        yield {"type": "data-step", "data": {"name": event.step_name, "status": status}, "transient": True}

    def _snapshot(self, event: agui.MessagesSnapshotEvent) -> Iterator[Chunk]:
        """Show what of this turn was not streamed."""
        self._calls.earlier = event.messages
        if now := renamed(event.metadata):
            yield from self._rename(now)
        self._turn = self._turn or last_user(event.messages)  # a page may send its last message only
        messages = since(event.messages, self._turn)
        self._places = {self._turn, *(message.id for message in messages)}
        self._torn = messages if self._is_gone(event.messages) else None
        if self._torn is None:
            yield from self._show(messages)

    def _rename(self, now: Mapping[str, str]) -> Iterator[Chunk]:
        """Messages that the client has got other ids: it need not show them again, but send the new ones back."""
        for known in (self._seen, self._step_texts):
            known |= {(kind, now_named(own, now)) for kind, own in known}
        self._stored |= {now[own] for own in self._stored & now.keys()}
        self._message = now.get(self._message or "", self._message)
        yield {"type": "message-metadata", "messageMetadata": {"renamed": dict(now)}}

    def _is_gone(self, messages: Iterable[Message]) -> bool:
        return self._in_step and not self._goes_on and self._message in self._stored - {m.id for m in messages}

    def _take_back(self) -> Iterator[Chunk]:
        """Take back the message of the step, as far as clients can. What else stood in the step is shown again."""
        messages, self._torn = self._torn or (), None
        if self._version == 7:
            self._open.clear()
            self._loose.clear()
            self._seen -= self._step_texts
            self._calls.forget(self._step_calls)
            self._message, self._step_calls, self._step_texts = None, [], set()
            yield {"type": "reset-step"}
        else:
            yield from self._leave()
        yield from self._show(messages)

    def _show(self, messages: Iterable[Message]) -> Iterator[Chunk]:
        self._past = True
        yield from self.asked(self._turn)
        for message in messages:
            for past in events_of([message]):
                yield from self.feed(past)
            yield from self.asked(message.id)
        self._past = False

    # ------------------------------------------------------------------ the end

    def _finished(self, event: agui.RunFinishedEvent) -> Iterator[Chunk]:
        yield from self._values.flush(last=True)
        ended = outcome_of(event)
        if ended == "cancelled":
            yield from self.over()
            yield {"type": "abort"}
            return
        asked: Sequence[Interrupt] = getattr(event.outcome, "interrupts", None) or ()
        waits = bool(asked or getattr(event.outcome, "pending_tool_call_ids", None))
        yield from self._ask(asked)
        yield from self._leave() if waits else self.over()
        yield {"type": "finish", "finishReason": "tool-calls" if waits else finish_reason(event), **run_facts(event)}

    def _ask(self, questions: Iterable[Interrupt]) -> Iterator[Chunk]:
        """Approvals of calls, then the other questions in a step of their own: pages send the answers when all calls of
        the last step have one."""
        yield from self._calls.complete()
        approvals, others = divided(questions, lambda call: self._version > 5 and self._calls.can_wait(call))
        for approval, call in approvals:
            if call not in self._calls:  # it is in an older message
                yield from self._into(None)
                yield self._called(self._calls.again(call))
            yield {"type": "tool-approval-request", "approvalId": approval, "toolCallId": call}
        if others:
            yield from self._leave()
            yield from self._into(None)
            yield from map(question_chunk, others)

    def asked(self, after: str) -> Iterator[Chunk]:
        """The answered questions that came after this message, once. Those of one run share a step."""
        due = [one for one in self._asked if one.after == after]
        self._asked = [one for one in self._asked if one.after != after]
        for step in past_steps(due, approvals=self._version > 5):
            yield from self._leave()
            yield from self._into(None)
            yield from step
            yield from self._leave()
            self._bare = True

    def _failed(self, event: agui.RunErrorEvent) -> Iterator[Chunk]:
        yield from self._values.flush(last=True)
        if event.code == Code.CANCELLED:
            yield from self.over()
            yield {"type": "abort"}
            return
        yield from self._leave()
        yield {"type": "data-error", "data": {"code": event.code, "message": event.message}, "transient": True}
        yield {"type": "error", "errorText": event.message}


_Handler = Callable[[UIMessageStream, Any], Iterator[Chunk]]
_it = UIMessageStream
_HANDLERS: Mapping[type[BaseEvent], _Handler] = {
    agui.RunStartedEvent: lambda it, event: iter(()),
    agui.RunFinishedEvent: _it._finished,
    agui.RunErrorEvent: _it._failed,
    agui.StepStartedEvent: _it._step,
    agui.StepFinishedEvent: _it._step,
    agui.TextMessageStartEvent: _it._text_start,
    agui.TextMessageContentEvent: _it._text_delta,
    agui.TextMessageEndEvent: _it._text_end,
    agui.TextMessageChunkEvent: _it._chunk,
    agui.ReasoningMessageStartEvent: _it._thought_start,
    agui.ReasoningMessageContentEvent: _it._thought_delta,
    agui.ReasoningMessageEndEvent: _it._thought_end,
    agui.ReasoningMessageChunkEvent: _it._chunk,
    agui.ReasoningEncryptedValueEvent: _it._encrypted,
    agui.ToolCallStartEvent: _it._call_start,
    agui.ToolCallArgsEvent: lambda it, event: it._calls.more(event.tool_call_id, event.delta),
    agui.ToolCallEndEvent: lambda it, event: it._calls.complete(event.tool_call_id),
    agui.ToolCallChunkEvent: _it._call_chunk,
    agui.ToolCallResultEvent: lambda it, event: it._calls.answer(event),
    agui.StateSnapshotEvent: lambda it, event: it._values.state(event.snapshot),
    agui.StateDeltaEvent: _it._state_patch,
    agui.ActivitySnapshotEvent: lambda it, event: it._values.activity(event),
    agui.ActivityDeltaEvent: lambda it, event: it._values.patch_activity(event.message_id, event.patch),
    agui.CustomEvent: _it._custom,
    agui.SubagentStartedEvent: lambda it, event: iter([it._values.subagent(event)]),
    agui.SubagentFinishedEvent: lambda it, event: iter([it._values.subagent(event)]),
    agui.SubagentErrorEvent: lambda it, event: iter([it._values.subagent(event)]),
    agui.MessagesSnapshotEvent: _it._snapshot,
}
