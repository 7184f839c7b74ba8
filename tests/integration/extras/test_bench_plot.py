"""The plot of the benchmarks: the same figures give the same file."""

from __future__ import annotations

from pathlib import Path

from benchmarks.documents import draw
from benchmarks.timing import Figures, Result, Sample


def figures(name: str, seconds: float) -> Figures:
    return Figures(name, [Sample(seconds, seconds, 10, 0, None)])


def test_the_plot_has_every_case_and_contender_and_repeats(tmp_path: Path) -> None:
    results = [
        Result("tokens", "Tokens", [figures("bare", 1.0), figures("adapter", 1.25), figures("callbacks", 0.5)]),
        Result("tools", "Tools", [figures("bare", 1.0), figures("adapter", 1.75), figures("callbacks", 0.6)]),
        Result("plain_data", "A function", [figures("reference", 1.0), figures("adapter", 3.0)]),
    ]
    draw(results, tmp_path / "images" / "one.svg")
    draw(results, tmp_path / "images" / "other.svg")
    text = (tmp_path / "images" / "one.svg").read_text()
    assert text == (tmp_path / "images" / "other.svg").read_text()
    comments = [line.strip() for line in text.splitlines() if line.strip().startswith("<!--")]
    assert {f"<!-- {label} -->" for label in ("tokens", "tools", "adapter", "callbacks", "1.25", "0.60")} <= set(
        comments
    )
    assert "<!-- plain_data -->" not in comments
