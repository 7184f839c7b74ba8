"""``serve`` in a real terminal: the banner, the text of errors, several workers."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support.screen import Screen, in_a_terminal
from tests.support.server_process import Server, serving
from yai_nexus_agentkit.testing import parse_sse, run_input

AGENT = """
import os
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

def fail(state):
    raise ValueError("secret")
failing = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail").compile()

def say(state):
    return {"messages": [("ai", f"{os.getpid()} {len(state['messages'])}")]}
builder = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say")
graph = builder.compile()
forgetful = builder.compile(checkpointer=InMemorySaver())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


def error_of(screen: Screen) -> str:
    """The message that a client gets of the run that fails."""
    base = re.search(r"POST (http://\S+/)", screen.shown)
    assert base is not None
    body = run_input("hi", thread_id="t", run_id="r").model_dump_json(by_alias=True).encode()
    url = base[1].replace("0.0.0.0", "127.0.0.1")
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(parse_sse(response.read().decode())[-1]["message"])


@pytest.mark.parametrize(
    ("more", "exposed"), [([], True), (["--no-expose-errors"], False), (["--host", "0.0.0.0", "--identity"], False)]
)
def test_a_terminal_of_this_machine_shows_errors_and_says_so(folder: Path, more: list[str], exposed: bool) -> None:
    (folder / "users.py").write_text("from yai_nexus_agentkit.server import Identity\ndef who(_): return Identity()\n")
    given = [*more, "users:who"] if "--identity" in more else more
    with in_a_terminal(folder, "serve", "my_agent:failing", "--port", "0", *given) as (screen, _):
        screen.wait_for("my_agent:failing\n")
        if exposed:
            screen.wait_for("  Clients see the text of exceptions; --no-expose-errors hides it.\n")
        assert ("secret" in error_of(screen)) is exposed
        assert ("Clients see" in screen.shown) is exposed


# ---------------------------------------------------------------- workers

SHARED = ["--workers", "2", "--run-store", "sqlite:runs.db", "--checkpointer", "sqlite:threads.db"]


def workers_of(server: Server, count: int) -> set[int]:
    """Process ids of the workers that answer, as soon as there are so many."""
    seen: set[int] = set()
    for _ in range(400):
        seen.add(int(server.said().split()[0]))
        if len(seen) == count:
            return seen
    raise AssertionError(f"only {seen} answer")


def ended(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_workers_share_threads_and_one_that_dies_is_replaced(folder: Path) -> None:
    with serving(folder, "my_agent:graph", *SHARED) as server:
        assert ", 2 workers\n" in server.shown
        first = workers_of(server, 2)
        victim = first.pop()
        os.kill(victim, signal.SIGKILL)
        server.wait_for(f"WARNING: worker {victim} ended with -9; another one takes its place\n")
        second = workers_of(server, 2)
        assert victim not in second
        assert first < second
        turns = int(server.said().split()[1])
        assert turns > 7, "the thread of all workers"
        server.process.terminate()
        server.wait_for("stopped\n")
        assert server.process.wait(timeout=20) == 0
        assert all(map(ended, second))
        assert server.shown.count("POST http") == 1


def test_workers_end_when_the_process_that_began_them_is_killed(folder: Path) -> None:
    with serving(folder, "my_agent:graph", *SHARED) as server:
        workers = workers_of(server, 2)
        server.process.kill()
        assert all(map(ended, workers))


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ("nothing", "my_agent has no attribute 'nothing'"),
        ("forgetful", "my_agent:forgetful stores its threads in memory, where each worker has its own: --checkpointer"),
    ],
)
def test_a_mistake_is_reported_once_and_no_worker_stays(folder: Path, agent: str, line: str) -> None:
    with in_a_terminal(folder, "serve", "--port", "0", f"my_agent:{agent}", *SHARED[:4]) as (screen, process):
        screen.wait_for(line)
        screen.wait_for("\n")
        assert process.wait(timeout=30) == 2
        assert screen.shown.count("yai-nexus-agentkit:") == 1


def test_variables_come_from_a_file(folder: Path) -> None:
    (folder / ".env").write_text('# a comment\nexport PORT=0\nGREETING="good morning"\n\nHOME=/nowhere\n')
    (folder / "greeter.py").write_text(
        AGENT.replace("f\"{os.getpid()} {len(state['messages'])}\"", "os.environ['GREETING'] + os.environ['HOME']")
    )
    with serving(folder, "greeter:graph", "--env-file", ".env") as server:
        assert json.dumps(server.said()) == json.dumps(f"good morning{os.environ['HOME']}")
