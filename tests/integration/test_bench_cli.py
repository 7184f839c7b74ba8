"""``bench``: the overhead on a user's graph, as figures and as an exit code."""

from __future__ import annotations

import json

import pytest

from tests.support.command_line import Project, Result, project_with, run_main

AGENT = """
    from langgraph.graph import START, MessagesState, StateGraph
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.adapter.run_context import Hooks
    from yai_nexus_agentkit.testing import ScriptedChatModel

    seen = []

    async def say(state):
        seen.append([message.content for message in state["messages"]])
        return {"messages": [await ScriptedChatModel(script=[["Hel", "lo"]]).ainvoke(state["messages"])]}
    graph = StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()

    def fail(state):
        raise ValueError("no luck")
    failing = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail").compile()
"""

project = project_with(AGENT)


@pytest.fixture
def bench(project: Project, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(capsys)


class Bench:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: object) -> Result:
        return run_main(self._capsys, "bench", *args, "--repeats", 2)


def test_the_formula_and_its_terms_are_printed(bench: Bench) -> None:
    result = bench("my_agent:graph")
    assert result.code == 0
    first, *_, last = result.out.splitlines()
    assert first.startswith("overhead = (T_adapter - T_base) / N = (")
    assert first.endswith("µs per event")
    assert last == "within the budget"


def test_over_the_budget_is_exit_code_1(bench: Bench) -> None:
    result = bench("my_agent:graph", "--max-overhead-us", 0.01)
    assert result.code == 1
    assert "over the budget: overhead" in result.out
    assert bench("my_agent:graph", "--max-ratio", 1).code == 1
    assert bench("my_agent:graph", "--max-ratio", 1_000).code == 0


@pytest.mark.parametrize("flag", ["--max-ratio", "--max-overhead-us"])
@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "much"])
def test_a_budget_that_nothing_exceeds_is_refused(bench: Bench, flag: str, value: str) -> None:
    result = bench("my_agent:graph", flag, value)
    assert result.code == 2
    assert f"argument {flag}: '{value}' is not a number above 0" in result.err


def test_json_has_the_terms_and_the_verdict(bench: Bench) -> None:
    report = json.loads(bench("my_agent:graph", "--json", "--max-overhead-us", 0.01).out)
    overhead = (report["t_adapter_us"] - report["t_base_us"]) / report["natives"]
    assert report["overhead_us"] == pytest.approx(overhead, abs=0.01)
    assert report["ok"] is False
    assert report["max_overhead_us"] == 0.01
    assert len(report["over_budget"]) == 1
    assert json.loads(bench("my_agent:graph", "--json").out)["ok"] is True


def test_the_request_comes_from_a_file(bench: Bench, project: Project) -> None:
    messages = [{"id": "u", "role": "user", "content": "from the file"}]
    project.write("request.json", json.dumps({"threadId": "t", "runId": "r", "messages": messages}))
    project.write("check.py", "import my_agent\ngraph = my_agent.graph\n")
    assert bench("check:graph", "--input", "request.json").code == 0
    import my_agent  # type: ignore[import-not-found]  # the project's

    assert my_agent.seen == [["from the file"]]


def test_a_failing_run_is_no_measurement(bench: Bench) -> None:
    result = bench("my_agent:failing")
    assert result.code == 2
    assert "nothing to measure: no luck" in result.err


def test_options_of_the_adapter_count(bench: Bench) -> None:
    plain = json.loads(bench("my_agent:graph", "--json").out)
    with_snapshot = json.loads(bench("my_agent:graph", "--json", "--messages-snapshot", "always").out)
    assert with_snapshot["events"] == plain["events"] + 1


def test_zero_repeats_are_refused(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_main(capsys, "bench", "my_agent:graph", "--repeats", 0)
    assert result.code == 2
    assert "--repeats" in result.err
