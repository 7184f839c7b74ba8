"""Agents as models, judged by the packages of OpenAI and LibreChat for JavaScript, and by readers that work as those of
Dify and Open WebUI do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import served

JUDGES = Path(__file__).resolve().parent.parent / "js" / "openai"
OPTIONS = ["--model", "my_agent", "--bad-key", "wrong", "--tools"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.errand_words:models") as url:
        yield f"{url}/v1"


@pytest.mark.slow
@pytest.mark.parametrize("judge", [["node", "verify_openai.mjs"], [sys.executable, "verify_frontends.py"]])
def test_clients_are_content(server: str, judge: list[str]) -> None:
    command = [*judge, server, *OPTIONS]
    done = subprocess.run(command, cwd=JUDGES, capture_output=True, text=True, timeout=110, check=False)
    assert [line for line in done.stdout.splitlines() if not line.startswith("ok ")][:-1] == [], done.stderr
    assert done.returncode == 0
