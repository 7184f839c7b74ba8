"""The application's own events."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.cases.parts import scene
from benchmarks.registry import Scene, agent_case
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
