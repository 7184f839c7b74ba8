"""Driver. Going back in a thread: a branch starts where a message came in, or at the end of another branch.

It starts as new input at that checkpoint: other channels and stateful subgraphs return to their values of that time,
and the old branch stays in the thread's history.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from yai_nexus_agentkit.adapter.langgraph.shape import MESSAGES, GraphShape
from yai_nexus_agentkit.adapter.langgraph.threads.branches import MESSAGE_KEY, History, Place
from yai_nexus_agentkit.adapter.langgraph.threads.checkpoint import Graph

__all__ = ["cut", "fork_thread", "start_branch"]

_logger = logging.getLogger(__name__)


async def fork_thread(
    graph: Graph,
    shape: GraphShape,
    config: RunnableConfig,
    *,
    head: CheckpointTuple,
    message_id: str,
    before: Sequence[BaseMessage],
    tail: Sequence[BaseMessage],
    state: Mapping[str, Any],
) -> RunnableConfig | None:
    """Start a branch with `tail` in place of everything from `message_id` on; the graph then runs with input None at
    the returned config.

    None if no checkpoint shows how the message came in behind `before`: a pruned history, messages made elsewhere.
    """
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return None
    place = await History(graph, saver, shape, config).before(message_id, before, head)
    if place is None:
        return None
    return await start_branch(graph, shape, config, place, [*_restored(place, before), *tail], state)


async def cut(
    graph: Graph, shape: GraphShape, config: RunnableConfig, head: CheckpointTuple, message_id: str
) -> list[BaseMessage]:
    """The other way to go back, at the head: the message and what follows it is removed; other channels stay as they
    are. What tasks wrote that wait for others is not there to be removed: new input discards it."""
    _logger.warning("no checkpoint before message %r: its branch is cut off at the head, other state stays", message_id)
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver):
        return []
    place = await History(graph, saver, shape, config).place(head)
    held = place.messages
    start = next((n for n, m in enumerate(held) if m.id == message_id), len(held))
    if shape.replaces:
        return list(shape.kept(place.values)[:start])
    return [RemoveMessage(id=m.id) for m in held[start:] if m.id]


def _restored(place: Place, before: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What turns the messages of the place into those before: some came in with the message, or went with it.
    Instructions stay as they are now; the client sends them with every request."""
    held = {m.id: m for m in place.messages}
    wanted = {m.id for m in before}
    gone = [RemoveMessage(id=i) for i in held if i and i not in wanted]
    revised = [m for m in before if m.id in held and m.type == "system" and m.content != held[m.id].content]
    return [*gone, *revised, *(m for m in before if m.id not in held)]


async def start_branch(
    graph: Graph,
    shape: GraphShape,
    config: RunnableConfig,
    place: Place,
    messages: Sequence[BaseMessage],
    state: Mapping[str, Any],
) -> RunnableConfig:
    """Write new input at this place; the graph then runs with input None at the returned config."""
    newest = next((m.id for m in reversed(messages) if m.type == "human"), None)
    if shape.replaces:  # a removal is nothing to a channel that keeps what was last written
        gone = {m.id for m in messages if isinstance(m, RemoveMessage)}
        new = {m.id: m for m in messages if not isinstance(m, RemoveMessage)}
        stored = dict(zip(place.ids, shape.kept(place.values), strict=True))
        messages = list({**{i: m for i, m in stored.items() if i not in gone}, **new}.values())
    metadata = {**(config.get("metadata") or {}), **({MESSAGE_KEY: newest} if newest else {})}
    at: RunnableConfig = {"configurable": place.saved.config["configurable"], "metadata": metadata}
    written: Any = list(messages) if shape.bare else {MESSAGES: list(messages), **state}
    return await graph.aupdate_state(at, written, as_node="__start__")
