"""An agent of google-adk at the clients of the other wires: CopilotKit's core, the packages of OpenAI, the AI SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adk.errands import build
from tests.support.ai_sdk_page import Client, client, page_of
from tests.support.serving import served

JS = Path(__file__).resolve().parent.parent / "js"
GROUPS = ["info", "run", "reload", "stop", "unknown", "questions", "client tool", "failures", "single"]
"""Without ``same tab``: it breaks off in the middle of a call's arguments, which ADK gives in one piece."""


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with served("tests.adk.errands:one_worker") as url:
        yield url


@pytest.fixture(scope="module")
def models() -> Iterator[str]:
    with served("tests.adk.errands:models") as url:
        yield f"{url}/v1"


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


@pytest.mark.parametrize("group", GROUPS)
def test_copilotkit_is_content(pages: str, group: str) -> None:
    url = f"{pages}/copilotkit"
    command = ["node", "check-copilotkit.mjs", "--url", url, "--single", url, "--only", group, "--json"]
    done = subprocess.run(command, cwd=JS / "copilotkit", capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check["ok"]] == []


@pytest.mark.parametrize("judge", [["node", "verify_openai.mjs"], [sys.executable, "verify_frontends.py"]])
def test_openai_is_content(models: str, judge: list[str]) -> None:
    command = [*judge, models, "--model", "my_agent", "--bad-key", "wrong", "--tools"]
    done = subprocess.run(command, cwd=JS / "openai", capture_output=True, text=True, timeout=110, check=False)
    assert [line for line in done.stdout.splitlines() if not line.startswith("ok ")][:-1] == [], done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("version", [5, 6, 7])
async def test_the_ai_sdk_is_content(ai: Client, version: int) -> None:
    page = page_of(build(), ai, version, settings={"expose_errors": True})
    await page.say("think")
    assert [part["type"] for part in page.parts if part["type"] != "step-start"] == ["reasoning", "text"]
    await page.say("backend")
    assert [part["state"] for part in page.parts if part["type"] == "dynamic-tool"] == ["output-available"]
    assert page.parts[-1]["text"].strip() == "It is 42."
    await page.say("fail")
    assert page.chunks[-1]["type"] == "error" or any(chunk["type"] == "error" for chunk in page.chunks)

    reloaded = await page.reloaded()
    assert [message["role"] for message in reloaded.messages][:2] == ["user", "assistant"]


@pytest.mark.parametrize(("approved", "said"), [(True, "moved 5"), (False, "rejected")])
async def test_the_ai_sdk_approves(ai: Client, approved: bool, said: str) -> None:
    page = page_of(build(), ai, 6)
    await page.say("approve")
    page.approve(approved)
    await page.send()
    assert said in page.parts[-1]["text"]


async def test_the_ai_sdk_regenerates_and_edits(ai: Client) -> None:
    page = page_of(build(), ai, 6)
    await page.say("count")
    assert page.parts[-1]["text"].strip() == "1 messages."
    await page.say("count")
    assert page.parts[-1]["text"].strip() == "2 messages."
    await page.regenerate()
    assert page.parts[-1]["text"].strip() == "2 messages."
