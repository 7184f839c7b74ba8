"""Pure. Tool calls and their results: announced from the model's output, answered from what the graph stores.

A call id is the model's and recurs (``call_0`` of many servers; parallel subagents), so calls are looked up by the
graph run they belong to first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent, ToolCallResultEvent
from ag_ui.core import ToolMessage as ShownResult
from langchain_core.messages import BaseMessage, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.messages.convert import result_content, to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.ids import call_ids_of, calls_made
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.adapter.langgraph.native.written import tool_messages
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import Transcript
from yai_nexus_agentkit.adapter.native_run import NativeRun, RunKind
from yai_nexus_agentkit.adapter.shared.call_ids import CallIds
from yai_nexus_agentkit.orchestration.approvals import APPROVAL
from yai_nexus_agentkit.orchestration.client_tools import is_pending
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["ToolCalls"]


@dataclass(slots=True)
class _Made:
    """A model's call."""

    wire: str
    name: str
    args: Any
    taken: bool = False
    """A tool run by hand executes it."""


class ToolCalls:
    """The calls of one run, and which tool runs and messages belong to them."""

    def __init__(self, life: RunLifecycle, transcript: Transcript, call_ids: CallIds, notes: RunNotes) -> None:
        self._life, self._transcript, self._call_ids, self._notes = life, transcript, call_ids, notes
        self._scoped: dict[tuple[str, str], str] = {}
        """Wire id by (graph run, the model's id); grows with the run's calls."""
        self._single: dict[str, list[ToolMessage]] = {}
        """Results held by node runs that execute one call: what the node returns is the last word (middleware may
        rewrite or retry)."""
        self._made: list[_Made] = []
        """Calls of this run's models, for tools that a node runs by hand."""
        self._borrowed: dict[str, _Made] = {}
        """Call that a tool run by hand executes, by tool run."""
        self._outputs: dict[str, list[tuple[_Made, NativeRun, Any]]] = {}
        """What such tools gave, by node: told when the node ends without a message that answers the call."""
        self._by_hand: dict[str, str] = {}
        """Wire id of calls that no model made, by tool run; dropped when the tool ends."""

    def announced(self, scope: str, calls: Mapping[str, str]) -> None:
        """A model of this graph run made these calls: the model's id → wire id."""
        for raw, wire in calls.items():
            self._scoped[scope, raw] = wire

    def made(self, scope: str, message: BaseMessage | None) -> None:
        """A model of this graph run made the calls of this message."""
        for call in calls_made(message):
            if call["id"]:
                self._made.append(_Made(self.wire(scope, call["id"]), call["name"], call["args"]))

    def wire(self, scope: str, raw: str) -> str:
        """The id on the wire of a call known by the model's id."""
        return self._scoped.get((scope, raw)) or self._call_ids.latest(raw)

    def call_of(self, run: NativeRun) -> str | None:
        """The wire id of the call that a tool run executes."""
        raw = self._notes.tool_call_id(run.id)
        return self._by_hand.get(run.id) if raw is None else self.wire(run.scope, raw)

    # ------------------------------------------------------------------ tool runs

    def execute_single(self, node: NativeRun) -> None:
        """This node run executes one call and nothing else."""
        self._single[node.id] = []

    def started(self, run: NativeRun, tool_input: Any) -> list[BaseEvent]:
        """A tool began. A call that the client has not seen (made by hand, or by a hidden model) is announced with the
        tool's input."""
        raw = self._notes.tool_call_id(run.id)
        if run.silent or (raw is None and not self._notes.complete):
            return []
        if raw is not None and self._life.knows_call(self.wire(run.scope, raw)):
            return []
        if raw is None and (made := self._open_call(run, tool_input)) is not None:
            made.taken = True
            self._borrowed[run.id] = made
            return []
        return self._announce(run, raw, tool_input)

    def _open_call(self, run: NativeRun, tool_input: Any) -> _Made | None:
        """The model's call that a tool run without call id executes: a node may run the tool with the arguments alone.

        An open one with the same arguments; the thread's last message may hold it, too. Other arguments are another
        call (to warm a cache, to compare), and what comes of it is no answer to the model's.
        """
        if not self._made:
            self._seed()
        text = self._notes.tool_text(run.id)
        for made in self._made:
            if made.name != run.name or made.taken or self._life.is_answered(made.wire):
                continue
            if made.args == tool_input if text is None else list(map(str, made.args.values())) == [text]:
                return made
        return None

    def _seed(self) -> None:
        for message in reversed(self._transcript.latest[-8:]):
            if calls_made(message):
                self.made("", message)
                return

    def ended(self, run: NativeRun, output: Any, tool_input: Any) -> list[BaseEvent]:
        """A tool returned. Its messages are results, at once or when its node returns."""
        if run.silent:
            self._by_hand.pop(run.id, None)
            return []
        if (made := self._borrowed.pop(run.id, None)) is not None:
            node = run.node
            if node is not None and not tool_messages(output):
                self._outputs.setdefault(node.id, []).append((made, run, output))
            return []
        if (messages := tool_messages(output)) or self._notes.tool_call_id(run.id) is not None:
            node = run.node
            if node is not None and node.id in self._single:
                self._single[node.id] = messages
                return []
            return [event for message in messages for event in self.result(message, run)]
        events = [] if run.id in self._by_hand else self._announce(run, None, tool_input)
        return [*events, *self._answer_by_hand(run, output if isinstance(output, str) else json_text(output))]

    def failed(self, run: NativeRun, error: Any) -> list[BaseEvent]:
        """A tool raised. A call made by hand is answered with the error; others by the message the graph stores, if it
        goes on."""
        if (made := self._borrowed.pop(run.id, None)) is not None:
            made.taken = False  # the node may try again
        if run.id not in self._by_hand:
            return []
        return self._answer_by_hand(run, f"Error: {error!r}", failed=True)

    def left_unanswered(self, node: NativeRun) -> list[BaseEvent]:
        """The node ended and what it wrote was told, which is the last word; it kept what some tools gave to itself:
        their calls are answered with it."""
        events = [event for message in self._single.pop(node.id, ()) for event in self.result(message, node)]
        for made, run, output in self._outputs.pop(node.id, ()):
            text = output if isinstance(output, str) else json_text(output)
            message_id = f"tool-{run.id}"
            told = self._life.result(made.wire, message_id, clean_text(text), owner=run.owner)
            self._told(told, message_id, None, run)
            events += told
        return events

    def abandoned(self, node: NativeRun) -> list[BaseEvent]:
        """The node will not return; results it held are told as they were."""
        return [event for message in self._single.pop(node.id, ()) for event in self.result(message, node)]

    # ------------------------------------------------------------------ results

    def result(self, message: ToolMessage, run: NativeRun) -> list[BaseEvent]:
        """``TOOL_CALL_RESULT`` for a tool message, unless its call is unknown or has one, or the message is of old: a
        node or tool may write the history again, and call ids recur."""
        wire = self.wire(run.scope, message.tool_call_id)
        if self._life.is_answered(wire) or not self._life.knows_call(wire):
            return []
        if self._transcript.is_told(message.id or "") or self._transcript.holds_result(message.id or ""):
            return []
        return [] if _was_given(run, message) else self.answer(message, run)

    def answer(self, message: ToolMessage, run: NativeRun) -> list[BaseEvent]:
        """``TOOL_CALL_RESULT`` for a tool message that is new."""
        if is_pending(message):
            return []
        wire = self.wire(run.scope, message.tool_call_id)
        message_id = message.id or f"tool-{run.id}"
        content = result_content(message, declared=self._life.declared)
        events = self._life.result(wire, message_id, content, owner=run.owner, metadata=_facts(message))
        self._told(events, message_id, message, run)
        if events and message.status == "error":
            self._transcript.in_sync = (
                False  # the event has no field for it; the message in a snapshot has (AG-UI 1.0 §6)
            )
        if run.owner is not None:
            [shown] = to_agui([message], declared=self._life.declared)
            patch = {"id": message_id, "tool_call_id": wire, "subagent_run_id": run.owner}
            self._transcript.add_foreign([shown.model_copy(update=patch)])
        return events

    def settle(self, *, stored: bool) -> list[BaseEvent]:
        """The run ends. Of the calls that nobody answered, a client can still answer those that the thread holds, or
        (`stored` is False: there is none) all but those of models that failed."""
        pending = self._life.pending_calls
        if not pending:
            return []
        if stored:
            return self._settled(list(self.stored(pending).values()))
        makers = {wire: message_id for (message_id, _), wire in self._call_ids.known().items()}
        return self._settled([wire for wire in pending if not self._transcript.is_lost(makers.get(wire, ""))])

    def stored(self, calls: Iterable[str]) -> dict[str, str]:
        """Those of the calls that the thread holds, and the names it gives them: by the message that made each, or by
        one that a node made anew with the same call. Takes time with the thread's length."""
        told = {wire: key for key, wire in self._call_ids.known().items()}
        names = call_ids_of(self._transcript.latest).known()
        rebuilt = set(names.values()) - {names[key] for key in told.values() if key in names}
        found = {wire: names.get(told.get(wire, ("", "")), wire if wire in rebuilt else "") for wire in calls}
        return {wire: name for wire, name in found.items() if name}

    def _settled(self, live: list[str]) -> list[BaseEvent]:
        events = self._life.settle_calls(live)
        if events:
            self._transcript.in_sync = False  # no thread has these results: the snapshot withdraws them
        for event in events:
            if isinstance(event, ToolCallResultEvent) and event.subagent_run_id is not None:
                self._transcript.add_foreign([ShownResult(**event.model_dump(exclude={"type"}, exclude_none=True))])
        return events

    def _told(self, events: list[BaseEvent], wanted: str, message: BaseMessage | None, run: NativeRun) -> None:
        for event in events:
            if isinstance(event, ToolCallResultEvent):
                self._transcript.tell(wanted, run, message)
                if event.message_id != wanted:
                    self._transcript.in_sync = False  # the id was taken: the snapshot puts it right

    def _announce(self, run: NativeRun, raw: str | None, tool_input: Any) -> list[BaseEvent]:
        lane = f"tool:{run.id}"
        wire = self.wire(run.scope, raw) if raw is not None else f"call-{run.id}"
        parent = self._holder(raw)
        if parent is None:
            parent = f"{run.id}-message"
            self._transcript.tell(parent, run)
        if raw is None:
            self._by_hand[run.id] = wire
        else:
            self._scoped[run.scope, raw] = wire
        self._life.lane(lane, owner=run.owner, within=tuple(a.id for a in run.ancestors() if a.span))
        return [
            *self._life.tool_call(lane, wire, run.name, parent),
            *self._life.args(wire, json_text(tool_input if tool_input is not None else {})),
            *self._life.end_lane(lane),
        ]

    def _holder(self, raw: str | None) -> str | None:
        """The id of the stored message that made the call, if the thread has it: a hidden model's."""
        if raw is None:
            return None
        for message in reversed(self._transcript.latest[-8:]):
            if any(call.get("id") == raw for call in calls_made(message)):
                return message.id
        return None

    def _answer_by_hand(self, run: NativeRun, text: str, *, failed: bool = False) -> list[BaseEvent]:
        wire = self._by_hand.pop(run.id)
        message_id = f"tool-{run.id}"
        metadata = {"langgraph": {"status": "error"}} if failed else None
        events = self._life.result(wire, message_id, clean_text(text), owner=run.owner, metadata=metadata)
        self._told(events, message_id, None, run)
        return events


def _was_given(run: NativeRun, message: ToolMessage) -> bool:
    """The node around this run began with the message, which a subgraph may keep apart from the thread."""
    given = run.node.given if run.node is not None else None
    found = given.get("messages") if isinstance(given, Mapping) else getattr(given, "messages", given)
    message_id = message.id
    if message_id is None or not isinstance(found, (list, tuple)):
        return False
    return any(getattr(m, "id", None) == message_id for m in found)


def _facts(message: ToolMessage) -> dict[str, Any] | None:
    """What the event has no field for: a failure, and what a person decided about the call."""
    facts = {"status": "error"} if message.status == "error" else {}
    if decided := message.additional_kwargs.get(APPROVAL):
        facts["approval"] = str(decided)
    return {"langgraph": facts} if facts else None


def hosting_call(run: NativeRun) -> NativeRun | None:
    """The tool run that hosts a subagent."""
    host = run.host
    return host if host is not None and host.kind is RunKind.TOOL else None
