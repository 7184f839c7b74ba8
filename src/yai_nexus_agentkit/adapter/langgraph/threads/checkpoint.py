"""Driver. The thread behind a request: its checkpoint is read once, for us and for the graph.

Reading a checkpoint costs as much as the thread is long, nearly all of it deserialising. So the tuple that was read for
reconciliation is handed to the graph's own first read, through a copy of the saver that shares storage, connection and
lock with the original.
"""

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

from yai_nexus_agentkit.adapter.langgraph.questions import Breakpoint, Question
from yai_nexus_agentkit.adapter.langgraph.shape import Graph, GraphShape

__all__ = ["Thread", "breakpoints", "read_thread", "settle", "with_checkpoint"]

_logger = logging.getLogger(__name__)
_PENDING, _RESUME, _ERROR = "__interrupt__", "__resume__", "__error__"


@dataclass(slots=True)
class Thread:
    """What a thread held when the request came. Values are live objects of this run alone."""

    saved: CheckpointTuple | None = None
    values: Any = field(default_factory=dict)
    """Channel values, as in a ``values`` chunk but not limited to the output schema."""
    messages: Sequence[BaseMessage] = ()
    questions: Sequence[Question] = ()
    """Open interrupts."""
    breakpoints: Sequence[Breakpoint] = ()
    nested: Sequence[BaseMessage] = ()
    """Messages of subgraphs that a question paused or a failure ended, beyond the thread's own. Of a failed one they
    are those that the thread would have got."""
    loose: bool = False
    """Of the last step some tasks ended and some did not: what the first wrote counts, but the checkpoint lacks it."""


async def read_thread(graph: Graph, shape: GraphShape, config: RunnableConfig) -> Thread:
    """Read the thread's latest checkpoint (or the one that `config` names).

    A thread whose last step did not end, and one of a graph with a `DeltaChannel`, is read as the graph's state
    instead: subgraphs of a paused one included, pending answers left out.
    """
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return Thread()
    saved = await saver.aget_tuple(_root(config))
    if saved is None:
        return Thread()
    written = {channel for _, channel, _ in saved.pending_writes or ()}
    paused, loose = _PENDING in written, any(not channel.startswith("__") for channel in written)
    if paused or loose or shape.stops or shape.replayed:
        try:
            state = await graph.aget_state(config, subgraphs=paused or shape.stops)
        except Exception:
            if not loose or paused or shape.replayed:
                raise
            # As the step itself: its tasks wrote what the channels do not take.
            _logger.warning("what the last step of a thread wrote cannot be read; it is left out", exc_info=True)
        else:
            return _from_state(graph, shape, saved, state, loose=loose)
    values = saved.checkpoint["channel_values"]
    held = values.get("__root__") if shape.bare else values
    return Thread(saved, held, shape.messages_of(held))


async def settle(graph: Graph, config: RunnableConfig) -> None:
    """Give up the step that did not end, and store what its finished tasks wrote: new input discards it otherwise."""
    await graph.aupdate_state({"configurable": config["configurable"]}, None, as_node=END)


def _from_state(
    graph: Graph, shape: GraphShape, saved: CheckpointTuple, state: StateSnapshot, *, loose: bool
) -> Thread:
    thread = Thread(saved, state.values, shape.messages_of(state.values), loose=loose)
    thread.questions = [Question(i, "") for i in _open(state)]
    known = {m.id for m in thread.messages}
    nested: list[BaseMessage] = []
    thread.breakpoints = breakpoints(graph, state)
    paused = thread.questions or thread.breakpoints
    for inner in _inner_states(state, None if paused else graph):
        found = inner.values.get("messages") if isinstance(inner.values, Mapping) else None
        for message in found if isinstance(found, list) else ():
            # What a subgraph was given to do is no message of the user's.
            if isinstance(message, AIMessage | ToolMessage) and message.id and message.id not in known:
                known.add(message.id)
                nested.append(message)
    thread.nested = nested
    return thread


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


def with_checkpoint(graph: Graph, thread: Thread, *, answering: bool = False) -> Graph:
    """The graph with a saver that answers its first read of the thread from what was read already.

    Whoever runs it holds the thread, so nobody writes between the two reads. A saver that cannot be copied is left as
    it is.
    """
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return graph
    unread: list[CheckpointTuple | None] = [thread.saved]

    async def aget_tuple(config: RunnableConfig) -> CheckpointTuple | None:
        found = unread.pop() if unread and _asks_for(config, thread.saved) else await saver.aget_tuple(config)
        return _without_failed_answers(found) if answering else found

    def get_tuple(config: RunnableConfig) -> CheckpointTuple | None:
        """What graphs read that a node or tool calls by `invoke`."""
        found = saver.get_tuple(config)
        return _without_failed_answers(found) if answering else found

    try:
        proxy = copy.copy(saver)
        proxy.aget_tuple, proxy.get_tuple = aget_tuple, get_tuple  # type: ignore[method-assign]
        return graph.copy({"checkpointer": proxy})
    except Exception:
        told = (
            "the checkpointer %s cannot be copied: threads are read twice, and an answer over which a task failed stays"
        )
        _logger.log(logging.WARNING if answering else logging.DEBUG, told, type(saver).__name__, exc_info=True)
        return graph


def _without_failed_answers(saved: CheckpointTuple | None) -> CheckpointTuple | None:
    """Without the answers over which a task failed. LangGraph keeps such an answer and would give it to the task again,
    so that the next, right one is never seen."""
    writes = saved.pending_writes if saved is not None else None
    failed = {task for task, channel, _ in writes or () if channel == _ERROR}
    if saved is None or not writes or not failed:
        return saved
    kept: list[tuple[str, str, Any]] = []
    for task, channel, value in writes:
        if task in failed and channel == _RESUME and isinstance(value, list):
            value = value[:-1]
            if not value:
                continue
        kept.append((task, channel, value))
    return saved._replace(pending_writes=kept)


def _root(config: RunnableConfig) -> RunnableConfig:
    return {**config, "configurable": {"checkpoint_ns": "", **(config.get("configurable") or {})}}


def _asks_for(config: RunnableConfig, saved: CheckpointTuple | None) -> bool:
    """The read is for the root of the thread, at the checkpoint that was read."""
    wanted = config.get("configurable") or {}
    if wanted.get("checkpoint_ns"):
        return False
    if saved is None:
        return not wanted.get("checkpoint_id")
    held = saved.config["configurable"]
    if str(wanted.get("thread_id")) != str(held.get("thread_id")):
        return False
    return wanted.get("checkpoint_id") in (None, held.get("checkpoint_id"))
