"""Pure. LangGraph's native events as AG-UI events: a state machine without I/O, one per run.

It classifies each event by its run (`RunTree`), and hands what happened to the part that knows: model calls to lanes,
tool runs to `ToolCalls`, node runs to `Steps`, root chunks to the state and the transcript. `RunLifecycle` decides what
must close before what may open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ag_ui.core import BaseEvent, Message, TokenUsage, aggregate_token_usage, token_usage_from_langchain_metadata
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp

from yai_nexus_agentkit.adapter.langgraph.calls import ToolCalls, hosting_call
from yai_nexus_agentkit.adapter.langgraph.channels import GraphShape, SharedState
from yai_nexus_agentkit.adapter.langgraph.classify import NativeRun, RunKind, RunTree, is_node
from yai_nexus_agentkit.adapter.langgraph.emitted import Emitted
from yai_nexus_agentkit.adapter.langgraph.ending import Ending
from yai_nexus_agentkit.adapter.langgraph.lanes import ModelLane
from yai_nexus_agentkit.adapter.langgraph.notes import RunNotes
from yai_nexus_agentkit.adapter.langgraph.outputs import is_single_call, written_messages
from yai_nexus_agentkit.adapter.langgraph.plan import Plan
from yai_nexus_agentkit.adapter.langgraph.predict import Predictor
from yai_nexus_agentkit.adapter.langgraph.steps import Steps
from yai_nexus_agentkit.adapter.langgraph.transcript import Judgement, Transcript
from yai_nexus_agentkit.adapter.langgraph_events import LangGraphEventType as Kind
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.json_safe import json_safe
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["LangGraphTranslator"]

_logger = logging.getLogger(__name__)
_unknown_kinds: set[str] = set()
"""Native event kinds that were logged as unknown, in this process."""

Handler = Callable[["LangGraphTranslator", Mapping[str, Any]], list[BaseEvent]]


class LangGraphTranslator:
    """One run of one graph. `feed` takes v2 events, from ``astream_events`` or from the callback source."""

    def __init__(
        self,
        plan: Plan,
        life: RunLifecycle,
        notes: RunNotes,
        *,
        options: AdapterOptions,
        shape: GraphShape | None,
        redact_state: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        redact_messages: Callable[[list[Any]], list[Any]] | None = None,
    ) -> None:
        self._plan, self._life, self._notes, self._options, self._shape = plan, life, notes, options, shape
        self._redact_messages = redact_messages
        self._tree = RunTree(options)
        self._lanes: dict[str, ModelLane] = {}
        self._transcript = Transcript(
            declared=life.declared,
            reasoning=options.reasoning == "standard",
            call_ids=plan.call_ids,
            foreign=plan.foreign,
            nested=plan.nested,
            held=plan.held,
            in_sync=plan.in_sync,
        )
        self._calls = ToolCalls(life, self._transcript, plan.call_ids, notes)
        self._state = SharedState(shape or GraphShape.none(), life, redact_state)
        self._steps = Steps(life, options.step_name)
        self._emitted = Emitted(life, self._state, everything=options.custom_events == "all")
        self._predictor = Predictor(options.predict_state, life, self._state, announce=options.predict_state_event)
        self._usage: list[TokenUsage] = []
        self.ending = Ending(plan, self._tree, self._calls)
        self._output: Any = None
        """The root run's return value."""
        self._snapshot_due = False
        """A node changed messages in a way that only a snapshot can tell; it follows at the end of the step."""
        self._raw_written = False
        """A node wrote messages as tuples, dicts or strings: what they became shows in the next ``values`` chunk."""

    # ------------------------------------------------------------------ the run

    def start(self) -> list[BaseEvent]:
        """``RUN_STARTED``. State and messages follow with the graph's first ``values`` chunk."""
        return self._life.start()

    def begin_pass(self) -> None:
        """The graph runs once more in this run, with messages that the client holds already."""
        self._tree.root = None
        self._snapshot_due = (
            True  # the client shows these messages before what was said meanwhile; the thread, after it
        )

    def feed(self, native: Mapping[str, Any], /) -> list[BaseEvent]:
        """The AG-UI events that tell one native event."""
        kind = native["event"]
        handler = _HANDLERS.get(kind)
        if handler is None:
            if kind not in _unknown_kinds:
                _unknown_kinds.add(kind)
                _logger.warning("skipping native events of the unknown kind %r", kind)
            return []
        events = handler(self, native)
        if events and self._options.raw_events:
            raw = json_safe({key: value for key, value in native.items() if key != "parent_ids"})
            for event in events:
                event.raw_event = raw
        return events

    def finish(self) -> list[BaseEvent]:
        """End the run: paused if the graph asked something, else done."""
        events = self._begin_idle() if self._plan.idle else []
        for run in self._tree.open():
            if run.kind is RunKind.NODE:
                events += self._calls.abandoned(run)
        for key in list(self._lanes):
            events += self._abandon_lane(key)
        interrupts = self.ending.interrupts(self._transcript.latest)
        if interrupts and not self._plan.resumable:
            message = (
                "the graph asked the user a question (interrupt), but it has no checkpointer to wait for the answer"
            )
            return [*events, *self.fail(message, Code.AGENT_ERROR)]
        events += self._steps.settle()
        if interrupts:
            events += self.ending.suspend_subagents(self._life, interrupts)
        events += self._life.close_all()
        events += self._unstreamed_output() if not interrupts else []
        events += self._state.finish()
        if (interrupts and not self._plan.idle) or self._options.final_state_snapshot:
            events += self._state.snapshot()
        events += self._final_messages(paused=bool(interrupts))
        if interrupts and self._options.interrupts != "outcome":
            for interrupt in interrupts:
                events += self._life.custom("on_interrupt", self.ending.value_of(interrupt))
        shown = interrupts if self._options.interrupts != "custom" else []
        return [*events, *self._life.finish(interrupts=shown, result=self._result(), usage=self._total_usage())]

    def fail(self, message: str, code: str, /) -> list[BaseEvent]:
        """End the run with ``RUN_ERROR``."""
        return [*self._stop(), *self._life.fail(message, code, usage=self._total_usage())]

    def cancel(self, message: str, /) -> list[BaseEvent]:
        """End the run as cancelled."""
        return [*self._stop(), *self._life.cancel(message, usage=self._total_usage())]

    def _stop(self) -> list[BaseEvent]:
        if self._life.ended:
            return []
        events = [*self._life.start(), *self._life.close_all()]
        return [*events, *(self._state.snapshot() if self._state.changed else [])]

    def _total_usage(self) -> list[TokenUsage]:
        return aggregate_token_usage(self._usage)

    def _result(self) -> Any:
        """The return value of a functional graph or plain runnable; a state graph's result is its state."""
        if self._output is None or (self._shape is not None and not self._shape.functional):
            return None
        return json_safe(self._output)

    # ------------------------------------------------------------------ chains: root, nodes, subgraphs, named spans

    def _enter(self, native: Mapping[str, Any], kind: RunKind) -> tuple[NativeRun, list[BaseEvent]]:
        """Note a run that starts. The chain around it learns from its first child what it is."""
        events: list[BaseEvent] = []
        around = self._tree.near(native) if self._tree.root is not None else None
        if around is not None and not around.settled:
            child = RunKind.NODE if kind is RunKind.CHAIN and is_node(native) else kind
            events = self._settle(around, child, str(native.get("name") or ""))
        return self._tree.start(native, kind), events

    def _settle(self, run: NativeRun, child: RunKind | None = None, name: str = "") -> list[BaseEvent]:
        title = self._tree.settle(run, child, name)
        if title is not None:
            run.span = True
            return self._life.open_span(run.id, title, owner=run.owner)
        if run.kind is RunKind.GRAPH and run.owner == run.id:
            tool = hosting_call(run)
            call = self._calls.call_of(tool) if tool is not None else None
            return self._life.start_subagent(
                run.id, run.name, parent=run.parent.owner if run.parent else None, call_id=call
            )
        return []

    def _chain_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run, events = self._enter(native, RunKind.CHAIN)
        if run.kind in (RunKind.NODE, RunKind.TASK):
            events += self._restart(run)
            if is_single_call(native["data"].get("input")):
                self._calls.execute_single(run)
            events += self._steps.start(run)
        return events

    def _node_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run, events = self._enter(native, RunKind.NODE)
        return [*events, *self._restart(run), *self._steps.start(run)]

    def _restart(self, run: NativeRun) -> list[BaseEvent]:
        """The same task runs again (a retry): its first attempt, which v2 leaves open, is over. So is, at the root,
        whatever an earlier step left open."""
        events: list[BaseEvent] = []
        step = run.metadata.get("langgraph_step")
        for other in self._tree.open():
            if other is run or other.kind is not run.kind or other.parent is not run.parent:
                continue
            if other.checkpoint_ns == run.checkpoint_ns or other.metadata.get("langgraph_step") != step:
                events += self._leave(other)
        if run.kind is RunKind.NODE and run.parent is self._tree.root:
            events += self._steps.settle()
        return events

    def _chain_end(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        if run is None:
            return []
        output = native["data"].get("output")
        if run is self._tree.root:
            self._output = output
            return []
        events = [] if run.settled else self._settle(run)
        if run.kind not in (RunKind.NODE, RunKind.TASK):
            return [*events, *self._leave(run)]
        wait = run.kind is RunKind.NODE and run.parent is self._tree.root
        if run.kind is RunKind.NODE:
            events += self._node_wrote(run, list(written_messages(output)), at_root=wait)
        return [*events, *self._leave(run, wait=wait)]

    def _chain_error(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        return self._leave(run) if run is not None and run is not self._tree.root else []

    def _leave(self, run: NativeRun, *, wait: bool = False) -> list[BaseEvent]:
        """A run ended, or was left: close what it and the runs inside it have open, innermost first."""
        events: list[BaseEvent] = []
        for inner in self._tree.end(run):
            if inner.kind is RunKind.MODEL:
                events += self._abandon_lane(inner.id)
            elif inner.kind in (RunKind.NODE, RunKind.TASK):
                events += self._calls.abandoned(inner)
                events += self._steps.end(inner, wait=wait and inner is run)
            elif inner.kind is RunKind.GRAPH and inner.owner == inner.id:
                failed = self._notes.error(inner.id) if inner is not run else None
                events += self._life.end_subagent(inner.id, error=failed)
            elif inner.span:
                events += self._life.close_span(inner.id)
        return events

    # ------------------------------------------------------------------ what nodes write

    def _node_wrote(self, run: NativeRun, written: Sequence[Any], *, at_root: bool) -> list[BaseEvent]:
        """Tell what a node's messages say beyond what was streamed: results, and answers that no model made."""
        events = self._calls.node_ended(run, list(written))
        if not at_root or run.silent:
            return events
        messages = [m for m in written if isinstance(m, BaseMessage) and m.id]
        for message in messages:
            if isinstance(message, AIMessage) and self._transcript.judge(message) is Judgement.NEW:
                events += self._tell_stored(message, run, messages)
        return events

    def _tell_stored(self, message: AIMessage, run: NativeRun, written: Sequence[BaseMessage]) -> list[BaseEvent]:
        """An answer of the graph that was not streamed (a constant, a cached node): stream it now, unless it replaces
        what was streamed or was kept silent on purpose; then a snapshot tells it."""
        if self._transcript.is_hidden(message.id or "") or self._transcript.orphans(run, written):
            return []
        source = NativeRun(f"stored:{message.id}", RunKind.MODEL, run.name, run, scope=run.scope, owner=run.owner)
        lane = ModelLane(source, self._life, self._plan.call_ids)
        events = lane.end(message)
        self._calls.announced(run.scope, lane.calls)
        self._transcript.tell(message.id or "", source, message)
        return self._predictor.watch(events) if self._predictor else events

    def _updates(self, namespace: Sequence[str], payload: Mapping[str, Any]) -> list[BaseEvent]:
        """An ``updates`` chunk. Only the root's says something about the state; a subgraph's fills gaps (cached
        results, questions)."""
        self.ending.asked(payload.get("__interrupt__"), namespace)
        cached = bool((payload.get("__metadata__") or {}).get("cached"))
        root = self._tree.root
        events: list[BaseEvent] = []
        for node, update in payload.items():
            if node in ("__interrupt__", "__metadata__"):
                continue
            written = list(written_messages(update))
            if namespace or root is None:
                continue
            if cached or written:
                run = NativeRun(f"node:{node}", RunKind.NODE, node, root, path=(node,), scope=root.scope)
                events += self._node_wrote(run, written, at_root=cached)
            self._note_written(update, written)
            events += self._steps.updated(node)
        return events

    def _note_written(self, update: Any, written: Sequence[Any]) -> None:
        for part in update if isinstance(update, list | tuple) else (update,):
            if isinstance(part, Mapping):
                self._state.wrote(part)
        if not written:
            return
        self._transcript.touched = True
        for message in written:
            if not isinstance(message, BaseMessage) or not message.id:
                self._raw_written = True
            elif self._transcript.judge(message) is not Judgement.KNOWN:
                self._snapshot_due = True

    def _values(self, payload: Any) -> list[BaseEvent]:
        """A root ``values`` chunk: the state after the input, then after each superstep."""
        shape = self._shape
        if shape is None:
            return []
        messages = shape.messages_of(payload)
        if isinstance(payload, Mapping):
            self.ending.asked(payload.get("__interrupt__"), ())
        if not self._transcript.began:
            return self._begin(payload, messages)
        if shape.messages:
            self._transcript.latest = messages
        events: list[BaseEvent] = []
        if self._raw_written:
            self._raw_written = False
            events += self._raw_tail(messages)
        events += [*self._steps.settle(), *self._state.step(payload)]
        if self._snapshot_due and self._life.quiet:
            self._snapshot_due = False
            events += self._messages_snapshot(self._still_running)
        return events

    def _raw_tail(self, messages: Sequence[BaseMessage]) -> list[BaseEvent]:
        """Messages that a node wrote as tuples, dicts or strings, now that the reducer made real ones of them."""
        fresh: list[BaseMessage] = []
        for message in reversed(messages):
            if self._transcript.judge(message) is not Judgement.NEW:
                break
            fresh.append(message)
        root = self._tree.root
        if root is None:
            return []
        events = self._node_wrote(root, fresh[::-1], at_root=True)
        if any(self._transcript.judge(m) is not Judgement.KNOWN for m in fresh):
            self._snapshot_due = True
        return events

    def _begin(self, values: Any, messages: Sequence[BaseMessage]) -> list[BaseEvent]:
        """The first look at the thread, with the request applied."""
        self._transcript.begin(messages)
        events = self._state.begin(values)
        root = self._tree.root or NativeRun("root", RunKind.ROOT, "", None)
        if self._plan.lacking and self._shape is not None and self._shape.messages:
            return [*events, *self._messages_snapshot(lambda run: False)]
        for message in self._plan.answers:
            events += self._calls.result(message, root)
        return events

    def _begin_idle(self) -> list[BaseEvent]:
        """The graph does not run: show what the thread holds."""
        if self._shape is None:
            return []
        self._transcript.begin(self._plan.idle_messages)
        self._transcript.in_sync = self._plan.in_sync and not self._plan.lacking
        return self._state.begin(self._plan.idle_values)

    # ------------------------------------------------------------------ snapshots

    def _still_running(self, run: NativeRun) -> bool:
        """What told this has not ended at the root: the thread will store it later."""
        return any(self._tree.get(a.id) is a and a.kind is RunKind.NODE for a in (run, *run.ancestors()))

    def _paused(self, run: NativeRun) -> bool:
        """What told this was stored by a subgraph that an interrupt left open."""
        node = run.node
        return (
            node is not None
            and self._tree.get(node.id) is None
            and any(a.kind is RunKind.GRAPH and self._tree.get(a.id) is a for a in run.ancestors())
        )

    def _final_messages(self, *, paused: bool) -> list[BaseEvent]:
        if self._shape is None or not self._shape.messages or not self._transcript.began:
            return []
        if paused:
            return self._messages_snapshot(self._paused)
        when = self._options.messages_snapshot
        # A run that had to send a snapshot ends with one: whoever keeps only the last of a stored run has it whole.
        stale = self._transcript.restated and self._transcript.any_told
        if when == "never" or (when == "auto" and not stale and not self._transcript.differs()):
            return []
        return self._messages_snapshot(lambda run: False)

    def _messages_snapshot(self, keep: Callable[[NativeRun], bool]) -> list[BaseEvent]:
        messages = self._transcript.snapshot(keep)
        first = self._transcript.prelude(messages)
        self._transcript.accept(messages, keep)
        events = self._life.messages_snapshot(self._redacted(first)) if first is not None else []
        return [*events, *self._life.messages_snapshot(self._redacted(messages))]

    def _redacted(self, messages: list[Message]) -> list[Message]:
        return messages if self._redact_messages is None else self._redact_messages(messages)

    def _unstreamed_output(self) -> list[BaseEvent]:
        """The answer of a runnable or functional graph that is no model's text: a string, or a message."""
        output = self._output
        if self._shape is not None and not self._shape.functional:
            return []
        if isinstance(output, str) and output and not self._transcript.any_told:
            output = AIMessage(output, id=f"{self._life.run_id}-output")
        if not isinstance(output, AIMessage) or not output.id or self._transcript.is_told(output.id):
            return []
        root = self._tree.root or NativeRun("root", RunKind.ROOT, "", None)
        return self._tell_stored(output, root, [output]) if not self._transcript.any_told else []

    # ------------------------------------------------------------------ models

    def _model_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run, events = self._enter(native, RunKind.MODEL)
        if self._notes.is_structured(run.id):
            run.silent = True
        if not run.silent:
            self._lanes[run.id] = ModelLane(run, self._life, self._plan.call_ids)
        return events

    def _model_stream(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        lane = self._lanes.get(native["run_id"])
        if lane is None:
            return []
        spoke = lane.spoke
        events = lane.stream(native["data"]["chunk"])
        if lane.spoke and not spoke:
            self._transcript.tell(lane.message_id, lane.run)
        if lane.calls:
            self._calls.announced(lane.run.scope, lane.calls)
        return self._predictor.watch(events) if self._predictor else events

    def _llm_stream(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        lane = self._lanes.get(native["run_id"])
        chunk = native["data"].get("chunk")
        text = chunk if isinstance(chunk, str) else getattr(chunk, "text", "")
        if lane is None or not text:
            return []
        self._transcript.tell(lane.message_id, lane.run)
        return lane.stream_text(text)

    def _model_end(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        output = native["data"].get("output")
        message = output if isinstance(output, BaseMessage) else None
        lane = self._lanes.pop(native["run_id"], None)
        if run is not None:
            self._count(run, message)
            self._tree.end(run)
        if lane is None:
            if message is not None and message.id:
                self._transcript.hide(message.id)
            return []
        if message is not None and not lane.spoke and self._transcript.holds(message.id or ""):
            return self._life.end_lane(lane.key)  # a cached answer under the id of an old message, which it replaces
        events = lane.end(message)
        if lane.spoke:
            faithful = message is not None and lane.told_all_of(message)
            self._transcript.tell(lane.message_id, lane.run, message if faithful else None)
        self._calls.announced(lane.run.scope, lane.calls)
        if lane.run.owner is not None and message is not None:
            self._transcript.add_foreign(lane.as_shown(message))
        return self._predictor.watch(events) if self._predictor else events

    def _model_error(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        return self._leave(run) if run is not None else []

    def _abandon_lane(self, key: str) -> list[BaseEvent]:
        """The model call will not end: it failed, or was cancelled."""
        lane = self._lanes.pop(key, None)
        return lane.end(None) if lane is not None else []

    def _count(self, run: NativeRun, message: BaseMessage | None) -> None:
        metadata = getattr(message, "usage_metadata", None)
        if not metadata:
            return
        model = (message.response_metadata or {}).get("model_name") if message is not None else None
        usage = token_usage_from_langchain_metadata(
            metadata, provider=run.metadata.get("ls_provider"), model=model or run.metadata.get("ls_model_name")
        )
        if usage is not None:
            self._usage.append(usage)

    # ------------------------------------------------------------------ tools, other runs, custom events

    def _tool_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run, events = self._enter(native, RunKind.TOOL)
        return [*events, *self._calls.started(run, native["data"].get("input"))]

    def _tool_end(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        if run is None:
            return []
        data = native["data"]
        events = self._leave(run)
        return [*events, *self._calls.ended(run, data.get("output"), data.get("input"))]

    def _tool_error(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        error = native["data"].get("error")
        if run is None or isinstance(error, GraphBubbleUp):
            return []  # a question, not a failure: the tool runs again when it is answered
        events = self._leave(run)
        return [*events, *self._calls.failed(run, error)]

    def _other_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        return self._enter(native, RunKind.OTHER)[1]

    def _other_end(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        return self._leave(run) if run is not None and run is not self._tree.root else []

    def _custom(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.near(native) if self._tree.root is not None else None
        events = self._settle(run) if run is not None and not run.settled else []
        return [*events, *self._emitted.dispatched(str(native.get("name")), native["data"], run)]

    def _chain_stream(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        root = self._tree.root
        if root is None or native["run_id"] != root.id or self._shape is None:
            return []
        chunk = native["data"].get("chunk")
        if not isinstance(chunk, tuple) or len(chunk) != 3:
            return []
        namespace, mode, payload = chunk
        if mode == "updates":
            return self._updates(namespace, payload)
        if mode == "custom":
            return self._emitted.written(payload, self._emitter(namespace))
        return [] if namespace else self._values(payload)

    def _emitter(self, namespace: Sequence[str]) -> NativeRun | None:
        """The graph run whose writer wrote; which of its nodes is not known."""
        wanted = "|".join(namespace)
        for run in self._tree.open():
            if run.kind is RunKind.GRAPH and run.checkpoint_ns == wanted:
                return run
        return None

    def _nothing(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        return []


_HANDLERS: Mapping[str, Handler] = {
    Kind.ON_CHAIN_START: LangGraphTranslator._chain_start,
    Kind.ON_CHAIN_STREAM: LangGraphTranslator._chain_stream,
    Kind.ON_CHAIN_END: LangGraphTranslator._chain_end,
    Kind.ON_CHAIN_ERROR: LangGraphTranslator._chain_error,
    Kind.ON_CHAT_MODEL_START: LangGraphTranslator._model_start,
    Kind.ON_CHAT_MODEL_STREAM: LangGraphTranslator._model_stream,
    Kind.ON_CHAT_MODEL_END: LangGraphTranslator._model_end,
    Kind.ON_LLM_START: LangGraphTranslator._model_start,
    Kind.ON_LLM_STREAM: LangGraphTranslator._llm_stream,
    Kind.ON_LLM_END: LangGraphTranslator._model_end,
    Kind.ON_LLM_ERROR: LangGraphTranslator._model_error,
    Kind.ON_TOOL_START: LangGraphTranslator._tool_start,
    Kind.ON_TOOL_STREAM: LangGraphTranslator._nothing,
    Kind.ON_TOOL_END: LangGraphTranslator._tool_end,
    Kind.ON_TOOL_ERROR: LangGraphTranslator._tool_error,
    **dict.fromkeys(
        (Kind.ON_RETRIEVER_START, Kind.ON_PROMPT_START, Kind.ON_PARSER_START), LangGraphTranslator._other_start
    ),
    **dict.fromkeys(
        (Kind.ON_RETRIEVER_END, Kind.ON_RETRIEVER_ERROR, Kind.ON_PROMPT_END, Kind.ON_PARSER_END),
        LangGraphTranslator._other_end,
    ),
    **dict.fromkeys(
        (Kind.ON_RETRIEVER_STREAM, Kind.ON_PROMPT_STREAM, Kind.ON_PARSER_STREAM), LangGraphTranslator._nothing
    ),
    Kind.ON_NODE_START: LangGraphTranslator._node_start,
    Kind.ON_NODE_END: LangGraphTranslator._chain_end,
    Kind.ON_CUSTOM_EVENT: LangGraphTranslator._custom,
}
