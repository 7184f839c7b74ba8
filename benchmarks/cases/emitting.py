"""The application's own events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.callbacks import adispatch_custom_event
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.cases.parts import scene
from benchmarks.registry import Pair, Scene, agent_case, function_case
from yai_nexus_agentkit import EventEmitter


@agent_case("{size} events of an EventEmitter", size=10_000, small=40)
def emitter(size: int) -> Scene:
    """A node that reports every row it works on."""

    async def work(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        events = EventEmitter(config)
        for row in range(size):
            events.emit("row", {"number": row, "ok": True})
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    return scene(builder.compile(checkpointer=InMemorySaver()))


@function_case("1,000 emits in a node under astream_events (beside adispatch_custom_event)")
def emits() -> Pair:
    """The cost of one event for the node that emits it and for the stream that carries it."""

    async def emit(config: RunnableConfig) -> None:
        events = EventEmitter(config)
        for row in range(1_000):
            events.emit("row", {"number": row, "ok": True})

    async def dispatch(config: RunnableConfig) -> None:
        for row in range(1_000):
            await adispatch_custom_event("row", {"number": row, "ok": True}, config=config)

    return Pair(_streamed(emit), _streamed(dispatch))


def _streamed(speak: Callable[[RunnableConfig], Awaitable[None]]) -> Callable[[], object]:
    async def work(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        await speak(config)
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = builder.compile()

    async def read() -> int:
        return len([event async for event in graph.astream_events({"messages": []}, version="v2")])

    return lambda: asyncio.run(read())
