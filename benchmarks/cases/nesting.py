"""Graphs inside graphs, and many tasks at once."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from benchmarks.cases.parts import answering, one_node, scene
from benchmarks.registry import Graph, Scene, agent_case

_TOKENS = 20


@agent_case("{size} tokens three subgraphs deep", size=2_000, small=40)
def subgraphs(size: int) -> Scene:
    """Every chunk of an inner graph also passes through the outer ones."""
    graph = one_node(answering(size)).copy({"checkpointer": None})
    for level in ("inner", "middle"):
        graph = _around(graph, level, None)
    return scene(_around(graph, "outer", InMemorySaver()))


@agent_case("{size} tasks at once, 20 tokens each", size=50, small=5)
def fan_out(size: int) -> Scene:
    """All of them stream at the same time, each its own message."""
    model = answering(_TOKENS)

    async def worker(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    def spread(state: MessagesState) -> list[Send]:
        return [Send("worker", state) for _ in range(size)]

    builder = StateGraph(MessagesState)
    builder.add_node("worker", worker)
    builder.add_conditional_edges(START, spread, ["worker"])
    return scene(builder.compile(checkpointer=InMemorySaver()))


def _around(inner: Graph, name: str, saver: InMemorySaver | None) -> Graph:
    builder = StateGraph(MessagesState)
    builder.add_node(name, inner)
    builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)
