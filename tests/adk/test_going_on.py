"""A run whose worker died: another goes on with it where ADK can, else it is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.sessions import DatabaseSessionService, InMemorySessionService

from tests.adk.playing import HANGS, calling, hanging, model, of, text_of
from yai_nexus_agentkit import AGUIAdapter, EventEmitter
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.adapter.run_context import Attempt
from yai_nexus_agentkit.testing import assert_conformant, run_input, wire

ran: list[str] = []


def count(what: str) -> str:
    """Count."""
    ran.append(what)
    return "counted"


def adapter(agent: Any, service: Any, *, resumable: bool = True) -> AGUIAdapter:
    app = App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=resumable))
    return AGUIAdapter(AdkSource(app, session_service=service))


async def played(adapter: AGUIAdapter, attempt: int, *, until: str | None = None) -> list[dict[str, Any]]:
    request = run_input([{"id": "u1", "role": "user", "content": "go"}], thread_id="t", run_id="r")
    events: list[dict[str, Any]] = []
    stream = adapter.stream(request, lambda event: event, attempt=Attempt("key", attempt))
    async for event in stream:
        events.append(wire(event))
        if event.type == until:
            break
    while until and not hanging:  # the agent goes on until then
        await asyncio.sleep(0.01)
    await stream.aclose()
    return events


def tools_then_answer(*, dies: bool = False) -> Agent:
    answers: list[Any] = [["Wait. ", calling("count", what="a")], HANGS] if dies else [["Done."]]
    return Agent(name="root", model=model(*answers), tools=[count])


def steps(*, dies: bool = False) -> SequentialAgent:
    one, two = (model(["First."]), model(HANGS)) if dies else (model(), model(["Second."]))
    return SequentialAgent(name="steps", sub_agents=[Agent(name="one", model=one), Agent(name="two", model=two)])


@pytest.mark.parametrize(
    ("build", "until", "left"),
    [(tools_then_answer, "TOOL_CALL_RESULT", "Done."), (steps, "TEXT_MESSAGE_END", "Second.")],
)
async def test_the_next_worker_goes_on(build: Any, until: str, left: str, tmp_path: Path) -> None:
    ran.clear()
    hanging.clear()
    address = f"sqlite+aiosqlite:///{tmp_path}/s.db"
    dead, alive = DatabaseSessionService(db_url=address), DatabaseSessionService(db_url=address)
    try:
        first = await played(adapter(build(dies=True), dead), 1, until=until)
        assert first[-1]["type"] == until
        events = await played(adapter(build(), alive), 2)
    finally:
        await dead.close()
        await alive.close()

    assert_conformant(events)
    assert text_of(events) == left
    wanted = ["a"] if build is tools_then_answer else []
    assert ran == wanted
    roles = [m["role"] for m in of(events, "MESSAGES_SNAPSHOT")[0]["messages"]]
    assert roles[:2] == ["user", "assistant"]


async def test_a_try_that_stored_nothing_begins_anew_and_one_that_ended_shows_its_end(tmp_path: Path) -> None:
    service = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{tmp_path}/s.db")
    try:
        agent = Agent(name="root", model=model(["Hello."]))
        assert text_of(await played(adapter(agent, service), 2)) == "Hello."
        events = await played(adapter(agent, service), 3)
    finally:
        await service.close()
    assert text_of(events) == ""
    assert [m["content"] for m in of(events, "MESSAGES_SNAPSHOT")[0]["messages"]] == ["go", "Hello."]
    assert events[-1]["type"] == "RUN_FINISHED"


def test_who_can_go_on(tmp_path: Path) -> None:
    lasting = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{tmp_path}/s.db")
    cases = [(lasting, True, True), (lasting, False, False), (InMemorySessionService(), True, False)]
    for service, resumable, wanted in cases:
        assert adapter(steps(), service, resumable=resumable).source.continues is wanted


async def test_another_worker_moves_the_same_bar() -> None:
    def load() -> str:
        EventEmitter().progress("load", 0.5)
        return "loaded"

    async def bar(attempt: int) -> Any:
        agent = Agent(name="root", model=model([calling("load")], ["Done."]), tools=[load])
        events = await played(adapter(agent, InMemorySessionService()), attempt)
        return next(event["messageId"] for event in events if event["type"] == "ACTIVITY_SNAPSHOT")

    assert await bar(1) == await bar(2)
