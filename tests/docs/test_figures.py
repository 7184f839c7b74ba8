"""The figures of README.md are those of the page that says how they were measured; `make bench-peer` writes both."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_the_comparison_is_that_of_the_page_about_performance() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"<!-- comparison -->\n(.*?)<!-- /comparison -->", readme, re.S)
    assert shown is not None
    measured = rows((ROOT / "docs" / "performance.md").read_text("utf-8"))

    compared = rows(shown[1])[2:]

    assert len(compared) >= 5
    for title, *cells in compared:
        known = {
            word for row in measured if row[0] == title for cell in row[1:] for word in re.findall(r"[\d.,]*\d", cell)
        }
        unknown = [figure for cell in cells for figure in re.findall(r"[\d.,]*\d", cell) if figure not in known]
        assert not unknown, f"{title}: {unknown}"
