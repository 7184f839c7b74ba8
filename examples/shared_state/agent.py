"""A recipe that the user and the agent edit together: it is part of the graph's state, and so of the page's."""

from __future__ import annotations

import re
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.types import Command

from examples.models import call_id, chat_model, question, results, words
from yai_nexus_agentkit.testing import tool_calls_part


class State(MessagesState, total=False):
    recipe: dict[str, Any]
    """``{"title": ..., "ingredients": [...]}``. What the page changes in it arrives with its next request."""


@tool
def add_ingredient(
    name: str, state: Annotated[State, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    """Add an ingredient to the recipe."""
    recipe = state.get("recipe") or {"title": "Untitled", "ingredients": []}
    changed = {**recipe, "ingredients": [*recipe["ingredients"], name]}
    return Command(update={"recipe": changed, "messages": [ToolMessage(f"added {name}", tool_call_id=tool_call_id)]})


def script(messages: list[BaseMessage]) -> list[Any]:
    if results(messages):
        return words("It is in the recipe now.")
    wanted = re.search(r"add (?:some |the )?(\w+)", question(messages), re.IGNORECASE)
    if wanted is None:
        return words("Tell me what to add, such as: add some salt.")
    return [tool_calls_part(("add_ingredient", {"name": wanted[1]}, call_id(messages, "add")))]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script).bind_tools([add_ingredient])

    async def agent(state: State) -> dict[str, Any]:
        system = SystemMessage(f"The recipe as the user sees it: {state.get('recipe')}")
        return {"messages": [await model.ainvoke([system, *state["messages"]])]}

    builder = StateGraph(State)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode([add_ingredient]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver())
