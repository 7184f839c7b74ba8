"""Two workers as processes that share Redis: CopilotKit's frontend code at both, and answers whose worker dies."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.redis_server import RedisServer
from tests.support.serving import run_body
from tests.support.workers import Worker, workers
from yai_nexus_agentkit.testing import parse_sse

JUDGE = Path(__file__).resolve().parent.parent.parent / "js" / "copilotkit"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def test_copilotkits_frontend_code_is_content_with_two_workers(redis: RedisServer, tmp_path: Path) -> None:
    with workers(tmp_path, redis.address) as (one, other):
        addresses = ["--url", f"{one.url}/copilotkit", "--url2", f"{other.url}/copilotkit"]
        command = ["node", "check-copilotkit.mjs", *addresses, "--json"]
        done = subprocess.run(command, cwd=JUDGE, capture_output=True, text=True, timeout=190, check=False)
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check["ok"]] == []
    assert report["ok"]


def events(worker: Worker, body: dict[str, Any], path: str = "/") -> list[dict[str, Any]]:
    return parse_sse(httpx.post(worker.url + path, json=body, timeout=60).text)


def answer(asked: dict[str, Any], thread: str, run: str) -> dict[str, Any]:
    resume = [
        {"interruptId": one["id"], "status": "resolved", "payload": {"approved": True}}
        for one in asked["outcome"]["interrupts"]
    ]
    return {**run_body(None, thread=thread, run=run), "resume": resume}


@pytest.mark.parametrize(
    ("moment", "most"),
    [("RUN_STARTED", 2), ("TOOL_CALL_RESULT", 2), ("TEXT_MESSAGE_CONTENT", 1)],
    ids=["the run has begun", "the tool has ended", "its step is stored"],
)
def test_answers_whose_worker_dies_are_not_lost(redis: RedisServer, tmp_path: Path, moment: str, most: int) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    with workers(tmp_path, redis.address, EFFECTS=str(effects), LEASE="1", PACE="20") as (one, other):
        asked = events(one, run_body("approve", protocolVersion="1.0"))[-1]
        given = answer(asked, "t1", "r2")
        with httpx.stream("POST", one.url, json=given, timeout=60) as response:
            for line in response.iter_lines():
                if moment in line:
                    break
            one.kill()
        deadline = time.monotonic() + 40
        while httpx.get(f"{other.url}/threads/t1/runs").json():
            assert time.monotonic() < deadline, "nobody goes on with it"
            time.sleep(0.1)
        again = events(other, given)[-1]
        shown = httpx.get(f"{other.url}/threads/t1/messages").json()["messages"]
    assert again["type"] == "RUN_FINISHED", "a page that lost its connection sends them again"
    assert [message["role"] for message in shown] == ["user", "assistant", "tool", "assistant"]
    assert 1 <= effects.read_text().count("transfer") <= most
