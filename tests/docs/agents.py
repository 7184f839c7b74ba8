"""The server for the clients on the pages: `uvicorn tests.docs.agents:served --factory`."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.orchestration.client_tools import client_tools
from yai_nexus_agentkit.server import OpenAISettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part


class _State(MessagesState, total=False):
    mood: str


def _one_node(node: Any) -> AGUIAdapter:
    builder = StateGraph(_State).add_node("agent", node).add_edge(START, "agent")
    return AGUIAdapter(builder.compile(checkpointer=InMemorySaver()))


def _script(messages: list[BaseMessage]) -> list[Any]:
    if isinstance(messages[-1], ToolMessage):
        return [f"The page said {messages[-1].text}."]
    return [tool_calls_part(("confirm", {}, f"call_{len(messages)}"))]


async def _confirming(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    model = ScriptedChatModel(script=_script).bind_tools(client_tools(config))
    return {"messages": [await model.ainvoke(state["messages"])]}


async def _talking(state: MessagesState) -> dict[str, Any]:
    model = ScriptedChatModel(script=lambda messages: ["Hello ", "there."])
    return {"messages": [await model.ainvoke(state["messages"])]}


def _asking(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", f"You want {interrupt('Which city?')}.")]}


def served() -> Any:
    """An agent that talks, one that lets the page confirm, one that asks the user."""
    return create_app({"talk": _one_node(_talking), "confirm": _one_node(_confirming), "ask": _one_node(_asking)})


def models() -> Any:
    """The agent that talks, as a model."""
    return create_app({"helper": _one_node(_talking)}, openai=OpenAISettings(keys=["sk-ann"]))
