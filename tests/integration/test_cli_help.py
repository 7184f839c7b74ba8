"""The help of every command, and how it and its output look in terminals that are narrow, black or white."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from tests.docs.generated import groups_of
from tests.support.screen import in_a_terminal
from yai_nexus_agentkit.cli import COMMANDS, main, parser_of

NARROW = 40
"""Columns."""

AGENT = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part

async def ask(state):
    emitter = EventEmitter()
    emitter.emit("chart", {"values": list(range(40))})
    emitter.progress("a long name of a long task", fraction=0.5, message="more words than a narrow line can hold")
    answer = interrupt("Is it all right to go on, although this question is longer than the lines of this terminal?")
    parts = [reasoning_part("I think about it. " * 6), f"An answer of many words. {answer} " * 5]
    model = ScriptedChatModel(script=[parts])
    return {"messages": [await model.ainvoke(state["messages"])]}
graph = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())

def fail(state):
    raise ValueError("a long explanation of what went wrong, and of what can be done about it")
failing = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail").compile()
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_has_a_help_text(command: str) -> None:
    arguments = [action for actions in groups_of(command).values() for action in actions]

    assert len(arguments) > 2
    assert [action.dest for action in arguments if not action.help or action.help == argparse.SUPPRESS] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_does_and_how_it_ends(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())

    _, parser = parser_of(command)
    assert " ".join((parser.description or "none").split()) in shown
    assert "Exit code: 0 " in shown


def test_the_overview_fits_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(NARROW))
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out

    assert all(len(line) <= NARROW for line in shown.splitlines())
    assert " ".join(COMMANDS["serve"].split()) in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        (["run", "my_agent:graph", "hi", "--steps", "--answer", "yes"], "events"),
        (["run", "my_agent:failing", "hi"], "RUN_ERROR"),
        (["chat", "my_agent:graph", "hi"], "An answer"),
        (["verify", "my_agent:failing", "hi"], "the run failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_output_fits_a_narrow_terminal(folder: Path, arguments: list[str], last: str) -> None:
    with in_a_terminal(folder, *arguments, columns=NARROW) as (screen, _):
        if arguments[0] == "chat":
            screen.wait_for("/cancel\n> ")
            asked = screen.shown
            screen.type("yes\n")
            screen.wait_for("\n> ")
            answered = screen.shown
            screen.type("/quit\n")
            screen.shown = asked + answered
        screen.wait_for_end()
    assert last in screen.shown
    too_long = [line for line in screen.shown.splitlines() if len(line) > NARROW and not re.match("[A-Z]+: ", line)]
    assert too_long == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("sevre", "serve"),
        ("RUN", "run"),
        ("chta", "chat"),
        ("--versoin", "--version"),
        ("--hlep", "--help"),
        ("x", None),
    ],
)
def test_a_misspelt_command_is_recognized(given: str, meant: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([given, "agent.py"])
    assert exit.value.code == 2
    said = capsys.readouterr().err
    assert f"there is no {given!r}; {f'did you mean {meant!r}?' if meant else 'the commands are bench, '}" in said
