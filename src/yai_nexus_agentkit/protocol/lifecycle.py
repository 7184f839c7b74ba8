"""Pure. The grammar of one AG-UI run: what may follow what, what closes before what, and how a run ends.

A translator reports facts ("this model call produced this text"). `RunLifecycle` returns the events for them, closing
events first. Facts may come in any order; the events are always a conformant AG-UI 1.0 stream. A fact without a legal
event is dropped. Some are repaired: an id that is taken, a step name that is open, a tag that nobody announced.

Words:

- A *lane* is one model call. Its reasoning ends before its text and calls. Its text ends with the call, since a model
  may write on after it called a tool. Lanes never close each other's messages.
- An *owner* is the subagent invocation that all events of an entity are tagged with.
- A *wish* is the id that the translator has for a message. If that id is taken, the client knows the message by another
  one (`RunLifecycle.message_id`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    CustomEvent,
    Interrupt,
    Message,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TokenUsage,
)

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.activities import Activities
from yai_nexus_agentkit.protocol.calls import CallEvents, ThreadCalls
from yai_nexus_agentkit.protocol.deltas import unchecked
from yai_nexus_agentkit.protocol.endings import failed, finished, questions
from yai_nexus_agentkit.protocol.entities import Closer, OpenEntities, Spans, Steps, Subagents
from yai_nexus_agentkit.protocol.lanes import Lane, Lanes
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable
from yai_nexus_agentkit.protocol.reasoning import WRITERS, ReasoningMode

__all__ = ["RunLifecycle", "run_started"]

Metadata = dict[str, Any]
P = ParamSpec("P")
_custom = unchecked(CustomEvent, "name", "value", "subagent_run_id", "metadata")
Fact = Callable[Concatenate["RunLifecycle", P], list[BaseEvent]]


def run_started(thread_id: str, run_id: str, parent_run_id: str | None) -> BaseEvent:
    """``RUN_STARTED``, with the version that the run speaks (AG-UI 1.0, versions)."""
    return RunStartedEvent(
        thread_id=thread_id, run_id=run_id, parent_run_id=parent_run_id, protocol_version=PROTOCOL_VERSION
    )


def _while_live(fact: Fact[P]) -> Fact[P]:
    """Nothing happens after the run's end."""

    def guarded(self: RunLifecycle, /, *args: P.args, **kwargs: P.kwargs) -> list[BaseEvent]:
        return [] if self.ended else fact(self, *args, **kwargs)

    update_wrapper(guarded, fact)
    return guarded


class RunLifecycle:
    """One run, behind its ``RUN_STARTED`` (`run_started`). Not shared between runs. Methods return the events to send.

    `declared`: the peer named a protocol version (AG-UI 1.0, versions). `taken`: id to role of every message that the
    client or the thread holds. `calls`: the thread's tool calls so far.
    """

    def __init__(
        self,
        *,
        thread_id: str,
        run_id: str,
        declared: bool = True,
        reasoning: ReasoningMode = "standard",
        text_chunks: bool = False,
        announce_subagents: bool = True,
        taken: Mapping[str, str] | None = None,
        calls: ThreadCalls | None = None,
    ) -> None:
        self.thread_id, self.run_id = thread_id, run_id
        self.declared = declared
        self.ended = False
        """The terminal event was returned."""
        self.calls = calls or ThreadCalls()
        """The tool calls of the thread. This run adds its own."""
        self._open, self._ids = OpenEntities(), MessageIds(dict(taken or {}))
        self._subagents = Subagents(self._open, announce=announce_subagents)
        known_activities = {i for i, role in (taken or {}).items() if role == "activity"}
        self._activities = Activities(self._ids, self._subagents, known_activities)
        writer = WRITERS[reasoning]()
        self._steps = Steps(self._open, self._subagents)
        self._spans = Spans(self._ids, self._open, self._subagents, writer)
        self._lanes = Lanes(self._ids, self._open, self._subagents, writer, self._spans.close, chunks=text_chunks)
        self._calls = CallEvents(
            self._ids, self._open, self._subagents, self._lanes, self.calls, chunks=text_chunks, parts=declared
        )
        self._by_name, self._by_call = self._lanes.by_name, self._calls.announced

    # ------------------------------------------------------------------ the run

    def finish(
        self,
        *,
        interrupts: Sequence[Interrupt] = (),
        result: Any = None,
        usage: Sequence[TokenUsage] = (),
        metadata: Metadata | None = None,
    ) -> list[BaseEvent]:
        """Close everything and end well: paused if there are `interrupts`, else done.

        `metadata`: of the terminal event.

        A success names the calls that this run started and nobody answered, to peers that know the field (AG-UI 1.0,
        frontend tools).
        """
        asked = questions(
            interrupts,
            is_call=self.calls.is_announced,
            is_owner=self._subagents.knows,
            may_expire=self.declared,
        )
        pending = self.pending_calls if self.declared else ()
        return self._end(finished(self, asked, pending, result=result, usage=usage, metadata=metadata))

    def cancel(self, message: str, *, usage: Sequence[TokenUsage] = ()) -> list[BaseEvent]:
        """End a run that was stopped on purpose.

        Peers from before 1.0 refuse the outcome and get ``RUN_ERROR`` (AG-UI 1.0, ending a run).
        """
        if not self.declared:
            return self.fail(message, Code.CANCELLED, usage=usage)
        return self._end(finished(self, cancelled=True, usage=usage))

    def fail(self, message: str, code: str, *, usage: Sequence[TokenUsage] = ()) -> list[BaseEvent]:
        """Close everything and end with ``RUN_ERROR``; clients up to 0.0.36 refuse it while a message is open."""
        return self._end(failed(message, code, usage))

    def close_all(self) -> list[BaseEvent]:
        """Close whatever is open, innermost first."""
        return self._open.close_all()

    @property
    def quiet(self) -> bool:
        """No message or call is open: a messages snapshot cuts nothing off (AG-UI 1.0, messages)."""
        return not self._open.streaming

    def _end(self, terminal: BaseEvent) -> list[BaseEvent]:
        if self.ended:
            return []
        self.ended = True
        return [*self.close_all(), terminal]

    # ------------------------------------------------------------------ lanes

    def lane(
        self, lane: str, *, owner: str | None = None, within: tuple[str, ...] = (), speaker: str | None = None
    ) -> None:
        """Declare whose a model call is, which named spans lie around it, and the name its texts start with. Without
        it, it is the parent agent's."""
        self._lanes.declare(lane, owner, within, speaker)

    def lane_of(self, lane: str) -> Lane:
        """The state of a lane, for reading."""
        return self._lanes.get(lane)

    def text(self, lane: str, message_id: str, delta: str) -> list[BaseEvent]:
        """Text of a lane. Opens the message at the first non-empty delta."""
        it = self._by_name.get(lane)
        if it is None or it.ready != message_id or type(delta) is not str:
            return self._open_text(lane, message_id, delta)
        return [it.event_with(delta)] if delta else []

    @_while_live
    def _open_text(self, lane: str, message_id: str, delta: str) -> list[BaseEvent]:
        if not usable(delta):
            return []
        wish = usable(message_id) or ""
        events = self._lanes.open_text(lane, wish)
        return [*events, self._by_name[lane].event_with(delta)]

    def end_text(self, lane: str) -> list[BaseEvent]:
        """Close the lane's text message, if one is open."""
        return self._lanes.end_text(lane)

    def message_id(self, lane: str) -> str | None:
        """Id that the client knows the lane's newest text by; without text, the message of its calls.

        None before its first text or call, and after `end_lane`.
        """
        it = self._by_name.get(lane)
        return it.message if it is not None else None

    def reasoning(self, lane: str, message_id: str, delta: str, metadata: Metadata | None = None) -> list[BaseEvent]:
        """Reasoning of a lane. An empty delta only opens the message, for one that has nothing but encrypted content.

        `metadata`: all that is known of the message so far. Later facts go with its end.
        """
        it = self._by_name.get(lane)
        if it is not None and it.thinking == message_id and metadata is None and delta and type(delta) is str:
            return it.thoughts(delta)
        return self._lanes.reasoning(lane, message_id, delta, metadata) if not self.ended else []

    @_while_live
    def encrypted_reasoning(self, lane: str, message_id: str, value: str) -> list[BaseEvent]:
        """Encrypted content or a signature of a reasoning message, open or closed; opens it if it had no text."""
        return self._lanes.encrypted(lane, message_id, value)

    def end_reasoning(self, lane: str) -> list[BaseEvent]:
        """Close the lane's reasoning message, if one is open."""
        return self._lanes.end_reasoning(lane)

    def end_lane(self, lane: str, metadata: Metadata | None = None) -> list[BaseEvent]:
        """The model call is over: close what it left open. The lane is forgotten. `metadata`: of its text message."""
        it = self._by_name.get(lane)
        if it is None:
            return []
        events = self._lanes.end_reasoning(lane)
        for call in list(it.calls):
            events += self._calls.end(call)
        events += self._lanes.end_text(lane, metadata)
        self._lanes.forget(lane)
        return events

    # ------------------------------------------------------------------ tool calls

    @_while_live
    def tool_call(
        self,
        lane: str,
        call_id: str,
        name: str,
        parent: str | None = None,
        metadata: Metadata | None = None,
        closer: Closer | None = None,
    ) -> list[BaseEvent]:
        """Open a call, once per thread.

        `parent` is the id of the model's message, with or without text; None is the lane's newest one. `closer`: closes
        the call if the run ends before; None for `end_call`.
        """
        return self._calls.announce(lane, call_id, name, parent, metadata, closer)

    @_while_live
    def encrypted_call(self, call_id: str, value: str) -> list[BaseEvent]:
        """The signature of a call of this run, which its provider needs back (AG-UI 1.0, reasoning)."""
        call = self._by_call.get(call_id)
        return [] if call is None else self._lanes.encrypted_call(call_id, call.owner, value)

    def args(self, call_id: str, delta: str) -> list[BaseEvent]:
        """A piece of the argument text of an open call."""
        call = self._by_call.get(call_id)
        return [call.args_with(delta)] if call is not None and call.open and delta and isinstance(delta, str) else []

    def end_call(self, call_id: str) -> list[BaseEvent]:
        """The call's arguments are complete, or cut off."""
        return self._calls.end(call_id)

    @_while_live
    def result(
        self,
        call_id: str,
        message_id: str,
        content: str | list[Any],
        *,
        owner: str | None = None,
        metadata: Metadata | None = None,
    ) -> list[BaseEvent]:
        """The answer of a known call, exactly once per thread.

        Peers from before 1.0 get a list of parts as its text.
        """
        return self._calls.result(call_id, message_id, content, owner, metadata)

    @property
    def pending_calls(self) -> list[str]:
        """The calls that this run announced and nobody answered, in order."""
        return self._calls.pending

    @_while_live
    def settle_calls(
        self, live: Sequence[str], metadata: Callable[[str], Metadata | None] = lambda status: None
    ) -> list[BaseEvent]:
        """At the run's end: only these pending calls can still be answered. The others are answered as ``dropped`` or,
        if their tool ran, as ``left``; `metadata` is the metadata of such a result."""
        return self._calls.settle(live, metadata)

    # ------------------------------------------------------------------ steps, spans, subagents

    @_while_live
    def start_step(
        self, step: str, name: str, *, owner: str | None = None, metadata: Metadata | None = None
    ) -> list[BaseEvent]:
        """Open a step under a name that no open step has (a second one gets ``#2``).

        `step` identifies this node run.
        """
        return self._steps.start(step, name, owner, metadata)

    def finish_step(self, step: str) -> list[BaseEvent]:
        """Close a step, if it is open."""
        return self._steps.finish(step)

    @_while_live
    def open_span(self, span: str, title: str, *, owner: str | None = None) -> list[BaseEvent]:
        """Open a titled reasoning span around the work of a named chain."""
        return self._spans.open(span, title, owner)

    def close_span(self, span: str) -> list[BaseEvent]:
        """Close a titled span, if it is open."""
        return self._spans.close(span)

    @_while_live
    def start_subagent(
        self, subagent: str, name: str, *, parent: str | None = None, call_id: str | None = None
    ) -> list[BaseEvent]:
        """Announce an invocation, before any event is tagged with it. `call_id`: the tool call that spawned it."""
        call = call_id if self.calls.is_announced(call_id) else None
        return self._subagents.start(subagent, name, parent=parent, call_id=call, message_id=self._calls.parent(call))

    def end_subagent(
        self, subagent: str, *, error: str | None = None, suspended: Sequence[str] | None = None
    ) -> list[BaseEvent]:
        """Close an invocation and all that it has open: failed with `error`, suspended on these interrupts, or done."""
        return self._subagents.end(subagent, error=error, suspended=suspended)

    # ------------------------------------------------------------------ state, messages, application events

    @_while_live
    def state_snapshot(self, state: Any) -> list[BaseEvent]:
        """The whole shared state, as JSON data."""
        return [StateSnapshotEvent(snapshot=state)]

    @_while_live
    def state_delta(self, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        """RFC 6902 operations against what was last sent."""
        if not operations:
            return []
        return [StateDeltaEvent(delta=operations)]  # type: ignore[arg-type]

    @_while_live
    def messages_snapshot(
        self, messages: Sequence[Message], *, first: Sequence[Message] | None = None
    ) -> list[BaseEvent]:
        """The complete conversation. Dropped while a message or call is open: its rest would be lost (AG-UI 1.0,
        messages). `first`: a part of it, for a snapshot that takes away what must move; results come before both."""
        if not self.quiet:
            return []
        unique = list(
            {own_id: message for message in messages if (own_id := message.id) and isinstance(own_id, str)}.values()
        )
        events = [*self._spans.make_way(unique), *self._calls.restate(unique)]
        self._ids.restate(unique)
        self._lanes.restate(unique)
        if first is not None:
            kept = {message.id for message in first}
            events += self._activities.snapshot([m for m in unique if m.id in kept], declared=self.declared)
        return [*events, *self._activities.snapshot(unique, declared=self.declared)]

    def custom(
        self, name: str, value: Any, *, owner: str | None = None, metadata: Metadata | None = None
    ) -> list[BaseEvent]:
        """An application's event; `value` is JSON data."""
        if self.ended:  # here, since an application may emit thousands: the decorator costs as much as the rest
            return []
        owner = usable(owner)
        if type(name) is str:  # nothing else can be wrong
            event = _custom(name, value, owner, metadata)
        else:
            event = CustomEvent(name=name, value=value, subagent_run_id=owner, metadata=metadata)
        return [event] if owner is None else [*self._subagents.introduce(owner), event]

    @_while_live
    def activity(
        self,
        message_id: str,
        activity_type: str,
        content: Mapping[str, Any],
        *,
        owner: str | None = None,
        metadata: Metadata | None = None,
    ) -> list[BaseEvent]:
        """Make or replace an activity. Dropped if its id is that of another kind of message."""
        return self._activities.put(message_id, activity_type, content, owner, metadata)

    @_while_live
    def activity_delta(self, message_id: str, activity_type: str, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        """Patch the content of an activity that was sent before."""
        return self._activities.patch(message_id, activity_type, operations)
