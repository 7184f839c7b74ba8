"""Workers that share a store, as real processes: one dies, stops or must end in the middle of a run, and official
clients of both generations, at it and at the other one, hold the same at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent
JUDGE = ROOT / "tests" / "js" / "reattach"
MOMENTS = ["text", "tasks", "tool", "reasoning", "question", "late"]

SHORT = [
    ("redis", "text", "KILL"),
    ("redis", "reasoning", "STOP"),
    ("redis", "text", "TERM"),
    ("postgres", "tool", "KILL"),
    ("postgres", "question", "KILL"),
    ("sqlite", "tasks", "KILL"),
]
ALL = [
    (store, moment, how)
    for store in ("redis", "postgres", "sqlite")
    for moment in MOMENTS
    for how in ("KILL", "STOP", "TERM")
]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


@pytest.mark.parametrize(("store", "moment", "how"), ALL if os.environ.get("SOAK") else SHORT)
def test_another_worker_goes_on(request: pytest.FixtureRequest, store: str, moment: str, how: str) -> None:
    address = {
        "sqlite": lambda: "",
        "redis": lambda: request.getfixturevalue("redis").address,
        "postgres": lambda: request.getfixturevalue("database"),
    }[store]()
    worker = f"{sys.executable} -m tests.support.workers {{port}} {{dir}} {address}"
    command = [sys.executable, str(JUDGE / "takeover.py"), "--server", worker, "--path", "", "--moment", moment]
    done = subprocess.run(
        [*command, "--signal", how, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=190, check=False
    )
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check.get("ok", True)] == []
    assert report["ok"]
