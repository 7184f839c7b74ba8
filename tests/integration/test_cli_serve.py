"""``serve``: a real server process, its banner, its agents, and every way in which it cannot start."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.command_line import Project, project_in, run_main
from tests.support.server_process import serving
from yai_nexus_agentkit.testing import assert_conformant, parse_sse, run_input

AGENT = """
from contextlib import asynccontextmanager
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from yai_nexus_agentkit.server import Identity
from yai_nexus_agentkit.testing import ScriptedChatModel

def build(text):
    async def chat(state, config, store=None):
        said = f"{text}, {len(state['messages'])} messages"
        return {"messages": [await ScriptedChatModel(script=[[said]]).ainvoke(state["messages"])]}
    return StateGraph(MessagesState).add_node("chat", chat).add_edge(START, "chat").compile()

graph = build("hello")

def fail(state):
    raise ValueError("secret")
failing = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail").compile()

def configured(config):
    return build(config["configurable"]["greeting"])

def personal(config):
    return build(f"hello {config['configurable']['user']}")

async def endless(state):
    parts = [part for n in range(100_000) for part in (0.01, f"w{n} ")]
    return {"messages": [await ScriptedChatModel(script=[parts]).ainvoke(state["messages"])]}
endless = StateGraph(MessagesState).add_node("endless", endless).add_edge(START, "endless").compile()

def sleep(state):
    import time
    time.sleep(1.5)
deaf = StateGraph(MessagesState).add_node("sleep", sleep).add_edge(START, "sleep").compile()

async def wait(state):
    import asyncio
    for _ in range(120):
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            pass
stubborn = StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").compile()

async def loop(state):
    import asyncio
    return {"messages": [("ai", type(asyncio.get_running_loop()).__module__)]}
looking = StateGraph(MessagesState).add_node("loop", loop).add_edge(START, "loop").compile()

@asynccontextmanager
async def managed():
    print("opened", flush=True)
    yield graph
    print("closed", flush=True)

async def who(request):
    return Identity(user=request.headers["x-user"])
not_a_function = 5
"""

TWO = ["my_agent:graph", "--workers", "2", "--run-store", "sqlite:runs.db"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


def test_one_agent_answers_at_the_root(folder: Path) -> None:
    with serving(folder, "my_agent:managed", "--checkpointer", "memory", "--cors", "https://app.example") as server:
        assert "opened\n" in server.shown
        events = server.post()
        assert_conformant(events)
        assert "hello, 1 messages" in json.dumps(events)
        assert server.said() == "hello, 3 messages", "the checkpointer of the command line keeps the thread"
        preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
        request = urllib.request.Request(server.base, headers=preflight, method="OPTIONS")
        with urllib.request.urlopen(request, timeout=30) as response:
            assert response.headers["access-control-allow-origin"] == "https://app.example"
        server.process.send_signal(signal.SIGINT)
        server.wait_for("closed\n")
        server.wait_for("stopped\n")
        assert server.process.wait(timeout=20) == 0


@pytest.mark.parametrize("agent", ["endless", "deaf"])
def test_ctrl_c_ends_the_streams_that_are_open(folder: Path, agent: str) -> None:
    """Their clients get the last event, and the terminal shows no traceback."""
    body = run_input("hi", thread_id="t", run_id="r").model_dump_json(by_alias=True).encode()
    with serving(folder, f"my_agent:{agent}") as server:
        request = urllib.request.Request(server.base, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as stream:
            begun = stream.read1(65536)
            server.process.send_signal(signal.SIGINT)
            events = parse_sse((begun + stream.read()).decode())
        server.wait_for("stopped\n", seconds=10)
        assert server.process.wait(timeout=20) == 0
    assert events[-1]["type"] == "RUN_FINISHED"
    assert events[-1]["outcome"]["type"] == "cancelled"
    assert "Traceback" not in server.shown


@pytest.mark.parametrize("presses", [1, 2])
def test_what_does_not_end_is_cut_off(folder: Path, presses: int) -> None:
    """After some seconds, with an error as its last event, or at once at the second Ctrl-C."""
    body = run_input("hi", thread_id="t", run_id="r").model_dump_json(by_alias=True).encode()
    with serving(folder, "my_agent:stubborn") as server:
        request = urllib.request.Request(server.base, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as stream:
            stream.read1(65536)
            began = time.monotonic()
            for _ in range(presses):
                server.process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            try:
                ending = stream.read()
            except http.client.IncompleteRead as cut:
                ending = cut.partial
            took = time.monotonic() - began
        assert server.process.wait(timeout=30) == 0
    assert (took > 3) is (presses == 1)
    assert (b"RUN_ERROR" in ending) is (presses == 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_hands_runs_over_and_leaves_nothing_behind(folder: Path, workers: int) -> None:
    """Whoever watches loses the connection, at the run's own worker and at the other one."""
    stored = ["--checkpointer", "sqlite:threads.db", "--run-store", "sqlite:runs.db", "--disconnect", "continue"]
    body = run_input("hi", thread_id="t", run_id="r").model_dump_json(by_alias=True).encode()
    with serving(folder, "my_agent:endless", *stored, "--workers", str(workers)) as server, ExitStack() as open_streams:
        for path in ["/", *["/connect"] * 6]:
            request = urllib.request.Request(server.base + path, body, {"content-type": "application/json"})
            stream = open_streams.enter_context(urllib.request.urlopen(request, timeout=30))
            assert b"RUN_STARTED" in stream.read1(65536)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("stopped\n", seconds=10)
        assert server.process.wait(timeout=20) == 0
    assert "handed over" in server.shown
    assert [line for line in server.shown.splitlines() if "ERROR" in line or "Traceback" in line] == []
    assert sorted(path.name for path in folder.glob("*.db*")) == ["runs.db", "threads.db"]


def test_a_user_has_so_many_runs_at_once_and_none_goes_on_alone_for_ever(folder: Path) -> None:
    limits = ["--max-runs-per-user", "1", "--orphaned", "0.5", "--disconnect", "continue"]
    body = run_input("hi", thread_id="t", run_id="r").model_dump_json(by_alias=True).encode()
    with serving(folder, "my_agent:endless", *limits) as server:
        request = urllib.request.Request(server.base, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as stream:
            stream.read1(65536)
            with pytest.raises(urllib.error.HTTPError, match="429"):
                server.post(thread="t2")
        server.wait_for("run 'r' of thread 't' (agent): cancelled", seconds=10)


def test_several_workers_without_stored_threads_are_warned_about_once(folder: Path) -> None:
    with serving(folder, *TWO) as server:
        server.post()
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("stopped\n", seconds=10)
    warning = "a run is lost with its worker. --checkpointer sqlite:PATH or postgres://... keeps them"
    assert server.shown.count(warning) == 1


@pytest.mark.skipif(not find_spec("uvloop"), reason="there is none for this system")
@pytest.mark.parametrize("more", [[], ["--reload"]])
def test_the_event_loop_is_the_fast_one(folder: Path, more: list[str]) -> None:
    with serving(folder, "my_agent:looking", *more) as server:
        assert server.said().startswith("uvloop")


def status(base: str, host: str) -> int:
    """How a request is answered that names the server so."""
    place = urlsplit(base)
    with closing(http.client.HTTPConnection(place.hostname or "", place.port)) as connection:
        connection.request("GET", "/health", headers={"host": host})
        with connection.getresponse() as answer:
            return answer.status


def test_a_server_on_this_machine_answers_to_its_own_names_only(folder: Path) -> None:
    """A page of another site may have its own name lead here (DNS rebinding)."""
    with serving(folder, "my_agent:graph", "--allow-host", "dev.example") as server:
        found = [status(server.base, host) for host in ("localhost:1", "dev.example", "evil.example")]
    assert found == [200, 200, 403]


@pytest.mark.parametrize("host", ["127.0.0.2", "LOCALHOST"])
def test_every_address_of_this_machine_is_one(folder: Path, host: str) -> None:
    with serving(folder, "my_agent:graph", "--host", host) as server:
        found = [status(server.base, name) for name in ("localhost", host, "evil.example")]
    assert found == [200, 200, 403]


def test_several_agents_have_names(folder: Path) -> None:
    given = ["one=my_agent:graph", "two=my_agent.py:configured", "bad=my_agent:failing"]
    with serving(folder, *given, "--configurable", "greeting=moin", "--no-inspector", "--no-page") as server:
        assert server.said("/one") == "hello, 1 messages"
        assert server.said("/two") == "moin, 1 messages"
        assert "page" not in server.shown
        [error] = [event for event in server.post("/bad") if event["type"] == "RUN_ERROR"]
        assert "secret" not in error["message"]
        server.wait_for("ValueError: secret")
        server.wait_for("INFO: run 'r' of thread 't' (bad): AGENT_ERROR")
    lines = server.shown.partition("/bad  my_agent:failing\n")[2].splitlines()
    logged = [match for line in lines if (match := re.match(r"[-\d]+ [:,\d]+ \[(\d+)\] ([A-Z]+): (.*)", line))]
    assert {match[1] for match in logged} == {str(server.process.pid)}
    assert {match[2] for match in logged} == {"INFO", "ERROR"}
    requests = [match[3] for match in logged if '"POST /' in match[3]]
    assert len(requests) == 3
    assert all(re.match(r"127.0.0.1:\d+ - ", request) for request in requests)


def test_pages_of_the_ai_sdk_are_served(folder: Path) -> None:
    with serving(folder, "--ai-sdk", "--ai-sdk-version", "7", "a=my_agent.py:graph") as server:
        assert f"  AI SDK {server.base}/api/chat/a\n" in server.shown
        message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
        body = json.dumps({"id": "c1", "messages": [message], "trigger": "submit-message"}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{server.base}/api/chat/a", body, headers, method="POST")
        with urllib.request.urlopen(request, timeout=30) as response:
            assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
            shown = response.read().decode()
        assert '"delta":"hello, 1 messages"' in shown
        assert shown.endswith("data: [DONE]\n\n")


def test_an_agent_is_made_for_each_request_of_whoever_sends_it(folder: Path) -> None:
    given = ["my_agent:personal", "--per-request", "--identity", "my_agent:who", "--checkpointer", "memory"]
    with serving(folder, *given, "--store", "memory") as server:
        assert server.said(**{"x-user": "ada"}) == "hello ada, 1 messages"
        assert server.said(**{"x-user": "bob"}) == "hello bob, 1 messages"
        assert server.said(**{"x-user": "ada"}) == "hello ada, 3 messages"


def test_what_is_ignored_is_warned_about(folder: Path) -> None:
    ignored = ["--ai-sdk-version", "7", "--per-request", "--model", "a:b", "--no-page", "--example", "Hi"]
    with serving(folder, "my_agent:graph", *ignored) as server:
        for warning in (
            "--example changes nothing without the chat page\n",
            "--ai-sdk-version changes nothing without --ai-sdk\n",
            "--per-request: my_agent:graph already exists, so all requests share it\n",
            "--model: my_agent:graph already exists; only nodes that read config['configurable']['model'] use it\n",
        ):
            assert f"WARNING: {warning}" in server.shown


@pytest.mark.slow
def test_reload_serves_what_was_changed(folder: Path) -> None:
    with serving(folder, "my_agent:graph", "--reload") as server:
        assert server.said() == "hello, 1 messages"
        banner, server.shown = server.shown, ""
        (folder / "my_agent.py").write_text(AGENT + "\nbroken = = 1")
        server.wait_for("my_agent cannot be imported: SyntaxError: invalid syntax")
        server.shown = ""
        (folder / "my_agent.py").write_text(AGENT.replace('build("hello")', 'build("changed")'))
        server.wait_for("\n  POST ")
        assert server.said() == "changed, 1 messages"
        assert server.base in banner


# ---------------------------------------------------------------- it cannot start


@pytest.fixture
def project(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with project_in(folder, capsys, monkeypatch) as project:
        yield project


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["my_agent:grph"], "my_agent has no attribute 'grph'; did you mean graph?"),
        (["a=my_agent:graph", "b=nowhere:graph"], "there is no module 'nowhere'"),
        (["my_agent:graph", "my_agent:configured"], "several agents need names: write name=my_agent:graph"),
        (["a=my_agent:graph", "a=my_agent:failing"], "the name 'a' is taken"),
        (["inspector=my_agent:graph"], "the name 'inspector' is taken"),
        (["--ai-sdk", "api=my_agent:graph"], "the name 'api' is taken"),
        (["--live", "live=my_agent:graph"], "the name 'live' is taken"),
        (["--live", "my_agent:graph"], "langgraph agents have no live mode"),
        (["my_agent:configured"], "my_agent:configured raised KeyError: 'greeting' (my_agent.py:"),
        (["my_agent:graph", "--identity", "my_agent:not_a_function"], "--identity: my_agent:not_a_function is of type"),
        (["my_agent:graph", "--checkpointer", "disk"], "--checkpointer takes memory, sqlite:PATH or postgres"),
        (["my_agent:graph", "--store", "disk"], "--store takes memory, sqlite:PATH or postgres"),
        (["my_agent:graph", "--allow-host", "dev.example:80"], "ServerSettings.hosts must hold names such as"),
        (["my_agent:graph", "--workers", "2"], "--workers 2 needs a store that the workers share: --run-store sqlite"),
        ([*TWO, "--checkpointer", "memory"], "--checkpointer memory is the memory of one worker: use sqlite:PATH"),
        ([*TWO, "--store", "memory"], "--store memory is the memory of one worker: use sqlite:PATH"),
        ([*TWO, "--reload"], "--reload is for one worker: leave --workers out"),
        (["my_agent:graph", "--open", "--no-page", "--no-inspector"], "--open needs a page: leave out --no-page"),
        (["my_agent:graph", "--env-file", "none.env"], "--env-file: none.env cannot be read: No such file"),
        (["my_agent:graph", "--host", "256.1.1.1"], "cannot listen on 256.1.1.1:0: "),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_one_line(
    project: Project, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    result = run_main(capsys, "serve", "--port", "0", *arguments)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"yai-nexus-agentkit: {line}")
    assert result.err.count("\n") == 1


def test_a_port_in_use_is_found_before_anything_is_loaded(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run_main(capsys, "serve", "nowhere:graph", "--port", port)

    assert result.code == 2
    assert f"Port {port} is in use; choose another with --port (0 = any free port).\n" in result.err


@pytest.mark.parametrize(
    ("more", "warned"),
    [(["--host", "0.0.0.0"], True), (["--host", "0.0.0.0", "--identity", "my_agent:who"], False), ([], False)],
)
def test_an_address_for_everybody_without_an_identity_is_warned_about(
    project: Project, capsys: pytest.CaptureFixture[str], more: list[str], warned: bool
) -> None:
    result = run_main(capsys, "serve", "--port", "0", "nowhere:graph", *more)

    assert result.code == 2, "the agent does not exist, so that the server does not stay"
    assert (
        "everybody who can reach 0.0.0.0 shares the same threads; --identity separates users" in result.err
    ) is warned


@pytest.mark.parametrize("port", ["70000", "-1", "http"])
def test_a_port_is_a_number_in_range(project: Project, capsys: pytest.CaptureFixture[str], port: str) -> None:
    result = run_main(capsys, "serve", "my_agent:graph", f"--port={port}")

    assert result.code == 2
    assert f"argument --port: '{port}' is not a port: a whole number from 0 to 65535" in result.err
