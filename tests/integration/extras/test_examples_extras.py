"""Examples that need packages beyond the core's extras, and examples with a provider's model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import run_main
from yai_nexus_agentkit.testing import assert_conformant

ROOT = Path(__file__).resolve().parents[3]


def test_subagents(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EXAMPLE_PAUSE", "0")

    result = run_main(capsys, "run", "examples/subagents/agent.py:graph", "boats", "--json")

    assert result.code == 0, result.err
    assert_conformant(result.events)
    [started] = [event for event in result.events if event["type"] == "SUBAGENT_STARTED"]
    inside = [event for event in result.events if event.get("subagentRunId") == started["subagentRunId"]]
    assert "".join(e["delta"] for e in inside if e["type"] == "TEXT_MESSAGE_CONTENT") == "Let me see. I found 50 books."
    assert [event["toolCallName"] for event in inside if event["type"] == "TOOL_CALL_START"] == ["count_books"]


def test_a_real_model_takes_the_place_of_the_script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    asked = ["run", "examples/chat/agent.py:graph", "Hello", "--model", "openai:gpt-5-mini"]
    result = run_main(capsys, *asked, "--execution-timeout", "30")

    assert result.code == 1
    assert "RUN_ERROR          AGENT_ERROR: Connection error." in result.out


def test_an_unknown_model_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    result = run_main(capsys, "run", "examples/chat/agent.py:graph", "Hello", "--model", "nobody:nothing")

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("yai-nexus-agentkit: examples/chat/agent.py:graph raised ")
    assert result.err.count("\n") == 1
