"""The gate notices what it is there for: flaws are planted in an adapter, and each leaves its budget."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from benchmarks.budgets import FILE, Budgets, Finding, updated
from benchmarks.gate import Gate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOKENS, STATE = frozenset({"tokens"}), frozenset({"state"})


@pytest.fixture(scope="module")
def budgets() -> Budgets:
    """What the adapter as it is costs now, so that the plants and not the budgets of the day are judged."""
    measured = Gate(cases=TOKENS | STATE).check(["counts", "instructions"])
    return Budgets.load(updated(FILE.read_text("utf-8"), measured))


def outside(findings: Iterable[Finding]) -> set[tuple[str, str]]:
    return {(finding.section, finding.what) for finding in findings if not finding.ok}


def test_the_same_adapter_stays_within_its_budgets(budgets: Budgets) -> None:
    gate = Gate(budgets, cases=TOKENS | STATE)
    assert outside(gate.check(["counts", "instructions"])) == set()


def test_a_fifth_more_work_is_seen_in_the_instruction_counts(budgets: Budgets) -> None:
    gate = Gate(budgets, "tests.support.plants:slower", TOKENS)
    findings = list(gate.check(["counts", "instructions"]))
    assert outside(findings) == {("instructions", "translator"), ("instructions", "adapter")}
    [whole] = [f for f in findings if f.what == "adapter"]
    assert whole.budget is not None
    assert 1.1 < whole.measured / whole.budget < 1.3  # the plant is what it says


def test_an_event_more_per_token_is_seen_in_the_counts(budgets: Budgets) -> None:
    gate = Gate(budgets, "tests.support.plants:chatty", TOKENS)
    assert outside(gate.check(["counts"])) == {("counts", "events"), ("counts", "bytes")}


def test_a_copy_of_the_state_per_step_is_seen_in_the_instruction_counts(budgets: Budgets) -> None:
    gate = Gate(budgets, "tests.support.plants:copying", STATE)
    assert outside(gate.check(["counts", "instructions"])) == {("instructions", "adapter")}  # a hook is no translator


def test_a_copy_of_the_state_per_step_on_the_wire_is_seen_in_the_counts(budgets: Budgets) -> None:
    gate = Gate(budgets, "tests.support.plants:restating", STATE)
    assert outside(gate.check(["counts"])) == {("counts", "events"), ("counts", "bytes")}
