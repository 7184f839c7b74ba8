"""Isolated connections: each socket has a thread of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.serving import run_body, served, talker
from tests.support.socket_workers import app_of
from tests.support.sockets import Tab, listening, tab
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef
from yai_nexus_agentkit.runs.locks import Lease
from yai_nexus_agentkit.runs.log import RunHead
from yai_nexus_agentkit.runs.shared_runs import CannotGoOnError
from yai_nexus_agentkit.server import ServerSettings
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.restoring import for_one_connection, restored_request, stored_of

AI = Path(__file__).resolve().parents[1] / "js" / "ai-sdk"


class Served(NamedTuple):
    app: Any
    host: str


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    app = app_of(InMemorySaver(), isolated=True, grace=0.2)
    async with listening(app) as host:
        yield Served(app, host)


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (events[-1].get("outcome") or {}).get("interrupts", [])
    return found


def text(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


def answer(asked: list[dict[str, Any]], approved: bool) -> dict[str, Any]:
    return {
        "resume": [{"interruptId": q["id"], "status": "resolved", "payload": {"approved": approved}} for q in asked]
    }


async def seen(one: Tab) -> list[dict[str, Any]]:
    return await one.whole(await one.ask("connect", None))


async def test_a_single_tab(server: Served) -> None:
    async with tab(server.host) as one:
        assert text(await one.played("hello")) == "You said 1 things."
        assert text(await one.played("again")) == "You said 2 things."
        asked = interrupts(await one.played("transfer"))
        assert text(await one.played(None, **answer(asked, True))) == "Result: moved 5."


async def test_two_tabs_have_separate_histories(server: Served) -> None:
    async with tab(server.host) as a, tab(server.host) as b:
        await a.played("hello")
        assert text(await a.played("again")) == "You said 2 things."
        assert text(await b.played("hello")) == "You said 1 things."
        assert "again" not in str(await seen(b))


async def test_an_approval_of_one_tab_is_invisible_in_the_other(server: Served) -> None:
    async with tab(server.host) as a, tab(server.host) as b:
        for asking, other in ((a, b), (b, a)):
            asked = interrupts(await asking.played("transfer"))
            assert interrupts(await seen(asking)) == asked
            await seen(other)
            await asyncio.sleep(0.5)
            assert asked[0]["id"] not in str(other.frames)
            await asking.played(None, **answer(asked, False))


async def test_approvals_of_both_at_once_do_not_influence_each_other(server: Served) -> None:
    async with tab(server.host) as a, tab(server.host) as b:
        for_a, for_b = map(interrupts, await asyncio.gather(a.played("transfer"), b.played("transfer")))
        done = await asyncio.gather(a.played(None, **answer(for_a, True)), b.played(None, **answer(for_b, False)))
        assert "moved 5" in text(done[0])
        assert "moved" not in text(done[1])


async def test_closing_one_tab_leaves_the_other(server: Served) -> None:
    async with tab(server.host) as a, tab(server.host) as b:
        asked = interrupts(await b.played("transfer"))
        running = await a.ask("run", "slow")
        await a.until(lambda: "TEXT_MESSAGE_CONTENT" in a.types(running))
        await a.close()
        assert "moved 5" in text(await b.played(None, **answer(asked, True)))


async def test_a_reconnect_is_a_new_session(server: Served) -> None:
    async with tab(server.host) as a:
        before = (await a.frame("connected"))["connectionId"]
        asked = interrupts(await a.played("transfer"))
    async with tab(server.host, f"/ws?previous={before}") as again:
        assert (await again.frame("connected"))["connectionId"] != before
        assert await seen(again) == []
        refused = await again.ask("run", None, **answer(asked, True))
        await again.until(lambda: again.is_over(refused))
        assert again.of(refused)[0]["error"]["error"] == "NOT_ASKED"
        assert text(await again.played("hello")) == "You said 1 things."


async def test_the_answer_to_another_tabs_question_is_refused(server: Served) -> None:
    async with tab(server.host) as a, tab(server.host) as b:
        asked = interrupts(await a.played("transfer"))
        for _ in ("before a question of its own", "with one"):
            stolen = await b.ask("run", None, **answer(asked, True))
            await b.until(lambda stolen=stolen: b.is_over(stolen))  # type: ignore[misc]
            (refused,) = b.of(stolen)
            assert (refused["status"], refused["error"]["error"]) == (409, "NOT_ASKED")
            await b.played("transfer")
        assert "moved 5" in text(await a.played(None, **answer(asked, True)))


@pytest.mark.parametrize("word", ["slow", "transfer"])
async def test_a_disconnect_ends_the_run_and_frees_everything(server: Served, word: str) -> None:
    service = server.app.state.agui
    async with tab(server.host) as one:
        running = await one.ask("run", word)
        if word == "slow":
            await one.until(lambda: "TEXT_MESSAGE_CONTENT" in one.types(running))
        else:
            await one.whole(running)
        (entry,) = await service.index.entries("agent", "anna", limit=10)
        (connection,) = await service.connections.of("agent", "anna")
        one.socket.transport.abort()
    async with asyncio.timeout(40):
        while service.live or await service.connections.of("agent", "anna"):
            await asyncio.sleep(0.02)
    assert connection.id not in str(await service.connections.of("agent", "anna"))
    assert await service.locks.state(entry.thread.key) is Lease.FREE
    assert service.holders == {}


async def test_no_worker_goes_on_with_the_run_of_a_connection() -> None:
    agent, thread = ServedAgent("agent", AGUIAdapter(talker()), ServerSettings()), ThreadRef("agent", "anna", "t", "k")
    stored = stored_of(Identity(user="anna"), "continue", None, "c")
    request = json.dumps(run_body("hello"))
    head = RunHead(id="r", thread=thread, run_id="r", request=request, facts=stored)
    assert (await restored_request(agent, ServerSettings(), head)).thread == thread
    with pytest.raises(CannotGoOnError):
        await restored_request(agent, ServerSettings(), replace(head, facts=for_one_connection(stored)))


@pytest.mark.slow
def test_the_judge_of_the_older_frames_is_content() -> None:
    with served("tests.support.errand_words:isolated") as url:
        command = ["node", "check-websocket.mjs", "--ws", f"{url.replace('http', 'ws')}/ai/6/ws", "--frames", "older"]
        done = subprocess.run([*command, "--json"], cwd=AI, capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(done.stdout)
    assert [one for one in report["results"] if not one.get("ok", "note" in one)] == []
