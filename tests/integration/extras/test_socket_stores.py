"""Connections and questions in Redis and PostgreSQL: a worker dies with the socket that was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.postgres import postgres
from tests.support.redis_server import redis_server
from tests.support.socket_workers import two_workers
from tests.support.sockets import Tab, tab


@pytest.fixture(params=["redis", "postgres"])
def store(request: pytest.FixtureRequest) -> Any:
    if request.param == "redis":
        with redis_server() as server:
            yield server.address
    else:
        with postgres() as address:
            yield address


async def looks(one: Tab) -> list[dict[str, Any]]:
    events = await one.whole(await one.ask("connect", None))
    found: list[dict[str, Any]] = (events[-1].get("outcome") or {}).get("interrupts", []) if events else []
    return found


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def test_a_question_survives_the_worker_of_its_source(store: str, tmp_path: Path, stack: AsyncExitStack) -> None:
    with two_workers(tmp_path, store, grace=0.5) as (first, second):
        source = await stack.enter_async_context(tab(first.host, "/ws?device=laptop"))
        other = await stack.enter_async_context(tab(second.host, "/ws?device=phone"))
        await looks(other)
        asked = (await source.played("transfer"))[-1]["outcome"]["interrupts"]
        frame = {"type": "thread", "threadId": "t1", "status": "paused"}
        await other.until(lambda: {**frame, "here": False} in other.frames)
        assert await looks(other) == []

        first.kill()
        await other.until(lambda: {**frame, "here": True} in other.frames)
        assert await looks(other) == asked
        entries = [{"interruptId": one["id"], "status": "resolved", "payload": {"approved": True}} for one in asked]
        assert "moved 5" in str(await other.played(None, resume=entries))
        await stack.aclose()
