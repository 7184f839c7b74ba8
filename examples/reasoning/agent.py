"""A model that thinks before it answers, and a chain whose name is the title of a thought."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from examples.models import chat_model, question, words
from yai_nexus_agentkit.testing import reasoning_part, text_part


def script(messages: list[BaseMessage]) -> list[Any]:
    """Thoughts and text in the shape of Anthropic's models, with the signature that they want back."""
    letters = sum(character.isalpha() for character in question(messages))
    thought = f"I count the letters one by one, without spaces and signs: {letters}."
    parts = [*map(reasoning_part, words(thought)), reasoning_part(signature="c2lnbmVk")]
    return [*parts, *(text_part(word, index=1) for word in words(f"Your question has {letters} letters."))]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script)

    async def normalise(text: str) -> str:
        return text.strip()

    cleaning = RunnableLambda(normalise).with_config(run_name="Cleaning up the question")

    async def think(state: MessagesState) -> dict[str, Any]:
        await cleaning.ainvoke(question(state["messages"]))
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node(think).add_edge(START, "think").compile(checkpointer=InMemorySaver())
