"""Pure. Answers and results of tools that wait until the agent is done with them.

Middleware behind the model (a redaction, a guard) is a later node than the model, so what the model says must not be
sent while it says it. Held back is

- an answer, until a tool begins to execute one of its calls, its node begins again, or its graph ends,
- a tool's result, until the node whose model made the call begins again, or its graph ends.

What is sent then is the message as the nodes meanwhile wrote it. What no node stored is not sent, nor is anything of a
graph that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.native.run_tree import is_hook
from yai_nexus_agentkit.adapter.native_run import NativeRun, RunKind

__all__ = ["Done", "Holding", "whole_text"]

_REMOVE_ALL = "__remove_all__"
Send = Callable[[Any], list[BaseEvent]]
Done = Callable[[NativeRun | None], bool]
"""Whether the agent is done with the messages of a graph, or (None) of an earlier run."""


@dataclass(slots=True, eq=False)
class _Held:
    """A message that waits."""

    message: BaseMessage
    send: Send
    """The events of the message as it is by then."""
    graph: NativeRun | None
    """The graph run that has to be done with it; None for a message of an earlier run."""
    node: str | None
    """The node of this graph that made it, or the call that it answers; None if that is not known."""
    step: int
    """The step of this graph that it was made in."""
    stored: bool = False
    """A node wrote it."""

    @property
    def is_result(self) -> bool:
        return isinstance(self.message, ToolMessage)


class Holding:
    """The messages of one run that wait. `through`: as in `Hold`."""

    def __init__(self, *, through: bool) -> None:
        self._through = through
        self._queue: list[_Held] = []
        self._makers: dict[tuple[str, str], str | None] = {}
        """The node that made a call, by graph run and the model's id of the call."""
        self._over = False
        """The run is ending: nothing waits any more."""

    def __bool__(self) -> bool:
        """Something waits."""
        return bool(self._queue)

    @property
    def ids(self) -> frozenset[str | None]:
        """Ids of the messages that wait."""
        return frozenset(held.message.id for held in self._queue)

    # ------------------------------------------------------------------ what comes in

    def resume(self, message: BaseMessage, send: Send) -> None:
        """A message that was waiting when the thread paused."""
        self._queue.append(_Held(message, send, None, None, 0, stored=True))

    def answer(self, message: AIMessage, run: NativeRun, send: Send) -> list[BaseEvent]:
        """The answer of a model, or of a node that wrote one itself (`run`)."""
        if self._over:
            return send(message)
        held = self._held(message, run, send)
        held.stored = run.kind is not RunKind.MODEL
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            self._makers[_graph(run).id, str(call.get("id"))] = held.node
        self._queue.append(held)
        return []

    def result(self, message: ToolMessage, run: NativeRun, send: Send) -> list[BaseEvent]:
        """A result. The same one comes several times: of the tool, of its node, and of the graph."""
        if self._over:
            return send(message)
        if self.waits(message):
            return []
        held = self._held(message, run, send)
        held.node, held.stored = self._makers.get((_graph(run).id, message.tool_call_id)), True
        self._queue.append(held)
        return []

    def _held(self, message: BaseMessage, run: NativeRun, send: Send) -> _Held:
        graph, node = _graph(run), _node(run)
        return _Held(message, send, graph, node.name if node is not None else None, _step(node))

    def wrote(self, messages: Iterable[Any]) -> None:
        """A node wrote these: what waits of them waits as it is now, what is removed is never sent."""
        if not self._queue:
            return
        written = {m.id: m for m in messages if isinstance(m, BaseMessage)}
        emptied = _REMOVE_ALL in written
        for held in tuple(self._queue):
            new = written.get(held.message.id)
            if isinstance(new, RemoveMessage) or (emptied and new is None):
                self._queue.remove(held)
            elif new is not None and new.type == held.message.type:
                held.message, held.stored = new, True

    def waits(self, message: BaseMessage) -> bool:
        """This message waits already."""
        return message.id is not None and any(held.message.id == message.id for held in self._queue)

    # ------------------------------------------------------------------ what goes out

    def tool_began(self, run: NativeRun, raw: str | None) -> list[BaseEvent]:
        """A tool executes a call: `raw` is the model's id of it, None where a node runs the tool by hand."""
        if not self._queue or run.silent or _in_hook(run):
            return []
        around = [run, *run.ancestors()]
        for held in self._queue:
            made = held.message.tool_calls if isinstance(held.message, AIMessage) else ()
            if (held.graph is None or held.graph in around) and any(
                call.get("id") == raw if raw is not None else call["name"] == run.name for call in made
            ):
                return self._release(held)
        return []

    def node_began(self, run: NativeRun) -> list[BaseEvent]:
        """A node began. What it made the last time has been dealt with."""
        if not self._queue:
            return []
        graph, step = _graph(run), _step(run)
        due = [h for h in self._queue if h.graph is graph and h.node == run.name and h.step < step and h.stored]
        return self._release(due[-1], up_to=True) if due else []

    def model_began(self, run: NativeRun) -> list[BaseEvent]:
        """A model reads the results whose calls are from an earlier run."""
        if not self._queue or run.silent or _in_hook(run):
            return []
        graph = _graph(run)
        due = [h for h in self._queue if h.graph is graph and h.is_result and h.node is None]
        return self._sent(due)

    def graph_ended(self, graph: NativeRun, *, failed: bool) -> list[BaseEvent]:
        """A graph inside the agent ended. What it held goes out, or waits for the graph around it."""
        own = [held for held in self._queue if held.graph is graph]
        subagent = graph.owner == graph.id
        due = [held for held in own if held.stored and not failed and (subagent or not self._through)]
        if failed or subagent:
            self._queue = [held for held in self._queue if held not in own or held in due]
        node = _node(graph)
        for held in own:
            held.graph, held.step = _graph(graph), _step(node)
            held.node = node.name if node is not None else None
        return self._sent(due)

    def let_go(self, kept: Callable[[BaseMessage], bool], done: Done | None) -> list[BaseEvent]:
        """The run ends well. `kept`: the thread has the message. `done`: for a run that paused; the other messages
        are not sent in it."""
        if done is None:
            due = [held for held in self._queue if _is_subagents(held) or kept(held.message)]
            self._queue = [held for held in self._queue if held in due]
        else:
            due = [held for held in self._queue if held.stored and done(held.graph)]
        self._over = True
        return self._sent(due)

    def _release(self, due: _Held, *, up_to: bool = False) -> list[BaseEvent]:
        """Send a message, and what its graph made in earlier steps; with `up_to`, all before it in the queue."""
        at = self._queue.index(due)
        earlier = (h for h in self._queue[:at] if h.graph is due.graph and h.stored)
        before = [h for h in earlier if up_to or h.step < due.step]
        return self._sent([*before, due])

    def _sent(self, due: Sequence[_Held]) -> list[BaseEvent]:
        self._queue = [held for held in self._queue if held not in due]
        return [event for held in due for event in held.send(held.message)]


def _is_subagents(held: _Held) -> bool:
    return held.graph is not None and held.graph.owner is not None


def whole_text(output: Any) -> str:
    """The text of a text model's output."""
    choices = output.get("generations") if isinstance(output, dict) else None
    return str(choices[0][0].get("text") or "") if choices and choices[0] else ""


def _graph(run: NativeRun) -> NativeRun:
    """The innermost graph around a run, or the whole agent."""
    above = run
    for above in run.ancestors():
        if above.kind in (RunKind.GRAPH, RunKind.ROOT):
            return above
    return above


def _node(run: NativeRun) -> NativeRun | None:
    """The node of that graph which the run belongs to."""
    graph, node = _graph(run), None
    for one in (run, *run.ancestors()):
        if one is graph:
            break
        if one.kind in (RunKind.NODE, RunKind.TASK):
            node = one
    return node


def _step(node: NativeRun | None) -> int:
    step = node.metadata.get("langgraph_step") if node is not None else None
    return step if isinstance(step, int) else 0


def _in_hook(run: NativeRun) -> bool:
    return any(is_hook(one) for one in (run, *run.ancestors()))
