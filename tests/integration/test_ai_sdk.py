"""The AI SDK's routes, judged by its own client code in three generations, and called by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from langchain_core.tools import tool
from starlette.applications import Starlette
from starlette.requests import Request

from tests.support.ai_sdk_page import chunks_of
from tests.support.applications import KINDS, Kind, place
from tests.support.graphs import chat, scripted, tool_loop
from tests.support.serving import Exchange, call, post, run_body, served, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.server import ServerSettings, add_agui_routes, add_ai_sdk_routes, create_app
from yai_nexus_agentkit.testing import tool_calls_part

JUDGE = Path(__file__).resolve().parent.parent / "js" / "ai-sdk"
ANN, BOB = {"x-user": "ann"}, {"x-user": "bob"}
BODY = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]}
ROUTES = [("POST", ""), ("GET", "/c1/stream"), ("GET", "/c1"), ("POST", "/c1/stop"), ("DELETE", "/c1")]
VERSIONS, CHECKS = (5, 6, 7), ("resume", "approvals", "chat")


def texts(answer: Exchange) -> str:
    """All text of a response."""
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1", answer.body
    return "".join(chunk["delta"] for chunk in chunks_of(answer.body) if chunk["type"] == "text-delta")


async def say(app: Any, path: str, headers: Any = None) -> Exchange:
    return await call(app, "POST", path, BODY, headers)


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


# ---------------------------------------------------------------- agents and applications


async def test_chats_are_the_threads_of_the_other_routes() -> None:
    app = create_app({"a": AGUIAdapter(talker(2)), "b": AGUIAdapter(talker(3))}, ai_sdk="/api/chat/")
    assert texts(await say(app, "/api/chat/a")) == "w0 w1 "
    assert texts(await say(app, "/api/chat/b/")) == "w0 w1 w2 "
    assert [thread["threadId"] for thread in (await call(app, "GET", "/a/threads")).json] == ["c1"]
    shown = (await call(app, "GET", "/api/chat/a/c1")).json
    assert [(message["id"], message["role"]) for message in shown] == [("u1", "user"), ("re-u1", "assistant")]
    assert (await call(app, "GET", "/api/chat/a/c2")).json == []
    joined = await call(app, "POST", "/a/connect", run_body(None, thread="c1"))
    assert [message["role"] for message in joined.events[2]["messages"]] == ["user", "assistant"]
    assert (await call(app, "DELETE", "/api/chat/a/c1")).json == {"status": "deleted"}
    assert (await call(app, "GET", "/api/chat/a/c1")).json == []
    assert (await call(app, "DELETE", "/api/chat/a/c1")).status == 404


@pytest.mark.parametrize("kind", KINDS)
async def test_it_stands_in_any_application_with_its_dependencies(kind: Kind) -> None:
    app, at, prefix, own = stands = place(kind)
    service = add_agui_routes(at, AGUIAdapter(talker(2)), "/agent", name="trip", dependencies=own)
    assert add_ai_sdk_routes(at, AGUIAdapter(talker(2)), "/chat", name="trip", dependencies=own, service=service)
    stands.complete()
    assert texts(await say(app, f"{prefix}/chat", headers=ANN)) == "w0 w1 "
    assert len((await call(app, "GET", f"{prefix}/chat/c1", headers=ANN)).json) == 2
    if kind != "starlette":
        for method, path in ROUTES:
            assert (await call(app, method, f"{prefix}/chat{path}", headers=BOB)).status == 403, path


def test_what_cannot_be_served_is_refused() -> None:
    agent = AGUIAdapter(talker())
    with pytest.raises(ValueError, match="beginning of the AI SDK's path"):
        create_app({"api": agent}, ai_sdk="/api/chat")
    with pytest.raises(ValueError, match="must begin with '/'"):
        add_ai_sdk_routes(Starlette(), agent, "chat")
    with pytest.raises(TypeError, match="dependencies are FastAPI's"):
        add_ai_sdk_routes(Starlette(), agent, dependencies=[1])
    with pytest.raises(ValueError, match="ai_sdk_version"):
        ServerSettings(ai_sdk_version=4)  # type: ignore[arg-type]


# ---------------------------------------------------------------- security


def who(request: Request) -> Identity:
    if "x-user" not in request.headers:
        raise HTTPException(401, "who are you?")
    return Identity(user=request.headers["x-user"])


def chat_of(tokens: int = 3, pause: float = 0.0, **settings: Any) -> Any:
    return create_app(AGUIAdapter(talker(tokens, pause)), settings=ServerSettings(**settings), ai_sdk="/chat")


async def test_nobody_sees_stops_or_deletes_the_chat_of_somebody_else() -> None:
    app = chat_of(40, 0.02, identity=who)
    first = post(app, BODY, "/chat", ANN)
    await first.until(lambda it: b"w1 " in it.body)
    assert (await call(app, "GET", "/chat/c1/stream", headers=BOB)).status == 204
    assert (await call(app, "GET", "/chat/c1", headers=BOB)).json == []
    assert (await call(app, "POST", "/chat/c1/stop", {}, BOB)).json == {"stopped": False}
    assert (await call(app, "DELETE", "/chat/c1", headers=BOB)).status == 404
    foreign = {"origin": "https://evil.example", "host": "app.example", **ANN}
    assert (await call(app, "POST", "/chat/c1/stop", b"", foreign)).status == 403
    assert texts(await first.end()).split() == [f"w{n}" for n in range(40)]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_route_asks_who_calls(method: str, path: str) -> None:
    answer = await call(chat_of(identity=who), method, f"/chat{path}", BODY if method == "POST" else None)
    assert (answer.status, answer.json["error"], answer.json["message"]) == (401, "UNAUTHORIZED", "who are you?")


USER: dict[str, Any] = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("body", "status", "at"),
    [
        (b"{oops", 400, ""),
        ([], 422, ""),
        ({"messages": [USER]}, 422, "id"),
        ({"id": "", "messages": [USER]}, 422, "id"),
        ({"id": "c" * 300, "messages": [USER]}, 422, "at most 256"),
        ({"id": "c1"}, 422, "messages"),
        ({"id": "c1", "messages": []}, 422, "messages"),
        ({"id": "c1", "messages": [USER] * 4}, 422, "at most 3"),
        ({"id": "c1", "messages": ["hi"]}, 422, "/messages/0: must be an object"),
        ({"id": "c1", "messages": [{**USER, "id": 7}]}, 422, "/messages/0/id: must be a string"),
        ({"id": "c1", "messages": [{**USER, "parts": "hi"}]}, 422, "/messages/0/parts: must be a list"),
        (
            {"id": "c1", "messages": [{**USER, "parts": [{"text": "hi"}]}]},
            422,
            "/messages/0/parts/0: a part must be an object with a type",
        ),
        ({"id": "c1", "messages": [{**USER, "parts": USER["parts"] * 9}]}, 422, "at most 8"),
        ({"id": "c1", "messages": [{**USER, "role": "wizard"}]}, 422, "/messages/0/role: must be 'user' or"),
        ({"id": "c1", "messages": [{**USER, "role": ["user"]}]}, 422, "/messages/0/role"),
        ({"id": "c1", "messages": [USER], "tools": "x"}, 422, "list"),
        ({"id": "c1", "messages": [{**USER, "parts": [{"type": "text", "text": 4}]}]}, 422, "/messages/0/parts/0/text"),
        ({"id": "c1", "messages": [USER], "trigger": 5}, 422, "/trigger: must be 'submit-message' or"),
    ],
)
async def test_a_body_that_no_page_sends_is_refused_with_the_reason(body: Any, status: int, at: str) -> None:
    headers = {"content-type": "application/json"}
    answer = await call(chat_of(max_messages=3, max_entries=8), "POST", "/chat", body, headers)
    assert answer.status == status
    assert set(answer.json) == {"error", "message", "traceId"}
    assert at in answer.json["message"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool-", "toolCallId": "c", "state": "approval-responded", "approval": {"id": "7", "approved": True}},
        {"type": "dynamic-tool", "toolName": "", "toolCallId": "c", "state": "output-available", "output": 1},
        {"type": "text", "text": "", "providerMetadata": {"agui": {"messageId": 7, "metadata": "x"}}},
        {"type": "reasoning", "text": "hm", "providerMetadata": {"agui": {"messageId": "u1", "encryptedValue": 1}}},
        {"type": "step-start", "providerMetadata": {}},
        {"type": "tool-x", "toolCallId": "question:x", "state": "output-available"},
        {"type": "data-", "data": None},
    ],
)
async def test_a_strange_part_costs_no_more_than_itself(part: Any) -> None:
    answer = {"id": "re-u1", "role": "assistant", "parts": [part]}
    body = {**BODY, "messages": [USER, answer, {**USER, "id": "u2"}]}
    assert texts(await call(chat_of(), "POST", "/chat", body)) == "w0 w1 w2 "
    done = await call(chat_of(), "POST", "/chat", {**BODY, "messages": [USER, answer]})
    assert done.status in (200, 422)
    assert b"INTERNAL" not in done.body


@pytest.mark.parametrize("made", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a": NaN}', "\ud800", '["\\ud800"]'])
async def test_results_and_arguments_that_are_hard_to_read_cost_no_run(made: str) -> None:
    @tool
    def look(q: str) -> str:
        """Looks."""
        return made

    model = scripted([tool_calls_part(("look", {"q": "x"}, "c1"))], [tool_calls_part(("nothing", made, "c2"))], "Done.")
    app = create_app(AGUIAdapter(tool_loop(model, [look])), ai_sdk="/chat")
    chunks = chunks_of((await say(app, "/chat")).body)
    outputs = [chunk for chunk in chunks if chunk["type"].startswith("tool-output")]
    assert outputs[0]["type"] == "tool-output-available"
    assert chunks[-1]["type"] == "finish"
    assert len((await call(app, "GET", "/chat/c1")).json) == 2


async def test_text_that_utf_8_cannot_hold_goes_through() -> None:
    graph = chat(scripted(["half \ud83d", " and ", "\udc00 more"]))
    app = create_app(AGUIAdapter(graph), ai_sdk="/chat")
    assert texts(await say(app, "/chat")) == "half \ufffd and \ufffd more"
