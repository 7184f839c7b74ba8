"""Exceptions of an agent in the log: once, and none is lost."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import Agent, SequentialAgent
from google.adk.tools import FunctionTool
from google.adk.workflow import FunctionNode, RetryConfig, Workflow

from tests.adk.playing import calling, model
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import collect


def fails(node_input: Any = None) -> str:
    """Fail."""
    raise RuntimeError("boom")


def agent() -> Agent:
    return Agent(name="root", model=model(RuntimeError("boom")))


AGENTS = {
    "model": agent,
    "tool": lambda: Agent(name="root", model=model([calling("fails")]), tools=[FunctionTool(fails)]),
    "inside": lambda: SequentialAgent(name="outer", sub_agents=[agent()]),
    "workflow": lambda: Workflow(name="flow", edges=[("START", FunctionNode(func=fails, name="fails"))]),
}


@pytest.mark.parametrize("kind", AGENTS)
async def test_an_exception_is_logged_once(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    events = await collect(AGUIAdapter(AGENTS[kind]()), "x")
    assert (events[-1]["type"], events[-1]["message"]) == ("RUN_ERROR", "boom")
    assert [record.name.split(".")[0] for record in caplog.records if record.exc_info] == ["yai_nexus_agentkit"]


@pytest.mark.parametrize("answer", ["done", None])
async def test_an_exception_that_is_no_end_stays_in_the_log(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    def flaky(node_input: Any) -> Any:
        tries.append(1)
        if len(tries) < 2:
            raise RuntimeError("once")
        return answer

    tries: list[int] = []
    node = FunctionNode(func=flaky, name="flaky", retry_config=RetryConfig(max_attempts=3, initial_delay=0.01))
    events = await collect(AGUIAdapter(Workflow(name="flow", edges=[("START", node)])), "x")
    assert (events[-1]["type"], len(tries)) == ("RUN_FINISHED", 2)
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["once"]
