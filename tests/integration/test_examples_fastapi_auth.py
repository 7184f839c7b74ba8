"""The FastAPI example with users, run by the command of its README.md and asked with that page's own curl commands."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from yai_nexus_agentkit.testing import assert_conformant, parse_sse

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "examples" / "fastapi_auth" / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    [command] = re.findall(r"^    (uvicorn .*)$", PAGE, re.M)
    process = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(command), "--port", "0"],
        cwd=ROOT,
        env={**os.environ, "EXAMPLE_PAUSE": "0"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield next(found[0] for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def answers(base: str) -> list[httpx.Response]:
    """The answers to the page's curl commands, in their order."""
    curl = argparse.ArgumentParser("curl")
    curl.add_argument("url")
    curl.add_argument("--no-buffer", action="store_true")
    curl.add_argument("-H", dest="headers", action="append", default=[])
    curl.add_argument("-d", dest="data")
    found = []
    for command in re.findall(r"^curl (.*)$", PAGE.replace("\\\n", ""), re.M):
        given = curl.parse_args(shlex.split(command))
        found.append(
            httpx.request(
                "GET" if given.data is None else "POST",
                given.url.replace("http://127.0.0.1:8000", base),
                headers=dict(header.split(": ") for header in given.headers),
                content=given.data,
            )
        )
    return found


def test_the_agent_knows_who_is_asking(answers: list[httpx.Response]) -> None:
    events = parse_sse(answers[0].text)

    assert_conformant(events)
    said = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == "Hello Ann! You said “Good morning”. That was message 1 of yours."


def test_a_user_has_threads_of_their_own(answers: list[httpx.Response]) -> None:
    assert [thread["threadId"] for thread in answers[1].json()] == ["t"]
    assert (answers[2].status_code, answers[2].json()["detail"]["error"]) == (404, "THREAD_NOT_FOUND")


def test_nobody_is_answered_without_a_token(answers: list[httpx.Response]) -> None:
    assert (answers[3].status_code, answers[3].json()["detail"]["error"]) == (401, "UNAUTHORIZED")
