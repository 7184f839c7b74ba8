"""A tool that asks a person before it runs."""

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
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import tool_calls_part


@tool
def pay(amount: int, to: str) -> str:
    """Pay somebody an amount in euros."""
    return f"paid {amount} € to {to}"


TOOLS = [require_approval(pay, when=lambda args: args["amount"] > 10)]
"""Small amounts are paid without a question."""


def script(messages: list[BaseMessage]) -> list[Any]:
    if found := results(messages):
        return words(f"The payment: {found[-1]}")
    wanted = re.search(r"(\w+) (\d+)", question(messages))
    if wanted is None:
        return words("Tell me whom to pay and how much, such as: pay Ada 50.")
    return [tool_calls_part(("pay", {"amount": int(wanted[2]), "to": wanted[1]}, call_id(messages, "pay")))]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script).bind_tools(TOOLS)

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=InMemorySaver())
