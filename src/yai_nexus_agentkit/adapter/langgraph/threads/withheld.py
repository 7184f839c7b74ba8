"""Pure. Parts of a stored thread that clients must not see: answers and results that waited for middleware when the run
stopped.

They are marked in the thread by the next run, since nothing else would show afterwards that nobody checked them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.prebuilt import ToolNode

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import withheld
from yai_nexus_agentkit.adapter.langgraph.native.run_tree import is_hook_name

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.langgraph.middleware import Hold
    from yai_nexus_agentkit.adapter.langgraph.shape import Graph

__all__ = ["due_nodes", "with_marks"]

_DUE = "branch:to:"
"""LangGraph's channel of a node that is due begins so."""


def due_nodes(checkpoint: Checkpoint) -> list[str]:
    """The nodes that were to run next. Those that LangGraph sends to (the tools of an agent) are not among them."""
    return [key.removeprefix(_DUE) for key in checkpoint["channel_values"] if key.startswith(_DUE)]


def with_marks(
    messages: Sequence[BaseMessage], due: Collection[str], hold: Hold, *, paused: bool, graph: Graph | None
) -> Sequence[BaseMessage]:
    """The messages, with marks on those that middleware was not done with. `due`: the nodes that were to run next.
    `paused`: they ask something; else they failed. `graph`: the graph, if other nodes than hooks count as well."""
    start = _start(messages, due, hold, paused, graph)
    return messages if start is None else [*messages[:start], *map(withheld, messages[start:])]


def _start(
    messages: Sequence[BaseMessage], due: Collection[str], hold: Hold, paused: bool, graph: Graph | None
) -> int | None:
    start = len(messages)
    while start and isinstance(messages[start - 1], ToolMessage):
        start -= 1
    hooks = [node for node in due if is_hook_name(node) and not (paused and hold.is_last(node))]
    if any(".after_" in node for node in hooks):
        return start - 1 if start and isinstance(messages[start - 1], AIMessage) else None
    if hooks:
        return start if start < len(messages) else None
    if graph is None or paused or not hold.through or start < len(messages):
        return None
    guards = [node for node in due if node in graph.nodes and not isinstance(graph.nodes[node].bound, ToolNode)]
    while start and isinstance(messages[start - 1], AIMessage):
        start -= 1
    return start if guards and start < len(messages) and not any(map(is_hook_name, due)) else None
