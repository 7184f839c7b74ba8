"""Pure. What a chat's reader is shown of a run's AG-UI events: the answer, its reasoning, the calls of tools that the
caller declared, and questions. A second message of the answer is parted from the first by a blank line, and one that is
streamed at the same time comes behind it. One that comes at once and repeats the message before it is a node's copy,
and is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic_core import to_json

from yai_nexus_agentkit.protocol.endings import outcome_of
from yai_nexus_agentkit.transport.facts import rewritten, word
from yai_nexus_agentkit.transport.openai.questions import call_id, question_text
from yai_nexus_agentkit.transport.openai.request import Calls

__all__ = ["PARTED", "ChatAnswer", "Shown"]

_FINISH: Mapping[str, str] = {"length": "length", "filter": "content_filter", "refusal": "content_filter"}
PARTED = "\n\n"
"""Between two messages of an answer."""
_ESTIMATED = 4
"""Characters that count as a token where the provider reports no usage."""
_RESULT = 500
"""Characters of a tool's result that reasoning shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One answer: what names it, and what its reader is shown."""

    id: str
    created: int
    model: str
    thread_id: str
    tools: Collection[str] = ()
    """Names of the caller's tools."""
    calls: Calls = "any"
    """Of a second call at once, where one may be made, the agent gets no result; it can make it again."""
    reasoning: bool = True
    show_tools: Literal["hidden", "reasoning"] = "hidden"
    question_tool: str | None = None
    """The caller's tool that asks questions, if it declared that and questions may be calls."""
    reference: str = ""
    """Named by a question, where the next request names no thread."""
    asked: int = 0
    """Characters of the request."""
    again: str = ""
    """The beginning of the answer, if the thread has it already."""


class _Call:
    """A call of a tool that is not finished, or waits behind one that is not."""

    def __init__(self, name: str, index: int | None) -> None:
        self.name, self.index = name, index
        """`index`: among those that the caller gets; None: it gets none of it."""
        self.arguments: list[str] = []
        self.begun = self.ended = False


class _InTurn:
    """Pieces of several messages that come at once: those of the first are written until it ends, then the others'."""

    def __init__(self) -> None:
        self._first: str | None = None
        self._behind: dict[str, list[str]] = {}
        self._ended: set[str] = set()
        """Those behind that are complete."""

    def put(self, own: str, delta: str) -> bool:
        """Take a piece: whether to write it now. Otherwise it waits."""
        if self._first is None:
            self._first = own
        if own == self._first:
            return True
        self._behind.setdefault(own, []).append(delta)
        return False

    def end(self, own: str) -> Iterator[tuple[str, str]]:
        """A message is complete: what waited for that, as (message, text)."""
        if own != self._first:
            self._ended.update({own} & self._behind.keys())
            return
        self._first = None
        while self._first is None and self._behind:
            other = next(iter(self._behind))
            yield other, "".join(self._behind.pop(other))
            if other not in self._ended:
                self._first = other


class ChatAnswer:
    """The facts that a reader is shown, from a run's events. Subclasses write them."""

    keep_alive = b""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown
        self.length = 0
        """Characters of the answer, without those of `pieces`."""
        self.pieces: list[str] = []
        """Of the message that was written last. Emptied by a call: what follows it is no copy."""
        self._echo: tuple[str, str] | None = None
        """A message that came at once and may be a copy of the one before: its id and text."""
        self._messages: dict[str, bool] = {}
        """Messages of the agent itself that are shown: whether something of them was written."""
        self.rewritten: set[str] = set()
        """Ids of the thread's messages that have another text than was streamed."""
        self._texts, self._thoughts = _InTurn(), _InTurn()
        self._thought: str | None = None
        """The reasoning message that was written last."""
        self._calls: dict[str, _Call] = {}
        """Calls without a result, by id."""
        self._count = 0
        """Of the calls that the caller gets."""
        self._writing: str | None = None
        """The call whose arguments are being written: those of a call must not be mixed with others."""
        self._unsaid = ""
        """The answer if the agent says nothing: the newest result of a tool, which may end the turn, or a message that
        was not streamed."""

    def encode(self, event: BaseEvent) -> bytes:
        """The bytes of one event."""
        handler = _HANDLERS.get(type(event))
        return b"" if handler is None else handler(self, event)

    # ------------------------------------------------------------------ written by subclasses

    def begin(self) -> bytes:
        """The answer begins."""
        raise NotImplementedError

    def text(self, delta: str) -> bytes:
        """A piece of the answer."""
        raise NotImplementedError

    def reasoning(self, delta: str) -> bytes:
        """A piece of the reasoning."""
        raise NotImplementedError

    def call(self, index: int, call_id: str, name: str) -> bytes:
        """A call begins."""
        raise NotImplementedError

    def arguments(self, index: int, delta: str) -> bytes:
        """A piece of the arguments of the newest call."""
        raise NotImplementedError

    def correct(self, event: MessagesSnapshotEvent, rewritten: Collection[str]) -> None:
        """The thread has some messages under other ids than they were streamed, or (`rewritten`) with other texts. What
        was sent stays."""

    def end(self, reason: str, usage: Mapping[str, Any]) -> bytes:
        """The answer is complete."""
        raise NotImplementedError

    def fail(self, event: RunErrorEvent) -> bytes:
        """The run failed."""
        raise NotImplementedError

    # ------------------------------------------------------------------ events

    def _started(self, event: RunStartedEvent) -> bytes:
        again = self.shown.again
        return self.begin() + (self._add(again) if again else b"")

    def _text_started(self, event: TextMessageStartEvent) -> bytes:
        if event.subagent_run_id is None and event.role == "assistant":
            self._messages[event.message_id] = False
        return b""

    def _said(self, event: TextMessageContentEvent) -> bytes:
        own, delta = event.message_id, event.delta
        if own not in self._messages or not self._texts.put(own, delta):
            return b""
        if self._echo is None and not self._messages[own] and self.pieces and delta == "".join(self.pieces):
            self._echo = (own, delta)
            return b""
        held, self._echo = self._echo, None
        return self._write(own, held[1] + delta if held else delta)

    def _write(self, own: str, delta: str) -> bytes:
        written = self.note(own, delta)
        parted = not written and sum(self._messages.values()) > 1
        return self.text(PARTED + delta if parted else delta)

    def note(self, own: str, delta: str) -> bool:
        """A piece of a message is written. Returns whether it has others."""
        written, self._messages[own] = self._messages.get(own, False), True
        if not written:
            self._count_pieces()
        self.pieces.append(delta)
        return written

    def _count_pieces(self) -> None:
        self.length += sum(map(len, self.pieces))
        self.pieces.clear()

    def _text_ended(self, event: TextMessageEndEvent) -> bytes:
        if self._echo and self._echo[0] == event.message_id:
            self._echo = None
        return b"".join(self._write(own, text) for own, text in self._texts.end(event.message_id))

    def _thinks(self, event: ReasoningMessageContentEvent) -> bytes:
        if not self.shown.reasoning or event.subagent_run_id is not None:
            return b""
        own = event.message_id
        return self._reason(own, event.delta) if self._thoughts.put(own, event.delta) else b""

    def _reason(self, own: str, delta: str) -> bytes:
        self.length += len(delta)
        parted, self._thought = self._thought not in (None, own), own
        return self.reasoning(PARTED + delta if parted else delta)

    def _thought_ended(self, event: ReasoningMessageEndEvent) -> bytes:
        return b"".join(self._reason(own, text) for own, text in self._thoughts.end(event.message_id))

    def _called(self, event: ToolCallStartEvent) -> bytes:
        self._count_pieces()
        theirs = event.tool_call_name in self.shown.tools and not (self._count and self.shown.calls != "any")
        self._calls[event.tool_call_id] = _Call(event.tool_call_name, self._count if theirs else None)
        if not theirs:
            return b""
        self._count += 1
        return self._next() if self._writing is None else b""

    def _argued(self, event: ToolCallArgsEvent) -> bytes:
        one = self._calls.get(event.tool_call_id)
        if one is None:
            return b""
        if one.index is not None and self._writing == event.tool_call_id:
            self.length += len(event.delta)
            return self.arguments(one.index, event.delta)
        if one.index is not None or self.shown.show_tools == "reasoning":
            one.arguments.append(event.delta)
        return b""

    def _call_ended(self, event: ToolCallEndEvent) -> bytes:
        one = self._calls.get(event.tool_call_id)
        if one is None:
            return b""
        one.ended = True
        if self._writing == event.tool_call_id:
            self._writing = None
            return self._next()
        if one.index is None and self.shown.show_tools == "reasoning":
            return self._work(f"{one.name}({''.join(one.arguments)})")
        return b""

    def _next(self) -> bytes:
        """The calls whose turn it is: those that are complete, and the first that is not."""
        written: list[bytes] = []
        for own, one in self._calls.items():
            if one.index is None or one.begun:
                continue
            one.begun = True
            written.append(self.call(one.index, own, one.name))
            if one.arguments:
                written.append(self.arguments(one.index, "".join(one.arguments)))
                one.arguments.clear()
            if not one.ended:
                self._writing = own
                break
        return b"".join(written)

    def _answered(self, event: ToolCallResultEvent) -> bytes:
        one = self._calls.pop(event.tool_call_id, None)
        if event.subagent_run_id is None and isinstance(event.content, str):
            self._unsaid = event.content
        if one is None or one.index is not None or self.shown.show_tools != "reasoning":
            return b""
        text = event.content if isinstance(event.content, str) else to_json(event.content, fallback=str).decode()
        return self._work(f"{one.name} -> {text[:_RESULT]}{'...' if len(text) > _RESULT else ''}")

    def _restated(self, event: MessagesSnapshotEvent) -> bytes:
        last = event.messages[-1] if event.messages else None
        if isinstance(last, AssistantMessage) and last.subagent_run_id is None and last.content:
            self._unsaid = last.content
        others = rewritten(event.metadata)
        self.rewritten.update(others)
        self.correct(event, others)
        return b""

    def _work(self, line: str) -> bytes:
        """A line about the server's tools, among the reasoning."""
        parted, self._thought = self._thought is not None, ""
        return self.reasoning(f"{PARTED if parted else ''}{line}")

    # ------------------------------------------------------------------ ends

    def _finished(self, event: RunFinishedEvent) -> bytes:
        outcome, reason, more = event.outcome, "stop", b""
        if isinstance(outcome, RunFinishedInterruptOutcome):
            more = self._asks(outcome)
        elif isinstance(outcome, RunFinishedSuccessOutcome):
            unknown = [self._calls[i].name for i in outcome.pending_tool_call_ids or () if self._is_unknown(i)]
            if unknown:
                more = self._add(f"The agent waits for tools that this client does not have: {', '.join(unknown)}.")
        elif outcome_of(event) == "cancelled":
            return self.fail(RunErrorEvent(message="the run was cancelled", code="CANCELLED"))
        waits = any(map(self.is_open, self._calls))
        if self._unsaid and not (more or waits or any(self._messages.values())):
            more = self._add(self._unsaid)
        called = "function_call" if self.shown.calls == "function" else "tool_calls"
        reason = called if waits else _FINISH.get(word(event.metadata, "incomplete"), reason)
        return more + self.end(reason, self._usage(event.usage or ()))

    def is_open(self, call_id: str) -> bool:
        """The caller has this call and must answer it: the agent has no result. Its own tools may have refused it."""
        one = self._calls.get(call_id)
        return one is not None and one.index is not None

    def _is_unknown(self, call_id: str) -> bool:
        one = self._calls.get(call_id)
        return one is not None and one.name not in self.shown.tools

    def _asks(self, outcome: RunFinishedInterruptOutcome) -> bytes:
        if self.shown.question_tool is None:
            return self._add(question_text(outcome.interrupts, self.shown.reference))
        written: list[bytes] = []
        for one in outcome.interrupts:
            asked = {"question": one.message or one.reason, "reason": one.reason, "schema": one.response_schema}
            arguments = to_json({key: value for key, value in asked.items() if value is not None}).decode()
            own = call_id(self.shown.reference, one)
            self._calls[own] = _Call(self.shown.question_tool, self._count)
            written.append(self.call(self._count, own, self.shown.question_tool))
            written.append(self.arguments(self._count, arguments))
            self._count += 1
        return b"".join(written)

    def _add(self, text: str) -> bytes:
        self.length += len(text)
        parted = any(self._messages.values())
        self._messages[""] = True
        return self.text(PARTED + text if parted else text)

    def _failed(self, event: RunErrorEvent) -> bytes:
        return self.fail(event)

    def _usage(self, reported: Any) -> Mapping[str, Any]:
        """OpenAI's ``usage``; an estimate if no provider reported any."""
        self._count_pieces()
        total = [_sum(reported, name) for name in ("input_tokens", "output_tokens")]
        if not any(total):
            total = [-(-self.shown.asked // _ESTIMATED), -(-self.length // _ESTIMATED)]
        prompt, completion = total
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": _sum(reported, "cached_input_tokens")},
            "completion_tokens_details": {"reasoning_tokens": _sum(reported, "reasoning_tokens")},
        }


def _sum(reported: Collection[TokenUsage], name: str) -> int:
    return sum(getattr(usage, name) or 0 for usage in reported)


_HANDLERS: Mapping[type[BaseEvent], Callable[[Any, Any], bytes]] = {
    RunStartedEvent: ChatAnswer._started,
    TextMessageStartEvent: ChatAnswer._text_started,
    TextMessageContentEvent: ChatAnswer._said,
    TextMessageEndEvent: ChatAnswer._text_ended,
    ReasoningMessageContentEvent: ChatAnswer._thinks,
    ReasoningMessageEndEvent: ChatAnswer._thought_ended,
    ToolCallStartEvent: ChatAnswer._called,
    ToolCallArgsEvent: ChatAnswer._argued,
    ToolCallEndEvent: ChatAnswer._call_ended,
    ToolCallResultEvent: ChatAnswer._answered,
    MessagesSnapshotEvent: ChatAnswer._restated,
    RunFinishedEvent: ChatAnswer._finished,
    RunErrorEvent: ChatAnswer._failed,
}
