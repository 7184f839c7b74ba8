"""Pure. The questions that a run ends with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ag_ui.core import BaseEvent, Interrupt
from langgraph.types import Interrupt as NativeInterrupt

from yai_nexus_agentkit.adapter.langgraph.native.run_tree import RunTree
from yai_nexus_agentkit.adapter.langgraph.questions import Breakpoint, describe, describe_breakpoint
from yai_nexus_agentkit.adapter.langgraph.request.plan import Plan, Restate
from yai_nexus_agentkit.adapter.langgraph.translate.tool_runs import ToolRuns
from yai_nexus_agentkit.adapter.native_run import RunKind
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["Ending"]


class Ending:
    """The questions of one run. The same interrupt shows once per graph level and stream mode, under one id."""

    def __init__(self, plan: Plan, tree: RunTree, calls: ToolRuns) -> None:
        self._tree, self._calls = tree, calls
        self._asked: dict[str, tuple[NativeInterrupt, tuple[str, ...]]] = {}
        """Question and the deepest namespace it was seen in."""
        self._breakpoints: list[Breakpoint] = []
        self.at_breakpoint = False
        """The graph stopped at a static interrupt, which does not say where."""
        if isinstance(plan, Restate):
            self.asked(plan.questions or None, ())
            self.stopped_at(plan.breakpoints)

    @property
    def breakpoints(self) -> list[Breakpoint]:
        """The static interrupts at which the graph stopped."""
        return self._breakpoints

    @property
    def paused(self) -> bool:
        """The graph asked something, or stopped at a breakpoint."""
        return bool(self._asked or self._breakpoints or self.at_breakpoint)

    def asked(self, interrupts: Any, namespace: Sequence[str]) -> None:
        """An ``__interrupt__`` entry of a chunk; None if it had none."""
        if interrupts is None:
            return
        if not interrupts:
            self.at_breakpoint = True
        for interrupt in interrupts:
            known = self._asked.get(interrupt.id)
            if known is None or len(namespace) > len(known[1]):
                self._asked[interrupt.id] = (interrupt, tuple(namespace))

    def stopped_at(self, breakpoints: Sequence[Breakpoint]) -> None:
        """Take the places at which the graph stopped, as its state says."""
        self._breakpoints = list(breakpoints)

    def interrupts(self, *, declared: bool) -> list[Interrupt]:
        """The questions for the client."""
        questions = []
        for native, namespace in self._asked.values():
            graph = self._tree.graph(namespace)
            owner = graph.owner if graph is not None else None
            calls = self._calls.askable(graph or self._tree.top)
            questions.append(describe(native, owner=owner, calls=calls, declared=declared))
        return [*questions, *map(describe_breakpoint, self._breakpoints)]

    def suspend_subagents(self, life: RunLifecycle, interrupts: Sequence[Interrupt]) -> list[BaseEvent]:
        """Close the open subagents as suspended, innermost first, each with the questions it asked itself (AG-UI 1.0
        §9)."""
        events: list[BaseEvent] = []
        for run in reversed(self._tree.open()):
            if run.kind is RunKind.GRAPH and run.owner == run.id:
                own = [i.id for i in interrupts if i.subagent_run_id == run.id]
                events += life.end_subagent(run.id, suspended=own)
        return events
