"""The short form of ``make soak``."""

from __future__ import annotations

from tests.soak.soaking import soak


def test_a_few_seconds_of_all_attacks_at_once() -> None:
    record = soak(6, attackers=3, users=1)
    assert record.faults(growth=300 * 1024 * 1024, pause=1.0, first=10.0) == []
    assert record.counts["honest"] > 0
    assert len(record.counts) > 2
