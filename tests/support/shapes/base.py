"""How a shape is written down, and the parts that many of them share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from typing_extensions import TypedDict

from yai_nexus_agentkit.testing import Part, ScriptedChatModel

__all__ = [
    "ASK",
    "NUMBER",
    "SHAPES",
    "Case",
    "Level",
    "Numbers",
    "Shape",
    "model",
    "remembering",
    "row",
    "saying",
    "shape",
    "talker",
]

Level = Literal["exact", "split", "runs"]
"""How alike: the same events in the same order; callback events and chunks each in the same order; or, where tasks run
side by side, each run's events in the same order."""

ASK: dict[str, Any] = {"messages": [HumanMessage("hi", id="ask")]}
NUMBER: dict[str, Any] = {"number": 1}


@dataclass
class Case:
    """A runnable and the inputs it gets one after the other, on one thread."""

    agent: Any
    inputs: list[Any] = field(default_factory=lambda: [ASK])
    config: dict[str, Any] = field(default_factory=dict)
    """Over a `configurable` with a thread id; a `configurable` of None leaves it out."""
    graph: bool = True
    beside: bool = True
    """Whether v2 is observed with our handler beside it. An asynchronous text model reports its start only to handlers
    that run inline, if there are any (langchain-core 1.8.3)."""


@dataclass(frozen=True)
class Shape:
    build: Callable[[], Case]
    level: Level


SHAPES: dict[str, Shape] = {}


def shape(level: Level = "exact") -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register what the function builds, a `Case` or a graph, under the function's name."""

    def register(build: Callable[[], Any]) -> Callable[[], Any]:
        def case() -> Case:
            made = build()
            return made if isinstance(made, Case) else Case(made)

        SHAPES[build.__name__] = Shape(case, level)
        return build

    return register


class Numbers(TypedDict, total=False):
    number: int
    done: Annotated[list[Any], operator.add]


def model(*script: Sequence[Part], **fields: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(script), **fields)


def saying(*texts: str, **fields: Any) -> ScriptedChatModel:
    """A model that says the same at every call."""
    return ScriptedChatModel(script=lambda messages: list(texts), **fields)


def row(*nodes: Any, state: Any = MessagesState, compiled: dict[str, Any] | None = None, **named: Any) -> Any:
    """A graph that runs the nodes one after the other."""
    builder = StateGraph(state)
    steps = {**{f"n{number}": node for number, node in enumerate(nodes)}, **named}
    for name, node in steps.items():
        builder.add_node(name, node)
    for source, target in zip([START, *steps], [*steps, END], strict=True):
        builder.add_edge(source, target)
    return builder.compile(**(compiled or {}))


def remembering(*nodes: Any, **rest: Any) -> Any:
    """The same with a checkpointer."""
    return row(*nodes, compiled={"checkpointer": InMemorySaver()}, **rest)


def talker(*texts: str) -> Any:
    """A node that calls a model."""
    scripted = saying(*texts)

    async def talk(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    return talk
