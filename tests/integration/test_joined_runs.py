"""Runs that official clients of both generations join in the middle: reloaded pages, stale tabs, several viewers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import served

JUDGE = Path(__file__).resolve().parent.parent / "js" / "reattach"
STREAMS = [f"{word} {client}" for word in ("slow", "slowtool", "slowthink") for client in ("1.0.0", "0.0.59")]
OTHERS = ["late", "unknown", "busy", "question", "client tool", "generations", "failed", "apart"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.errand_words:one_worker") as url:
        yield url


def test_widgets_are_there_after_a_reload() -> None:
    with served("tests.support.charting:app") as url:
        command = ["node", "check-kept.mjs", "--url", url, "--json"]
        done = subprocess.run(command, cwd=JUDGE, capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check.get("ok", True)] == []
    assert report["ok"]


@pytest.mark.parametrize("group", [*STREAMS, *OTHERS])
def test_all_viewers_hold_the_same(server: str, group: str) -> None:
    command = ["node", "check-reattach.mjs", "--url", server, "--only", group, "--json"]
    done = subprocess.run(command, cwd=JUDGE, capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check.get("ok", True)] == []
    assert report["ok"]
