"""The thread behind a request, as its latest checkpoint has it: values, messages, open questions."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.constants import END
from langgraph.pregel import Pregel
from langgraph.types import Interrupt as NativeInterrupt
from langgraph.types import StateSnapshot

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import is_withheld
from yai_nexus_agentkit.adapter.langgraph.middleware import Hold
from yai_nexus_agentkit.adapter.langgraph.questions import Breakpoint
from yai_nexus_agentkit.adapter.langgraph.shape import Graph, GraphShape, saver_of
from yai_nexus_agentkit.adapter.langgraph.threads.savers import RunSaver, after, at_root
from yai_nexus_agentkit.adapter.langgraph.threads.withheld import due_nodes, with_marks
from yai_nexus_agentkit.adapter.worker_mark import note_writer

__all__ = ["ANSWERS_KEY", "RUN_KEY", "Thread", "breakpoints", "read_thread", "settle", "with_saver"]

_logger = logging.getLogger(__name__)
_PENDING = "__interrupt__"
_NO_TASK = "00000000-0000-0000-0000-000000000000"
"""LangGraph's task of what came with a ``Command``: the channels have that already."""
ANSWERS_KEY = "agui_answers"
"""Key in the metadata of a run's checkpoints: the ids of the interrupts that the run answered, separated by spaces."""
RUN_KEY = "run_id"
"""Key in the metadata of checkpoints by which LangGraph knows the run that wrote them."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread when the request came. Values are live objects of this run alone."""

    saved: CheckpointTuple | None = None
    values: Any = field(default_factory=dict)
    """Channel values, as in a ``values`` chunk but not limited to the output schema."""
    messages: Sequence[BaseMessage] = ()
    questions: Sequence[NativeInterrupt] = ()
    """Open interrupts."""
    breakpoints: Sequence[Breakpoint] = ()
    nested: Sequence[BaseMessage] = ()
    """Messages of subgraphs that a question paused or a failure ended, beyond the thread's own. Of a failed subgraph
    they are those that the thread would have got."""
    scopes: Mapping[str, str] = field(default_factory=dict)
    """Namespace of the subgraph by id of such a message."""
    taken: frozenset[str] = frozenset()
    """Ids of the interrupts whose answers the last run took: as far as it got, they are not open any more."""
    loose: bool = False
    """Some tasks of the last step ended and some did not. What the ended ones wrote counts, but is in no checkpoint."""

    def is_of(self, run_key: str) -> bool:
        """The newest checkpoint was written by the run with this key."""
        return self.saved is not None and self.saved.metadata.get(RUN_KEY) == run_key

    @property
    def paused(self) -> bool:
        return bool(self.questions or self.breakpoints)

    def again(self, shape: GraphShape) -> list[Any]:
        """Messages of the thread that go in with new ones: all of a conversation without a reducer, and those that have
        just been marked as withheld."""
        may = not shape.verbatim or shape.replaces
        marked = {m.id: m for m in self.messages if m.additional_kwargs and is_withheld(m)} if may else {}
        if kept := shape.kept(self.values):
            return [marked.get(getattr(m, "id", None), m) for m in kept]
        if not marked:
            return []
        stored = {m.id for m in shape.messages_of(self.values) if is_withheld(m)}
        return [m for message_id, m in marked.items() if message_id not in stored]

    @property
    def pending(self) -> dict[str, list[Any]]:
        """The writes of finished tasks of an interrupted step, by channel."""
        found: dict[str, list[Any]] = {}
        for task, channel, value in (self.saved.pending_writes if self.saved is not None else None) or ():
            if task != _NO_TASK and not channel.startswith("__"):
                found.setdefault(channel, []).append(value)
        return found

    @property
    def held(self) -> list[BaseMessage]:
        """All its messages, those of subgraphs last."""
        return [*self.messages, *self.nested]


async def read_thread(graph: Graph, shape: GraphShape, config: RunnableConfig, hold: Hold | None = None) -> Thread:
    """Read the thread's latest checkpoint (or the one that `config` names). `hold`: how its answers wait; messages that
    were waiting when it stopped are marked as withheld.

    A thread whose last step did not end, and one of a graph with a `DeltaChannel`, is read as the graph's state
    instead: with the subgraphs of a paused one, and without pending answers.
    """
    saver = saver_of(graph)
    saved = None if saver is None else after(await saver.aget_tuple(at_root(config)))
    if saver is None or saved is None:
        return Thread()
    note_writer(config.get("metadata") or {}, saved.metadata, saved.checkpoint["ts"])
    written = {channel for _, channel, _ in saved.pending_writes or ()}
    paused, loose = _PENDING in written, any(not channel.startswith("__") for channel in written)
    if paused or loose or shape.stops or shape.replayed:
        again = loose or shape.replayed  # reducers, which get what was written, may change the values in place
        source = graph if again else with_saver(graph, RunSaver(saver, saved))
        try:
            state = await source.aget_state(config, subgraphs=paused or shape.stops)
        except Exception:
            if not loose or paused or shape.replayed:
                raise
            # The step itself failed like this: its tasks wrote values that the channels do not take.
            _logger.warning("what the last step of a thread wrote cannot be read; it is left out", exc_info=True)
        else:
            return _from_state(graph, shape, saved, state, hold, loose=loose)
    values = saved.checkpoint["channel_values"]
    held = values.get("__root__") if shape.bare else values
    messages = shape.messages_of(held)
    if hold is not None:
        messages = with_marks(messages, due_nodes(saved.checkpoint), hold, paused=False, graph=graph)
    return Thread(saved, held, messages, taken=_answered(saved))


async def settle(graph: Graph, config: RunnableConfig) -> None:
    """Give up the step that did not end, and store what its finished tasks wrote: new input discards it otherwise."""
    await graph.aupdate_state({"configurable": config["configurable"]}, None, as_node=END)


def _from_state(
    graph: Graph, shape: GraphShape, saved: CheckpointTuple, state: StateSnapshot, hold: Hold | None, *, loose: bool
) -> Thread:
    messages = shape.messages_of(state.values)
    questions, waiting = _open(state), breakpoints(graph, state)
    asks = bool(questions) and not waiting
    if hold is not None:
        messages = with_marks(messages, state.next, hold, paused=asks, graph=graph if not waiting else None)
    known = {m.id for m in messages}
    nested: list[BaseMessage] = []
    scopes: dict[str, str] = {}
    for inner in _inner_states(state, None if questions or waiting else graph):
        found = inner.values.get("messages") if isinstance(inner.values, Mapping) else None
        if hold is not None and isinstance(found, list):
            found = list(with_marks(found, inner.next, hold, paused=asks, graph=None))
        for message in found if isinstance(found, list) else ():
            # What a subgraph was given to do is not a message of the user's.
            if isinstance(message, AIMessage | ToolMessage) and message.id and message.id not in known:
                known.add(message.id)
                nested.append(message)
                scopes[message.id] = inner.config["configurable"].get("checkpoint_ns") or ""
    taken = _answered(saved) - {i.id for i in questions}
    return Thread(saved, state.values, messages, questions, waiting, nested, scopes, taken, loose)


def _answered(saved: CheckpointTuple) -> frozenset[str]:
    """Ids of the interrupts that were answered before this checkpoint, or were asked by tasks that start from it."""
    asked = [value for _, channel, value in saved.pending_writes or () if channel == _PENDING]
    before = str(saved.metadata.get(ANSWERS_KEY) or "").split()
    return frozenset((*before, *(one.id for interrupts in asked for one in interrupts)))


def _open(state: StateSnapshot) -> list[NativeInterrupt]:
    """The open questions. A task whose subgraph got beyond its question, and failed then, still shows the question."""
    found: list[NativeInterrupt] = []
    for task in state.tasks:
        inner = task.state
        beyond = task.error and isinstance(inner, StateSnapshot) and any(one.error for one in inner.tasks)
        found += _open(inner) if beyond and isinstance(inner, StateSnapshot) else task.interrupts
    return found


def _inner_states(state: StateSnapshot, graph: Graph | None = None) -> list[StateSnapshot]:
    """The states of the subgraphs that are at work; with `graph`, of its nodes that are subgraphs and not of those that
    call one."""
    found: list[StateSnapshot] = []
    for task in state.tasks:
        if not isinstance(task.state, StateSnapshot):
            continue
        inner: Any = graph.nodes[task.name].bound if graph is not None and task.name in graph.nodes else None
        if graph is None or isinstance(inner, Pregel):
            found += [task.state, *_inner_states(task.state, inner)]
    return found


def breakpoints(graph: Graph, state: StateSnapshot) -> list[Breakpoint]:
    """The tasks that wait at a static interrupt of the graph or a subgraph; none on a thread that failed or finished.
    `state` must hold the subgraphs' states."""
    if any(task.error for task in state.tasks):
        return []
    found: list[Breakpoint] = []
    nested = any(isinstance(task.state, StateSnapshot) for task in state.tasks)
    subgraphs = dict(graph.get_subgraphs()) if nested else {}
    for task in state.tasks:
        inner = subgraphs.get(task.name)
        if isinstance(task.state, StateSnapshot) and isinstance(inner, Pregel):
            found += breakpoints(inner, task.state)
    began = found or any(task.interrupts or task.result is not None for task in state.tasks)
    return found if began else _own_breakpoints(graph, state)


def _own_breakpoints(graph: Graph, state: StateSnapshot) -> list[Breakpoint]:
    before, after = graph.interrupt_before_nodes, graph.interrupt_after_nodes
    names = {task.name for task in state.tasks}
    is_before = before == "*" or (bool(before) and not names.isdisjoint(before))
    if not is_before and not after:
        return []
    return [Breakpoint(task.id, task.name, is_before) for task in state.tasks]


def with_saver(graph: Graph, saver: BaseCheckpointSaver[Any]) -> Graph:
    """The same graph with another checkpointer. Its own `copy` would check all its nodes once more."""
    made = copy.copy(graph)
    made.checkpointer = saver
    return made
