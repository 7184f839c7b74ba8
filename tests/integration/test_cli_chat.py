"""``chat``: a conversation in a real terminal, and from a pipe."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import project_in, run_main
from tests.support.screen import command, in_a_terminal

AGENT = """
import asyncio, time
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part, tool_calls_part

@tool
def delete(what: str) -> str:
    "Deletes."
    return f"{what} is gone"

def script(messages):
    said = messages[-1].text
    if messages[-1].type == "tool":
        return [said]
    if said == "fail":
        raise ValueError("no luck")
    if said == "block":
        print("blocked", flush=True)
        time.sleep(60)
    if said == "think":
        return [reasoning_part("Hm."), "Thought."]
    if said == "talk":
        return [part for n in range(10_000) for part in (0.01, f"w{n} ")]
    if said.startswith("delete"):
        return [tool_calls_part(("delete", {"what": said[7:]}, f"c{len(messages)}"))]
    return [f"{said}, message {sum(m.type == 'human' for m in messages)}"]

async def agent(state):
    return {"messages": [await ScriptedChatModel(script=script).ainvoke(state["messages"])]}

builder = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent")
builder.add_node("tools", ToolNode([require_approval(delete)])).add_edge("tools", "agent")
builder.add_conditional_edges("agent", tools_condition)
graph = builder.compile(checkpointer=InMemorySaver())
forgetful = builder.compile()
"""

HINT = "  type y, n, /cancel, or an answer as JSON\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


def test_a_conversation_with_a_question_an_error_and_an_answer_that_is_stopped(folder: Path) -> None:
    with in_a_terminal(folder, "chat", "my_agent:graph", "Hello") as (screen, process):
        screen.wait_for("> Hello\n  Hello, message 1\n> ")
        for typed, shown in [
            ("think", "~ Hm.\n  Thought.\n> "),
            ("delete all", f'  ? Allow delete with {{"what": "all"}}?\n{HINT}> '),
            ("y", '= delete(what="all") → all is gone\n  all is gone\n> '),
            ("fail", "! AGENT_ERROR: no luck\n"),
            ("talk", "  w0 w1 "),
        ]:
            screen.type(f"{typed}\n")
            screen.wait_for(shown)
            assert screen.shown.count("Allow") == (typed == "delete all"), "a question is printed once"
        process.send_signal(signal.SIGINT)
        screen.wait_for("\n  stopped\n> ")
        screen.type("still there\n")
        screen.wait_for("  still there, message 6\n> ")
        screen.type("/quit\n")
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("message", "key", "code"), [("hi", "\x04", 0), ("hi", "ctrl-c", 130), ("delete all", "\x04", 3)]
)
def test_ways_to_leave(folder: Path, message: str, key: str, code: int) -> None:
    with in_a_terminal(folder, "chat", "my_agent:graph", message) as (screen, process):
        screen.wait_for("message 1\n> " if message == "hi" else f"{HINT}> ")
        if key == "ctrl-c":
            process.send_signal(signal.SIGINT)
        else:
            screen.type(key)
        assert process.wait(timeout=30) == code


def test_what_is_typed_is_no_answer_if_it_ends_the_chat_and_is_not_cut_in_silence(folder: Path) -> None:
    with in_a_terminal(folder, "chat", "my_agent:graph") as (screen, process):
        screen.wait_for("> ")
        screen.type(f"{'y' * 5000}\n")
        screen.wait_for("WARNING: a terminal takes 4,095 bytes in a line; the rest was dropped.")
        screen.wait_for(", message 1\n> ")
        screen.type("delete it\n")
        screen.wait_for(f"{HINT}> ")
        screen.type("/quit\n")
        assert process.wait(timeout=30) == 3


def test_the_second_ctrl_c_ends_a_chat_whose_agent_does_not_stop(folder: Path) -> None:
    with in_a_terminal(folder, "chat", "my_agent:graph", "block") as (screen, process):
        screen.wait_for("blocked\n")
        for _ in range(2):
            time.sleep(0.5)  # two signals at once are one
            process.send_signal(signal.SIGINT)
        screen.wait_for("\ninterrupted\n", seconds=20)
        assert process.wait(timeout=30) == 130


def piped(folder: Path, text: str, *args: str) -> tuple[int, str]:
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        command("chat", *args), cwd=folder, env=env, input=text, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    _, _, shown = done.stdout.partition("ends the chat.\n")
    return done.returncode, shown


def test_a_stored_thread_goes_on_with_its_open_question(folder: Path) -> None:
    kept = ["my_agent:forgetful", "--checkpointer", "sqlite:chat.db", "--thread", "t"]
    asked = f'  ? Allow delete with {{"what": "it"}}?\n{HINT}> '

    first = piped(folder, "one\ndelete it\n", *kept)
    second = piped(folder, "n\n", *kept)
    third = piped(folder, "", *kept)

    assert first == (3, f'> one\n  one, message 1\n> delete it\n* delete(what="it")\n{asked}\n')
    refused = "The user did not approve the call of delete."
    assert second[0] == 0
    assert second[1].startswith(f'> one\n  one, message 1\n> delete it\n{asked}n\n= delete(what="it") → {refused}')
    assert third[1].startswith("> one\n  one, message 1\n> delete it\n  The user did not approve")
    assert third[1].endswith("\n> \n")


def test_an_agent_without_a_checkpointer_has_the_history_of_the_chat(folder: Path) -> None:
    assert piped(folder, "a\n\nb\n", "my_agent:forgetful", "--source", "callbacks") == (
        0,
        "> a\n  a, message 1\n> \n> b\n  b, message 2\n> \n",
    )


def test_all_events_can_be_shown(folder: Path) -> None:
    code, shown = piped(folder, "a\n", "my_agent:forgetful", "--events")

    assert code == 0
    assert "STEP_STARTED       ┌ agent\nTEXT_MESSAGE       │ a, message 1\nSTEP_FINISHED      └\n" in shown


CHANGING = """
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from yai_nexus_agentkit.testing import ScriptedChatModel

model = ScriptedChatModel(script=lambda messages: ["My secret\\nis 7."])

class State(MessagesState):
    kept: AIMessage

async def say(state):
    return {"messages": [await model.ainvoke(state["messages"])]}

def rewrite(state):
    return {"messages": [AIMessage("It is a secret.", id=state["messages"][-1].id)]}

def remove(state):
    return {"messages": [RemoveMessage(id=state["messages"][-1].id)], "kept": state["messages"][-1]}

def restore(state):
    return {"messages": [state["kept"]]}

async def own(state):
    await model.ainvoke(state["messages"])
    return {"messages": [("ai", "It is a secret.")]}

async def copy(state):
    return {"messages": [("ai", (await model.ainvoke(state["messages"])).text)]}

def made_of(*nodes):
    builder = StateGraph(State).add_sequence(nodes).add_edge(START, nodes[0].__name__)
    return builder.compile(checkpointer=InMemorySaver())

rewriting, removing, restoring = made_of(say, rewrite), made_of(say, remove), made_of(say, remove, restore)
replacing, copying = made_of(own), made_of(copy)
"""
SAID = "  My secret\n  is 7.\n"
REWRITTEN = '  "My secret is 7." was rewritten:\n  It is a secret.\n'
REMOVED = '  "My secret is 7." was removed\n'


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize(
    ("agent", "more"),
    [
        ("rewriting", REWRITTEN),
        ("replacing", REWRITTEN),
        ("removing", REMOVED),
        ("restoring", REMOVED + SAID),
        ("copying", ""),
    ],
)
def test_the_person_reads_what_became_of_an_answer(
    agent: str, more: str, source: str, capsys: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with project_in(tmp_path, capsys, monkeypatch) as project:
        project.write("changing.py", CHANGING)
        monkeypatch.setattr(sys, "stdin", io.StringIO("a\nb\n"))
        result = run_main(capsys, "chat", f"changing:{agent}", "--source", source)
        assert result.out.partition("chat.\n")[2] == f"> a\n{SAID}{more}> b\n{SAID}{more}> \n"
        shown = project.run(f"changing:{agent}", "a", "--source", source).out
    assert shown.count("was rewritten:\n") + shown.count("was removed\n") == (more != "")
