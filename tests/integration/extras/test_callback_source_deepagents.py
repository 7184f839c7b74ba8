"""deepagents through the callback source: subagents side by side, their questions, and what clients see of both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.support.native_events import by_callbacks, by_v2, likeness, observe
from tests.support.shapes import Case, model
from tests.support.shapes.base import ASK
from tests.support.two_sources import answer, hear, same_entities, same_outcome
from yai_nexus_agentkit.adapter.langgraph.native.chunk_tap import ORIGIN
from yai_nexus_agentkit.testing import tool_call_parts, tool_calls_part


@tool
async def weather(city: str) -> str:
    """Weather."""
    await asyncio.sleep(0.005)
    return f"sunny in {city}"


def agent(*, asking: bool = False) -> Any:
    """Two subagents that work at the same time, each with a model and a call of its own; Oslo's is the faster one."""

    def helper(city: str, pause: float) -> dict[str, Any]:
        script = tool_call_parts("weather", {"city": city}, f"ask-{city}"), [f"{city}: ", "sunny"]
        scripted = model(*script, pause=pause)
        return {
            "name": city,
            "description": f"Knows {city}",
            "system_prompt": city,
            "tools": [weather],
            "model": scripted,
        }

    tasks = [("task", {"description": f"{city}?", "subagent_type": city}, city) for city in ("Oslo", "Rome")]
    return create_deep_agent(
        model=model([tool_calls_part(*tasks)], ["Both ", "sunny"]),
        subagents=[helper("Oslo", 0.002), helper("Rome", 0.03)],
        interrupt_on={"weather": True} if asking else None,
        checkpointer=InMemorySaver(),
    )


@pytest.mark.parametrize("origin", [ORIGIN, None], ids=["origin", "iterated"])
async def test_the_same_events_as_v2(origin: Any) -> None:
    [expected] = await observe(Case(agent(), [ASK]), by_v2)
    [got] = await observe(Case(agent(), [ASK]), by_callbacks, origin=origin)
    assert likeness(expected, got) in ("exact", "split", "runs")
    assert got.error is None


async def test_parallel_subagents_look_alike_from_both_sources(judge: Judge) -> None:
    v2, ours = [await hear(agent, source, judge) for source in ("events", "callbacks")]
    same_entities(v2, ours)
    same_outcome(v2, ours, ordered=False)
    owners = {event["subagentRunId"] for event in ours.events if event["type"] == "SUBAGENT_STARTED"}
    spoken = {event.get("subagentRunId") for event in ours.events if event["type"] == "TEXT_MESSAGE_START"}
    assert len(owners) == 2
    assert spoken == {*owners, None}


async def test_subagents_that_ask_look_alike_from_both_sources(judge: Judge) -> None:
    approve = answer({"decisions": [{"type": "approve"}]})
    v2, ours = [await hear(lambda: agent(asking=True), s, judge, "hi", approve) for s in ("events", "callbacks")]
    same_entities(v2, ours)
    same_outcome(v2, ours, ordered=False)
    assert [view["terminal"] for view in ours.views] == ["RUN_FINISHED", "RUN_FINISHED"]
    assert len(ours.views[0].get("interrupts", ())) == 2
