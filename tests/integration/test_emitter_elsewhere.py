"""The emitter under every driver but our adapter: `astream_events`, `astream`, `stream`, `invoke`, no run at all.

Each place of a graph from which one may emit is run under each driver. Ids show what is lost or doubled.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from tests.support.emitting import State, envelopes, events, graph_of
from yai_nexus_agentkit.orchestration.events import EventEmitter

UI = EventEmitter()
"""Made once, outside any run, and used in all of them."""


# -- drivers -----------------------------------------------------------------------------------------------------------


async def by_events(graph: Runnable[Any, Any]) -> list[Any]:
    return await events(graph)


async def by_events_with_chunks(graph: Runnable[Any, Any]) -> list[Any]:
    return await events(graph, stream_mode=["updates", "values", "custom"], subgraphs=True)


async def by_astream(graph: Runnable[Any, Any]) -> list[Any]:
    modes = ["custom", "updates"]
    return [chunk async for chunk in graph.astream({"number": 1}, stream_mode=modes, subgraphs=True)]


async def by_astream_with_messages(graph: Runnable[Any, Any]) -> list[Any]:
    modes = ["messages", "tools", "custom"]  # both put a streaming handler of LangGraph's into the callbacks
    return [chunk async for chunk in graph.astream({"number": 1}, stream_mode=modes, subgraphs=True)]


STREAMS = [by_events, by_events_with_chunks, by_astream, by_astream_with_messages]


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

places = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())


def assert_all_arrived(place: Place, items: list[Any]) -> None:
    seen = envelopes(items)
    assert len({envelope["id"] for envelope in seen}) == len(seen)
    names = [envelope["name"] for envelope in seen]
    assert sorted(names) == sorted(name for expected in place.expected for name in expected)
    for expected in place.expected:
        assert [name for name in names if name in expected] == expected


@places
@pytest.mark.parametrize("driver", STREAMS)
async def test_every_place_reaches_every_stream_once(place: Place, driver: Callable[..., Any]) -> None:
    assert_all_arrived(place, await driver(place.graph()))


@pytest.mark.parametrize("place", [place for place in PLACES.values() if place.synchronous])
def test_synchronous_streams_get_them_too(place: Place) -> None:
    assert_all_arrived(place, list(place.graph().stream({"number": 1}, stream_mode=["custom"], subgraphs=True)))


@places
async def test_without_a_stream_the_graph_runs_as_if_nothing_were_emitted(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    graph = place.graph()
    result = await graph.ainvoke({"number": 1})
    assert envelopes([result]) == []
    assert result is not None
    if place.synchronous:
        assert graph.invoke({"number": 1}) == result
    assert caplog.records == []
