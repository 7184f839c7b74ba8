"""Graphs whose tools ask first, in every way in which a graph can run its tools, and a person who answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, RetryPolicy, Send

from yai_nexus_agentkit.orchestration.client_tools import route_after_model, route_after_tools
from yai_nexus_agentkit.testing import ScriptedChatModel

__all__ = ["KINDS", "SEPARATE", "Kind", "Run", "agent_graph", "drive", "results", "tools_graph"]

Kind: TypeAlias = Literal["one task", "one list", "routed", "create_agent"]

KINDS: tuple[Kind, ...] = ("one task", "one list", "routed", "create_agent")
"""All calls of a message in one task (`tools_condition`), all in one `Send`, one `Send` each, langchain's agent."""

SEPARATE: tuple[Kind, ...] = ("routed", "create_agent")
"""Those in which every call is a task of its own."""

Run: TypeAlias = Callable[[Any], dict[str, Any]]


def agent_graph(kind: Kind, model: ScriptedChatModel, tools: Sequence[BaseTool], **options: Any) -> Any:
    """A graph with a model and these tools that keeps its threads in memory."""
    if kind == "create_agent":
        agents = pytest.importorskip("langchain.agents")
        return agents.create_agent(model, list(tools), checkpointer=InMemorySaver(), **options)
    return tools_graph(kind, model, tools, **options).compile(checkpointer=InMemorySaver())


def tools_graph(
    kind: Kind,
    model: ScriptedChatModel,
    tools: Sequence[BaseTool],
    *,
    state: Any = MessagesState,
    retry: RetryPolicy | None = None,
) -> StateGraph[Any, Any, Any, Any]:
    """The builder of a hand-written graph of this kind."""

    def agent(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [model.bind_tools(tools).invoke(state["messages"], config)]}

    def one_list(state: Any) -> Any:
        wanted = state["messages"][-1].tool_calls
        return [Send("tools", wanted)] if wanted else END

    after_model: Any = {"one task": tools_condition, "one list": one_list, "routed": route_after_model}[kind]
    builder = StateGraph(state)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools), retry_policy=retry)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", route_after_tools, ["agent", END])
    return builder


def drive(
    graph: Any,
    answer: Callable[[Mapping[str, Any]], Any],
    *,
    asynchronous: bool = True,
    given: Mapping[str, Any] | None = None,
    **configurable: Any,
) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """Run a thread until nothing is asked any more, answering all open questions at once.

    Returns the last state, and the values of the questions of every pause.
    """
    config: RunnableConfig = {"configurable": {"thread_id": "t", **configurable}}

    def run(input: Any) -> dict[str, Any]:
        return asyncio.run(graph.ainvoke(input, config)) if asynchronous else graph.invoke(input, config)

    state = run({"messages": [HumanMessage("hi")], **(given or {})})
    pauses: list[list[dict[str, Any]]] = []
    while questions := state.get("__interrupt__"):
        pauses.append([question.value for question in questions])
        state = run(Command(resume={question.id: answer(question.value) for question in questions}))
    return state, pauses


def results(state: Mapping[str, Any]) -> list[ToolMessage]:
    """The tool messages of a thread."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]
