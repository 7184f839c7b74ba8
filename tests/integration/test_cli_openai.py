"""``serve --openai``: a real server process that environment variables set up."""

from __future__ import annotations

import json
import os
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_process import Server, serving, started

AGENT = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

def graph_of(name):
    def agent(state, config):
        asked = [part["type"] for m in state["messages"] if isinstance(m.content, list) for part in m.content]
        greeting = config["configurable"].get("greeting", "hello")
        return {"messages": [("ai", f"{greeting} from {name}, {len(state['messages'])} messages, {asked}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=InMemorySaver())

one, two = graph_of("one"), graph_of("two")

def who(request):
    raise PermissionError
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENT)
    return tmp_path


def asked(server: Server, body: dict[str, Any], key: str = "", path: str = "/v1/chat/completions") -> Any:
    """Status and answer."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(server.base + path, json.dumps(body).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["error"]["message"]


HI: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


def test_agents_are_models_with_nothing_else_given(folder: Path) -> None:
    with serving(folder, "agents:one", "--openai") as server:
        assert f"OpenAI {server.base}/v1" in server.shown
        assert json.loads(server.get("/v1/models")[2])["data"][0]["id"] == "agent"
        assert asked(server, HI) == (200, "hello from one, 1 messages, []")
        assert server.said() == "hello from one, 1 messages, []", "AG-UI's routes are there, too"


def test_variables_set_it_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {"PORT": str(port), "API_KEYS": "secret, hers=ann", "ADK_APP_NAME": "two", "MAX_FILE_SIZE_MB": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-c", "from yai_nexus_agentkit.cli import main; raise SystemExit(main())", "serve"]
    agents = ["one=agents:one", "two=agents:two", "--openai", "--configurable", "greeting=moin"]
    with started(folder, *command, *agents) as server:
        assert server.base.endswith(f":{port}")
        assert asked(server, HI, "secret") == (200, "moin from two, 1 messages, []")
        assert asked(server, {**HI, "model": "one"}, "hers") == (200, "moin from one, 1 messages, []")
        assert asked(server, HI, "hers=ann")[0] == 401
        for size, status in ((700_000, 200), (1_600_000, 400)):
            part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * size}"}}
            assert asked(server, {"messages": [{"role": "user", "content": [part]}]}, "secret")[0] == status


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("PORT", "many", "PORT must be a number above 0, not 'many'"),
        ("PORT", "70000", "PORT must be a port, not '70000'"),
        ("TIMEOUT", "-1", "TIMEOUT must be a number above 0, not '-1'"),
        ("ADK_APP_NAME", "other", "there is no agent 'other'"),
        ("API_KEYS", ",", "API_KEYS has no key in it"),
        ("API_KEYS", " ", "API_KEYS has no key in it"),
        ("API_KEYS", "=ann", "API_KEYS has a user without a key"),
        ("API_KEYS", "a=ann,b, a=bob", "API_KEYS has a key twice"),
    ],
)
def test_wrong_values_are_refused_in_one_line(
    folder: Path, monkeypatch: Any, capfd: Any, name: str, value: str, text: str
) -> None:
    from yai_nexus_agentkit.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.setenv(name, value)
    given = [] if name == "PORT" else ["--port", "0"]
    assert main(["serve", "agents:one", "--openai", *given]) == 2
    assert text in capfd.readouterr().err
    assert name in os.environ


@pytest.mark.parametrize(
    ("given", "warned"),
    [([], True), (["--identity", "agents:who"], False), (["--host", "127.0.0.1"], False)],
)
def test_keys_guard_the_models_only(folder: Path, monkeypatch: Any, capfd: Any, given: list[str], warned: bool) -> None:
    """The default model is missing, so that the server ends."""
    from yai_nexus_agentkit.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.setenv("API_KEYS", "sk-x")
    monkeypatch.setenv("ADK_APP_NAME", "other")
    assert main(["serve", "agents:one", "--openai", "--port", "0", "--host", "0.0.0.0", *given]) == 2
    assert ("API_KEYS guards /v1 only: on the other paths everybody" in capfd.readouterr().err) == warned
