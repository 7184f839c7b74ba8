"""An agent with tools: calls side by side, a result that is an object, an error that the model gets to see."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from examples.models import call_id, chat_model, question, results, words
from yai_nexus_agentkit.testing import tool_calls_part


@tool
def divide(a: int, b: int) -> dict[str, int]:
    """Integer division."""
    return {"quotient": a // b, "remainder": a % b}


def script(messages: list[BaseMessage]) -> list[Any]:
    """A call for each division of the question, all in one answer of the model."""
    if found := results(messages):
        return words(f"I asked for {len(found)} divisions. {sum('Error' in text for text in found)} went wrong.")
    divisions = re.findall(r"(\d+)\s*/\s*(\d+)", question(messages))
    calls = [("divide", {"a": int(a), "b": int(b)}, call_id(messages, f"{n}")) for n, (a, b) in enumerate(divisions)]
    return [tool_calls_part(*calls)] if calls else words("Ask me for divisions, such as 17/5 and 1/0.")


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script).bind_tools([divide])

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode([divide], handle_tool_errors=True))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver())
