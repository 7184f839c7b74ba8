"""The page about security says what the package does: limits with their defaults, codes, tests that it names."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.runs.index import MemoryThreadIndex
from yai_nexus_agentkit.server import Fetcher, ServerSettings
from yai_nexus_agentkit.transport.agui_sse import MAX_FRAME

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
NO_LIMITS = {"retry_after", "keep_alive", "janitor_every", "flush"}
"""Settings that are numbers, and no limits of what a client can do."""
ROWS = {row[1]: row for row in re.finditer(r"^\| `([\w.]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)}


def shown(value: float | None, kind: str) -> str:
    """A default as the page writes it."""
    if value is None:
        return "none"
    if "Float" in kind:
        return f"{value:g} s"
    return f"{int(value) // 2**20} MiB" if value >= 2**20 and value % 2**20 == 0 else f"{int(value):,}"


def numbers() -> dict[str, str]:
    """The settings that are numbers, and their defaults."""
    found = {}
    named = [("", field) for field in dataclasses.fields(ServerSettings)]
    named += [("Fetcher.", field) for field in dataclasses.fields(Fetcher)]
    for owner, field in named:
        if re.match(r"(Positive|NonNegative)(Int|Float)", str(field.type)) and field.name not in NO_LIMITS:
            found[owner + field.name] = shown(field.default, str(field.type))  # type: ignore[arg-type]
    return found


def test_every_limit_stands_on_the_page_with_its_default() -> None:
    assert {name: row[2].strip() for name, row in ROWS.items()} == numbers()


@pytest.mark.parametrize("name", ROWS)
def test_what_happens_beyond_a_limit_is_something_that_happens(name: str) -> None:
    statuses = (ROOT / "docs" / "http-routes.md").read_text("utf-8")
    beyond = ROWS[name][3]
    for status, code in re.findall(r"(\d{3}) `([A-Z_]+)`", beyond):
        assert re.search(rf"^\| {status} \|[^|]*`{code}`", statuses, re.MULTILINE), (status, code)
    for code in re.findall(r"with `([A-Z_]+)`", beyond):
        assert code in set(Code)


def test_the_fixed_limits_are_those_of_the_code() -> None:
    assert MAX_FRAME == 10 * 2**20
    assert "more than 10 MiB" in PAGE
    assert f"the index in memory holds {MemoryThreadIndex().most:,} threads" in PAGE
    assert "at most 1,000 digits" in PAGE


def test_the_tests_that_it_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert len(named) >= 4
    assert all((ROOT / path).exists() for path in named)
    targets = (ROOT / "Makefile").read_text("utf-8")
    assert all(f"\n{target}:" in targets for target in re.findall(r"`make (\w+)`", PAGE))
