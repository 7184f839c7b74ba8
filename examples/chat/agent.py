"""The smallest agent: one node, one model, a conversation that is kept."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from examples.models import chat_model, question, words


def script(messages: list[BaseMessage]) -> list[str]:
    said = sum(message.type == "human" for message in messages)
    return words(f"You said “{question(messages)}”. That was message {said} of our conversation.")


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script)

    async def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node(chat).add_edge(START, "chat").compile(checkpointer=InMemorySaver())
