"""Graphs that emit from every place of a graph, and what the drivers of LangChain and LangGraph show of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from typing_extensions import TypedDict

from yai_nexus_agentkit.orchestration.events import EventEmitter, is_envelope
from yai_nexus_agentkit.testing import ScriptedChatModel

UI = EventEmitter()
"""Made once, outside any run, and used in all of them."""


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


# -- places ------------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    graph: Callable[[], Runnable[Any, Any]]
    expected: list[list[str]]
    """Names by lane: the order within each is exact; lanes run side by side."""
    synchronous: bool = False


def both(config: RunnableConfig | None, name: str) -> None:
    EventEmitter(config).emit(f"{name} given")
    UI.emit(f"{name} found")


def lane(*names: str) -> list[str]:
    return [f"{name} {how}" for name in names for how in ("given", "found")]


def helper(name: str) -> None:
    EventEmitter().emit(name)


def between_tokens(tokens: list[str], *, synchronous: bool) -> Any:
    """A graph that emits an event before its model, after each token, and at the end."""
    model = ScriptedChatModel(script=[tokens])

    def node(state: State) -> State:
        UI.emit("0")
        for number, chunk in enumerate(model.stream("hi"), start=1):
            if chunk.content:
                UI.emit(str(number))
        UI.emit("end")
        return {"number": 2}

    async def anode(state: State) -> State:
        UI.emit("0")
        number = 0
        async for chunk in model.astream("hi"):
            if chunk.content:
                number += 1
                UI.emit(str(number))
        UI.emit("end")
        return {"number": 2}

    return graph_of(node if synchronous else anode)


def async_node() -> Runnable[Any, Any]:
    async def node(state: State, config: RunnableConfig) -> State:
        both(config, "before")
        await asyncio.sleep(0)
        both(config, "after")
        return {"number": 2}

    return graph_of(node)


def sync_node() -> Runnable[Any, Any]:
    def node(state: State, config: RunnableConfig) -> State:
        both(config, "node")
        helper("helper")
        return {"number": 2}

    return graph_of(node)


def subgraphs() -> Runnable[Any, Any]:
    def deep(state: State, config: RunnableConfig) -> State:
        both(config, "deep")
        return {"number": 3}

    async def outer(state: State, config: RunnableConfig) -> State:
        both(config, "outer")
        return {"number": 4}

    return graph_of(graph_of(graph_of(deep)), outer)


def called_subgraph() -> Runnable[Any, Any]:
    async def deep(state: State, config: RunnableConfig) -> State:
        both(config, "deep")
        return {"number": 3}

    inner = graph_of(deep)

    async def outer(state: State) -> State:
        helper("before")
        await inner.ainvoke({"number": 1})
        helper("after")
        return {"number": 4}

    return graph_of(outer)


def branches() -> Runnable[Any, Any]:
    def branch(state: State, config: RunnableConfig) -> State:
        for step in range(3):
            both(config, f"{state['number']}.{step}")
        return {"done": [state["number"]]}

    async def abranch(state: State, config: RunnableConfig) -> State:
        for step in range(3):
            both(config, f"{state['number']}.{step}")
            await asyncio.sleep(0)
        return {"done": [state["number"]]}

    def fan_out(state: State) -> list[Send]:
        return [Send("branch" if number % 2 else "abranch", {"number": number}) for number in range(6)]

    builder = StateGraph(State)
    builder.add_node("branch", branch)
    builder.add_node("abranch", abranch)
    builder.add_conditional_edges(START, fan_out, ["branch", "abranch"])
    return builder.compile()


def conditional_edge() -> Runnable[Any, Any]:
    def route(state: State, config: RunnableConfig) -> str:
        both(config, "route")
        return END

    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"number": 2})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", route, [END])
    return builder.compile()


def tools() -> Runnable[Any, Any]:
    @tool
    def first(text: str, config: RunnableConfig) -> str:
        """A synchronous tool."""
        both(config, "first")
        return text

    @tool
    async def second(text: str, config: RunnableConfig) -> str:
        """An asynchronous tool."""
        both(config, "second")
        return text

    def ask(state: State) -> State:
        calls = [{"name": name, "args": {"text": "x"}, "id": f"call-{name}"} for name in ("first", "second")]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    return graph_of(ask, tools=ToolNode([first, second]))


def chain() -> Runnable[Any, Any]:
    async def one(value: int, config: RunnableConfig) -> int:
        both(config, "one")
        return value

    def two(value: int, config: RunnableConfig) -> int:
        both(config, "two")
        return value

    pipeline = RunnableLambda(one) | RunnableLambda(two)

    async def node(state: State) -> State:
        await pipeline.ainvoke(1)
        helper("after")
        return {"number": 2}

    return graph_of(node)


def tasks_and_threads() -> Runnable[Any, Any]:
    async def node(state: State, config: RunnableConfig) -> State:
        both(config, "start")
        await asyncio.to_thread(both, config, "thread")
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(helper, "grouped"))
        own = threading.Thread(target=EventEmitter(config).emit, args=("own thread",))  # no context there
        own.start()
        await asyncio.to_thread(own.join)
        lost = threading.Thread(target=helper, args=("nobody hears this",))
        lost.start()
        await asyncio.to_thread(lost.join)
        return {"number": 2}

    return graph_of(node)


def functional() -> Runnable[Any, Any]:
    @task
    async def fetch(number: int, config: RunnableConfig) -> int:
        both(config, f"fetch {number}")
        return number

    @task
    def compute(number: int) -> int:
        helper(f"compute {number}")
        return number

    @entrypoint()
    async def flow(value: dict[str, int], config: RunnableConfig) -> int:
        both(config, "flow")
        await fetch(1)
        await compute(2)
        return 3

    return flow


PLACES = {
    "async node": Place(async_node, [lane("before", "after")]),
    "sync node": Place(sync_node, [[*lane("node"), "helper"]], synchronous=True),
    "subgraphs as nodes": Place(subgraphs, [lane("deep", "outer")]),
    "subgraph called by a node": Place(called_subgraph, [["before", *lane("deep"), "after"]]),
    "send branches": Place(branches, [lane(*(f"{n}.{step}" for step in range(3))) for n in range(6)]),
    "conditional edge": Place(conditional_edge, [lane("route")], synchronous=True),
    "tools": Place(tools, [lane("first"), lane("second")]),
    "chain in a node": Place(chain, [[*lane("one", "two"), "after"]]),
    "tasks and threads": Place(tasks_and_threads, [[*lane("start", "thread"), "grouped", "own thread"]]),
    "functional": Place(functional, [[*lane("flow", "fetch 1"), "compute 2"]]),
}


def assert_all_arrived(place: Place, names: Sequence[str]) -> None:
    """Nothing lost, nothing doubled, and the order of each lane kept."""
    assert sorted(names) == sorted(name for expected in place.expected for name in expected)
    for expected in place.expected:
        assert [name for name in names if name in expected] == expected
