"""Pictures and documents in the user's message."""

from __future__ import annotations

import base64
import struct
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from examples.models import chat_model, words


def script(messages: list[BaseMessage]) -> list[str]:
    """The scripted model cannot see, but it can read what a PNG file says about itself."""
    newest = next(message for message in reversed(messages) if isinstance(message, HumanMessage))
    sent = [describe(block) for block in newest.content_blocks if block["type"] != "text"]
    return words(f"You sent me {', and '.join(sent)}." if sent else "Send me a picture with --attach.")


def describe(block: Any) -> str:
    data = base64.b64decode(block.get("base64") or "")
    if data[1:4] == b"PNG":
        width, height = struct.unpack(">II", data[16:24])
        return f"a PNG picture of {width} × {height} pixels"
    return f"a {block['type']} of type {block.get('mime_type')}"


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script)

    async def look(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node(look).add_edge(START, "look").compile(checkpointer=InMemorySaver())
