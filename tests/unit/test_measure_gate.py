"""The gate's budgets, valgrind's files and the pages that the benchmarks write."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks.budgets import FILE, Budgets, Finding, updated
from benchmarks.documents import insert
from benchmarks.registry import AgentCase, all_cases
from benchmarks.valgrind import counts

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TEXT = f"""# why
[about]
python = "{PYTHON}"
pydantic-core = "0.0.1"
ag-ui-protocol = "0.0.1"
margin = 0.05
foreign_margin = 0.15

[counts.tokens]
size = 600
events = 607
bytes = 71_499
tasks = 0
jsonpatch = 0
reason = "one per token"

[ratios.tokens]
size = 600
target = 1.15
max = 1.35
reason = "often"

[instructions.tokens]
size = 200
translator = 20_000
adapter = 40_000
reason = "a token"
"""
COUNTS = {"events": 607, "bytes": 71_499, "tasks": 0, "jsonpatch": 0}


def failing(findings: list[Finding]) -> dict[str, str]:
    return {finding.what: finding.verdict for finding in findings if not finding.ok}


# ---------------------------------------------------------------- the file


def test_every_budget_has_a_case_a_size_and_a_reason() -> None:
    budgets = Budgets.load()
    for section in ("counts", "ratios", "wires", "overhead", "instructions"):
        for name, budget in budgets.cases(section).items():
            assert isinstance(all_cases()[budget.get("case", name)], AgentCase)
            assert budget["size"] > 0
            assert len(budget["reason"]) > 10


def test_maxima_leave_a_margin_over_the_targets() -> None:
    for name, budget in Budgets.load().cases("ratios").items():
        assert budget["target"] < budget["max"], name


# ---------------------------------------------------------------- comparing


def test_counts_are_exact_in_both_directions() -> None:
    budgets = Budgets.load(TEXT)
    assert failing(budgets.counts("tokens", COUNTS)) == {}
    assert failing(budgets.counts("tokens", {**COUNTS, "events": 608})) == {"events": "+1 against the budget"}
    assert failing(budgets.counts("tokens", {**COUNTS, "bytes": 71_000})) == {"bytes": "-499 against the budget"}


def test_ratios_have_a_maximum() -> None:
    budgets = Budgets.load(TEXT)
    assert budgets.ratio("tokens", 1.35).ok
    assert budgets.ratio("tokens", 0.5).ok
    assert not budgets.ratio("tokens", 1.36).ok


@pytest.mark.parametrize(("share", "ok"), [(1.0, True), (1.14, True), (0.86, True), (1.16, False), (0.84, False)])
def test_instructions_may_differ_by_the_margin_for_other_versions(share: float, ok: bool) -> None:
    budgets = Budgets.load(TEXT)
    found = budgets.instructions("tokens", {"translator": 20_000, "adapter": 40_000 * share})
    assert [finding.ok for finding in found] == [True, ok]


def test_the_margin_is_narrow_for_the_versions_that_were_measured() -> None:
    same = Budgets.load(updated(TEXT, []))
    assert same.margin == 0.05
    assert Budgets.load(TEXT).margin == 0.15


def test_another_python_has_no_budget_for_instructions() -> None:
    budgets = Budgets.load(TEXT.replace(PYTHON, "2.7"))
    [finding, _] = budgets.instructions("tokens", {"translator": 1, "adapter": 1})
    assert (finding.ok, finding.budget) == (True, None)


def test_findings_read_as_a_table() -> None:
    [line, *_] = [str(finding) for finding in Budgets.load(TEXT).counts("tokens", {**COUNTS, "events": 700})]
    assert line.split() == ["counts", "tokens", "events", "700", "607", "+93", "against", "the", "budget"]


# ---------------------------------------------------------------- updating


def test_updating_writes_what_repeats_and_keeps_decisions_and_reasons() -> None:
    budgets = Budgets.load(TEXT)
    measured = [
        *budgets.counts("tokens", {**COUNTS, "events": 700}),
        *budgets.instructions("tokens", {"translator": 21_000.6, "adapter": 50_000}),
        budgets.ratio("tokens", 9.0),
    ]
    new: dict[str, Any] = tomllib.loads(updated(TEXT, measured))
    assert new["counts"]["tokens"] == {"size": 600, **COUNTS, "events": 700, "reason": "one per token"}
    assert new["instructions"]["tokens"]["translator"] == 21_001
    assert new["ratios"]["tokens"]["max"] == 1.35
    assert new["about"]["pydantic-core"] != "0.0.1"
    assert updated(TEXT, measured).startswith("# why\n")


def test_updating_with_what_is_there_changes_the_versions_only() -> None:
    text = FILE.read_text("utf-8")
    kept = [line for line in updated(text, []).splitlines() if "=" not in line or line.startswith("reason")]
    assert kept == [line for line in text.splitlines() if "=" not in line or line.startswith("reason")]


# ---------------------------------------------------------------- files of others


def test_counts_come_from_callgrinds_files_by_label(tmp_path: Path) -> None:
    def dump(number: int, trigger: str, total: int) -> None:
        text = f"version: 1\ndesc: Trigger: {trigger}\n\nevents: Ir\nsummary: 0\n\nfn=(1) x\n0 2\n\ntotals: {total}\n"
        (tmp_path / f"out.{number}").write_text(text)

    dump(1, "dump tokens base", 100)
    dump(2, "dump tokens adapter", 300)
    dump(3, "dump tokens adapter", 290)
    dump(4, "Program termination", 7)
    (tmp_path / "out").write_text("")
    assert counts(tmp_path) == {"tokens base": 100, "tokens adapter": 290}


def test_tables_replace_what_stands_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- suite -->\nold\n<!-- /suite -->\nafter\n")
    insert({"suite": "| new \\1 |"}, page)
    insert({"suite": "| newer \\1 |"}, page)
    assert page.read_text() == "before\n<!-- suite -->\n\n| newer \\1 |\n\n<!-- /suite -->\nafter\n"
    with pytest.raises(ValueError, match="no marks 'peer'"):
        insert({"peer": ""}, page)
