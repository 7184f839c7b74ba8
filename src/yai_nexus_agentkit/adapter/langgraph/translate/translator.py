"""LangGraph's native events as AG-UI events: a state machine without I/O, one per run.

Each event belongs to a native run (`RunTree`), and the kind of that run decides who handles it: `ModelCalls`,
`ToolRuns`, `NodeSteps`, or, for chunks of the root, `Conversation`. `RunLifecycle` decides what must close before what
may open.
"""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ag_ui.core import BaseEvent
from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp

from yai_nexus_agentkit.adapter.langgraph.messages.convert import client_form
from yai_nexus_agentkit.adapter.langgraph.middleware import Hold
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import RunTree, is_hook, is_hook_name, is_node
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.adapter.langgraph.request.plan import Idle, Plan, Restate, Resume, Run
from yai_nexus_agentkit.adapter.langgraph.shape import GraphShape
from yai_nexus_agentkit.adapter.langgraph.translate.client_view import ClientView
from yai_nexus_agentkit.adapter.langgraph.translate.conversation import Conversation
from yai_nexus_agentkit.adapter.langgraph.translate.ending import Ending
from yai_nexus_agentkit.adapter.langgraph.translate.holding import Done, Holding
from yai_nexus_agentkit.adapter.langgraph.translate.model_calls import ModelCalls
from yai_nexus_agentkit.adapter.langgraph.translate.node_steps import NodeSteps
from yai_nexus_agentkit.adapter.langgraph.translate.tool_runs import ToolRuns
from yai_nexus_agentkit.adapter.langgraph_events import LangGraphEventType as Kind
from yai_nexus_agentkit.adapter.native_run import NativeRun, RunKind
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.orchestration.envelope import ACTIVITY, TOOL_OUTPUT, is_envelope
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["LangGraphTranslator"]

_logger = logging.getLogger(__name__)
_WRITER = "langgraph.custom"
"""``CUSTOM.name`` of what a node wrote to LangGraph's stream writer, which knows no names."""
_unknown_kinds: set[str] = set()
"""Native event kinds that were logged as unknown, in this process."""

Handler = Callable[[Mapping[str, Any]], list[BaseEvent]]


class LangGraphTranslator:
    """One run of one graph. `feed` takes v2 events, from ``astream_events`` or from the callback source.

    `shape`: None for a plain runnable. `hold`: how answers wait for the middleware; None: they do not.
    """

    def __init__(
        self, plan: Plan, reports: Reports, notes: RunNotes, *, shape: GraphShape | None, hold: Hold | None = None
    ) -> None:
        self.reports = reports
        life, options = reports.life, reports.options
        self._plan, self._life, self._notes, self._options, self._shape = plan, life, notes, options, shape
        self._tree = RunTree(options, notes.inside, notes.named)
        form = client_form(options, declared=life.declared) | {"reasoning": options.reasoning == "standard"}
        self._view = ClientView(plan.known, life, form, shares=reports.shares_messages)
        self._hold = hold
        self._holding = holding = Holding(through=hold.through) if hold is not None else None
        answers = plan.input if isinstance(plan, Resume) else None
        self._calls = ToolRuns(life, self._view, notes, holding, answers=answers)
        self._steps = NodeSteps(life, options.step_name)
        self._models = ModelCalls(reports, self._view, notes, holding)
        self._conversation = Conversation(
            plan, reports, self._tree, self._view, self._calls, shape=shape, holding=holding
        )
        self.ending = Ending(plan, self._tree, self._calls)
        if isinstance(plan, Idle) and plan.unfinished:
            reports.unfinished = {"unfinished": True}
        self._output: Any = None
        """The root run's return value."""
        self._chunks: dict[str, Handler] = {  # no step between, for every token
            Kind.ON_CHAT_MODEL_STREAM.value: self._models.stream,
            Kind.ON_LLM_STREAM.value: self._models.stream_text,
        }

    # ------------------------------------------------------------------ the run

    def start(self) -> list[BaseEvent]:
        """Nothing, if a first ``values`` chunk of the graph will show state and messages; else both."""
        held = self._plan.unseen if isinstance(self._plan, Run) else self._plan.held
        return [] if held is None else self._conversation.begin_held(held)

    @property
    def held(self) -> Sequence[BaseMessage]:
        """The thread's messages, as the graph showed them last."""
        return self._view.latest

    def begin_pass(self) -> None:
        """The graph runs once more in this run, with messages that the client holds already."""
        if self._tree.root is not None:
            self._tree.end(self._tree.root)
        self._tree.root = None
        self._conversation.begin_pass()

    def feed(self, native: Mapping[str, Any], /) -> list[BaseEvent]:
        """The AG-UI events of one native event."""
        kind = native["event"]
        if (chunk := self._chunks.get(kind)) is not None:
            return chunk(native)
        handle = _HANDLERS.get(kind)
        return handle(self, native) if handle is not None else _skip(native)

    def raw(self, native: Mapping[str, Any], /) -> dict[str, Any]:
        """The event without the ids of the runs around it."""
        return {key: value for key, value in native.items() if key != "parent_ids"}

    def finish(self) -> list[BaseEvent]:
        """End the run: paused if the graph asked something, else done. Raises the CancelledError of an agent that
        cancelled itself, since the stream of its events ends as if all went well."""
        failed = self._notes.errors.get(self._tree.top.id)
        if isinstance(failed, CancelledError):
            raise failed
        events: list[BaseEvent] = []
        for run in self._tree.open():
            if run.kind is RunKind.NODE:
                events += self._calls.node_left(run)
        events += self._models.abandon_all()
        events += [*self._conversation.stored(), *self._calls.expected()]
        events += self._conversation.let_go(self._output, done=self._done() if self.ending.paused else None)
        interrupts = self.ending.interrupts(declared=self._life.declared)
        if interrupts and not self._plan.known.resumable:
            message = (
                "the graph asked the user a question, but it has no checkpointer to wait for the answer:"
                " compile(checkpointer=InMemorySaver())"
            )
            return [*events, *self.reports.fail(message, Code.AGENT_ERROR)]
        events += self._steps.settle()
        if interrupts:
            events += self.ending.suspend_subagents(self._life, interrupts)
        events += self._life.close_all()
        events += self._conversation.returned(self._output) if not interrupts else []
        events += self.reports.settle(paused=bool(interrupts) and not isinstance(self._plan, Restate))
        events += self._conversation.end(paused=bool(interrupts), when=self._options.messages_snapshot)
        if isinstance(self._plan, Idle) and self._plan.refused is not None:
            return [*events, *self.reports.fail(self.reports.error_text(self._plan.refused), self._plan.refused.code)]
        return [*events, *self.reports.end(interrupts, result=self._conversation.result(self._output))]

    def _done(self) -> Done:
        """Whether the agent is done with the messages of a graph, although it paused. It is not, if the hook that asks
        stands before others."""
        last = self._hold.is_last if self._hold is not None else bool
        asking = {run.parent for run in self._tree.open() if is_hook(run) and not last(run.name)}
        stopped = any(is_hook_name(place.node) for place in self.ending.breakpoints)
        return lambda graph: not stopped and (graph not in asking if graph is not None else not asking)

    # ------------------------------------------------------------------ chains: root, nodes, subgraphs, named spans

    def _enter(self, native: Mapping[str, Any], kind: RunKind) -> tuple[NativeRun, list[BaseEvent]]:
        """Enter a run that starts. Its kind may settle what the chain around it is."""
        events: list[BaseEvent] = []
        around = self._tree.parent(native) if self._tree.root is not None else None
        if around is not None and not around.settled:
            child = RunKind.NODE if kind is RunKind.CHAIN and is_node(native) else kind
            events = self._settle(around, child, native)
        return self._tree.start(native, kind, around), events

    def _settle(
        self, run: NativeRun, child: RunKind | None = None, native: Mapping[str, Any] | None = None
    ) -> list[BaseEvent]:
        title = self._tree.settle(run, child, native or {})
        if title is not None:
            run.span = True
            return self._life.open_span(run.id, title, owner=run.owner)
        tool = run.host
        if run.kind is not RunKind.GRAPH or run.owner != run.id or tool is None:
            return []
        name = tool.name if run.name == "LangGraph" else run.name
        return self._life.start_subagent(run.id, name, parent=tool.owner, call_id=self._calls.call_of(tool))

    def _chain_start(self, native: Mapping[str, Any], kind: RunKind = RunKind.CHAIN) -> list[BaseEvent]:
        run, events = self._enter(native, kind)
        if run.kind in (RunKind.NODE, RunKind.TASK):
            events += [*self._restart(run), *self._calls.arrived(run)]
            if self._holding:
                events += self._holding.node_began(run)
            events += self._steps.start(run)
        return events

    def _node_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        return self._chain_start(native, RunKind.NODE)

    def _restart(self, run: NativeRun) -> list[BaseEvent]:
        """End what v2 leaves open: the first attempt of a task that is retried, and the nodes of an earlier step."""
        events = [event for other in self._tree.replaced(run) for event in self._leave(other)]
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
            events += self._conversation.node_ended(run, output, at_root=wait)
        elif self._conversation.functional:
            events += self._conversation.task_ended(run, output)
        return [*events, *self._leave(run, wait=wait)]

    def _leave(self, run: NativeRun, *, wait: bool = False) -> list[BaseEvent]:
        """A run ended, or will not end: close what it and the runs inside it have open, innermost first."""
        events: list[BaseEvent] = []
        for inner in self._tree.end(run):
            if self._holding and inner.kind is RunKind.GRAPH:
                events += self._holding.graph_ended(inner, failed=inner.id in self._notes.errors)
            if inner.kind is RunKind.MODEL:
                events += self._models.abandon(inner.id)
            elif inner.kind in (RunKind.NODE, RunKind.TASK):
                events += self._calls.node_left(inner)
                events += self._steps.end(inner, wait=wait and inner is run)
            elif inner.kind is RunKind.GRAPH and inner.owner == inner.id:
                failed = self._notes.errors.get(inner.id) if inner is not run else None
                text = clean_text(self.reports.error_text(failed)) if failed is not None else None
                events += self._life.end_subagent(inner.id, error=text)
            elif inner.span:
                events += self._life.close_span(inner.id)
        return events

    # ------------------------------------------------------------------ models

    def _model_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run, events = self._enter(native, RunKind.MODEL)
        if self._conversation.functional and not run.silent:
            events += self._calls.read(native["data"].get("input"), run)
        return [*events, *self._models.start(run)]

    def _model_end(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        if run is self._tree.root:
            self._output = native["data"].get("output")
        elif run is not None:
            self._tree.end(run)
        return self._models.end(native["run_id"], run, native["data"].get("output"))

    # ------------------------------------------------------------------ tools, other runs, custom events

    def _tool_start(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run, events = self._enter(native, RunKind.TOOL)
        if self._holding:
            events += self._holding.tool_began(run, self._notes.calls.get(run.id))
        return [*events, *self._calls.started(run, native["data"].get("input"))]

    def _tool_end(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        if run is None:
            return []
        data = native["data"]
        events = self._leave(run)
        return [*events, *self._calls.ended(run, data.get("output"), data.get("input"))]

    def _tool_stream(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        return self._tool_output(native["data"].get("chunk"), self._tree.get(native["run_id"]))

    def _tool_output(self, delta: Any, run: NativeRun | None) -> list[BaseEvent]:
        """A piece of the output of the tool around this run, if a client sees its call."""
        tool = self._tool_around(run) if self._holding is None else None  # else the result has to wait, and its pieces
        call_id = self._calls.call_of(tool)
        return self.reports.emitted.tool_output(call_id, delta, tool) if tool is not None and call_id else []

    def _tool_around(self, run: NativeRun | None) -> NativeRun | None:
        while run is not None and run.kind is not RunKind.TOOL:
            run = run.parent
        return run if run is not None and not run.silent else None

    def _tool_error(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        run = self._tree.get(native["run_id"])
        error = native["data"].get("error")
        if run is None or isinstance(error, GraphBubbleUp):
            return []  # a question: the tool runs again when it is answered
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
        data = native["data"]
        kind = data.get("kind") if type(data) is dict else None
        if kind == TOOL_OUTPUT and is_envelope(data):
            return [*events, *self._tool_output(data["value"], run)]
        call = self._calls.call_of(self._tool_around(run)) if kind == ACTIVITY else None
        return events + self.reports.emitted.custom(str(native.get("name")), data, run, call)

    def _chain_stream(self, native: Mapping[str, Any]) -> list[BaseEvent]:
        root = self._tree.root
        if root is None or native["run_id"] != root.id or self._shape is None:
            return []
        chunk = native["data"].get("chunk")
        if not isinstance(chunk, tuple) or len(chunk) != 3:
            return []
        namespace, mode, payload = chunk
        if mode == "updates":
            self.ending.asked(payload.get("__interrupt__"), namespace)
            if namespace:
                return []
            events = self._conversation.updated(payload)
            return events if self._conversation.waits else [*events, *self._steps.updated(payload)]
        if mode == "custom":
            return self.reports.emitted.custom(_WRITER, payload, self._emitter(namespace))
        if namespace:
            self._view.stepped_inside(namespace, payload, self._tree.graph)
            return []
        if type(payload) is dict or isinstance(payload, Mapping):
            self.ending.asked(payload.get("__interrupt__"), ())
        events = self._step_over()
        if self._conversation.begins:
            return [*events, *self._conversation.begin(payload)]
        events += self._conversation.read(payload, paused=self.ending.paused)
        return [*events, *self._steps.settle(), *self._conversation.stepped(payload)]

    def _step_over(self) -> list[BaseEvent]:
        """The superstep is over, and with it the nodes that a ``Command`` to the parent left without an end event."""
        if self.ending.paused:
            return []
        return [event for run in self._tree.root_nodes() for event in self._leave(run)]

    def _emitter(self, namespace: Sequence[str]) -> NativeRun | None:
        """The run whose stream writer wrote: the subgraph, since its chunks come too late to say more; at the root the
        node, if only one is possible."""
        if namespace:
            return self._tree.graph(namespace)
        nodes = [*self._steps.waiting, *self._tree.root_nodes()]
        return nodes[0] if len(nodes) == 1 else None


def _skip(native: Mapping[str, Any]) -> list[BaseEvent]:
    kind = native["event"]
    if kind not in _unknown_kinds:
        _unknown_kinds.add(kind)
        _logger.warning("skipping native events of the unknown kind %r", kind)
    return []


_CLASS = LangGraphTranslator
_HANDLERS: Mapping[str, Callable[[LangGraphTranslator, Mapping[str, Any]], list[BaseEvent]]] = {
    kind.value: handle
    for handle, kinds in (
        (_CLASS._chain_start, [Kind.ON_CHAIN_START]),
        (_CLASS._chain_stream, [Kind.ON_CHAIN_STREAM]),
        (_CLASS._chain_end, [Kind.ON_CHAIN_END, Kind.ON_NODE_END]),
        (_CLASS._node_start, [Kind.ON_NODE_START]),
        (_CLASS._model_start, [Kind.ON_CHAT_MODEL_START, Kind.ON_LLM_START]),
        (_CLASS._model_end, [Kind.ON_CHAT_MODEL_END, Kind.ON_LLM_END]),
        (_CLASS._tool_start, [Kind.ON_TOOL_START]),
        (_CLASS._tool_stream, [Kind.ON_TOOL_STREAM]),
        (_CLASS._tool_end, [Kind.ON_TOOL_END]),
        (_CLASS._tool_error, [Kind.ON_TOOL_ERROR]),
        (_CLASS._custom, [Kind.ON_CUSTOM_EVENT]),
        (_CLASS._other_start, [Kind.ON_RETRIEVER_START, Kind.ON_PROMPT_START, Kind.ON_PARSER_START]),
        (lambda *_: [], [Kind.ON_RETRIEVER_STREAM, Kind.ON_PROMPT_STREAM, Kind.ON_PARSER_STREAM]),
        (_CLASS._other_end, [Kind.ON_RETRIEVER_END, Kind.ON_PROMPT_END, Kind.ON_PARSER_END]),
        (_CLASS._other_end, [Kind.ON_CHAIN_ERROR, Kind.ON_LLM_ERROR, Kind.ON_RETRIEVER_ERROR]),
    )
    for kind in kinds
}
"""The handler of each kind of event but models' chunks. Keys are plain strings, which a dict finds in half the time."""
