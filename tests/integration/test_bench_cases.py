"""Every benchmark case runs, against its reference, in a small size."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.__main__ import main
from benchmarks.contenders import BARE, OURS
from benchmarks.registry import AgentCase, FunctionCase, all_cases
from benchmarks.report import as_json, markdown
from benchmarks.timing import Figures, Result, measure_function, run_scene

pytestmark = pytest.mark.slow

CASES = list(all_cases().values())
AGENTS = [case for case in CASES if isinstance(case, AgentCase)]
FUNCTIONS = [case for case in CASES if isinstance(case, FunctionCase)]


def sampled(case: AgentCase) -> Result:
    """One run by each contender."""
    result = Result(case.name, case.title, [])
    for contender in (BARE, *OURS):
        sample = asyncio.run(run_scene(contender, case.scene(case.small)))
        result.figures.append(Figures(contender.name, [sample]))
    return result


@pytest.mark.parametrize("case", AGENTS, ids=lambda case: case.name)
def test_a_case_runs_with_every_contender(case: AgentCase) -> None:
    result = sampled(case)
    bare, adapter, callbacks, endpoint = (figures.samples[0] for figures in result.figures)
    assert bare.events > 0
    assert adapter.events == callbacks.events == endpoint.events > 5
    assert adapter.size > 500
    assert adapter.copies in (None, 1)
    assert case.title in markdown([result])


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: case.name)
def test_a_function_runs_beside_its_reference(case: FunctionCase) -> None:
    result = measure_function(case, repeats=1)
    assert all(figures.least > 0 and figures.peak > 0 for figures in result.figures)
    assert "reference" in as_json([result], {})["cases"][case.name]


def test_cases_can_be_run_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool_result", "--json", "--repeats", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data["cases"]) == ["tool_result"]
    adapter = data["cases"]["tool_result"]["adapter"]
    assert adapter["copies"] == 1
    assert adapter["ratio"] > 0
    assert adapter["peak_bytes"] > 0


def test_the_ladder_has_a_rung_for_each_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool_result", "--ladder", "--repeats", "1"]) == 0
    title, *rungs = capsys.readouterr().out.splitlines()
    assert title == "a tool that returns 34 kB, once: 53 native events, least of 1 rounds"
    names = [line[:12].strip() for line in rungs]
    assert names == ["bare loop", "+ handler", "+ prepare", "+ translate", "+ encode", "+ drive"]


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="unknown cases: toknes"):
        main(["toknes"])
