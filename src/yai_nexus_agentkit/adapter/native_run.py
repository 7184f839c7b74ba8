"""Pure. One native run of an agent's work, as `AdapterOptions.step_name` and `visible` receive it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["NODES", "NativeRun", "RunKind"]


class RunKind(StrEnum):
    """The kind of a native run."""

    ROOT = "root"
    GRAPH = "graph"
    """A subgraph: a chain whose first child is a node."""
    NODE = "node"
    TASK = "task"
    """A ``@task`` of the functional API."""
    CHAIN = "chain"
    MODEL = "model"
    TOOL = "tool"
    OTHER = "other"
    """Retriever, prompt, parser."""


NODES = frozenset({RunKind.NODE, RunKind.TASK})
"""The kinds of the runs that a graph or functional agent starts by itself."""
_HOSTS = NODES | {RunKind.TOOL}


@dataclass(slots=True, eq=False)
class NativeRun:
    """One run in the tree of an agent's work: the agent itself, a node, a model call, a tool, ..."""

    id: str
    kind: RunKind
    name: str
    parent: NativeRun | None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    owner: str | None = None
    """Id of the subagent invocation that it belongs to: of the innermost graph run that a tool hosts."""
    path: tuple[str, ...] = ()
    """Names of the nodes around it, outermost first; its own last if it is a node or task."""
    scope: str = ""
    """Namespace of the innermost graph, the same after a pause; empty for the root. Tool call ids recur beyond it."""
    silent: bool = False
    """Nothing of it is streamed."""
    settled: bool = True
    """False for a chain until its first child shows whether it is a subgraph."""
    span: bool = False
    """A titled reasoning span is open for it."""
    given: Any = None
    """The input of a node: its part of the graph's state."""

    def ancestors(self) -> Iterator[NativeRun]:
        """From the parent up to the root."""
        run = self.parent
        while run is not None:
            yield run
            run = run.parent

    @property
    def scopes(self) -> list[str]:
        """Its own scope and those around it, innermost first."""
        found, run = [self.scope], self.parent
        while run is not None:
            if run.scope != found[-1]:
                found.append(run.scope)
            run = run.parent
        return found

    @property
    def node(self) -> NativeRun | None:
        """The innermost node or task around (or at) this run."""
        run: NativeRun | None = self
        while run is not None and run.kind not in NODES:
            run = run.parent
        return run

    @property
    def host(self) -> NativeRun | None:
        """The nearest run above that is a node, a task or a tool."""
        run = self.parent
        while run is not None and run.kind not in _HOSTS:
            run = run.parent
        return run

    @property
    def checkpoint_ns(self) -> str:
        """LangGraph's namespace of the task it runs in (``node:task|node:task``)."""
        return str(self.metadata.get("langgraph_checkpoint_ns") or "")
