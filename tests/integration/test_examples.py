"""The examples run by the command that their README.md gives, show what they promise, and are conformant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Result, run_main
from yai_nexus_agentkit.testing import assert_conformant

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EXAMPLE_PAUSE", "0")
    return lambda *args: run_main(capsys, "run", *args, "--json")


def runs_of(result: Result) -> list[list[dict[str, Any]]]:
    """The events of each run of one command."""
    found: list[list[dict[str, Any]]] = []
    for event in result.events:
        if event["type"] == "RUN_STARTED":
            found.append([])
        found[-1].append(event)
    return found


def pick(result: Result, kind: str, *fields: str) -> list[Any]:
    """These fields of the events of this type."""
    found = [[event.get(field) for field in fields] for event in result.events if event["type"] == kind]
    return [values[0] if len(fields) == 1 else tuple(values) for values in found]


def said(result: Result) -> str:
    return "".join(pick(result, "TEXT_MESSAGE_CONTENT", "delta"))


def ops(result: Result) -> list[tuple[str, Any]]:
    """Paths and values of all state deltas."""
    return [(o["path"], o.get("value")) for delta in pick(result, "STATE_DELTA", "delta") for o in delta]


def test_demo(run: Run) -> None:
    result = run("examples/demo/agent.py:graph", "The weather in Berlin and Paris, and 6 times 7")

    assert result.code == 0, result.err
    assert_conformant(runs_of(result))
    assert {
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "STEP_STARTED",
        "REASONING_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_RESULT",
        "ACTIVITY_SNAPSHOT",
        "CUSTOM",
        "RUN_FINISHED",
    } <= set(result.types)
    assert pick(result, "TOOL_CALL_START", "toolCallName") == ["get_weather", "get_weather", "multiply"]
    assert "prepare/read" in pick(result, "STEP_STARTED", "stepName")
    assert {"title": "Reading the question"} in pick(result, "REASONING_START", "metadata")
    assert ("/temperatures", {"Berlin": 21, "Paris": 18}) in ops(result)
    assert pick(result, "CUSTOM", "name") == ["display_chart"]
    assert said(result) == "In Berlin it is sunny, 21 °C. In Paris it is rainy, 18 °C. And 6 × 7 = 42."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Oslo?", "In Oslo it is windy, 12 °C."),
        ("7 x 8", "And 7 × 8 = 56."),
        (
            "Who are you?",
            "Ask me about the weather in Berlin, Lisbon, Oslo, Paris, or for a product such as 6 times 7.",
        ),
    ],
)
def test_demo_answers_other_questions(run: Run, question: str, answer: str) -> None:
    assert said(run("examples/demo/agent.py:graph", question)) == answer


def test_demo_keeps_a_conversation(run: Run, tmp_path: Path) -> None:
    where = ["--checkpointer", f"sqlite:{tmp_path / 'demo.sqlite'}", "--thread", "t"]
    results = [run("examples/demo/agent.py:graph", city, *where) for city in ("Oslo", "Berlin", "Paris")]

    assert [said(result) for result in results] == [
        "In Oslo it is windy, 12 °C.",
        "In Berlin it is sunny, 21 °C.",
        "In Paris it is rainy, 18 °C.",
    ]
    assert_conformant([events for result in results for events in runs_of(result)])
    assert pick(results[2], "CUSTOM", "value") == [{"type": "bar", "x": ["Paris"], "y": [18]}]


@pytest.mark.parametrize(
    ("question", "types", "answer"),
    [
        ("The weather in Berlin and Oslo?", {"STATE_DELTA", "REASONING_START", "ACTIVITY_SNAPSHOT"}, "Take a coat"),
        ("Ask the librarian", {"SUBAGENT_STARTED", "SUBAGENT_FINISHED"}, "120 books"),
        ("Make a plan", {"ACTIVITY_DELTA", "CUSTOM"}, "Done: all done."),
        ("Read a file", {"TOOL_CALL_RESULT"}, "no such file: budget.csv"),
        ("The quarterly report", {"REASONING_START"}, "| North | 120 | 152 | +27 % |"),
        ("Please pay Ada 50", {"TOOL_CALL_RESULT"}, "Done: paid 50 € to Ada."),
    ],
)
def test_showcase(run: Run, question: str, types: set[str], answer: str) -> None:
    result = run("examples/showcase/agent.py:graph", question, "--answer", "y")

    assert_conformant(runs_of(result))
    assert types <= set(result.types)
    assert answer in said(result)


def test_chat(run: Run) -> None:
    result = run("examples/chat/agent.py:graph", "Hello")

    assert_conformant(runs_of(result))
    assert said(result) == "You said “Hello”. That was message 1 of our conversation."


def test_tools(run: Run) -> None:
    result = run("examples/tools/agent.py:graph", "How much is 17/5, and 1/0?")

    assert_conformant(runs_of(result))
    (fine, _), (wrong, metadata) = pick(result, "TOOL_CALL_RESULT", "content", "metadata")
    assert json.loads(fine) == {"quotient": 3, "remainder": 2}
    assert wrong.startswith("Error: ZeroDivisionError")
    assert metadata["langgraph"]["status"] == "error"


@pytest.mark.parametrize(
    ("option", "family"),
    [("standard", "REASONING_MESSAGE_CONTENT"), ("thinking", "THINKING_TEXT_MESSAGE_CONTENT"), ("off", None)],
)
def test_reasoning(run: Run, option: str, family: str | None) -> None:
    result = run("examples/reasoning/agent.py:graph", "How many letters?", "--reasoning", option)

    thoughts = [event["delta"] for event in result.events if event["type"] == family]
    assert "".join(thoughts) == (
        "I count the letters one by one, without spaces and signs: 14." if family is not None else ""
    )
    assert said(result) == "Your question has 14 letters."
    if option != "thinking":
        assert_conformant(runs_of(result))


def test_shared_state(run: Run) -> None:
    state = "examples/shared_state/state.json"
    result = run("examples/shared_state/agent.py:graph", "Please add some salt", "--state", state)

    assert_conformant(runs_of(result))
    assert ops(result) == [("/recipe", {"title": "Soup", "ingredients": ["water", "salt"]})]


def test_predictive_state(run: Run) -> None:
    result = run("examples/predictive_state/agent.py:adapter", "Write about cats")

    assert_conformant(runs_of(result))
    [document] = [json.loads("".join(pick(result, "TOOL_CALL_ARGS", "delta")))["text"]]
    shown = [value for path, value in ops(result) if path == "/document"]
    assert len(shown) > 3
    assert all(document.startswith(part) for part in shown)
    assert shown[-1] == document


def test_generative_ui(run: Run) -> None:
    result = run("examples/generative_ui/agent.py:graph", "Show me the sales")

    assert_conformant(runs_of(result))
    assert pick(result, "CUSTOM", "name") == ["display_chart", "download"]
    assert [c["fraction"] for c in pick(result, "ACTIVITY_SNAPSHOT", "content") if "fraction" in c] == [1 / 3, 2 / 3, 1]
    assert [patch[0]["path"] for patch in pick(result, "ACTIVITY_DELTA", "patch")] == ["/steps/0/done", "/steps/1/done"]
    assert ops(result)[0] == ("/sales", {"January": 40})


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ("y", "paid 50 € to Ada"),
        ("n", "The user did not approve the call of pay."),
        ("/cancel", "The user "),
    ],
)
def test_approval(run: Run, answer: str, sent: str) -> None:
    result = run("examples/approval/agent.py:graph", "Please pay Ada 50", "--answer", answer)

    assert result.code == 0
    assert_conformant(runs_of(result))
    [content] = pick(result, "TOOL_CALL_RESULT", "content")
    assert content.startswith(sent)


def test_approval_is_not_needed_for_little(run: Run) -> None:
    assert pick(run("examples/approval/agent.py:graph", "Please pay Bob 5"), "TOOL_CALL_RESULT", "content") == [
        "paid 5 € to Bob"
    ]


def test_client_tools(run: Run) -> None:
    tools = ["--tools", "examples/client_tools/tools.json"]
    asked = run("examples/client_tools/agent.py:graph", "Where am I?", *tools)
    answered = run("examples/client_tools/agent.py:graph", "Where am I?", *tools, "--answer", "52.5° N")

    assert (asked.code, answered.code) == (3, 0)
    assert_conformant(runs_of(answered))
    assert asked.last["outcome"]["pendingToolCallIds"] == pick(asked, "TOOL_CALL_START", "toolCallId")
    assert said(answered) == "You are at 52.5° N, near Berlin."


def test_subgraphs(run: Run) -> None:
    result = run("examples/subgraphs/agent.py:graph", "boats")

    assert_conformant(runs_of(result))
    steps = pick(result, "STEP_STARTED", "stepName")
    assert {"search", "search#2", "search/look", "search/summarise", "report"} <= set(steps)
    assert "library: 3 pages about boats in the library" in said(result)


def test_multimodal(run: Run) -> None:
    result = run("examples/multimodal/agent.py:graph", "Look", "--attach", "examples/multimodal/sun.png")

    assert_conformant(runs_of(result))
    assert said(result) == "You sent me a PNG picture of 64 × 48 pixels."


def test_every_example_has_a_page_that_says_how_to_run_it_and_is_listed() -> None:
    listed = (ROOT / "examples" / "README.md").read_text("utf-8")
    agents = sorted((ROOT / "examples").glob("*/agent.py"))

    assert len(agents) >= 12
    for agent in agents:
        name = agent.parent.name
        assert f"({name}/)" in listed
        assert f"yai-nexus-agentkit run examples/{name}/agent.py:" in (agent.parent / "README.md").read_text("utf-8")
