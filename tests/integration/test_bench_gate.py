"""The gate notices what it is there for: flaws are planted in an adapter, and each leaves its budget."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from benchmarks.budgets import FILE, Budgets, Finding, updated
from benchmarks.gate import Gate, instructions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOKENS, STATE = frozenset({"tokens"}), frozenset({"state"})
OURS, SLOWER, COPYING = "yai_nexus_agentkit:AGUIAdapter", "tests.support.plants:slower", "tests.support.plants:copying"

Counted = dict[str, dict[str, dict[str, float]]]
"""Instructions by adapter, case and part."""


SIZES = {"tokens": 600, "state": 50_000}
"""The state is smaller than the gate's: valgrind makes a program about fifty times slower."""
TEXT = re.sub(
    r"(?m)^(\[(?:counts|instructions)\.(tokens|state)\]\n)size = [\d_]+$",
    lambda found: f"{found[1]}size = {SIZES[found[2]]}",
    FILE.read_text("utf-8"),
)


@pytest.fixture(scope="module")
def counted() -> Counted:
    tokens, state = ({name: size} for name, size in SIZES.items())
    with instructions({OURS: tokens | state, SLOWER: tokens, COPYING: state}) as finish:
        return finish()


@pytest.fixture(scope="module")
def budgets(counted: Counted) -> Budgets:
    """The cost of the adapter as it is now, so that the plants and not the budgets of the day are judged."""
    small = Budgets.load(TEXT)
    measured = [*Gate(small, cases=TOKENS | STATE).check(["counts"]), *found_in(small, counted[OURS])]
    return Budgets.load(updated(TEXT, measured))


def found_in(
    budgets: Budgets, counted: dict[str, dict[str, float]], cases: frozenset[str] = TOKENS | STATE
) -> Iterator[Finding]:
    for name in cases:
        yield from budgets.instructions(name, counted[name])


def outside(findings: Iterable[Finding]) -> set[tuple[str, str]]:
    return {(finding.section, finding.what) for finding in findings if not finding.ok}


def test_the_same_adapter_stays_within_its_budgets(budgets: Budgets) -> None:
    gate = Gate(budgets, cases=TOKENS | STATE)
    assert outside(gate.check(["counts", "instructions"])) == set()


def test_a_fifth_more_work_is_seen_in_the_instruction_counts(budgets: Budgets, counted: Counted) -> None:
    assert outside(Gate(budgets, SLOWER, TOKENS).check(["counts"])) == set()
    findings = list(found_in(budgets, counted[SLOWER], TOKENS))
    assert outside(findings) == {("instructions", "translator"), ("instructions", "adapter")}
    [whole] = [f for f in findings if f.what == "adapter"]
    assert whole.budget is not None
    assert 1.1 < whole.measured / whole.budget < 1.3  # the plant is what it says


def test_an_event_more_per_token_is_seen_in_the_counts(budgets: Budgets) -> None:
    gate = Gate(budgets, "tests.support.plants:chatty", TOKENS)
    assert outside(gate.check(["counts"])) == {("counts", "events"), ("counts", "bytes")}


def test_a_copy_of_the_state_per_step_is_seen_in_the_instruction_counts(budgets: Budgets, counted: Counted) -> None:
    assert outside(Gate(budgets, COPYING, STATE).check(["counts"])) == set()
    # a hook is no translator
    assert outside(found_in(budgets, counted[COPYING], STATE)) == {("instructions", "adapter")}


def test_a_copy_of_the_state_per_step_on_the_wire_is_seen_in_the_counts(budgets: Budgets) -> None:
    gate = Gate(budgets, "tests.support.plants:restating", STATE)
    assert outside(gate.check(["counts"])) == {("counts", "events"), ("counts", "bytes")}
