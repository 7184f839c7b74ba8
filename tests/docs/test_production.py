"""The page "Production": its workers show the same threads. The page about containers: they start what the command line
takes, and the proxy finds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.docs.blocks import blocks_of
from tests.support.serving import call, living, run_body
from yai_nexus_agentkit.cli import parse
from yai_nexus_agentkit.runs.stores.opening import kind_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "production.md"
DEPLOYED = blocks_of(DOCS / "recipes" / "deployment.md")
BLOCKS = {block.language: block.text for block in DEPLOYED if block.language in ("dockerfile", "yaml", "nginx")}


def test_the_container_starts_what_the_command_line_takes() -> None:
    command = BLOCKS["dockerfile"].partition("CMD ")[2].replace("\\\n", "")
    _, given = parse(json.loads(command)[1:])
    assert kind_of(given.run_store) == "redis"
    assert given.disconnect == "continue"
    assert given.identity == "my_agent:identify"


def test_the_services_are_those_that_the_container_looks_for() -> None:
    services = yaml.safe_load(BLOCKS["yaml"])["services"]
    command = BLOCKS["dockerfile"]
    assert services["agent"]["deploy"]["replicas"] == 2
    assert all(f"@{name}/" in command or f"//{name}/" in command for name in services["agent"]["depends_on"])
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"] in command


def test_the_proxy_finds_the_workers() -> None:
    services = yaml.safe_load(BLOCKS["yaml"])["services"]
    assert f"server {next(iter(services['proxy']['depends_on']))}:8000 resolve;" in BLOCKS["nginx"]
    assert any("./nginx.conf:" in volume for volume in services["proxy"]["volumes"])
    users = BLOCKS["nginx"].partition("auth_basic_user_file ")[2].partition(";")[0]
    assert any(f":{users}:" in volume for volume in services["proxy"]["volumes"]), "$remote_user is verified"
    assert {"Dockerfile", "compose.yaml", "nginx.conf", "my_agent.py"} <= {block.title for block in DEPLOYED}


@pytest.mark.parametrize("extra", ["server", "redis", "postgres"])
def test_the_image_has_the_extras(extra: str) -> None:
    assert extra in BLOCKS["dockerfile"].partition("[")[2].partition("]")[0].split(",")


async def test_the_workers_of_the_page_about_production_show_the_same_threads(tmp_path: Path) -> None:
    shown: dict[str, Any] = {"__name__": "my_agent"}
    exec(next(block.text for block in blocks_of(PAGE) if block.title == "my_agent.py"), shown)
    store, threads = f"sqlite:{tmp_path / 'runs.db'}", str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(threads) as one, AsyncSqliteSaver.from_conn_string(threads) as two:
        here, there = shown["application"](one, store), shown["application"](two, store)
        async with living(here), living(there):
            assert (await call(here, "POST", "/", run_body())).types()[-1] == "RUN_FINISHED"
            assert "Hello there." in (await call(there, "GET", "/threads/t1/messages")).body.decode()
