"""Agents of google-adk from the command line, and on workers that die."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import httpx
import pytest
from websockets.sync.client import connect

from tests.support.server_process import serving
from tests.support.serving import run_body
from yai_nexus_agentkit.testing import parse_sse

ROOT = Path(__file__).resolve().parents[2]
FILE = """
    import warnings

    warnings.filterwarnings("ignore")
    from google.adk.agents import Agent
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types


    class Hello(BaseLlm):
        model: str = "hello"

        async def generate_content_async(self, llm_request, stream=False):
            said = llm_request.contents[-1].parts[-1].text
            text = f"You said {said}, message {len(llm_request.contents)}."
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


    agent = Agent(name="hello", model=Hello())
"""


def file_in(folder: Path) -> str:
    (folder / "hello.py").write_text(dedent(FILE))
    return "hello.py:agent"


def test_run_on_the_command_line(tmp_path: Path) -> None:
    main = "from yai_nexus_agentkit.cli import main; raise SystemExit(main())"
    done = subprocess.run(
        [sys.executable, "-c", main, "run", file_in(tmp_path), "hi"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "You said hi, message 1." in done.stdout


def test_serve_on_the_command_line(tmp_path: Path) -> None:
    with serving(tmp_path, file_in(tmp_path)) as server:
        assert server.said() == "You said hi, message 1."
        assert server.said() == "You said hi, message 3."
        assert '"type":"adk"' in server.get("/capabilities")[2].replace(" ", "")


def test_serve_live_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "speaks.py").write_text((ROOT / "tests/adk/errands.py").read_text() + "\n\nagent = build()\n")
    with serving(tmp_path, "--live", "speaks.py:agent") as server, connect(f"ws{server.base[4:]}/live") as socket:
        assert json.loads(socket.recv())["type"] == "connected"
        socket.send(json.dumps({"type": "run", "requestId": "r", "input": run_body("hello")}))
        while not (frame := json.loads(socket.recv())).get("done"):
            pass
        assert frame["events"][-1]["type"] == "RUN_FINISHED"


@contextmanager
def worker(folder: Path, *, resumable: bool, dies: bool) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "tests.adk.worker", str(port), str(folder), str(resumable)]
    process = subprocess.Popen([*command, str(dies)], cwd=ROOT, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 30
        while True:
            try:
                httpx.get(f"{url}/capabilities")
                break
            except httpx.HTTPError:
                assert time.monotonic() < until
                time.sleep(0.1)
        yield url, process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("resumable", [True, False])
def test_a_run_whose_worker_is_killed(resumable: bool, tmp_path: Path) -> None:
    with worker(tmp_path, resumable=resumable, dies=True) as (url, process):
        with httpx.stream("POST", url, json=run_body("go", thread="t"), timeout=30) as response:
            for line in response.iter_lines():
                if "TOOL_CALL_RESULT" in line:
                    time.sleep(0.5)  # it is in the log
                    process.kill()
                    break
    with worker(tmp_path, resumable=resumable, dies=False) as (url, _):
        body = run_body(None, thread="t", run="look")
        until, events = time.monotonic() + 20, []
        while time.monotonic() < until and not any(e["type"] in ("RUN_FINISHED", "RUN_ERROR") for e in events):
            events = parse_sse(httpx.post(f"{url}/connect", json=body, timeout=30).text)
    assert (tmp_path / "counted").read_text() == "a\n"
    if resumable:
        assert "Done." in json.dumps(events)
        assert events[-1]["type"] == "RUN_FINISHED"
    else:
        log = b"".join(file.read_bytes() for file in tmp_path.glob("runs.db*"))
        assert b"WORKER_LOST" in log
