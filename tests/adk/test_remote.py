"""An agent of a real ADK API server, over HTTP: as an agent of ours, and behind OpenAI's wire."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest

from tests.adk.errands import UNICODE
from tests.adk.playing import Talk, of, text_of
from tests.conftest import Judge
from tests.support.server_process import serving
from tests.support.serving import call
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.adk import RemoteAdkSource
from yai_nexus_agentkit.adapter.adk.remote import from_environment
from yai_nexus_agentkit.server import OpenAISettings, ServerSettings, create_app
from yai_nexus_agentkit.testing import collect, run_input

ROOT = Path(__file__).resolve().parents[2]
AGENT = """
    import asyncio
    from tests.adk.errands import build

    root_agent = build()
"""
SERVER = """
    import sys, uvicorn
    from google.adk.cli.fast_api import get_fast_api_app

    app = get_fast_api_app(agents_dir=sys.argv[1], web=False, use_local_storage=False)
    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "errands").mkdir()
    (folder / "errands" / "__init__.py").write_text("from . import agent\n")
    (folder / "errands" / "agent.py").write_text(dedent(AGENT))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{dedent(SERVER)}"]
    process = subprocess.Popen([*command, str(folder), str(port)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{url}/list-apps")
                break
            except httpx.HTTPError:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.2)
        yield url
    finally:
        process.kill()
        process.wait()


async def test_a_conversation_with_a_remote_agent(judge: Judge, server: str) -> None:
    source = RemoteAdkSource(server, "errands")
    assert await source.apps() == ["errands"]
    talk = Talk(AGUIAdapter(source), judge, "remote/1")

    assert text_of(await talk.say("think")).strip() == "Thought about it."
    assert [m["role"] for m in talk.messages] == ["user", "reasoning", "assistant"]
    events = await talk.say("backend")
    assert [event["content"] for event in of(events, "TOOL_CALL_RESULT")] == ['{"result":"42"}']
    assert text_of(await talk.say("unicode")).strip() == UNICODE
    assert text_of(await talk.say("count")).strip() == "4 messages."
    await talk.say("state")
    assert talk.state == {"n": 3}

    store = source.thread_store()
    assert await store.exists("remote/1")
    assert not await store.exists("other")
    assert len(await store.messages("remote/1", None)) == len(talk.messages)  # type: ignore[arg-type]
    await store.change_state("remote/1", {"m": 1}, ["n"])
    assert await store.state("remote/1") == {"m": 1}
    await store.delete("remote/1")
    assert not await store.exists("remote/1")


async def test_a_remote_tool_is_confirmed(judge: Judge, server: str) -> None:
    talk = Talk(AGUIAdapter(RemoteAdkSource(server, "errands")), judge, "remote/2")
    await talk.say("approve")
    assert [asked["reason"] for asked in talk.asked] == ["tool_call"]
    events = await talk.answer({"approved": True})
    assert "moved 5" in text_of(events)


async def test_the_errors_of_a_remote_agent(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = await collect(AGUIAdapter(RemoteAdkSource(server, "errands")), run_input("fail"))
    assert (events[-1]["type"], "it broke" in events[-1]["message"]) == ("RUN_ERROR", True)
    events = await collect(AGUIAdapter(RemoteAdkSource(server, "nobody")), run_input("hi"))
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "BACKEND_ERROR")
    monkeypatch.setenv("ADK_HOST", "http://127.0.0.1:1")
    events = await collect(AGUIAdapter(from_environment()), run_input("hi"))
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "BACKEND_ERROR")
    events = await collect(AGUIAdapter(RemoteAdkSource(server, "errands", timeout=0.02)), run_input("slow"))
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "IDLE_TIMEOUT")


SESSION = b'{"id": "t", "appName": "a", "userId": "u", "state": {}, "events": [], "lastUpdateTime": 1.0}'
HALF = (
    b'data: {"author": "a", "id": "e", "partial": true, "content": {"role": "model", "parts": [{"text": "Half"}]}}\n\n'
)
BOM = b"\xef\xbb\xbf"
Reply = tuple[str, str, bytes]
"""Status, media type and body; the connection is closed then."""


def stream(body: bytes) -> Reply:
    return "200 OK", "text/event-stream; charset=utf-8", body


FINE: Reply = ("200 OK", "application/json", SESSION)
STRANGE: dict[str, tuple[Reply, Reply, str]] = {
    "a page instead of the session": (("200 OK", "text/html", b"<html>Sign in</html>"), FINE, ""),
    "another object": (("200 OK", "application/json", b'{"a": 1}'), FINE, ""),
    "no session": (("200 OK", "application/json", b"null"), FINE, ""),
    "not UTF-8": (("200 OK", "application/json", b'{"id": "\xff"}'), FINE, ""),
    "nothing": (("204 No Content", "", b""), FINE, ""),
    "the session is elsewhere": (("302 Found", "text/html", b"moved"), FINE, ""),
    "the run is elsewhere": (FINE, ("307 Temporary Redirect", "", b""), ""),
    "the run is forbidden": (FINE, ("403 Forbidden", "text/plain", b"no"), ""),
    "a page instead of events": (FINE, ("200 OK", "text/html", b"<html>Sign in</html>"), ""),
    "JSON instead of events": (FINE, FINE, ""),
    "no JSON in an event": (FINE, stream(HALF + b"data: [DONE]\n\n"), "Half"),
    "a list as an event": (FINE, stream(HALF + b"data: [1]\n\n"), "Half"),
    "a number as an event": (FINE, stream(b"data: 1\n\n"), ""),
    "wrong fields in an event": (FINE, stream(b'data: {"author": 5, "content": "x"}\n\n'), ""),
    "cut within an event": (FINE, stream(BOM + HALF + HALF[:30]), "Half"),
    "cut before an event's end": (FINE, stream(HALF + HALF[:-1]), "Half"),
}


@pytest.mark.parametrize("name", STRANGE)
async def test_whatever_answers_instead_of_an_adk_server_is_an_error_of_it(judge: Judge, name: str) -> None:
    session, run, text = STRANGE[name]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status, kind, body = run if b"/run_sse" in await reader.readline() else session
        head = f"HTTP/1.1 {status}\r\nlocation: /login\r\nconnection: close\r\n"
        writer.write(f"{head}content-type: {kind}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as there:
        port = there.sockets[0].getsockname()[1]
        events = await Talk(AGUIAdapter(RemoteAdkSource(f"http://127.0.0.1:{port}", "a")), judge).say()
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", "BACKEND_ERROR")
    assert text_of(events) == text


async def test_a_remote_agent_is_a_model(server: str) -> None:
    async def asked(text: str, source: RemoteAdkSource, **more: Any) -> Any:
        settings = OpenAISettings(sessions="user")
        app = create_app({"errands": AGUIAdapter(source)}, settings=ServerSettings(), openai=settings)
        body = {"model": "errands", "user": "anna", "messages": [{"role": "user", "content": text}], **more}
        return await call(app, "POST", "/v1/chat/completions", body)

    source = RemoteAdkSource(server, "errands")
    whole = await asked("count", source)
    assert whole.json["choices"][0]["message"]["content"].strip() == "1 messages."
    streamed = (await asked("count", source, stream=True)).body.decode()
    chunks = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
    assert text.strip().endswith("messages.")
    assert (await asked("hi", RemoteAdkSource("http://127.0.0.1:1", "errands"))).status == 502
    assert (await asked("slow", RemoteAdkSource(server, "errands", timeout=0.02))).status == 504


def test_a_remote_agent_is_served_by_environment_variables(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADK_HOST", server)
    monkeypatch.setenv("ADK_APP_NAME", "errands")
    spec = "errands=yai_nexus_agentkit.adapter.adk.remote:from_environment"
    with serving(tmp_path, spec, "--openai") as served:
        body = {"messages": [{"role": "user", "content": "count"}]}
        answer = httpx.post(f"{served.base}/v1/chat/completions", json=body, timeout=30).json()
        assert answer["choices"][0]["message"]["content"].strip() == "1 messages."
        assert "is ignored" not in served.shown
