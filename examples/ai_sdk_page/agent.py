"""The agent behind the page: it looks at the weather, books after an approval, and has the page painted."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from examples.models import call_id, chat_model, question, results, words
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
from yai_nexus_agentkit.testing import reasoning_part, tool_calls_part

DEGREES = {"Berlin": 21, "Lisbon": 27, "Oslo": 12, "Paris": 18}


@tool
def weather(city: str) -> dict[str, Any]:
    """The weather in a city."""
    return {"city": city, "degrees": DEGREES.get(city, 15)}


@tool
def book(city: str, price: int) -> str:
    """Book a trip."""
    return f"booked {city} for {price} €"


TOOLS = [weather, require_approval(book)]


def script(messages: list[BaseMessage]) -> list[Any]:
    if found := results(messages):
        return words(f"Done: {found[-1]}.")
    text = question(messages)
    if wanted := re.search(r"weather in (\w+)", text, re.IGNORECASE):
        return [tool_calls_part(("weather", {"city": wanted[1]}, call_id(messages, "weather")))]
    if wanted := re.search(r"book (\w+)", text, re.IGNORECASE):
        return [tool_calls_part(("book", {"city": wanted[1], "price": 120}, call_id(messages, "book")))]
    if wanted := re.search(r"paint it (\w+)", text, re.IGNORECASE):
        return [tool_calls_part(("paint", {"colour": wanted[1]}, call_id(messages, "paint")))]
    thought = [reasoning_part(word) for word in words("They do not know what I can do.")]
    return [*thought, *words("Say: what is the weather in Lisbon, book Lisbon, or paint it teal.")]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    after_model, after_tools = tool_routes(server_tools=TOOLS)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        bound = chat_model(config, script).bind_tools([*TOOLS, *client_tools(config, exclude=TOOLS)])
        return {"messages": [await bound.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])
    return builder.compile(checkpointer=InMemorySaver())
