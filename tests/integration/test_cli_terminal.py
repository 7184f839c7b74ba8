"""The command line as a program of its own: in a real terminal, in a pipe, interrupted."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

AGENT = """
import asyncio
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from yai_nexus_agentkit.testing import ScriptedChatModel

def one(node):
    builder = StateGraph(MessagesState).add_node("work", node).add_edge(START, "work")
    return builder.compile(checkpointer=InMemorySaver())

async def say(state, text):
    return {"messages": [await ScriptedChatModel(script=[[text]]).ainvoke(state["messages"])]}

async def ask(state):
    number = interrupt("A number?", response_schema={"type": "integer"})
    return await say(state, f"{interrupt('And a city?')} {number + 1}")
asking = one(ask)

async def sleep(state):
    print("asleep", flush=True)
    await asyncio.sleep(60)
sleeping = one(sleep)

async def long(state):
    return await say(state, "word " * 100_000)
talking = one(long)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


def command(*args: str) -> list[str]:
    return [sys.executable, "-c", "from yai_nexus_agentkit.cli import main; raise SystemExit(main())", *args]


class Screen:
    """What a terminal showed, and a keyboard."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.shown = ""

    def wait_for(self, text: str, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self._descriptor], [], [], max(0, until - time.monotonic()))
            assert ready, f"waited for {text!r}, saw {self.shown!r}"
            self.shown += os.read(self._descriptor, 65536).decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        self.shown = ""
        os.write(self._descriptor, text.encode())


@contextmanager
def in_a_terminal(folder: Path, *args: str) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    process = subprocess.Popen(command(*args), cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Screen(ours), process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_questions_are_asked_in_the_terminal_until_the_answers_fit(folder: Path) -> None:
    with in_a_terminal(folder, "run", "my_agent:asking", "hi") as (screen, process):
        screen.wait_for("A number?\n                   an answer as integer, or /cancel\n> ")
        screen.type("many\n")
        screen.wait_for("RUN_ERROR          INVALID_RESUME")
        screen.wait_for("\n> ")
        screen.type("41\n")
        screen.wait_for("And a city?\n                   an answer as JSON or text, or /cancel\n> ")
        screen.type("Köln\n")
        screen.wait_for("TEXT_MESSAGE       │ Köln 42\n")
        screen.wait_for("RUN_FINISHED       success\n")
        assert process.wait(timeout=30) == 0


def test_no_answer_leaves_the_thread_paused(folder: Path) -> None:
    with in_a_terminal(folder, "run", "my_agent:asking", "hi") as (screen, process):
        screen.wait_for("\n> ")
        screen.type("\x04")
        assert process.wait(timeout=30) == 3


@pytest.mark.parametrize(("agent", "shown"), [("asking", "\n> "), ("sleeping", "asleep\n")])
def test_ctrl_c_ends_with_130_and_no_traceback(folder: Path, agent: str, shown: str) -> None:
    with in_a_terminal(folder, "run", f"my_agent:{agent}", "hi") as (screen, process):
        screen.wait_for(shown)
        process.send_signal(signal.SIGINT)
        screen.wait_for("\ninterrupted\n")
        assert process.wait(timeout=30) == 130
        assert "Traceback" not in screen.shown


def test_a_reader_that_leaves_ends_the_run_quietly(folder: Path) -> None:
    with subprocess.Popen(
        command("run", "my_agent:talking", "hi"), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("RUN_STARTED")
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == 141


def test_a_terminal_that_cannot_show_everything_shows_the_rest(folder: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command("run", "my_agent:asking", "hi", "--answer", "1", "--answer", "Köln"),
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "K?ln 2" in done.stdout


def test_the_installed_command_says_its_version() -> None:
    program = Path(sys.executable).with_name("yai-nexus-agentkit")

    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == "yai-nexus-agentkit 1.0.0\n"


def test_help_costs_little(folder: Path) -> None:
    """Neither LangChain nor the server is imported for the help of a command."""
    source = (
        "import sys; from yai_nexus_agentkit.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "assert not {'langchain_core', 'langgraph', 'starlette'} & sys.modules.keys(), sorted(sys.modules)"
    )
    for args in ([], ["run", "--help"], ["verify", "--help"]):
        subprocess.run([sys.executable, "-c", source, *args], cwd=folder, capture_output=True, check=True)
