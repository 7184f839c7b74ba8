"""The AI SDK's routes, judged by its own client code in three generations, and called by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import served

JUDGE = Path(__file__).resolve().parent.parent / "js" / "ai-sdk"
VERSIONS, CHECKS = (5, 6, 7), ("resume", "approvals", "chat")


@pytest.fixture(scope="module")
def judges() -> Iterator[dict[tuple[str, int], subprocess.Popen[str]]]:
    """All at once: each waits most of its time."""
    with served("tests.support.errand_words:one_worker") as url:
        started: dict[tuple[str, int], subprocess.Popen[str]] = {}
        for check in CHECKS:
            for version in VERSIONS:
                at = ["--url", f"{url}/ai/{version}", "--ai", str(version), "--history", "/{id}", "--timeout", "60"]
                command = ["node", f"check-{check}.mjs", *at, "--json"]
                started[check, version] = subprocess.Popen(command, cwd=JUDGE, stdout=subprocess.PIPE, text=True)
        try:
            yield started
        finally:
            for judge in started.values():
                judge.kill()
                judge.wait()


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("check", CHECKS)
def test_its_client_is_content(judges: dict[tuple[str, int], Any], check: str, version: int) -> None:
    shown, _ = judges[check, version].communicate(timeout=110)
    report = json.loads(shown)
    assert [one for one in report["results"] if not one.get("ok", "note" in one)] == []
    assert report["ok"]
