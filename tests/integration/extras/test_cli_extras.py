"""The command line with extras that the core's tests do not install."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import psycopg
import pytest

from tests.support.command_line import Project, project_with, run_main
from tests.support.postgres import postgres
from tests.support.server_process import serving
from yai_nexus_agentkit.cli.persistence import persistence
from yai_nexus_agentkit.page.files import is_built

AGENT = """
from langgraph.graph import START, MessagesState, StateGraph
graph = StateGraph(MessagesState).add_node("n", lambda state: {}).add_edge(START, "n").compile()
"""

project = project_with(AGENT)


def test_the_inspector_is_beside_the_agents(project: Project) -> None:
    with serving(project.folder, "one=my_agent:graph", "two=my_agent:graph", "--inspector", "--no-page") as server:
        assert f"  inspector {server.base}/inspector/\n" in server.shown
        assert server.shown.startswith("yai-nexus-agentkit "), "no line of a log before the banner"
        status, url, page = server.get("/")
        assert (status, url) == (200, f"{server.base}/inspector/")
        assert "<script" in page
        agents = json.loads(server.get("/inspector/config.json")[2])["agents"]
        assert [(agent["id"], agent["url"]) for agent in agents] == [("one", "/one"), ("two", "/two")]
        assert server.post("/two")[-1]["type"] == "RUN_FINISHED"


@pytest.mark.skipif(not is_built(), reason="the page is not built: make page")
@pytest.mark.parametrize("more", [["--checkpointer", "memory"], ["--no-page"], []])
def test_an_agent_whose_threads_a_page_forgets_is_warned_about(project: Project, more: list[str]) -> None:
    with serving(project.folder, "my_agent:graph", *more) as server:
        assert ("WARNING: my_agent:graph stores no threads: a reload" in server.shown) is (not more)


@pytest.mark.parametrize("flag", ["--checkpointer", "--store"])
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgres://me:secret@127.0.0.1:1/x", "postgres://...@127.0.0.1:1/x"),
        ("postgres://127.0.0.1:1/x?user=me&password=secret", "postgres://127.0.0.1:1/x?..."),
        ("postgres://127.0.0.1:1/x?password=secret%40home@there", "postgres://127.0.0.1:1/x?..."),
        ("postgres://me:secret@127.0.0.1:1/x?sslpassword=secret", "postgres://...@127.0.0.1:1/x"),
    ],
)
def test_a_database_that_does_not_answer_is_one_line_without_its_password(
    project: Project, flag: str, address: str, shown: str
) -> None:
    result = project.run("my_agent:graph", flag, address)

    assert result.code == 2
    assert result.err.startswith(f"yai-nexus-agentkit: {flag} {shown}: OperationalError: ")
    assert "secret" not in result.err


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("redis://me:secret@127.0.0.1:1/0", "--run-store redis://...@127.0.0.1:1/0: ConnectionError: "),
        ("postgresql://me:secret@127.0.0.1:1/x", "--run-store postgresql://...@127.0.0.1:1/x: OperationalError: "),
        ("sqlite:/nope/x.db", "--run-store: there is no folder /nope"),
        ("sqlite:my_agent.py", "--run-store sqlite:my_agent.py: DatabaseError: file is not a database"),
        (
            "sqlite:",
            "--run-store: a store is memory:, sqlite:PATH, redis://HOST/0 or postgresql://HOST/NAME, not sqlite:",
        ),
        ("disk", "--run-store: a store is memory:, sqlite:PATH"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line(
    project: Project, capsys: pytest.CaptureFixture[str], address: str, line: str
) -> None:
    result = run_main(capsys, "serve", "my_agent:graph", "--port", "0", "--run-store", address)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"yai-nexus-agentkit: {line}")
    assert result.err.count("\n") == 1
    assert "secret" not in result.err


def test_a_store_without_its_extra_is_one_line(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "yai_nexus_agentkit.runs.stores.redis.store", raising=False)
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    result = run_main(capsys, "serve", "my_agent:graph", "--port", "0", "--run-store", "redis://127.0.0.1/0")

    assert (result.code, result.out) == (2, "")
    wanted = 'a store in Redis needs redis: pip install "yai-nexus-agentkit[redis]"'
    assert result.err == f"yai-nexus-agentkit: --run-store: {wanted}\n"


def test_agents_answer_again_after_a_restart_of_their_database(project: Project, database: str) -> None:
    """Every connection ends with the database."""
    with serving(project.folder, "my_agent:graph", "--checkpointer", database, "--no-page") as server:
        assert server.post("/")[-1]["type"] == "RUN_FINISHED"
        with psycopg.connect(database, autocommit=True) as ending:
            ending.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert server.post("/")[-1]["type"] == "RUN_FINISHED"
        assert json.loads(server.get("/ready")[2]) == {"status": "ready"}


async def test_workers_that_start_at_once_make_the_tables_once() -> None:
    with postgres() as empty:
        async with AsyncExitStack() as stack:
            workers = (stack.enter_async_context(persistence(checkpointer=empty, store=empty)) for _ in range(6))
            opened = await asyncio.gather(*workers)
    assert [set(found) for found in opened] == [{"checkpointer", "store"}] * 6
