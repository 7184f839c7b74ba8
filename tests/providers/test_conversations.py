"""The same conversations with every provider: tools side by side, a second turn, an answer to a question.

Each is checked twice: what the official clients show, and what the provider reads in the next request. Without a
checkpointer, what the client holds is the only memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from tests.conftest import Judge
from tests.providers.conftest import Serve
from tests.support.people import spoken
from tests.support.providers.dialects import DIALECTS, Call, Dialect
from tests.support.providers.server import ModelServer
from tests.support.two_sources import Source, answer, hear
from yai_nexus_agentkit.orchestration.approvals import require_approval

CALLS: list[Call] = [("weather", {"city": "Rome"}, "call_a"), ("clock", {"zone": "CET"}, "call_b")]
FIRST_TURN = [
    ("user", "hi"),
    ("assistant", "Let me look. "),
    ("call", "weather", {"city": "Rome"}),
    ("call", "clock", {"zone": "CET"}),
    ("result", "sun in Rome"),
    ("result", "noon in CET"),
    ("assistant", "Sun at noon."),
]

pytestmark = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


@tool
async def clock(zone: str) -> str:
    """The time in a zone."""
    return f"noon in {zone}"


def agent(
    server: ModelServer, dialect: Dialect, tools: list[Any], *, memory: bool = True
) -> Callable[[], CompiledStateGraph[Any, Any, Any, Any]]:
    saver = InMemorySaver() if memory else None
    return lambda: create_agent(dialect.model(server), tools, checkpointer=saver)


def said(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """A client's messages as `Said`."""
    found: list[tuple[Any, ...]] = []
    for message in spoken(messages):
        role = "result" if message["role"] == "tool" else message["role"]
        if message["content"]:
            found.append((role, message["content"]))
        found += [("call", name, args) for _, name, args in message["calls"]]
    return found


@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
async def test_tools_side_by_side_and_a_second_turn(
    judge: Judge, serve: Serve, source: Source, dialect: Dialect, memory: bool
) -> None:
    server = serve(
        [
            dialect.answer("Let me look. ", CALLS, 1),
            dialect.answer("Sun at noon.", [], 2),
            dialect.answer("You are welcome.", [], 3),
        ]
    )
    heard = await hear(agent(server, dialect, [weather, clock], memory=memory), source, judge, "hi", "thanks")

    first, second = (view["messages"] for view in heard.views)
    assert said(first) == FIRST_TURN
    assert said(second) == [*FIRST_TURN, ("user", "thanks"), ("assistant", "You are welcome.")]
    assert [m["role"] for m in first].count("reasoning") == (2 if dialect.reasons else 0)
    assert dialect.read(server.bodies[1]) == FIRST_TURN[:-1]
    assert dialect.read(server.bodies[2]) == [*FIRST_TURN, ("user", "thanks")]
    assert [event["type"] for event in heard.events].count("RUN_FINISHED") == 2


async def test_an_answer_to_a_question_beside_another_tool(
    judge: Judge, serve: Serve, source: Source, dialect: Dialect
) -> None:
    server = serve([dialect.answer("Let me look. ", CALLS, 1), dialect.answer("Sun at noon.", [], 2)])
    tools = [weather, require_approval(clock)]
    heard = await hear(agent(server, dialect, tools), source, judge, "hi", answer({"approved": True}))

    paused, done = (view["messages"] for view in heard.views)
    [question] = heard.views[0]["interrupts"]
    assert question["toolCallId"] in {call[0] for m in spoken(paused) for call in m["calls"]}
    assert said(paused) == FIRST_TURN[:5]
    assert said(done) == FIRST_TURN
    assert dialect.read(server.bodies[1]) == FIRST_TURN[:-1]
    resumed = [event["type"] for event in heard.runs[1]["events"]]
    assert "TOOL_CALL_START" not in resumed, "a resumed run never streams a call again"
