"""The cost of an ADK event beside iterating `run_async`, in the same process."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from google.adk.agents import Agent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types

from tests.adk.playing import model
from tests.support.timing import Timed, cost_ratio
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import run_input

WORDS = 400


def agent() -> Agent:
    return Agent(name="root", model=model([f"word{n} " for n in range(WORDS)]))


async def alone() -> None:
    runner = InMemoryRunner(agent=agent())
    await runner.session_service.create_session(app_name=runner.app_name, user_id="u", session_id="s")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message, run_config=config):
        pass


async def adapted() -> None:
    async for _ in AGUIAdapter(agent()).stream_sse(run_input("go")):
        pass


def timed(work: Callable[[], Awaitable[None]]) -> Timed:
    async def once(number: int) -> float:
        began = time.process_time()
        await work()
        return time.process_time() - began

    return once


async def test_an_event_costs_at_most_a_third_more_than_adk_alone() -> None:
    for work in (alone, adapted):
        await work()
    ratio = await cost_ratio(timed(adapted), timed(alone), most=1.3, rounds=5)
    print(f"{ratio:.2f} x")
    assert ratio <= 1.3
