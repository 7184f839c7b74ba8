"""Recipes about services that are elsewhere, with a server of ours in the place of each. What sets up tracers runs in a
process of its own."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import blocks_of, commands_of
from tests.docs.test_pages import ROOT, check_output
from tests.support.command_line import project_in, run_main
from tests.support.providers import gemini, openai_chat
from tests.support.providers.anthropic import AnthropicStream
from tests.support.providers.server import Answer, ModelServer

RECIPES = ROOT / "docs" / "recipes"
TEXT = "Hello from the model."


def saved(page: str, folder: Path) -> None:
    """The files that a page shows."""
    for block in blocks_of(RECIPES / page):
        if block.title:
            (folder / block.title).write_text(block.text, "utf-8")


def ran(folder: Path, *args: str, **environment: str) -> str:
    """The output of Python in a folder."""
    given = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{folder}", **environment}
    done = subprocess.run(
        [sys.executable, *args], cwd=folder, env=given, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---------------------------------------------------------------- models


def ollama(text: str, *, done: bool) -> str:
    """One line of Ollama's stream."""
    usage = {"prompt_eval_count": 11, "eval_count": 7} if done else {}
    return json.dumps({"model": "m", "message": {"role": "assistant", "content": text}, "done": done, **usage}) + "\n"


PROVIDERS: Mapping[str, tuple[Answer, Mapping[str, str]]] = {
    "openai": (openai_chat.answer(TEXT), {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "{url}/v1"}),
    "anthropic": (AnthropicStream().text(TEXT).done(), {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "{url}"}),
    "google_genai": (gemini.answer(TEXT), {"GOOGLE_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": "{url}"}),
    "azure_openai": (
        openai_chat.answer(TEXT),
        {"AZURE_OPENAI_API_KEY": "x", "AZURE_OPENAI_ENDPOINT": "{url}", "OPENAI_API_VERSION": "2024-10-21"},
    ),
    "ollama": ([ollama(TEXT, done=False), ollama("", done=True)], {"OLLAMA_HOST": "{url}"}),
}


def models() -> list[str]:
    """The names in the page's table, except Bedrock's, whose stream is binary and signed."""
    page = (RECIPES / "real-models.md").read_text("utf-8")
    names = re.findall(r"^\|.*\| `(\w+:[^`]+)`[^|]*\|$", page, re.M)
    return [name for name in names if not name.startswith("bedrock")]


@pytest.mark.parametrize("name", models())
def test_a_model_of_each_provider(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved("real-models.md", tmp_path)
    (command,) = [c for b in blocks_of(RECIPES / "real-models.md") if b.language == "console" for c in commands_of(b)]
    words = shlex.split(command.text.replace("openai:gpt-5-mini", name))
    answer, environment = PROVIDERS[name.partition(":")[0]]
    with ModelServer([answer]) as server, project_in(tmp_path, capsys, monkeypatch):
        for key, value in environment.items():
            monkeypatch.setenv(key, value.format(url=server.url))
        shown = run_main(capsys, *words[1:])

    assert shown.code == 0, shown.out + shown.err
    check_output(command, shown.out)


def test_each_provider_takes_what_asks_for_reasoning(monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = [block for block in blocks_of(RECIPES / "real-models.md") if block.title == "reasoning.py"]
    shown: dict[str, Any] = {}
    exec(block.text, shown)
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(key, "x")
    named = {name.partition(":")[0]: name for name in models()}

    assert all(shown["thinking"](named[provider]) for provider in shown["ASK"])


# ---------------------------------------------------------------- traces

ASK = """
import asyncio, importlib, sys
from yai_nexus_agentkit.testing import collect, run_input
adapter = importlib.import_module("my_agent").adapter
events = asyncio.run(collect(adapter, run_input("hi", thread_id="thread-7")))
assert events[-1]["type"] == "RUN_FINISHED", events[-1]
"""
POST = """
import asyncio, httpx, my_app
async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=my_app.app), base_url="http://app") as client:
        message = {"id": "1", "role": "user", "content": "hi"}
        answer = await client.post("/", json={"threadId": "thread-7", "runId": "r", "messages": [message]})
        assert "RUN_FINISHED" in answer.text, answer.text
asyncio.run(main())
my_app.provider.shutdown()
"""


class Collector:
    """Takes what is posted, and answers every request with an empty object."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def _handler(collector) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.received.append((self.path, body))
                self.do_GET()

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        return Handler

    def __enter__(self) -> Collector:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.mark.parametrize(
    ("page", "program", "environment", "words"),
    [
        (
            "langsmith.md",
            ASK,
            {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "x", "LANGSMITH_ENDPOINT": "{url}"},
            [b"my agent", b"session_id", b"thread-7", b"Hello there."],
        ),
        (
            "langfuse.md",
            ASK,
            {"LANGFUSE_PUBLIC_KEY": "pk-x", "LANGFUSE_SECRET_KEY": "sk-x", "LANGFUSE_BASE_URL": "{url}"},
            [b"my agent", b"thread-7", b"Hello there."],
        ),
        (
            "opentelemetry.md",
            POST,
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "{url}"},
            [b"my-agent", b"agui.run", b"thread-7", b"look it up"],
        ),
    ],
    ids=["langsmith", "langfuse", "opentelemetry"],
)
def test_traces_arrive(
    page: str, program: str, environment: Mapping[str, str], words: list[bytes], tmp_path: Path
) -> None:
    saved(page, tmp_path)
    with Collector() as collector:
        ran(tmp_path, "-c", program, **{key: value.format(url=collector.url) for key, value in environment.items()})

    sent = b"".join(body for _, body in collector.received)
    assert [word for word in words if word not in sent] == []
