"""Two workers that share a store, and pages of the AI SDK: a reload reaches the other one, and one of them dies."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.ai_sdk_page import JUDGE, Client, chunks_of, client
from tests.support.workers import workers

API = "/api/chat"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_a_reload_reaches_the_other_worker(tmp_path: Path) -> None:
    with workers(tmp_path, "", AI="7") as [one, other]:
        at = ["--url", f"{one.url}{API}", "--url2", f"{other.url}{API}", "--ai", "7", "--history", "/{id}"]
        command = ["node", "check-resume.mjs", *at, "--only", "slow", "--only", "gone", "--json"]
        done = subprocess.run(command, cwd=JUDGE, capture_output=True, text=True, timeout=150, check=False)
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check.get("ok", "note" in check)] == []
    assert report["ok"]


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


@pytest.mark.parametrize("version", [6, 7])
async def test_a_page_joins_the_run_whose_worker_died(ai: Client, tmp_path: Path, version: int) -> None:
    user = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "slow"}]}
    with workers(tmp_path, "", AI=str(version), LEASE="1.5") as [one, other]:
        async with httpx.AsyncClient(timeout=60) as page:
            await _until_half(page, f"{one.url}{API}", {"id": "c1", "messages": [user], "trigger": "submit-message"})
            joined = asyncio.create_task(page.get(f"{other.url}{API}/c1/stream"))
            await asyncio.sleep(0.3)
            one.kill()
            chunks = chunks_of((await joined).content)
            [asked, stored] = (await page.get(f"{other.url}{API}/c1")).json()
    assert asked["id"] == "u1"
    shown = ai.read(version, chunks)
    texts = [part["text"] for part in shown["parts"] if part["type"] == "text"]
    whole = "".join(f"word{n} " for n in range(80))
    assert texts[-1] == whole
    assert [part["text"] for part in stored["parts"] if part["type"] == "text"] == [whole]
    assert (shown["id"], chunks[-1]["finishReason"]) == (stored["id"], "stop")
    if version == 7:
        assert texts == [whole], "the half was taken back"
    else:
        assert whole.startswith(texts[0])


async def _until_half(page: httpx.AsyncClient, url: str, body: Any) -> None:
    """Send a message, and go away in the middle of the answer."""
    async with page.stream("POST", url, json=body) as answer:
        async for line in answer.aiter_lines():
            if "word10 " in line:
                return
