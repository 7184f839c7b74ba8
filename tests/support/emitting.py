"""Graphs that emit, and what the drivers of LangChain and LangGraph show of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from yai_nexus_agentkit.orchestration.events import is_envelope


class State(TypedDict, total=False):
    number: int
    messages: Annotated[list[Any], add_messages]
    done: Annotated[list[int], lambda old, new: [*old, *new]]


def graph_of(*nodes: Any, **named: Any) -> Runnable[Any, Any]:
    """A graph that runs the nodes one after the other."""
    builder = StateGraph(State)
    steps = {**{f"n{index}": node for index, node in enumerate(nodes)}, **named}
    for name, node in steps.items():
        builder.add_node(name, node)
    for source, target in zip([START, *steps], [*steps, END], strict=True):
        builder.add_edge(source, target)
    return builder.compile()


async def events(graph: Runnable[Any, Any], value: Any = None, **options: Any) -> list[dict[str, Any]]:
    """The native events of ``astream_events(version="v2")``."""
    stream = graph.astream_events({"number": 1} if value is None else value, version="v2", **options)
    return [dict(event) async for event in stream]


def envelopes(items: Any) -> list[dict[str, Any]]:
    """Every envelope in native events or chunks, wherever it stands in them."""
    return list(_inside(items))


def _inside(item: Any) -> Iterator[dict[str, Any]]:
    if is_envelope(item):
        yield item
    elif isinstance(item, dict):
        for value in item.values():
            yield from _inside(value)
    elif isinstance(item, (list, tuple)):
        for value in item:
            yield from _inside(value)
