"""Tools that the user's page executes, beside one of the server. The request says which ones there are."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from examples.models import call_id, chat_model, results, words
from yai_nexus_agentkit.orchestration.client_tools import client_tools, tool_routes
from yai_nexus_agentkit.testing import tool_calls_part


@tool
def nearest_city(latitude: float, longitude: float) -> str:
    """The city nearest to a position."""
    return "Berlin" if longitude > 8 else "Paris"


TOOLS = [nearest_city]


def script(messages: list[BaseMessage]) -> list[Any]:
    """Asks the page where it is, then the server's tool what is near."""
    match results(messages):
        case []:
            return [tool_calls_part(("get_position", {}, call_id(messages, "position")))]
        case [_]:
            return [tool_calls_part(("nearest_city", {"latitude": 52.5, "longitude": 13.4}, call_id(messages, "city")))]
        case [position, city]:
            return words(f"You are at {position}, near {city}.")
        case _:
            return words("Where are you?")


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script)
    after_model, after_tools = tool_routes(server_tools=TOOLS)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        tools = [*TOOLS, *client_tools(config, exclude=TOOLS)]
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])
    return builder.compile(checkpointer=InMemorySaver())
