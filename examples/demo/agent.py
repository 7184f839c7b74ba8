"""An agent that shows most of AG-UI.

prepare (a subgraph) → agent ⇄ tools → chart
"""

from __future__ import annotations

import asyncio
import operator
import re
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from examples.models import call_id, chat_model, pause, question, results, words
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import reasoning_part, tool_calls_part

WEATHER = {"Berlin": (21, "sunny"), "Lisbon": (27, "clear"), "Oslo": (12, "windy"), "Paris": (18, "rainy")}
ui = EventEmitter()


class State(MessagesState):
    cities: list[str]
    temperatures: Annotated[dict[str, int], operator.or_]


@tool
async def get_weather(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """The weather in a city."""
    for fraction in (0.5, 1.0):
        await asyncio.sleep(8 * pause())
        ui.progress(f"weather in {city}", fraction)
    degrees, sky = WEATHER.get(city, (15, "cloudy"))
    answer = ToolMessage(f"{sky}, {degrees} °C", tool_call_id=tool_call_id)
    return Command(update={"temperatures": {city: degrees}, "messages": [answer]})


@tool
def multiply(a: int, b: int) -> int:
    """The product of two numbers."""
    return a * b


TOOLS = [get_weather, multiply]


def cities_in(text: str) -> list[str]:
    return [city for city in WEATHER if city.lower() in text.lower()]


# A chain that has a name is shown as a thought with this title.
reading = RunnableLambda(cities_in).with_config(run_name="Reading the question")


async def read(state: State) -> dict[str, Any]:
    return {"cities": await reading.ainvoke(state["messages"][-1].text)}


prepare = StateGraph(State).add_node("read", read).add_edge(START, "read").compile()


def chart(state: State) -> dict[str, Any]:
    shown = {city: state["temperatures"][city] for city in state["cities"]}
    if shown:
        ui.emit("display_chart", {"type": "bar", "x": list(shown), "y": list(shown.values())})
    return {}


def script(messages: list[BaseMessage]) -> list[Any]:
    """The scripted model first calls all the tools at once, then says what they found."""
    text = question(messages)
    cities, numbers = cities_in(text), re.search(r"(\d+)\s*(?:times|x|\*|×)\s*(\d+)", text)
    if found := results(messages):
        sent = [f"In {city} it is {answer}." for city, answer in zip(cities, found, strict=False)]
        return words(" ".join([*sent, f"And {numbers[1]} × {numbers[2]} = {found[-1]}."] if numbers else sent))
    calls = [("get_weather", {"city": city}, call_id(messages, f"weather-{city}")) for city in cities]
    if numbers:
        calls.append(("multiply", {"a": int(numbers[1]), "b": int(numbers[2])}, call_id(messages, "product")))
    if not calls:
        return words(f"Ask me about the weather in {', '.join(WEATHER)}, or for a product such as 6 times 7.")
    thought = f"{len(calls)} things to find out, and none depends on another, so I look all of them up at once."
    return [*map(reasoning_part, words(thought)), tool_calls_part(*calls)]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    model = chat_model(config, script).bind_tools(TOOLS)

    async def agent(state: State, config: RunnableConfig) -> dict[str, Any]:
        system = SystemMessage("Answer with the help of the tools; call all that you need at once.")
        return {"messages": [await model.ainvoke([system, *state["messages"]], config)]}

    builder = StateGraph(State)
    builder.add_node("prepare", prepare)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(TOOLS))
    builder.add_node("chart", chart)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "agent")
    builder.add_conditional_edges("agent", tools_condition, ["tools", END])
    builder.add_edge("tools", "chart")
    builder.add_edge("chart", "agent")
    return builder.compile(checkpointer=InMemorySaver())
