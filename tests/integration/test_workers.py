"""Several workers on one database, each with locks of its own: the log warns at the start, or when they meet."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.serving import call, living, run_body, served, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.runs.locks import MemoryThreadLocks
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.server.workers import workers_asked_for


class Elsewhere:
    """Locks that the workers share."""

    def __init__(self) -> None:
        inner = MemoryThreadLocks()
        self.acquire, self.renew, self.release = inner.acquire, inner.renew, inner.release
        self.request_cancel, self.state, self.cancellations = inner.request_cancel, inner.state, inner.cancellations


@pytest.mark.parametrize(
    ("line", "environment", "number"),
    [
        ("uvicorn app:app", {}, 1),
        ("uvicorn app:app --workers 4", {}, 4),
        ("uvicorn app:app --workers=4 --port 1", {}, 4),
        ("gunicorn -w 3 app:app", {}, 3),
        ("gunicorn -w3 app:app", {}, 3),
        ("fastapi run --workers", {}, 1),
        ("uvicorn app:app --workers many", {}, 1),
        ("uvicorn app:app", {"WEB_CONCURRENCY": "2"}, 2),
        ("uvicorn app:app --workers 1", {"WEB_CONCURRENCY": "x"}, 1),
    ],
)
def test_the_number_of_workers_that_is_asked_for(line: str, environment: dict[str, str], number: int) -> None:
    assert workers_asked_for(line.split(), environment) == number


@pytest.mark.parametrize(("number", "shared", "warned"), [("3", False, True), ("3", True, False), ("1", False, False)])
async def test_a_server_that_is_one_of_several_says_so_at_its_start(
    number: str, shared: bool, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", number)
    settings = ServerSettings(locks=Elsewhere() if shared else None)
    async with living(create_app(AGUIAdapter(talker(1)), settings=settings)):
        pass
    assert ("3 workers, and each has locks of its own" in caplog.text) is warned


@pytest.mark.parametrize("shared", [True, False])
async def test_processes_that_meet_on_a_thread_are_warned_of(
    shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AGUI_TEST_FILE", str(tmp_path / "threads.db"))
    settings = ServerSettings(locks=Elsewhere() if shared else None)
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        app = create_app(AGUIAdapter(talker(1, checkpointer=saver)), settings=settings)
        for run in ("r1", "r2"):
            assert (await call(app, "POST", "/", run_body(run, run=run))).types()[-1] == "RUN_FINISHED"
        assert "another process" not in caplog.text
        with served("tests.support.attacked:on_file") as url, httpx.Client(base_url=url, timeout=30) as other:
            assert "RUN_FINISHED" in other.post("/", json=run_body("there", run="r3")).text
        for run in ("r4", "r5"):
            assert (await call(app, "POST", "/", run_body(run, run=run))).types()[-1] == "RUN_FINISHED"
    assert caplog.text.count("another process wrote a thread") == (0 if shared else 1)


@pytest.mark.parametrize(
    ("store", "saver", "warned"),
    [
        ("sqlite:runs.db", InMemorySaver, True),
        ("sqlite:runs.db", None, False),
        ("memory:", InMemorySaver, False),
    ],
)
async def test_threads_in_memory_beside_a_store_are_warned_of(
    store: str,
    saver: Any,
    warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = StateGraph(MessagesState).add_node("idle", lambda state: {}).add_edge(START, "idle")
    adapter = AGUIAdapter(graph.compile(checkpointer=saver and saver()))
    async with living(create_app({"writer": adapter}, settings=ServerSettings(store=store))):
        pass
    assert ("agent 'writer' has its threads in the memory of this process" in caplog.text) is warned


def test_a_server_may_stop_while_it_connects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reports to its event loop when that has ended, and no connection is left open."""
    made: list[sqlite3.Connection] = []
    failed: list[object] = []
    connect = sqlite3.connect

    def slow(*args: Any, **options: Any) -> sqlite3.Connection:
        if made:  # the first one is the store's own
            time.sleep(0.2)
        made.append(connect(*args, **options, check_same_thread=False))
        return made[-1]

    async def start_and_stop() -> None:
        settings = ServerSettings(store=f"sqlite:{tmp_path / 'runs.db'}")
        async with living(create_app(AGUIAdapter(talker(1)), settings=settings)):
            await asyncio.sleep(0.05)

    monkeypatch.setattr(sqlite3, "connect", slow)
    monkeypatch.setattr(threading, "excepthook", failed.append)
    before = set(threading.enumerate())
    asyncio.run(start_and_stop())
    for thread in set(threading.enumerate()) - before:
        thread.join(5)

    assert len(made) > 1
    assert failed == []
    for one in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            one.cursor()
