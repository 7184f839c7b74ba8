"""Parts that several cases are made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.registry import Graph, Scene, Turn
from yai_nexus_agentkit.testing import ScriptedChatModel, run_input

__all__ = ["answering", "one_node", "scene", "turn", "words"]

_numbers = count(1)


def words(number: int) -> list[str]:
    """That many tokens, each different, about as long as real ones."""
    return [f"word{n:04d} " for n in range(number)]


def answering(number: int) -> ScriptedChatModel:
    """A model that answers every call with that many tokens."""
    return ScriptedChatModel(script=lambda messages: words(number))


def turn(**state: Any) -> Turn:
    """A new thread's first turn: one user message, and the client's state."""
    number = next(_numbers)
    said = {"id": f"user-{number:06}", "role": "user", "content": "go"}
    request = run_input([said], thread_id=f"thread-{number:06}", run_id=f"run-{number:06}", state=state)
    return Turn(request, {"messages": [HumanMessage("go", id=said["id"])], **state})


def scene(graph: Graph, *turns: Turn, marker: str | None = None) -> Scene:
    """The graph with these turns; with one turn of a new thread, if none are given."""
    return Scene(graph, turns or (turn(),), marker)


def one_node(model: ScriptedChatModel, *, sync: bool = False) -> Graph:
    """A graph with one node that asks the model."""

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Sequence[AIMessage]]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    def sync_agent(state: MessagesState, config: RunnableConfig) -> dict[str, Sequence[AIMessage]]:
        return {"messages": [model.invoke(state["messages"], config)]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", sync_agent if sync else agent)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=InMemorySaver())
