"""The figures of a measurement: the formula, its terms, and what exceeds a budget."""

from __future__ import annotations

from typing import Any

import pytest

from yai_nexus_agentkit.testing import Overhead


def figures(**given: Any) -> Overhead:
    fields = {"natives": 100, "events": 40, "bytes": 4_000, "repeats": 11, "faithful": True}
    return Overhead(**{**fields, "t_base": 0.001, "t_adapter": 0.003, "t_graph": 0.020, **given})


def test_overhead_is_what_the_adapter_adds_per_native_event() -> None:
    assert figures().overhead_us == pytest.approx((3_000 - 1_000) / 100)


def test_the_ratio_compares_the_run_with_and_without_the_adapter() -> None:
    assert figures().ratio == pytest.approx((20 + 3 - 1) / 20)


@pytest.mark.parametrize(
    ("budget", "exceeded"),
    [
        ({}, []),
        ({"max_overhead_us": 20.001, "max_ratio": 1.1001}, []),
        ({"max_overhead_us": 19.9}, ["overhead 20.0 µs per event, allowed are 19.9"]),
        ({"max_ratio": 1.05}, ["ratio 1.100, allowed is 1.05"]),
        ({"max_overhead_us": 5, "max_ratio": 1}, ["overhead 20.0 µs", "ratio 1.100"]),
    ],
)
def test_what_exceeds_a_budget_is_named(budget: dict[str, float], exceeded: list[str]) -> None:
    found = figures().over(**budget)
    assert len(found) == len(exceeded)
    assert all(line.startswith(start) for line, start in zip(found, exceeded, strict=True))


def test_the_formula_is_printed_with_its_terms() -> None:
    assert str(figures()).splitlines() == [
        "overhead = (T_adapter - T_base) / N = (3.000 ms - 1.000 ms) / 100 = 20.00 µs per event",
        "ratio = (T_graph + T_adapter - T_base) / T_graph = (20.000 ms + 3.000 ms - 1.000 ms) / 20.000 ms = 1.100",
        "100 native events, 40 AG-UI events, 4,000 bytes; CPU time, least of 11 replays in turn",
    ]


def test_a_replay_that_differs_from_the_run_is_mentioned() -> None:
    assert "did not give the same events" in str(figures(faithful=False))
