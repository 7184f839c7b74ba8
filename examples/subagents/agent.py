"""An agent that gives work to another one, made with deepagents. What the subagent does is tagged as its own."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from examples.models import call_id, chat_model, question, results, words
from yai_nexus_agentkit.testing import tool_calls_part

try:
    from deepagents import create_deep_agent
except ImportError as error:
    raise ImportError("this example needs deepagents: pip install deepagents") from error

LIBRARIAN = "You are the librarian."


@tool
def count_books(topic: str) -> int:
    """How many books there are about a topic."""
    return 10 * len(topic)


def script(messages: list[BaseMessage]) -> list[Any]:
    """The answers of both agents; their system messages differ."""
    asked, found = question(messages), results(messages)
    if LIBRARIAN in messages[0].text:
        if found:
            return words(f"I found {found[-1]} books.")
        return [*words("Let me see. "), tool_calls_part(("count_books", {"topic": asked}, call_id(messages, "count")))]
    if found:
        return words(f"The librarian says: {found[-1]}")
    task = {"description": asked, "subagent_type": "librarian"}
    return [tool_calls_part(("task", task, call_id(messages, "task")))]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    librarian: Any = {
        "name": "librarian",
        "description": "Knows how many books there are.",
        "system_prompt": LIBRARIAN,
        "tools": [count_books],
    }
    return create_deep_agent(chat_model(config, script), subagents=[librarian], checkpointer=InMemorySaver())
