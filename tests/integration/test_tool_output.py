"""Output of a tool before it returns: an activity beside its call, from `ToolRuntime` and from the emitter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.graph import MessagesState
from langgraph.prebuilt import ToolRuntime
from langgraph.types import interrupt

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted, tool_loop
from tests.support.two_sources import Heard, Source, answer, hear
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import text_part, tool_call_parts

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])


@tool
async def count(to: int, runtime: ToolRuntime) -> str:
    """Count."""
    for number in range(to):
        runtime.emit_output_delta(f"{number} ")
    return f"counted to {to}"


@tool
def count_in_a_thread(to: int, runtime: ToolRuntime) -> str:
    """Count."""
    for number in range(to):
        runtime.emit_output_delta({"number": number})
    return f"counted to {to}"


@tool
async def count_without_runtime(to: int) -> str:
    """Count."""
    for number in range(to):
        EventEmitter().tool_output(number)
    return f"counted to {to}"


@tool
async def ask_first(to: int, runtime: ToolRuntime) -> str:
    """Count, if allowed."""
    runtime.emit_output_delta("asking ")
    if not interrupt("go on?"):
        return "not allowed"
    runtime.emit_output_delta("going on")
    return f"counted to {to}"


def counting(*tools: Any) -> Callable[[], Graph]:
    """An agent that calls each of the tools at once."""
    calls = [part for n, t in enumerate(tools) for part in tool_call_parts(t.name, {"to": 2}, f"call_{n}", index=n)]
    return lambda: tool_loop(scripted(calls, [text_part("Done.")]), tools)


def outputs(heard: Heard) -> dict[str, list[Any]]:
    """Output by call id, as the client shows it."""
    shown = [m for m in heard.views[-1]["messages"] if m["role"] == "activity"]
    assert {m["activityType"] for m in shown} <= {"tool_output"}
    return {m["content"]["toolCallId"]: m["content"]["output"] for m in shown}


@both_sources
@pytest.mark.parametrize(
    ("which", "output"),
    [
        (count, ["0 ", "1 "]),
        (count_in_a_thread, [{"number": 0}, {"number": 1}]),
        (count_without_runtime, [0, 1]),
    ],
    ids=["async", "sync", "emitter"],
)
async def test_output_is_shown_before_the_tool_returns(
    judge: Judge, source: Source, which: Any, output: list[Any]
) -> None:
    heard = await hear(counting(which), source, judge)
    assert outputs(heard) == {"call_0": output}
    kinds = [e["type"] for e in heard.events]
    assert kinds.index("ACTIVITY_SNAPSHOT") < kinds.index("ACTIVITY_DELTA") < kinds.index("TOOL_CALL_RESULT")


@both_sources
async def test_parallel_tools_have_an_activity_each(judge: Judge, source: Source) -> None:
    heard = await hear(counting(count, count_in_a_thread), source, judge)
    assert outputs(heard) == {"call_0": ["0 ", "1 "], "call_1": [{"number": 0}, {"number": 1}]}


@both_sources
async def test_inside_a_subgraph(judge: Judge, source: Source) -> None:
    heard = await hear(lambda: in_a_row({"inner": counting(count)()}), source, judge)
    assert outputs(heard) == {"call_0": ["0 ", "1 "]}
    [shown] = [e for e in heard.events if e["type"] == "ACTIVITY_SNAPSHOT"]
    assert shown["metadata"]["langgraph"]["path"] == "inner/tools"


@both_sources
async def test_a_tool_that_runs_again_after_a_question_begins_anew(judge: Judge, source: Source) -> None:
    heard = await hear(counting(ask_first), source, judge, "hi", answer(True))
    assert outputs(heard) == {"call_0": ["asking ", "going on"]}


@both_sources
async def test_a_tool_called_by_hand(judge: Judge, source: Source) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", await count_without_runtime.ainvoke({"to": 1}))]}

    heard = await hear(lambda: in_a_row({"node": node}), source, judge)
    [(call_id, output)] = outputs(heard).items()
    assert output == [0]
    assert [e["toolCallId"] for e in heard.events if e["type"] == "TOOL_CALL_START"] == [call_id]


@both_sources
async def test_a_hidden_tool_shows_nothing(judge: Judge, source: Source) -> None:
    heard = await hear(counting(count), source, judge, visible=lambda run: run.name != "count")
    assert outputs(heard) == {}


@both_sources
async def test_outside_of_a_tool_nothing_is_sent(judge: Judge, source: Source) -> None:
    async def node(state: MessagesState) -> dict[str, Any]:
        EventEmitter().tool_output("lost")
        return {"messages": [("ai", "Done.")]}

    heard = await hear(lambda: in_a_row({"node": node}), source, judge)
    assert outputs(heard) == {}
