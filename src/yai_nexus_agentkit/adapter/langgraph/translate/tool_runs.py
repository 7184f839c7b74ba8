"""Pure. Tool runs and results: which tool run executes which call, and what answers the call.

Calls are recorded in `RunLifecycle.calls`. A result is read where it is final: in what the tool returns, or, if the
node around the tool may still rewrite it, in what the node writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent, ToolCallResultEvent
from ag_ui.core import ToolMessage as ShownResult
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from yai_nexus_agentkit.adapter.langgraph.messages.content import given_id, model_calls
from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, result_content, to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import metadata
from yai_nexus_agentkit.adapter.langgraph.messages.written import (
    is_single_call,
    last_results,
    messages_given,
    tool_messages,
)
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import ClientView
from yai_nexus_agentkit.adapter.langgraph.translate.holding import Holding
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.orchestration.approvals import APPROVAL
from yai_nexus_agentkit.protocol.calls import Call
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["ToolRuns"]

_NOTHING: Any = object()


@dataclass(slots=True)
class _Work:
    """A tool run and the call that it executes."""

    run: NativeRun
    call: Call
    by_hand: bool = False
    """A node runs the tool with plain arguments, and no model made this call: the tool's return value is its result."""
    borrowed: bool = False
    """The same, but for a call of a model: a message of the node is its result, or else the return value."""
    messages: Iterable[ToolMessage] = ()
    value: Any = _NOTHING
    """The tool's return value, while the node around it may still write another result."""


class ToolRuns:
    """The tool runs of one run of the agent."""

    def __init__(
        self,
        life: RunLifecycle,
        view: ClientView,
        notes: RunNotes,
        holding: Holding | None = None,
        *,
        answers: Any = None,
    ) -> None:
        """`answers`: the ``Command`` with the user's answers, in a run that goes on with them."""
        self._life, self._view, self._notes, self._holding = life, view, notes, holding
        self._given = list(_mappings(answers.resume)) if isinstance(answers, Command) else []
        """Everything in the answers that may be arguments: users edit them."""
        self._calls = life.calls
        self._works: dict[str, _Work] = {}
        """By tool run, until that ends."""
        self._hidden_in: tuple[Any, list[Call]] = (None, [])
        """The thread's messages as they were last, and the calls there of models that the client did not see."""
        self._expected: list[tuple[ToolMessage, NativeRun]] = []
        """Results that nodes wrote as dicts or tuples, without the ids under which they are stored."""
        self._held: dict[str, dict[str, _Work]] = {}
        """Ended tool runs whose results wait for the end of their node, by node run and call."""

    def call_meant(self, raw: str, run: NativeRun, name: str | None = None) -> Call | None:
        """The call that `raw` means at this place of the graph."""
        held, node = self._held.get(run.id), run.node
        place, executing = node.id if node is not None else "", next(iter(held.values())).run if held else run
        if (own := self._calls.newest(raw, run.scope, executing.id, place)) is not None:
            return own
        hosts = [self._works[a.id].call.id for a in run.ancestors() if a.id in self._works]
        return self._calls.meant(raw, run.scopes, name=name or "", hosts=hosts)

    def call_of(self, run: NativeRun | None) -> str | None:
        """Id on the wire of the call that a tool run executes."""
        work = self._works.get(run.id) if run is not None else None
        return work.call.id if work is not None else None

    def askable(self, place: NativeRun) -> list[Call]:
        """The open calls that a question of this graph may be about: its own first, then those around it."""
        order: dict[str | None, int] = {scope: n for n, scope in enumerate(place.scopes)}
        return sorted(self._calls.open(), key=lambda call: order.get(call.scope, len(order)))

    # ------------------------------------------------------------------ tool runs

    def started(self, run: NativeRun, tool_input: Any) -> list[BaseEvent]:
        """A tool began. A call that the client does not have (made by hand, or by a hidden model) is announced with the
        tool's input."""
        raw = self._notes.calls.get(run.id)
        if raw is None and (run.silent or not self._notes.complete):
            return []
        call = self._open_call(run, tool_input) if raw is None else self._call_with(raw, run, tool_input)
        if run.silent and call is None:
            return []
        events: list[BaseEvent] = []
        work = _Work(run, call or self._by_hand(run, raw), by_hand=raw is None and call is None, borrowed=raw is None)
        if not run.silent and not work.call.announced:
            events = self._announce(run, work.call, tool_input)
        self._calls.runs(work.call, run.id)
        self._works[run.id] = work
        return events

    def _call_with(self, raw: str, run: NativeRun, tool_input: Any) -> Call | None:
        call = (meant := self.call_meant(raw, run, run.name)) and self._calls.with_args(meant, run.name, tool_input)
        if call is None or not call.announced:
            call = next((one for one in self._hidden() if one.raw == raw and not one.announced), call)
        return call

    def _open_call(self, run: NativeRun, tool_input: Any) -> Call | None:
        """The model's call that a tool run without call id executes: a node may run the tool with the arguments alone.

        An open one with the same arguments, or whose arguments the user edited: they stand in an answer. Any others are
        another call (to warm a cache, to compare), and its result does not answer the model's.
        """
        text = self._notes.texts.get(run.id)
        edited = text is None and tool_input in self._given
        other: Call | None = None
        for call in self._candidates():
            if call.name != run.name or not isinstance(call.args, Mapping):
                continue
            if call.args == tool_input if text is None else list(map(str, call.args.values())) == [text]:
                return call
            other = other or call
        return other if edited else None

    def _candidates(self) -> Iterator[Call]:
        yield from self._calls.idle()
        yield from (call for call in self._hidden() if call.run is None and not call.announced)

    def _hidden(self) -> list[Call]:
        """The calls of the thread's newest messages that the client does not have: a hidden model made them."""
        latest, found = self._hidden_in
        if latest is self._view.latest:
            return found
        found = []
        for message in self._view.latest[-8:]:
            if isinstance(message, AIMessage) and message.tool_calls and message.id:
                for raw, made in model_calls(message, message.id):
                    twin = self._calls.meant(raw, name=made.get("name") or "")  # a node may make the message again
                    if twin is None or twin.maker == message.id or twin.result is not None:
                        name, args = made.get("name") or "", made.get("args")
                        found.append(self._calls.made(message.id, raw, given=given_id(made), name=name, args=args))
        self._hidden_in = self._view.latest, found
        return found

    def _by_hand(self, run: NativeRun, raw: str | None) -> Call:
        """A new call, which no message made."""
        parent = f"{run.id}-message"
        self._view.sent(parent, run)
        return self._calls.made(parent, raw or f"call-{run.id}", scope=run.scope, name=run.name)

    def _announce(self, run: NativeRun, call: Call, tool_input: Any) -> list[BaseEvent]:
        lane = f"tool:{run.id}"
        self._life.lane(lane, owner=run.owner, within=tuple(a.id for a in run.ancestors() if a.span))
        return [
            *self._life.tool_call(lane, call.id, run.name, call.maker),
            *self._life.args(call.id, json_text(tool_input if tool_input is not None else {})),
            *self._life.end_lane(lane),
        ]

    def ended(self, run: NativeRun, output: Any, tool_input: Any) -> list[BaseEvent]:
        """A tool returned. Its messages are results, at once or when its node returns."""
        work, node, messages = self._works.pop(run.id, None), run.node, tool_messages(output)
        if run.silent:
            return []
        if work is None and not messages:  # of a recording, which does not say which tool run executes which call
            work = _Work(run, self._by_hand(run, None), by_hand=True)
            return [*self._announce(run, work.call, tool_input), *self._give_value(work, output)]
        if work is None or not work.borrowed:
            if work is not None and node is not None and is_single_call(node.given):
                self._hold(node, work, messages=messages)
                return []
            return [event for message in messages for event in self.result(message, run)]
        if work.by_hand and not messages:
            return self._give_value(work, output)
        if node is not None and not messages:
            self._hold(node, work, value=output)
        return [event for message in messages for event in self.result(message, run)] if work.by_hand else []

    def _hold(
        self, node: NativeRun, work: _Work, *, messages: Iterable[ToolMessage] = (), value: Any = _NOTHING
    ) -> None:
        """Middleware may run a tool several times for one call: the last time counts."""
        work.messages, work.value = messages, value
        held = self._held.setdefault(node.id, {})
        held.pop(work.call.id, None)
        held[work.call.id] = work

    def failed(self, run: NativeRun, error: Any) -> list[BaseEvent]:
        """A tool raised. The error is the result of a call made by hand; others get the message that the graph stores,
        if it goes on."""
        work = self._works.pop(run.id, None)
        if work is None:
            return []
        self._calls.failed(work.call)
        return self._give_value(work, f"Error: {error!r}", failed=True) if work.by_hand else []

    def node_ended(self, node: NativeRun) -> list[BaseEvent]:
        """The node returned, and what it wrote was reported. Calls that it did not answer get what their tools
        returned."""
        held = self._held.pop(node.id, None)
        if held is None:
            return []
        events: list[BaseEvent] = []
        expected = {message.tool_call_id for message, run in self._expected if run is node}
        for work in held.values():
            events += [event for message in work.messages for event in self.result(message, node)]
            if work.value is not _NOTHING and work.call.raw not in expected:
                events += self._give_value(work, work.value)
        return events

    def node_left(self, node: NativeRun) -> list[BaseEvent]:
        """The node will not return. The messages of its tools are results as they are."""
        held = self._held.pop(node.id, {})
        return [event for work in held.values() for message in work.messages for event in self.result(message, node)]

    # ------------------------------------------------------------------ results

    def expect(self, messages: Sequence[ToolMessage], node: NativeRun) -> None:
        """The node wrote these results as dicts or tuples. What they become is seen in the next chunk of the root, or
        in the input of the next node of the same graph."""
        self._expected += [(message, node) for message in messages]

    def arrived(self, node: NativeRun) -> list[BaseEvent]:
        """A node begins: its input may have the results that are expected."""
        if not self._expected:
            return []
        writers = {m.tool_call_id: run for m, run in self._expected if run.scope == node.scope and run is not node}
        found = last_results(messages_given(node.given)) if writers else ()
        return [e for message in found if message.tool_call_id in writers for e in self._arrive(message, writers)]

    def _arrive(self, message: ToolMessage, writers: Mapping[str, NativeRun]) -> list[BaseEvent]:
        writer = writers[message.tool_call_id]
        self._expected = [
            (m, run) for m, run in self._expected if run is not writer or m.tool_call_id != message.tool_call_id
        ]
        return self.result(message, writer)

    def read(self, model_input: Any, run: NativeRun) -> list[BaseEvent]:
        """A model of a functional graph reads results. A tool may have run as a plain function, and no thread shows
        them."""
        given = model_input.get("messages") if isinstance(model_input, Mapping) else None
        found = last_results(given[0]) if given and isinstance(given[0], list | tuple) else ()
        return [event for message in found for event in self.result(message, run)]

    def expected(self) -> list[BaseEvent]:
        """The run ends: the expected results that were not seen since, under ids of their own."""
        events: list[BaseEvent] = []
        for number, (message, node) in enumerate(self._expected):
            message.id = message.id or f"tool-{node.id}-{number}"
            events += self.result(message, node)
        return events

    def result(self, message: ToolMessage, run: NativeRun) -> list[BaseEvent]:
        """``TOOL_CALL_RESULT`` for a tool message, unless its call is unknown or has one, or the message is of old: a
        node or tool may write the history again, and call ids recur."""
        if self._view.is_sent(message.id or "") or self._view.holds_result(message.id or ""):
            return []
        if self._holding is not None:
            return self._holding.result(message, run, lambda held: self._result(held, run))
        return self._result(message, run)

    def _result(self, message: ToolMessage, run: NativeRun) -> list[BaseEvent]:
        call = self.call_meant(message.tool_call_id, run, message.name)
        if call is None or not call.announced or call.result is not None:
            return []
        return [] if _was_given(run, message) else self._answer(call, message, run)

    def answer(self, message: ToolMessage, run: NativeRun) -> list[BaseEvent]:
        """``TOOL_CALL_RESULT`` for a tool message that is new."""
        call = self.call_meant(message.tool_call_id, run, message.name)
        return self._answer(call, message, run) if call is not None else []

    def _answer(self, call: Call, message: ToolMessage, run: NativeRun) -> list[BaseEvent]:
        if not is_shown(message):
            return []
        message_id = message.id or f"tool-{call.run or f'{run.id}-{call.raw}'}"
        content = result_content(message, declared=self._life.declared)
        events = self._life.result(call.id, message_id, content, owner=run.owner, metadata=_facts(message))
        self._sent(events, message_id, message, run)
        if events and message.status == "error":
            self._view.drifted("a result's event has no field for an error, the message has (AG-UI 1.0 §6)")
        if run.owner is not None:
            [shown] = to_agui([message], declared=self._life.declared)
            patch = {"id": message_id, "tool_call_id": call.id, "subagent_run_id": run.owner}
            self._view.add_foreign([shown.model_copy(update=patch)])
        return events

    def _give_value(self, work: _Work, value: Any, *, failed: bool = False) -> list[BaseEvent]:
        """Answer a call with what its tool returned."""
        if self._holding is None:
            return self._send_value(work, value, failed)
        held = ToolMessage("", tool_call_id=work.call.raw, id=f"tool-{work.run.id}")
        return self._holding.result(held, work.run, lambda _: self._send_value(work, value, failed))

    def _send_value(self, work: _Work, value: Any, failed: bool) -> list[BaseEvent]:
        run, message_id = work.run, f"tool-{work.run.id}"
        text = clean_text(value if isinstance(value, str) else json_text(value))
        facts = metadata({"status": "error"}) if failed else None
        events = self._life.result(work.call.id, message_id, text, owner=run.owner, metadata=facts)
        self._sent(events, message_id, None, run)
        return events

    def _sent(self, events: list[BaseEvent], wanted: str, message: BaseMessage | None, run: NativeRun) -> None:
        for event in events:
            if isinstance(event, ToolCallResultEvent):
                self._view.sent(wanted, run, message)
                if event.message_id != wanted:
                    self._view.drifted("the id of a result was taken")

    # ------------------------------------------------------------------ the end of the run

    def settle(self, *, stored: bool) -> list[BaseEvent]:
        """The run ends. Of the calls that nobody answered, a client can still answer those that the thread holds, or
        (`stored` is False: there is none) all but those of models that failed."""
        pending = self._life.pending_calls
        if not pending:
            return []
        if stored:
            return self._settled(list(self.stored(pending).values()))
        made = [call for wire in pending if (call := self._calls.get(wire)) is not None]
        return self._settled([call.id for call in made if not self._view.is_lost(call.maker)])

    def stored(self, calls: Iterable[str]) -> dict[str, str]:
        """Those of the calls that the thread holds, and the names it gives them: by the message that made each, or by
        one that a node made again with the same call. Takes time with the thread's length."""
        thread = self._view.thread_calls()
        own = {held.id for held in thread if held.scope is not None}  # others are subagents', which only clients hold
        same = {call.id: held.id for call in self._calls if (held := thread.of(call.maker, call.raw)) is not None}
        same = {wire: name for wire, name in same.items() if name in own}
        rebuilt = own.difference(same.values())
        return {wire: same.get(wire, wire) for wire in calls if wire in same or wire in rebuilt}

    def are_renamed(self) -> bool:
        """Calls whose ids recur were numbered as they were streamed, and the thread has them in another order."""
        if not self._calls.renumbered:
            return False
        thread = self._view.thread_calls()
        return any((call := self._calls.of(held.maker, held.raw)) and call.id != held.id for held in thread)

    def _settled(self, live: list[str]) -> list[BaseEvent]:
        events = self._life.settle_calls(live, lambda status: metadata({"status": status}))
        if events:
            self._view.drifted("no thread has the results of these calls")
        for event in events:
            if isinstance(event, ToolCallResultEvent) and event.subagent_run_id is not None:
                self._view.add_foreign([ShownResult(**event.model_dump(exclude={"type"}, exclude_none=True))])
        return events


def _was_given(run: NativeRun, message: ToolMessage) -> bool:
    """The node around this run began with the message, which a subgraph may keep apart from the thread."""
    message_id, node = message.id, run.node
    if message_id is None or node is None:
        return False
    return message_id in [getattr(m, "id", None) for m in messages_given(node.given)]


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings in JSON data, itself included."""
    if isinstance(value, Mapping):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for item in inner:
        yield from _mappings(item)


def _facts(message: ToolMessage) -> dict[str, Any] | None:
    """Metadata for what the event has no field for: a failure, and a person's decision about the call."""
    facts = {"status": "error"} if message.status == "error" else {}
    if decided := message.additional_kwargs.get(APPROVAL):
        facts["approval"] = str(decided)
    return metadata(facts) if facts else None
