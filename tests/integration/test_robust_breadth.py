"""The cost of a run grows no faster than what happens in it: branches, calls, answers by the hundred."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

import yai_nexus_agentkit
from tests.support.graphs import Graph, in_a_row, scripted
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import collect, run_input, text_part, tool_calls_part

OURS = yai_nexus_agentkit.__path__[0]
Counted = list[int]


@contextmanager
def counted_lines() -> Any:
    """Counts the lines of ours that run: the same on a busy machine, and comprehensions count each time around."""
    counted = [0]

    def count(frame: FrameType, event: str, _: Any) -> Any:
        counted[0] += event == "line"
        return count

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        return count if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield counted
    finally:
        sys.settrace(before)


@tool
async def work(n: int) -> str:
    """Work."""
    await asyncio.sleep(0.01)
    return f"done {n}"


async def speaks(state: Any, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [await scripted("An answer.").ainvoke("Speak.", config)]}


async def writes(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("Written.")]}


async def works(state: Any, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [AIMessage(await work.ainvoke({"n": 1}, config))]}


async def asks(state: Any) -> None:
    interrupt({"question": "Go on?"})


async def fails_first(state: Any, config: RunnableConfig) -> dict[str, Any]:
    broken = scripted([RuntimeError("down")], disable_streaming=False)
    return {"messages": [await broken.with_fallbacks([scripted("Second.")]).ainvoke("Speak.", config)]}


def branches(node: Any, nested: bool = False) -> Callable[[int], Graph]:
    def build(count: int) -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("branch", in_a_row({"inner": node}, checkpointer=None) if nested else node)
        sends = [Send("branch", {"messages": []}) for _ in range(count)]
        builder.add_conditional_edges(START, lambda state: sends, ["branch"])
        return builder.compile(checkpointer=InMemorySaver())

    return build


def recurring(count: int) -> Graph:
    """Workers at once, whose models give their calls the same id."""

    async def worker(state: Any, config: RunnableConfig) -> dict[str, Any]:
        answer = await scripted([tool_calls_part(("work", {"n": 1}, "call_0"))]).ainvoke("Work.", config)
        [call] = answer.tool_calls
        return {"messages": [answer, await work.ainvoke(call, config)]}

    return branches(worker)(count)


def many_calls(count: int) -> Graph:
    """One answer with many calls, and a node that runs all of them by hand."""
    calls = [("work", {"n": n}, f"c{n}") for n in range(count)]
    model = scripted([tool_calls_part(*calls)])

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    async def tools(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        made = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        found = await asyncio.gather(*(work.ainvoke(call["args"], config) for call in made))
        return {
            "messages": [ToolMessage(text, tool_call_id=call["id"]) for text, call in zip(found, made, strict=True)]
        }

    return in_a_row({"agent": agent, "tools": tools})


def many_answers(count: int) -> Graph:
    """One node whose models answer many times, and that writes as many answers of its own."""

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        streamed = [await scripted([text_part("Streamed.")]).ainvoke("Speak.", config) for _ in range(count)]
        return {"messages": [*streamed, *(AIMessage(f"Written {n}.") for n in range(count))]}

    return in_a_row({"node": node})


SHAPES: dict[str, Callable[[int], Graph]] = {
    "models": branches(speaks),
    "written answers": branches(writes),
    "tools by hand": branches(works),
    "questions": branches(asks),
    "failed models": branches(fails_first),
    "subgraphs": branches(speaks, nested=True),
    "recurring ids": recurring,
    "calls of one answer": many_calls,
    "answers of one node": many_answers,
}


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_cost_grows_with_what_happens(shape: str, source: Any) -> None:
    async def cost(count: int) -> float:
        adapter = AGUIAdapter(SHAPES[shape](count), options=AdapterOptions(source=source))
        lines: AbstractContextManager[Counted] = counted_lines()
        with lines as counted:
            events = await collect(adapter, run_input("hi"))
        assert events[-1]["type"] == "RUN_FINISHED"
        assert len(events) > 2 * count
        return counted[0]

    count = 100 if shape == "recurring ids" else 40  # what grows with the square is a few lines there
    few, many = await cost(count), await cost(4 * count)
    assert many < 4.4 * few, f"{few / count:.0f} lines each, then {many / count / 4:.0f}"
