"""Two workers, two clients, one moment: runs begin, questions are answered and runs are stopped on both at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.serving import Exchange, asker, call, living, post, run_body, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.runs.identity import ThreadRef, thread_key
from yai_nexus_agentkit.runs.log import RunHead
from yai_nexus_agentkit.runs.stores.opening import open_store
from yai_nexus_agentkit.server import ServerSettings, create_app

TALK = "TEXT_MESSAGE_CONTENT"


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return {
        "sqlite": lambda: f"sqlite:{tmp_path / 'runs.db'}",
        "redis": lambda: request.getfixturevalue("redis").address,
        "postgres": lambda: request.getfixturevalue("database"),
    }[request.param]()


async def before(run: Any) -> None:
    await asyncio.sleep(run.run_input.forwarded_props.get("wait", 0))


@pytest.fixture
async def workers(address: str) -> AsyncIterator[tuple[Any, Any]]:
    """Two workers of one service, with an agent that talks and one that asks."""
    talks, asks = InMemorySaver(), InMemorySaver()
    settings = ServerSettings(disconnect="continue", store=address, lease=6.0, ending_wait=0.0)
    async with AsyncExitStack() as stack:
        apps = []
        for _ in range(2):
            talk = AGUIAdapter(talker(30, 0.01, checkpointer=talks), hooks=Hooks(before_run=before))
            apps.append(create_app({"talk": talk, "ask": AGUIAdapter(asker(asks))}, settings=settings))
            await stack.enter_async_context(living(apps[-1]))
        yield apps[0], apps[1]


async def messages(app: Any, path: str) -> list[Any]:
    return [m["content"] for m in (await call(app, "GET", f"{path}/messages")).json["messages"]]


async def test_of_two_runs_that_begin_at_once_one_is_refused(workers: Any) -> None:
    async def begun(thread: str) -> None:
        both = [post(app, run_body(f"say {i}", thread=thread, run=f"r{i}"), "/talk") for i, app in enumerate(workers)]
        for one in both:
            await one.end()
        assert sorted(one.status for one in both) == [200, 409]
        [won] = [i for i, one in enumerate(both) if one.status == 200]
        assert both[won].types()[-1] == "RUN_FINISHED"
        assert await messages(workers[0], f"/talk/threads/{thread}") == [f"say {won}", both[won].text()]

    await asyncio.gather(*(begun(f"begun-{n}") for n in range(5)))


async def test_of_two_answers_at_once_one_counts(workers: Any) -> None:
    async def answered(thread: str, *answers: str) -> None:
        asked = await post(workers[0], run_body("hi", thread=thread, protocolVersion="1.0"), "/ask").end()
        both = [post(workers[i], given(asked, answers[i], thread, f"r{i}"), "/ask") for i in (0, 1)]
        for one in both:
            await one.end()
        took = [i for i, one in enumerate(both) if one.status == 200]
        refused = [one.error for one in both if one.status == 409]
        assert set(refused) <= {"ALREADY_ANSWERED", "THREAD_BUSY"}
        assert await messages(workers[0], f"/ask/threads/{thread}") == ["hi", f"you said {answers[took[0]]}"]
        assert len(took) == 1 or len(set(answers)) == 1, "the second of two that are alike may end as the first one"

    for n in range(3):
        await asyncio.gather(answered(f"differ-{n}", "yes", "no"), answered(f"alike-{n}", "yes", "yes"))


def given(asked: Exchange, payload: Any, thread: str, run: str) -> dict[str, Any]:
    (question,) = asked.events[-1]["outcome"]["interrupts"]
    resume = [{"interruptId": question["id"], "status": "resolved", "payload": payload}]
    return run_body(None, thread=thread, run=run, protocolVersion="1.0", resume=resume)


async def test_a_run_is_cancelled_from_another_worker_at_any_moment(workers: Any) -> None:
    here, there = workers

    async def cancelled(moment: str, times: int) -> None:
        thread = f"{moment}-{times}"
        body = run_body(thread=thread, protocolVersion="1.0", forwardedProps={"wait": 0.3 * (moment == "before")})
        run = post(here, body, "/talk")
        if moment == "before":
            while not any(one["threadId"] == thread for one in (await call(there, "GET", "/talk/threads")).json):
                await asyncio.sleep(0.01)
        else:
            await run.until(lambda it: it.complete if moment == "after" else moment in it.types())
        asked = await asyncio.gather(*(call(there, "POST", f"/talk/threads/{thread}/cancel", {}) for _ in range(times)))
        async with asyncio.timeout(1.5):  # a third of the lease would be two seconds
            await run.end()
        assert {one.json["status"] for one in asked} == {"idle" if moment == "after" else "cancelling"}
        assert ended(run) == ("success" if moment == "after" else "cancelled")
        again = await post(there, run_body("again", thread=thread, run="r2", protocolVersion="1.0"), "/talk").end()
        assert ended(again) == "success", "the cancellation counts for its own run only"

    await asyncio.gather(
        *(cancelled(moment, times) for moment in ("before", "RUN_STARTED", TALK, "after") for times in (1, 2))
    )


def ended(run: Exchange) -> str:
    return str((run.events[-1].get("outcome") or {"type": "success"})["type"])


async def test_a_run_whose_worker_is_gone_can_be_cancelled(workers: Any, address: str) -> None:
    async def cancelled(name: str, lease: float) -> None:
        thread, log = ThreadRef("talk", "", name, thread_key("talk", "", name)), store.log
        assert log is not None
        body = run_body("hi", thread=name, protocolVersion="1.0")
        kept = {"thread": None, "whole": True, "disconnect": "continue", "orphaned": None, "facts": {}}
        fence = await store.locks.acquire(thread.key, "dead", lease=lease)
        assert fence is not None
        run = RunHead(uuid4().hex, thread, "r1", json.dumps(body), facts=json.dumps(kept), fence=fence)
        await log.create(run)
        assert (await call(workers[0], "POST", f"/talk/threads/{name}/cancel", {})).status == 202
        while (head := await log.head(run.id)) is None or head.ended is None:
            await asyncio.sleep(0.05)
        lines = [json.loads(line) for entry in await log.read(run.id) for line in entry.data.split(b"\n")]
        assert [line["type"] for line in lines] == ["RUN_STARTED", "RUN_FINISHED"]
        assert lines[-1]["outcome"]["type"] == "cancelled"

    async with asyncio.timeout(20), open_store(address) as store:
        await asyncio.gather(cancelled("while its lease runs", 0.5), cancelled("when its lease is over", 0.0))
