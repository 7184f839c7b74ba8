"""An agent that shows most of what AG-UI can tell, driven by a scripted model that needs no key.

prepare (a subgraph) → agent ⇄ tools → chart

yai-nexus-agentkit run examples/demo/agent.py:graph "What is the weather in Berlin and Paris? And 6 times 7?"
"""

from __future__ import annotations

import asyncio
import operator
import re
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from examples.models import chat_model, pause, words
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import reasoning_part, tool_calls_part

WEATHER = {"Berlin": (21, "sunny"), "Lisbon": (27, "clear"), "Oslo": (12, "windy"), "Paris": (18, "rainy")}
ui = EventEmitter()


class State(MessagesState):
    cities: list[str]
    temperatures: Annotated[dict[str, int], operator.or_]


# ---------------------------------------------------------------- tools


@tool
async def get_weather(
    city: str, config: RunnableConfig, tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    """The weather in a city."""
    for fraction in (0.5, 1.0):
        await asyncio.sleep(8 * pause(config))
        ui.progress(f"weather in {city}", fraction)
    degrees, sky = WEATHER.get(city, (15, "cloudy"))
    answer = ToolMessage(f"{sky}, {degrees} °C", tool_call_id=tool_call_id)
    return Command(update={"temperatures": {city: degrees}, "messages": [answer]})


@tool
def multiply(a: int, b: int) -> int:
    """The product of two numbers."""
    return a * b


TOOLS = [get_weather, multiply]


# ---------------------------------------------------------------- a subgraph, and a node with UI events


def cities_in(text: str) -> list[str]:
    return [city for city in WEATHER if city.lower() in text.lower()]


# A chain that has a name is shown as a thought with this title.
reading = RunnableLambda(cities_in).with_config(run_name="Reading the question")


async def read_question(state: State) -> dict[str, Any]:
    return {"cities": await reading.ainvoke(state["messages"][-1].text), "temperatures": {}}


prepare = StateGraph(State).add_node("read", read_question).add_edge(START, "read").compile()


def chart(state: State) -> dict[str, Any]:
    if temperatures := state.get("temperatures"):
        ui.emit("display_chart", {"type": "bar", "x": list(temperatures), "y": list(temperatures.values())})
    return {}


# ---------------------------------------------------------------- the agent


def script(messages: list[BaseMessage]) -> list[Any]:
    """What the scripted model says. Its first answer is a thought and all calls at once, its second the result."""
    question = next(m.text for m in reversed(messages) if isinstance(m, HumanMessage))
    cities = cities_in(question)
    numbers = re.search(r"(\d+)\s*(?:times|x|\*|×)\s*(\d+)", question)
    results = {m.tool_call_id: m.text for m in messages if isinstance(m, ToolMessage)}
    round_ = sum(isinstance(m, HumanMessage) for m in messages)
    if f"weather-{round_}-0" in results or f"product-{round_}" in results:
        told = [f"In {city} it is {results[f'weather-{round_}-{n}']}." for n, city in enumerate(cities)]
        if numbers:
            told.append(f"And {numbers[1]} × {numbers[2]} = {results[f'product-{round_}']}.")
        return words(" ".join(told))
    calls = [("get_weather", {"city": city}, f"weather-{round_}-{n}") for n, city in enumerate(cities)]
    if numbers:
        calls.append(("multiply", {"a": int(numbers[1]), "b": int(numbers[2])}, f"product-{round_}"))
    if not calls:
        return words(f"Ask me about the weather in {', '.join(WEATHER)}, or for a product such as 6 times 7.")
    thought = f"{len(calls)} things to find out, and none depends on another, so I look all of them up at once."
    return [*(reasoning_part(word) for word in words(thought)), tool_calls_part(*calls)]


def graph(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled graph, with the model that the configuration names."""
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
