"""Graphs inside graphs, and branches side by side: each step is named by its path."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from examples.models import chat_model, question, words

PLACES = ("library", "archive")


class State(MessagesState):
    findings: Annotated[list[str], operator.add]


class Search(TypedDict):
    place: str
    topic: str
    findings: Annotated[list[str], operator.add]


def script(messages: list[BaseMessage]) -> list[str]:
    return words(f"{len(messages) * 3} pages about {question(messages)}")


def search_graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    """One search: look, then summarise."""
    model = chat_model(config, script)

    def look(search: Search) -> dict[str, Any]:
        return {}

    async def summarise(search: Search) -> dict[str, Any]:
        summary = await model.ainvoke(f"{search['topic']} in the {search['place']}")
        return {"findings": [f"{search['place']}: {summary.text}"]}

    builder = StateGraph(Search).add_node(look).add_node(summarise)
    return builder.add_edge(START, "look").add_edge("look", "summarise").compile()


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    def send_out(state: State) -> list[Send]:
        topic = question(state["messages"])
        return [Send("search", {"place": place, "topic": topic}) for place in PLACES]

    def report(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("\n".join(sorted(state["findings"])))]}

    builder = StateGraph(State)
    builder.add_node("search", search_graph(config))
    builder.add_node(report)
    builder.add_conditional_edges(START, send_out, ["search"])
    builder.add_edge("search", "report")
    return builder.compile()
