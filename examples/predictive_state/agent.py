"""A document that the user sees while the model still writes it: as the argument of a tool call."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from examples.models import call_id, chat_model, question, results, words
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import tool_call_parts

POEM = """{topic}, you come and go.
Who can say what {topic} know?
I have looked, and now I see:
{topic} are too much for me."""


class State(MessagesState):
    document: str


@tool
def write_document(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Replace the document."""
    return Command(update={"document": text, "messages": [ToolMessage("written", tool_call_id=tool_call_id)]})


def script(messages: list[BaseMessage]) -> list[Any]:
    if results(messages):
        return words("How do you like it?")
    topic = question(messages).rstrip(".!?").rpartition(" ")[2].capitalize() or "Poems"
    poem = POEM.replace("{topic}", topic)
    return tool_call_parts("write_document", {"text": poem}, call_id(messages, "write"), pieces=40)


def adapter(config: RunnableConfig) -> AGUIAdapter:
    model = chat_model(config, script).bind_tools([write_document])

    async def agent(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(State)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode([write_document]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, ["tools", END])
    builder.add_edge("tools", "agent")
    options = AdapterOptions(predict_state={"document": ("write_document", "text")})
    return AGUIAdapter(builder.compile(checkpointer=InMemorySaver()), options=options)
