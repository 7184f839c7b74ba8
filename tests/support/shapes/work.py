"""Tools, agents, subgraphs, branches, the functional API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Send, interrupt

from tests.support.shapes.base import (
    ASK,
    NUMBER,
    Case,
    Numbers,
    model,
    remembering,
    row,
    saying,
    shape,
    talker,
)
from yai_nexus_agentkit.testing import Part, ai_message, tool_call_parts, tool_calls_part

__all__ = ["tool_loop"]

# --------------------------------------------------------------------------------------------------------------- tools


@tool
async def weather(city: str) -> str:
    """Weather."""
    await adispatch_custom_event("looking", {"city": city})
    return f"sunny in {city}"


@tool
def add(a: int, b: int) -> int:
    """Sum."""
    return a + b


@tool
def broken(x: int) -> str:
    """Fails."""
    raise ToolException(f"no {x}")


def tool_loop(tools: list[Any], *script: Sequence[Part], handle: Any = True, **compiled: Any) -> Any:
    scripted = model(*script).bind_tools(tools)

    async def agent(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=handle))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder.compile(**compiled)


@shape()
def tool_calls_in_turn() -> Any:
    calls = [tool_call_parts("weather", {"city": "Oslo"}, "c1"), tool_call_parts("add", {"a": 1, "b": 2}, "c2")]
    return tool_loop([weather, add], *calls, ["done"])


@shape("runs")
def parallel_tool_calls() -> Any:
    both = tool_calls_part(("weather", {"city": "Oslo"}, "c1"), ("add", {"a": 1, "b": 2}, "c2"))
    return tool_loop([weather, add], [both], ["done"])


@shape()
def failing_tools() -> Any:
    wrong = [tool_calls_part(("add", {"a": "x"}, "c2"))]
    return tool_loop(
        [broken, add], tool_call_parts("broken", {"x": 1}, "c1"), wrong, [ai_message("", ("nope", {}, "c3"))], ["."]
    )


@shape()
def tool_failure() -> Any:
    return tool_loop([broken], tool_call_parts("broken", {"x": 1}, "c1"), handle=False)


@shape()
def tools_by_hand() -> Any:
    async def use(state: Any) -> Any:
        await weather.ainvoke({"city": "Rome"})
        made = await add.ainvoke({"type": "tool_call", "id": "c", "name": "add", "args": {"a": 1, "b": 1}})
        return {"messages": [AIMessage("", tool_calls=[{"name": "add", "args": {}, "id": "c"}]), made]}

    return row(use=use)


@shape("split")
def tool_with_a_graph() -> Any:
    inner = row(say=talker("in"))

    @tool
    async def delegate(what: str) -> Command[Any]:
        """Runs a graph."""
        state = await inner.ainvoke({"messages": [HumanMessage(what, id="h")]})
        return Command(update={"messages": [ToolMessage(state["messages"][-1].content, tool_call_id="c1")]})

    return tool_loop([delegate], tool_call_parts("delegate", {"what": "x"}, "c1"), ["done"])


@shape("split")
def command_to_the_parent() -> Any:
    @tool
    def leave() -> Command[Any]:
        """Hands over."""
        return Command(
            graph=Command.PARENT, goto="after", update={"messages": [ToolMessage("left", tool_call_id="c1")]}
        )

    builder = StateGraph(MessagesState)
    builder.add_node("child", tool_loop([leave], tool_call_parts("leave", {}, "c1")), destinations=("after",))
    builder.add_node("after", talker("out"))
    builder.add_edge(START, "child")
    return builder.compile()


# ------------------------------------------------------------------------------------------------ langchain's agents


def _agent(*script: Sequence[Part], **options: Any) -> Any:
    agents = pytest.importorskip("langchain.agents")
    return agents.create_agent(model(*script), [weather, add], checkpointer=InMemorySaver(), name="helper", **options)


@shape()
def agent() -> Any:
    calls = [tool_call_parts("weather", {"city": "Oslo"}, "c1"), tool_call_parts("add", {"a": 1, "b": 2}, "c2")]
    return Case(_agent(*calls, ["do", "ne"]))


@shape("runs")
def agent_with_parallel_calls() -> Any:
    both = tool_calls_part(("weather", {"city": "Oslo"}, "c1"), ("add", {"a": 1, "b": 2}, "c2"))
    return Case(_agent([both], ["done"]))


@shape()
def agent_that_asks_first() -> Any:
    middleware = pytest.importorskip("langchain.agents.middleware")
    asking = middleware.HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    graph = _agent(tool_call_parts("weather", {"city": "Oslo"}, "c1"), ["done"], middleware=[asking])
    return Case(graph, [ASK, Command(resume={"decisions": [{"type": "approve"}]})])


# ------------------------------------------------------------------------------------------------- subgraphs, branches


@shape("split")
def three_levels() -> Any:
    return row(talker("c"), outer=row(talker("b"), middle=row(inner=talker("a1", "a2"))))


@shape("split")
def subgraph_called_twice() -> Any:
    scripted = saying("x", "y")
    inner = row(talk=lambda state: {"messages": [scripted.invoke(state["messages"])]})

    def call(state: Any) -> Any:
        inner.invoke(state)
        return {"messages": inner.invoke(state)["messages"][-1:]}

    return row(call=call)


@shape("split")
def subgraph_with_its_own_thread() -> Any:
    inner = remembering(talk=talker("x"))

    async def call(state: Any) -> Any:
        return await inner.ainvoke(state, {"configurable": {"thread_id": "own"}})

    return Case(remembering(call=call))


@shape("runs")
def fan_out() -> Any:
    scripted = saying("a ", "b ", "c")

    async def part(state: Any) -> Any:
        await scripted.ainvoke("x")
        return {"done": [state["number"]]}

    def blocking(state: Any) -> Any:
        scripted.invoke("x")
        return {"done": [state["number"]]}

    builder = StateGraph(Numbers)
    builder.add_node("part", part)
    builder.add_node("blocking", blocking)
    to = [Send("part" if n % 2 else "blocking", {"number": n}) for n in range(4)]
    builder.add_conditional_edges(START, lambda state: to, ["part", "blocking"])
    return Case(builder.compile(), [NUMBER])


@shape()
def looping() -> Any:
    async def step(state: Any) -> Command[Any]:
        return Command(update={"number": state["number"] + 1}, goto="step" if state["number"] < 3 else END)

    builder = StateGraph(Numbers)
    builder.add_node("step", step, destinations=("step", END))
    builder.add_edge(START, "step")
    return Case(builder.compile(), [NUMBER])


@shape("runs")
def functional() -> Any:
    @task
    async def double(n: int) -> int:
        await adispatch_custom_event("doubling", n)
        return 2 * n

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(number: int) -> Any:
        parts = [double(number), double(number + 1)]
        sums = sum([await part for part in parts])
        get_stream_writer()(sums)
        return sums + interrupt({"sum": sums})

    return Case(flow, [1, Command(resume=10)])
