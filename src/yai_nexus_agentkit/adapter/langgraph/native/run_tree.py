"""Pure. Which native run is what: the tree of runs behind the flat stream of events.

LangChain reports every runnable as a run with an id and the ids of its ancestors. What a run *is* (a node, a subgraph,
a subagent, a hook of middleware, a chain that somebody named) follows from tags, metadata and its place in the tree.
Names decide nothing, since users choose them freely; but ``create_agent`` names the nodes that it makes of hooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from yai_nexus_agentkit.adapter.native_run import NODES, NativeRun, RunKind
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.shared.visible import judge_of
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["RunTree", "emits", "is_hook", "is_hook_name", "speaker"]

_NODE_TAG = "graph:step:"
ERROR_HANDLER = "__error_handler__"
"""Prefix of the node that LangGraph runs for a failed one with an ``error_handler``."""
_HIDDEN = "langsmith:hidden"
_SILENT = frozenset({"nostream", "langsmith:nostream"})
_EMITS = {what: (f"emit-{what}", f"copilotkit:emit-{what}") for what in ("messages", "tool-calls")}
_HOSTED = frozenset({RunKind.MODEL, RunKind.TOOL, RunKind.NODE})
"""Kinds of the runs that are not shown in some places: in a tool, in a hook."""
_INTERNAL_CALL = "lc_internal_call"
"""LangChain's public mark, in the metadata, of a model call that middleware makes for itself."""
_INTERNAL = frozenset({"summarization", "tool_selection", "tool_emulation"})
"""``lc_source`` of such calls in versions of LangChain before that mark."""


class RunTree:
    """The runs of one agent run, by id. Entries go when their run ends, or when a run around them does."""

    def __init__(
        self,
        options: AdapterOptions,
        inside: Mapping[str, str],
        named: Mapping[str, bool],
    ) -> None:
        """`inside`, `named`: as in `RunNotes`."""
        self._runs: dict[str, NativeRun] = {}
        self._children: dict[NativeRun, dict[NativeRun, None]] = {}
        self._steps: dict[tuple[NativeRun | None, RunKind], Any] = {}
        """The step of the nodes, or tasks, of a run. All that are open are of this step (`replaced`)."""
        self._tasks: dict[tuple[RunKind, str], NativeRun] = {}
        """The newest node and task of each checkpoint namespace."""
        self._graphs: dict[str, NativeRun] = {}
        """Open subgraphs by checkpoint namespace."""
        self.root: NativeRun | None = None
        """The first run that started."""
        self._inside, self._named = inside, named
        self._spans = options.chain_spans
        self._visible = judge_of(options.visible)

    @property
    def top(self) -> NativeRun:
        """The root run; a stand-in where none has started."""
        return self.root or NativeRun("root", RunKind.ROOT, "", None)

    def get(self, run_id: str) -> NativeRun | None:
        """The run, if it is known and has not ended."""
        return self._runs.get(run_id)

    def near(self, native: Mapping[str, Any]) -> NativeRun | None:
        """The run of an event, or the nearest known one around it (a task may outlive its node)."""
        run = self._runs.get(native["run_id"])
        if run is not None:
            return run
        return self.parent(native)

    def parent(self, native: Mapping[str, Any]) -> NativeRun | None:
        """The nearest known run around the run of an event: by its ancestors, or the tool whose code started it."""
        if self._inside and (tool := self._runs.get(self._inside.get(native["run_id"], ""))) is not None:
            return tool
        for ancestor in reversed(native.get("parent_ids") or ()):
            if (run := self._runs.get(ancestor)) is not None:
                return run
        return self.root

    def start(self, native: Mapping[str, Any], kind: RunKind, parent: NativeRun | None) -> NativeRun:
        """Enter the run of a start event, inside of `parent` (None for the root), which must be settled (`settle`)."""
        metadata = native.get("metadata") or {}
        tags = tuple(native.get("tags") or ())
        if kind is RunKind.CHAIN:
            kind = self._chain_kind(tags, metadata, parent)
        run = NativeRun(native["run_id"], kind, str(native.get("name") or ""), parent, tags, metadata)
        if parent is None:
            if kind is RunKind.CHAIN:
                run.kind = RunKind.ROOT
            self.root = run
        else:
            run.owner, run.path, run.scope, run.silent = parent.owner, parent.path, parent.scope, parent.silent
            self._children.setdefault(parent, {})[run] = None
        if kind in NODES:
            run.path, run.given = (*run.path, run.name), native["data"].get("input")
        run.settled = kind is not RunKind.CHAIN
        run.silent = run.silent or self._is_silent(run)
        self._runs[run.id] = run
        return run

    def settle(self, run: NativeRun, child: RunKind | None, native: Mapping[str, Any]) -> str | None:
        """A chain has its first child, whose start event is `native`, or ended or emitted without one (None).

        Returns the title to show the chain under, if any.
        """
        run.settled = True
        if run.kind is RunKind.ROOT:
            return None
        if child is RunKind.NODE:
            run.kind = RunKind.GRAPH
            self._graphs.setdefault(run.checkpoint_ns, run)
            namespace = str((native.get("metadata") or {}).get("langgraph_checkpoint_ns") or "").rpartition("|")[0]
            run.scope = run.id if namespace in run.scopes else namespace
            host = run.host
            if host is not None and host.kind is RunKind.TOOL:
                run.owner = run.id
            return None
        shown = self._spans == "all" or (self._spans == "named" and self._is_named(run))
        return run.name if shown and not run.silent else None

    def end(self, run: NativeRun) -> list[NativeRun]:
        """Forget a run and whatever is still known inside it. Returns them, innermost first."""
        if self._runs.get(run.id) is not run:
            return []
        if run.parent is not None:
            del self._children[run.parent][run]
        inside = [run]
        for other in inside:  # grows meanwhile
            del self._runs[other.id]
            if other.kind in NODES and self._tasks.get(place := (other.kind, other.checkpoint_ns)) is other:
                del self._tasks[place]
            if (children := self._children.pop(other, None)) is None:
                continue
            inside += children
            self._steps.pop((other, RunKind.NODE), None)
            self._steps.pop((other, RunKind.TASK), None)
            if self._graphs.get(other.checkpoint_ns) is other:
                del self._graphs[other.checkpoint_ns]
        return inside[::-1]

    def replaced(self, run: NativeRun) -> list[NativeRun]:
        """Siblings of this new node or task that will not end, about which v2 reports nothing: the first attempt of
        a task that is retried, and those of an earlier step."""
        step, place = run.metadata.get("langgraph_step"), (run.kind, run.checkpoint_ns)
        same_step = self._steps.get((run.parent, run.kind)) == step
        self._steps[run.parent, run.kind] = step
        first, self._tasks[place] = self._tasks.get(place), run
        if same_step and not run.name.startswith(ERROR_HANDLER):
            return [first] if first is not None and first.parent is run.parent else []
        siblings = [other for other in self._siblings(run) if other.kind is run.kind and other is not run]
        if same_step:
            return [other for other in siblings if other is first or run.name == f"{ERROR_HANDLER}{other.name}"]
        return siblings

    def _siblings(self, run: NativeRun) -> Iterable[NativeRun]:
        return self._children.get(run.parent, ()) if run.parent is not None else ()

    def graph(self, namespace: Sequence[str]) -> NativeRun | None:
        """The open subgraph run of this namespace."""
        return self._graphs.get("|".join(namespace))

    def root_nodes(self) -> list[NativeRun]:
        """The nodes of the root that have not ended."""
        inside = self._children.get(self.root, ()) if self.root is not None else ()
        return [run for run in inside if run.kind is RunKind.NODE]

    def open(self) -> list[NativeRun]:
        """Every run that has not ended, in the order of starting."""
        return list(self._runs.values())

    def _chain_kind(self, tags: tuple[str, ...], metadata: Mapping[str, Any], parent: NativeRun | None) -> RunKind:
        if has_node_tag(tags):
            return RunKind.NODE
        path = metadata.get("langgraph_path")
        if parent is not None and isinstance(path, (tuple, list)) and len(path) == 4 and path[-1] is True:
            inner = parent.metadata.get("langgraph_checkpoint_ns") != metadata.get("langgraph_checkpoint_ns")
            if inner and "seq:step:1" in tags:
                return RunKind.TASK
        return RunKind.CHAIN

    def _is_named(self, run: NativeRun) -> bool:
        """Somebody wrote this name. Where that is unknown, one that no function or class can have counts."""
        if is_hidden(run):
            return False
        given = self._named.get(run.id)
        return given if given is not None else not (run.name.isidentifier() or run.name.startswith("Runnable"))

    def _is_silent(self, run: NativeRun) -> bool:
        kind = run.kind
        host = run.host if kind in _HOSTED else None
        if host is not None and host.kind is RunKind.TOOL and kind is not RunKind.NODE:
            return True  # a tool's own helper: the call's result is what counts
        if host is not None and kind is not RunKind.TOOL and is_hook(host):
            return True  # middleware's own work (a guard, a grader): what its hook stores is what counts
        if is_silent(run.tags):
            return True
        if kind not in _HOSTED and kind is not RunKind.TASK:
            return False
        metadata = run.metadata
        if metadata.get(_INTERNAL_CALL) or metadata.get("lc_source") in _INTERNAL:
            return True
        return not self._visible(run)


def is_node(native: Mapping[str, Any]) -> bool:
    """The chain that starts is a node: LangGraph tags a node's own run, and nothing inside it."""
    return has_node_tag(native.get("tags") or ())


def has_node_tag(tags: Iterable[str]) -> bool:
    """The tags of a node's own run."""
    for tag in tags:  # noqa: SIM110 - a generator costs more than the search
        if tag.startswith(_NODE_TAG):
            return True
    return False


def is_silent(tags: Iterable[str]) -> bool:
    """The application wants nothing of this run streamed."""
    return not _SILENT.isdisjoint(tags)


def emits(run: NativeRun, what: Literal["messages", "tool-calls"]) -> bool:
    """Whether a model's text, or its tool calls, may be streamed: graphs made for CopilotKit or ag-ui-langgraph say no
    in the metadata (``emit-messages``, ``copilotkit:emit-tool-calls`` ...)."""
    plain, copilotkit = _EMITS[what]
    return run.metadata.get(plain) is not False and run.metadata.get(copilotkit) is not False


def is_hidden(run: NativeRun) -> bool:
    """LangGraph's own bookkeeping nodes, and those that a graph hides."""
    return _HIDDEN in run.tags


_HOOKS = (".before_agent", ".before_model", ".after_model", ".after_agent")
"""Ends of the names of the nodes that ``create_agent`` makes of hooks; before them comes the middleware's name."""
_MODEL_NODE = "model"
"""The node of ``create_agent`` whose messages get the agent's name."""


def is_hook(run: NativeRun) -> bool:
    """The run is the node of a hook of middleware."""
    return run.kind is RunKind.NODE and is_hook_name(run.name)


def is_hook_name(node: str) -> bool:
    """The name is that of such a node."""
    return node.endswith(_HOOKS)


def speaker(run: NativeRun) -> str | None:
    """The name that the agent gives to the message of this model call, if that is known before the message is whole.

    ``create_agent`` notes the agent's name in the metadata of its runs. Graphs inside inherit the metadata, so the name
    counts where it is that of the graph, or where the graph is the whole agent.
    """
    name = run.metadata.get("lc_agent_name")
    if not name or run.metadata.get("langgraph_node") != _MODEL_NODE:
        return None
    graph = next((a for a in run.ancestors() if a.kind in (RunKind.GRAPH, RunKind.ROOT)), None)
    own = graph is not None and (graph.kind is RunKind.ROOT or graph.name == name)
    return clean_text(str(name)) if own else None
