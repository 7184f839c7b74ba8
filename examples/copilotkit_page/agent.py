"""The agent behind the page: it plans a trip with the user, and has something for every part of the page."""

from __future__ import annotations

import re
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command

from examples.models import call_id, chat_model, question, results, words
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
from yai_nexus_agentkit.testing import tool_calls_part

DEGREES = {"Berlin": 21, "Lisbon": 27, "Oslo": 12, "Paris": 18}
ui = EventEmitter()


class State(MessagesState, total=False):
    cities: list[str]
    """Where the trip leads. The page shows it, and what the user changes there arrives with the next request."""


@tool
def add_city(
    city: str, state: Annotated[State, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    """Add a city to the trip."""
    cities = [*state.get("cities", []), city]
    return Command(update={"cities": cities, "messages": [ToolMessage(f"added {city}", tool_call_id=tool_call_id)]})


@tool
def compare_weather(state: Annotated[State, InjectedState]) -> str:
    """Draw the temperatures of the trip's cities on the page."""
    shown = {city: DEGREES.get(city, 15) for city in state.get("cities", [])}
    ui.emit("display_chart", {"type": "bar", "title": "°C", "x": list(shown), "y": list(shown.values())}, keep=True)
    return f"drawn: {shown}"


@tool
def book(cities: list[str], price: int) -> str:
    """Book the trip."""
    return f"booked {', '.join(cities)} for {price} €"


TOOLS = [add_city, compare_weather, require_approval(book)]


def script(messages: list[BaseMessage], cities: list[str]) -> list[Any]:
    if found := results(messages):
        return words(f"Done: {found[-1]}.")
    text = question(messages)
    if wanted := re.search(r"add (\w+)", text, re.IGNORECASE):
        return [tool_calls_part(("add_city", {"city": wanted[1]}, call_id(messages, "add")))]
    if wanted := re.search(r"paint it (\w+)", text, re.IGNORECASE):
        return [tool_calls_part(("paint", {"colour": wanted[1]}, call_id(messages, "paint")))]
    if "compare" in text.lower():
        return [tool_calls_part(("compare_weather", {}, call_id(messages, "compare")))]
    if "book" in text.lower():
        return [tool_calls_part(("book", {"cities": cities, "price": 120 * len(cities)}, call_id(messages, "book")))]
    return words("Say: add Lisbon, compare the weather, paint it teal, or book the trip.")


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    after_model, after_tools = tool_routes(server_tools=TOOLS)

    async def agent(state: State, config: RunnableConfig) -> dict[str, Any]:
        cities = state.get("cities", [])
        model = chat_model(config, lambda messages: script(messages, cities))
        system = SystemMessage(f"You plan a trip. It leads to: {cities}")
        bound = model.bind_tools([*TOOLS, *client_tools(config, exclude=TOOLS)])
        return {"messages": [await bound.ainvoke([system, *state["messages"]])]}

    builder = StateGraph(State)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])
    return builder.compile(checkpointer=InMemorySaver())
