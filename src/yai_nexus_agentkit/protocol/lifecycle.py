"""Pure. The grammar of one AG-UI run: every span that can be open, what closes what, and how a run ends.

A translator reports facts ("this model call produced this text"); `RunLifecycle` returns the events that tell them, closers first. It never
passes an illegal event on: what cannot be told is dropped, what can be repaired (an id that is taken, a step name that is open) is repaired.
Whatever is called in whatever order, the events are a conformant AG-UI 1.0 stream (AG-UI 1.0 §4 to §12).

Words: a *lane* is one model call; its text, reasoning and calls close each other and nobody else's. An *owner* is the subagent invocation that
everything of an entity is tagged with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ag_ui.core import (
    PROTOCOL_VERSION,
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    RawEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from ..errors import Code
from .reasoning import ReasoningMode, reasoning_writer
from .subagents import Subagents

__all__ = ["RunLifecycle"]

Metadata = dict[str, Any]
Kind = Literal["text", "reasoning", "call", "span", "step", "subagent"]


@dataclass(slots=True)
class _Lane:
    owner: str | None = None
    within: tuple[str, ...] = ()
    """Spans of named chains around this model call; they close before its first text or tool call."""
    text: str | None = None
    """Id of the open text message."""
    wanted: str | None = None
    """The id the translator knows that message by; differs from `text` where the id was taken."""
    reasoning: str | None = None
    calls: list[str] = field(default_factory=list)
    """Calls of this lane that are still open."""


@dataclass(slots=True)
class _Call:
    name: str
    parent: str | None
    owner: str | None
    open: bool = True


class RunLifecycle:
    """One run. Not shared between runs; methods return the events to send, in order.

    `declared`: the peer named a protocol version (AG-UI 1.0 §18). `taken`: id → role of every message that the client or the thread holds.
    `calls`, `answered`: tool call ids of the thread so far, and those of them that have a result.
    """

    def __init__(
        self,
        *,
        thread_id: str,
        run_id: str,
        parent_run_id: str | None = None,
        declared: bool = True,
        reasoning: ReasoningMode = "standard",
        text_chunks: bool = False,
        announce_subagents: bool = True,
        taken: Mapping[str, str] | None = None,
        calls: Iterable[str] = (),
        answered: Iterable[str] = (),
    ) -> None:
        self.thread_id, self.run_id, self.parent_run_id = thread_id, run_id, parent_run_id
        self.declared = declared
        self._chunks = text_chunks
        self._phase: Literal["new", "live", "ended"] = "new"
        self._lanes: dict[str, _Lane] = {}
        self._open: dict[tuple[Kind, str], None] = {}
        """Everything open, in the order of opening: the end of a run closes it from the back."""
        self._kinds: dict[str, str] = dict(taken or {})
        """Role of every message id of the thread; all kinds of message share one space of ids (AG-UI 1.0 §1)."""
        self._owners: dict[str, str | None] = {}
        """Owner of every message made in this run."""
        self._texted: set[str] = set()
        """Messages of this run that had their text; a second text under such an id would be appended to it."""
        self._calls: dict[str, _Call] = {}
        self._old_calls = set(calls)
        self._answered = set(answered)
        self._steps: dict[str, tuple[str, str | None]] = {}
        self._span_owner: dict[str, str | None] = {}
        self._activities: set[str] = {i for i, kind in self._kinds.items() if kind == "activity"}
        self._reasoning = reasoning_writer(reasoning)
        self._subagents = Subagents(announce=announce_subagents)

    # ------------------------------------------------------------------ the run

    def start(self) -> list[BaseEvent]:
        """``RUN_STARTED``, once."""
        if self._phase != "new":
            return []
        self._phase = "live"
        return [
            RunStartedEvent(
                thread_id=self.thread_id,
                run_id=self.run_id,
                parent_run_id=self.parent_run_id,
                protocol_version=PROTOCOL_VERSION,
            )
        ]

    def finish(
        self,
        *,
        interrupts: Sequence[Interrupt] = (),
        result: Any = None,
        usage: Sequence[TokenUsage] = (),
    ) -> list[BaseEvent]:
        """Close everything and end well: paused if there are `interrupts`, else done.

        A success names the calls that this run started and nobody answered, to peers that know the field (AG-UI 1.0 §6).
        """
        if self._phase == "ended":
            return []
        events = [*self.start(), *self.close_all()]
        self._phase = "ended"
        finished = RunFinishedEvent(
            thread_id=self.thread_id, run_id=self.run_id, result=result, usage=list(usage) or None
        )
        pending = [c for c in self._calls if c not in self._answered]
        if questions := self._questions(interrupts):
            finished.outcome = {"type": "interrupt", "interrupts": questions}  # type: ignore[assignment]
            finished = RunFinishedEvent.model_validate(dict(finished.__dict__))
        elif pending and self.declared:
            finished.outcome = {"type": "success", "pendingToolCallIds": pending}  # type: ignore[assignment]
            finished = RunFinishedEvent.model_validate(dict(finished.__dict__))
        return [*events, finished]

    def cancel(self, message: str, *, usage: Sequence[TokenUsage] = ()) -> list[BaseEvent]:
        """End a run that was stopped on purpose; peers from before 1.0 refuse the outcome and get ``RUN_ERROR`` (AG-UI 1.0 §4)."""
        if not self.declared:
            return self.fail(message, Code.CANCELLED, usage=usage)
        if self._phase == "ended":
            return []
        events = [*self.start(), *self.close_all()]
        self._phase = "ended"
        return [
            *events,
            RunFinishedEvent.model_validate(
                {
                    "thread_id": self.thread_id,
                    "run_id": self.run_id,
                    "outcome": {"type": "cancelled"},
                    "usage": list(usage) or None,
                }
            ),
        ]

    def fail(self, message: str, code: str, *, usage: Sequence[TokenUsage] = ()) -> list[BaseEvent]:
        """Close everything and end with ``RUN_ERROR``; clients up to 0.0.36 refuse it while a message is open."""
        if self._phase == "ended":
            return []
        events = [*self.start(), *self.close_all()]
        self._phase = "ended"
        return [*events, RunErrorEvent(message=message, code=code, usage=list(usage) or None)]

    def close_all(self) -> list[BaseEvent]:
        """Close whatever is open, innermost first."""
        events: list[BaseEvent] = []
        while self._open:
            events += self._close(*next(reversed(self._open)))
        return events

    @property
    def ended(self) -> bool:
        """The terminal event was returned."""
        return self._phase == "ended"

    @property
    def quiet(self) -> bool:
        """No message or call is open: a messages snapshot cuts nothing off (AG-UI 1.0 §11)."""
        return not any(kind in ("text", "reasoning", "call") for kind, _ in self._open)

    # ------------------------------------------------------------------ lanes

    def lane(self, lane: str, *, owner: str | None = None, within: tuple[str, ...] = ()) -> None:
        """Say whose a model call is, and which named spans lie around it. A lane nobody declared belongs to the parent agent."""
        self._lanes.setdefault(lane, _Lane(owner, within))

    def text(self, lane: str, message_id: str, delta: str) -> list[BaseEvent]:
        """Text of a lane. Opens the message at the first non-empty delta."""
        it = self._lanes.get(lane)
        if it is None or it.text is None or it.wanted != message_id:
            return self._open_text(lane, message_id, delta)
        if not delta:
            return []
        if self._chunks:
            return [TextMessageChunkEvent(message_id=it.text, delta=delta, subagent_run_id=it.owner)]
        if it.owner is None:
            return [TextMessageContentEvent(message_id=it.text, delta=delta)]
        return [TextMessageContentEvent(message_id=it.text, delta=delta, subagent_run_id=it.owner)]

    def _open_text(self, lane: str, message_id: str, delta: str) -> list[BaseEvent]:
        if self._phase != "live" or not delta:
            return []
        it = self._lanes.setdefault(lane, _Lane())
        events = [*self.end_text(lane), *self._make_room(it)]
        mine = self._owners.get(message_id, it.owner) == it.owner and message_id not in self._texted
        it.wanted = message_id
        if message_id not in self._owners or self._kinds.get(message_id) != "assistant" or not mine:
            message_id = self._claim(message_id, "assistant")
        it.text = message_id
        self._owners[message_id] = it.owner
        self._texted.add(message_id)
        self._open["text", lane] = None
        if self._chunks:
            chunk = TextMessageChunkEvent(
                message_id=message_id, role="assistant", delta=delta, subagent_run_id=it.owner
            )
            return [*events, chunk]
        start = TextMessageStartEvent(message_id=message_id, role="assistant", subagent_run_id=it.owner)
        return [*events, start, *self.text(lane, it.wanted, delta)]

    def end_text(self, lane: str) -> list[BaseEvent]:
        """Close the lane's text message, if one is open."""
        it = self._lanes.get(lane)
        if it is None or it.text is None:
            return []
        message_id, it.text, it.wanted = it.text, None, None
        del self._open["text", lane]
        return [] if self._chunks else [TextMessageEndEvent(message_id=message_id, subagent_run_id=it.owner)]

    def reasoning(self, lane: str, message_id: str, delta: str) -> list[BaseEvent]:
        """Reasoning of a lane; an empty delta only opens the message (for one that holds nothing but encrypted content)."""
        if self._phase != "live":
            return []
        it = self._lanes.setdefault(lane, _Lane())
        events: list[BaseEvent] = []
        if it.reasoning != message_id:
            if self._kinds.get(message_id, "reasoning") != "reasoning" or (
                message_id in self._kinds and message_id not in self._owners
            ):
                return []  # the client holds another message under this id, or this very one from an earlier run
            events = self.end_reasoning(lane)
            self._kinds[message_id] = "reasoning"
            owner = self._owners.setdefault(message_id, it.owner)
            if any(other.reasoning == message_id for other in self._lanes.values()):
                return events
            it.reasoning = message_id
            self._open["reasoning", lane] = None
            events += self._reasoning.open_message(message_id, owner)
        return [*events, *self._reasoning.content(message_id, delta)] if delta else events

    def encrypted_reasoning(self, lane: str, message_id: str, value: str) -> list[BaseEvent]:
        """Encrypted content or a signature of a reasoning message; opens the message if it had no text."""
        events = self.reasoning(lane, message_id, "")
        if self._phase != "live" or self._kinds.get(message_id) != "reasoning" or message_id not in self._owners:
            return events
        return [*events, *self._reasoning.encrypted(message_id, "message", value, self._owners[message_id])]

    def end_reasoning(self, lane: str) -> list[BaseEvent]:
        """Close the lane's reasoning message, if one is open."""
        it = self._lanes.get(lane)
        if it is None or it.reasoning is None:
            return []
        message_id, it.reasoning = it.reasoning, None
        del self._open["reasoning", lane]
        return self._reasoning.close_message(message_id)

    def end_lane(self, lane: str) -> list[BaseEvent]:
        """The model call is over: close what it left open. The lane is forgotten."""
        it = self._lanes.get(lane)
        if it is None:
            return []
        events = self.end_reasoning(lane)
        for call in list(it.calls):
            events += self.end_call(call)
        events += self.end_text(lane)
        del self._lanes[lane]
        return events

    def _make_room(self, it: _Lane) -> list[BaseEvent]:
        """Reasoning and the spans around a lane end before its text or calls, or UIs go on showing "thinking" (AG-UI 1.0 §7)."""
        events: list[BaseEvent] = []
        if it.reasoning is not None:
            message_id, it.reasoning = it.reasoning, None
            lane = next(key for key, value in self._lanes.items() if value is it)
            del self._open["reasoning", lane]
            events = self._reasoning.close_message(message_id)
        for span in it.within:
            events += self.close_span(span)
        return events

    # ------------------------------------------------------------------ tool calls

    def tool_call(self, lane: str, call_id: str, name: str, parent: str | None = None) -> list[BaseEvent]:
        """Open a call, once per thread. `parent` is the id of the model's message, with or without text (AG-UI 1.0 §6)."""
        if self._phase != "live" or self.knows_call(call_id):
            return []
        it = self._lanes.setdefault(lane, _Lane())
        events = self._make_room(it)
        owner = it.owner
        if parent is not None and self._kinds.get(parent, "assistant") == "assistant":
            if parent in self._kinds:
                owner = self._owners.get(parent)
            else:
                self._kinds[parent], self._owners[parent] = "assistant", owner
        else:
            parent = self._claim(parent or f"{call_id}-message", "assistant")
            self._owners[parent] = owner
        self._calls[call_id] = _Call(name, parent, owner)
        it.calls.append(call_id)
        self._open["call", call_id] = None
        event = ToolCallChunkEvent if self._chunks else ToolCallStartEvent
        return [
            *events,
            event(tool_call_id=call_id, tool_call_name=name, parent_message_id=parent, subagent_run_id=owner),
        ]

    def args(self, call_id: str, delta: str) -> list[BaseEvent]:
        """A piece of an open call's argument text."""
        call = self._calls.get(call_id)
        if call is None or not call.open or not delta:
            return []
        if self._chunks:
            return [
                ToolCallChunkEvent(
                    tool_call_id=call_id,
                    tool_call_name=call.name,
                    parent_message_id=call.parent,
                    delta=delta,
                    subagent_run_id=call.owner,
                )
            ]
        return [ToolCallArgsEvent(tool_call_id=call_id, delta=delta, subagent_run_id=call.owner)]

    def end_call(self, call_id: str) -> list[BaseEvent]:
        """The call's arguments are complete, or cut off."""
        call = self._calls.get(call_id)
        if call is None or not call.open:
            return []
        call.open = False
        del self._open["call", call_id]
        for it in self._lanes.values():
            if call_id in it.calls:
                it.calls.remove(call_id)
        return [] if self._chunks else [ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=call.owner)]

    def result(
        self,
        call_id: str,
        message_id: str,
        content: str | list[Any],
        *,
        owner: str | None = None,
        metadata: Metadata | None = None,
    ) -> list[BaseEvent]:
        """The answer of a known call, exactly once per thread. Peers from before 1.0 get a list of parts as its text."""
        if self._phase != "live" or call_id in self._answered or not self.knows_call(call_id):
            return []
        events = self.end_call(call_id)
        self._answered.add(call_id)
        message_id = self._claim(message_id, "tool")
        self._owners[message_id] = owner
        if not self.declared and not isinstance(content, str):
            content = "".join(part.text for part in content if getattr(part, "type", None) == "text")
        return [
            *events,
            ToolCallResultEvent(
                message_id=message_id,
                tool_call_id=call_id,
                content=content,
                role="tool",
                subagent_run_id=owner,
                metadata=metadata,
            ),
        ]

    def knows_call(self, call_id: str) -> bool:
        """The call was announced, in this run or an earlier one of the thread."""
        return call_id in self._calls or call_id in self._old_calls

    def is_answered(self, call_id: str) -> bool:
        """The call has its result, from this run or an earlier one."""
        return call_id in self._answered

    def withdraw_result(self, call_id: str) -> None:
        """A result that was told does not count: the graph discarded it, and the call will run again. The next snapshot removes it."""
        self._answered.discard(call_id)

    # ------------------------------------------------------------------ steps, spans, subagents

    def start_step(
        self, step: str, name: str, *, owner: str | None = None, metadata: Metadata | None = None
    ) -> list[BaseEvent]:
        """Open a step under a name that no open step has (a second one gets ``#2``). `step` identifies this node run."""
        if self._phase != "live" or step in self._steps:
            return []
        taken = {open_name for open_name, _ in self._steps.values()}
        unique, n = name, 1
        while unique in taken:
            n += 1
            unique = f"{name}#{n}"
        self._steps[step] = (unique, owner)
        self._open["step", step] = None
        return [StepStartedEvent(step_name=unique, subagent_run_id=owner, metadata=metadata)]

    def finish_step(self, step: str) -> list[BaseEvent]:
        """Close a step, with the tag it was opened with (AG-UI 1.0 §8)."""
        if step not in self._steps:
            return []
        name, owner = self._steps.pop(step)
        del self._open["step", step]
        return [StepFinishedEvent(step_name=name, subagent_run_id=owner)]

    def open_span(self, span: str, title: str, *, owner: str | None = None) -> list[BaseEvent]:
        """A titled reasoning span around the work of a chain that somebody named."""
        if self._phase != "live" or ("span", span) in self._open or span in self._kinds:
            return []
        self._open["span", span] = None
        self._span_owner[span] = owner
        return self._reasoning.open_span(span, owner, title)

    def close_span(self, span: str) -> list[BaseEvent]:
        """Close a titled span, if it is open."""
        if ("span", span) not in self._open:
            return []
        del self._open["span", span]
        return self._reasoning.close_span(span)

    def start_subagent(
        self,
        subagent: str,
        name: str,
        *,
        parent: str | None = None,
        call_id: str | None = None,
        message_id: str | None = None,
    ) -> list[BaseEvent]:
        """Announce an invocation, before anything is tagged with it. `call_id`: the tool call that spawned it."""
        if self._phase != "live" or not self._subagents.start(subagent, parent):
            return []
        self._open["subagent", subagent] = None
        call = self._calls.get(call_id or "")
        return self._subagents.started(subagent, name, call_id, message_id or (call.parent if call else None))

    def end_subagent(
        self, subagent: str, *, error: str | None = None, suspended: Sequence[str] | None = None
    ) -> list[BaseEvent]:
        """Close an invocation and whatever of it is open: failed with `error`, suspended on these interrupt ids, or done."""
        if ("subagent", subagent) not in self._open:
            return []
        events: list[BaseEvent] = []
        while inner := next((key for key in reversed(self._open) if self._belongs(key, subagent)), None):
            events += self._close(*inner)
        del self._open["subagent", subagent]
        return [*events, *self._subagents.ended(subagent, error=error, suspended=suspended)]

    def _belongs(self, key: tuple[Kind, str], subagent: str) -> bool:
        kind, name = key
        if kind == "subagent":
            return self._subagents.parent(name) == subagent
        return self._owner_of(kind, name) == subagent

    def _owner_of(self, kind: Kind, name: str) -> str | None:
        if kind in ("text", "reasoning"):
            return self._lanes[name].owner
        if kind == "call":
            return self._calls[name].owner
        return self._span_owner.get(name) if kind == "span" else self._steps[name][1]

    # ------------------------------------------------------------------ state, messages, application events

    def state_snapshot(self, state: Any) -> list[BaseEvent]:
        """The whole shared state, as JSON data."""
        return [StateSnapshotEvent(snapshot=state)] if self._phase == "live" else []

    def state_delta(self, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        """RFC 6902 operations against what was last sent."""
        if self._phase != "live" or not operations:
            return []
        return [StateDeltaEvent(delta=operations)]  # type: ignore[arg-type]

    def messages_snapshot(self, messages: Sequence[Message]) -> list[BaseEvent]:
        """The complete conversation. Dropped while a message or call is open, since the rest of it would go nowhere (AG-UI 1.0 §11)."""
        if self._phase != "live" or not self.quiet:
            return []
        unique = {message.id: message for message in messages}
        for message in unique.values():
            self._kinds[message.id] = message.role
            self._owners[message.id] = message.subagent_run_id
            self._texted.add(message.id)
            if message.role == "assistant":
                self._old_calls.update(call.id for call in message.tool_calls or ())
            elif message.role == "tool":
                self._answered.add(message.tool_call_id)
        return [MessagesSnapshotEvent(messages=list(unique.values()))]

    def custom(
        self, name: str, value: Any, *, owner: str | None = None, metadata: Metadata | None = None
    ) -> list[BaseEvent]:
        """An application's event; `value` is JSON data."""
        if self._phase != "live":
            return []
        return [CustomEvent(name=name, value=value, subagent_run_id=owner, metadata=metadata)]

    def activity(
        self,
        message_id: str,
        activity_type: str,
        content: Mapping[str, Any],
        *,
        owner: str | None = None,
        metadata: Metadata | None = None,
    ) -> list[BaseEvent]:
        """Make or replace an activity. Dropped where the id belongs to another kind of message, which it would overwrite."""
        if self._phase != "live" or self._kinds.get(message_id, "activity") != "activity":
            return []
        self._kinds[message_id], self._owners[message_id] = "activity", owner
        self._activities.add(message_id)
        return [
            ActivitySnapshotEvent(
                message_id=message_id,
                activity_type=activity_type,
                content=dict(content),
                subagent_run_id=owner,
                metadata=metadata,
            )
        ]

    def activity_delta(
        self, message_id: str, activity_type: str, operations: list[dict[str, Any]]
    ) -> list[BaseEvent]:
        """Patch the content of an activity that was sent before."""
        if self._phase != "live" or message_id not in self._activities or not operations:
            return []
        owner = self._owners.get(message_id)
        return [
            ActivityDeltaEvent(
                message_id=message_id,
                activity_type=activity_type,
                patch=operations,  # type: ignore[arg-type]
                subagent_run_id=owner,
            )
        ]

    def raw(self, event: Any, source: str) -> list[BaseEvent]:
        """A native event as it is, for debugging."""
        return [RawEvent(event=event, source=source)] if self._phase == "live" else []

    # ------------------------------------------------------------------ inner

    def _close(self, kind: Kind, name: str) -> list[BaseEvent]:
        closers = {
            "text": self.end_text,
            "reasoning": self.end_reasoning,
            "call": self.end_call,
            "span": self.close_span,
            "step": self.finish_step,
            "subagent": self.end_subagent,
        }
        return closers[kind](name)  # type: ignore[operator, no-any-return]

    def _claim(self, message_id: str, kind: str) -> str:
        """`message_id`, or one made from it if a message of the thread has it."""
        unique, n = message_id, 1
        while unique in self._kinds:
            n += 1
            unique = f"{message_id}-{n}"
        self._kinds[unique] = kind
        return unique

    def _questions(self, interrupts: Sequence[Interrupt]) -> list[Interrupt]:
        """Each question once; a call that was never announced is not named (AG-UI 1.0 §16)."""
        unique = {interrupt.id: interrupt for interrupt in interrupts}
        return [
            i if i.tool_call_id is None or self.knows_call(i.tool_call_id) else i.model_copy(update={"tool_call_id": None})
            for i in unique.values()
        ]
