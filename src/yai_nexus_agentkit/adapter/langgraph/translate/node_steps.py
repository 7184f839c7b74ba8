"""Pure. Node runs as steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import metadata
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import ERROR_HANDLER, is_hidden, is_hook
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["NodeSteps"]


class NodeSteps:
    """The steps of one run.

    A root node's step stays open past the node's end event, until the chunk with its updates, so that the events of
    what the node wrote lie inside. A subgraph's chunks come too late to wait for, so its steps close at once.
    """

    def __init__(self, life: RunLifecycle, name: Callable[[NativeRun], str | None] | None) -> None:
        self._life = life
        self._name = name or _path
        self._ended: list[NativeRun] = []
        """Root nodes that ended and whose updates have not come yet."""

    def start(self, run: NativeRun) -> list[BaseEvent]:
        """A node began. Silent and hidden nodes are not steps."""
        name = None if run.silent or is_hidden(run) else self._name(run)
        if not name:
            return []
        namespace = run.checkpoint_ns
        facts: dict[str, Any] = {"node": run.name}
        if (step := run.metadata.get("langgraph_step")) is not None:
            facts["step"] = step
        if task := namespace.rpartition(":")[2]:
            facts["task_id"] = task
        if namespace:
            facts["checkpoint_ns"] = namespace
        return self._life.start_step(run.id, name, owner=run.owner, metadata=metadata(facts))

    def end(self, run: NativeRun, *, wait: bool) -> list[BaseEvent]:
        """A node ended; with `wait`, its updates are still to come."""
        if not wait:
            return self._life.finish_step(run.id)
        self._ended.append(run)
        return []

    @property
    def waiting(self) -> list[NativeRun]:
        """The root nodes that ended and whose updates are still to come."""
        return self._ended

    def updated(self, nodes: Iterable[str]) -> list[BaseEvent]:
        """The updates of root nodes came: of each, the oldest ended run is over."""
        events: list[BaseEvent] = []
        for node in nodes:
            for run in self._ended:
                if run.name == node:
                    self._ended.remove(run)
                    events += self._life.finish_step(run.id)
                    break
        return events

    def settle(self) -> list[BaseEvent]:
        """The superstep is over: close all of them."""
        if not self._ended:
            return []
        ended, self._ended = self._ended, []
        return [event for run in ended for event in self._life.finish_step(run.id)]


def _path(run: NativeRun) -> str | None:
    """The node's path; none for hooks of middleware. A node's error handler has the node's name, as a retry has."""
    if is_hook(run):
        return None
    return "/".join([name.removeprefix(ERROR_HANDLER) for name in run.path])
