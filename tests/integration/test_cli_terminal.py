"""The command line as a program of its own: in a real terminal, in a pipe, interrupted."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.screen import command, in_a_terminal

AGENT = """
import asyncio, signal, threading, time
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
    number = interrupt("A number?")
    return await say(state, f"{interrupt('And a city?')} {number + 1}")
asking = one(ask)

async def sleep(state):
    print("asleep", flush=True)
    await asyncio.sleep(60)
sleeping = one(sleep)

async def interrupted_elsewhere(state):
    def interrupt():
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    await asyncio.sleep(60)
elsewhere = one(interrupted_elsewhere)

async def block(state):
    print("blocked", flush=True)
    time.sleep(60)
blocking = one(block)

async def long(state):
    return await say(state, "word " * 100_000)
talking = one(long)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


def test_questions_are_asked_in_the_terminal(folder: Path) -> None:
    with in_a_terminal(folder, "run", "my_agent:asking", "hi") as (screen, process):
        screen.wait_for("? A number?\n                   type an answer as JSON (true, 7, ...) or text, or /cancel\n> ")
        screen.type("41\n")
        screen.wait_for(
            "? And a city?\n                   type an answer as JSON (true, 7, ...) or text, or /cancel\n> "
        )
        screen.type("Köln\n")
        screen.wait_for("TEXT_MESSAGE       Köln 42\n")
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


def test_ctrl_c_is_heard_when_another_thread_gets_the_signal(folder: Path) -> None:
    with in_a_terminal(folder, "run", "my_agent:elsewhere", "hi") as (screen, process):
        screen.wait_for("\ninterrupted\n")
        assert process.wait(timeout=30) == 130


@pytest.mark.parametrize(
    ("arguments", "ended", "code"),
    [
        ("run my_agent:blocking hi", "interrupted", 130),
        ("serve slow:graph --port 0", "stopped", 0),
    ],
)
def test_ctrl_c_ends_what_keeps_the_loop_waiting(folder: Path, arguments: str, ended: str, code: int) -> None:
    (folder / "slow.py").write_text("import time\nprint('blocked', flush=True)\ntime.sleep(60)")
    with in_a_terminal(folder, *arguments.split()) as (screen, process):
        screen.wait_for("blocked\n")
        process.send_signal(signal.SIGINT)
        screen.wait_for(f"{ended}\n", seconds=20)
        assert process.wait(timeout=30) == code


@pytest.mark.parametrize(
    ("redirected", "code", "error"),
    [
        ("chat my_agent:asking <&-", 0, ""),
        ("run my_agent:asking hi --answer 1 --answer x >&-", 0, ""),
        ("run my_agent:asking hi >/dev/full", 2, "yai-nexus-agentkit: the output cannot be written: No space left on"),
        ("run my_agent:nothing hi 2>&-", 2, ""),
    ],
)
def test_streams_that_are_closed_or_full(folder: Path, redirected: str, code: int, error: str) -> None:
    arguments, _, redirection = redirected.rpartition(" ")
    line = f"{shlex.join(command(*arguments.split()))} {redirection}"
    done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (code, bool(error))
    assert done.stderr.startswith(error)


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


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "yai_nexus_agentkit", "--version"], capture_output=True, check=True)

    assert done.stdout == b"yai-nexus-agentkit 1.0.0\n"


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
