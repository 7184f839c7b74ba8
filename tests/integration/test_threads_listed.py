"""The list of threads: titles, metadata, search, and which threads wait for their user."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from starlette.requests import Request

from tests.support.errand_words import build
from tests.support.serving import Exchange, asker, call, living, post, run_body, talker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.runs.index import MemoryThreadIndex
from yai_nexus_agentkit.server import Identity, ServerSettings, add_agui_routes, create_app

ANN, BOB = {"x-user": "ann"}, {"x-user": "bob"}


def who(request: Request) -> Identity:
    return Identity(user=request.headers.get("x-user", ""))


def app_of(graph: Any = None, **settings: Any) -> Any:
    return create_app(AGUIAdapter(graph or talker(1)), settings=ServerSettings(identity=who, **settings))


async def listed(app: Any, query: str = "", headers: Any = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await call(app, "GET", f"/threads{query}", None, headers)).json
    return found


async def titles(app: Any, query: str = "", headers: Any = None) -> list[str]:
    return [entry["title"] for entry in await listed(app, query, headers)]


async def describe(app: Any, body: Any, thread: str = "t1", headers: Any = None) -> Exchange:
    return await call(app, "PATCH", f"/threads/{thread}", body, headers)


# ---------------------------------------------------------------- titles, metadata, search


async def test_pages_have_every_thread_once_also_those_of_the_same_moment() -> None:
    app = app_of(index=MemoryThreadIndex(lambda: 7.0))
    for n in range(7):
        await call(app, "POST", "/", run_body(thread=f"t{n}"))
    whole, read, query = await listed(app), list[Any](), "?limit=2"
    while page := await listed(app, query):
        read += page
        query = f"?limit=2&before={quote(page[-1]['updatedAt'])}&beforeId={page[-1]['threadId']}"
    assert read == whole
    assert len(whole) == 7
    assert await listed(app, "?beforeId=t1") == whole, "without the moment it says nothing"


async def test_the_first_message_is_the_title_until_somebody_gives_another() -> None:
    app = app_of()
    await call(app, "POST", "/", run_body("Plan a trip"))
    await call(app, "POST", "/", run_body("to Lisbon", run="r2"))
    assert await titles(app) == ["Plan a trip"]
    changed = await describe(app, {"title": "Lisbon in June", "metadata": {"pinned": True}})
    assert (changed.status, changed.json) == (200, (await listed(app))[0])
    await describe(app, {"metadata": {"folder": "ü"}})
    await call(app, "POST", "/", run_body("and back", run="r3"))
    (entry,) = await listed(app)
    assert (entry["title"], entry["metadata"]) == ("Lisbon in June", {"folder": "ü"})
    await describe(app, {"title": ""})
    await call(app, "POST", "/", run_body("again", run="r4"))
    assert await titles(app) == ["again"], "a thread without a title gets one"


async def test_the_application_may_make_titles(caplog: pytest.LogCaptureFixture) -> None:
    def title(asked: Any) -> str:
        if asked.messages[-1].content == "bad":
            raise ValueError("swordfish")
        return f"About {asked.messages[-1].content}"

    app = app_of(thread_title=title)
    for n, text in enumerate(("cats", "bad")):
        assert (await call(app, "POST", "/", run_body(text, thread=f"t{n}"))).types()[-1] == "RUN_FINISHED"
    assert await titles(app) == ["", "About cats"]
    assert "thread_title failed" in caplog.text


async def test_titles_are_searched() -> None:
    app = app_of()
    for n, text in enumerate(("Lisbon", "Oslo 100%", "Straße nach LISBON")):
        await call(app, "POST", "/", run_body(text, thread=f"t{n}"))
    for query, found in [
        ("?search=lisbon", ["Straße nach LISBON", "Lisbon"]),
        ("?search=lisbon&limit=1", ["Straße nach LISBON"]),
        ("?search=%25", ["Oslo 100%"]),
        ("?search=STRASSE", ["Straße nach LISBON"]),
        ("?search=Rome", []),
    ]:
        assert await titles(app, query) == found, query
    assert (await call(app, "GET", f"/threads?search={'x' * 201}")).status == 422


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], ""),
        ({}, ""),
        ({"title": "x", "user": "bob"}, ""),
        ({"title": None}, "/title"),
        ({"title": "x" * 201}, "/title"),
        ({"metadata": []}, "/metadata"),
        ({"metadata": {"x": "y" * 20_000}}, "/metadata"),
    ],
)
async def test_what_describes_no_thread_is_refused(body: Any, path: str) -> None:
    app = app_of()
    await call(app, "POST", "/", run_body("Hello"))
    refused = await describe(app, body)
    assert (refused.status, refused.error, refused.json["detail"]["path"]) == (422, "INVALID_INPUT", path)
    assert await titles(app) == ["Hello"]


async def test_nobody_sees_or_describes_the_thread_of_somebody_else() -> None:
    app = app_of()
    await call(app, "POST", "/", run_body("my secret"), ANN)
    refused = await describe(app, {"title": "mine"}, headers=BOB)
    assert (refused.status, refused.error) == (404, "THREAD_NOT_FOUND")
    assert await listed(app, "?search=secret", BOB) == []
    assert await titles(app, headers=ANN) == ["my secret"]


async def test_a_thread_that_the_index_forgot_can_be_described() -> None:
    saver = InMemorySaver()
    await call(app_of(talker(1, checkpointer=saver)), "POST", "/", run_body("Hello"))
    restarted = app_of(talker(1, checkpointer=saver))
    assert await listed(restarted) == []
    assert (await describe(restarted, {"title": "Again"})).json["status"] == "idle"
    assert await titles(restarted) == ["Again"]
    assert (await describe(restarted, {"title": "x"}, thread="no")).status == 404


async def test_threads_that_nobody_stores_are_not_listed() -> None:
    app = app_of(talker(1, memory=False))
    await call(app, "POST", "/", run_body("Hello"))
    assert await listed(app) == []
    assert (await describe(app, {"title": "x"})).status == 404


async def test_fastapi_describes_the_routes() -> None:
    app = FastAPI()
    add_agui_routes(app, AGUIAdapter(talker(1)), "/agent")
    await call(app, "POST", "/agent", run_body("Hello"))
    assert (await call(app, "PATCH", "/agent/threads/t1", {"title": "x"})).json["title"] == "x"
    paths = (await call(app, "GET", "/openapi.json")).json["paths"]
    assert set(paths["/agent/threads/{thread_id}"]) == {"patch", "delete"}
    assert "search" in [parameter["name"] for parameter in paths["/agent/threads"]["get"]["parameters"]]


# ---------------------------------------------------------------- threads that wait


def errands(**options: Any) -> AGUIAdapter:
    return AGUIAdapter(build(InMemorySaver()), options=AdapterOptions(**options))


CONFIRM = [{"name": "confirm", "description": "asks", "parameters": {"type": "object"}}]


async def say(app: Any, text: str, run: str = "r1", **more: Any) -> Exchange:
    return await call(app, "POST", "/", run_body(text, run=run, tools=CONFIRM, **more))


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("more", [{"protocolVersion": "1.0"}, {"protocolVersion": None}], ids=["1.0", "older"])
@pytest.mark.parametrize("text_chunks", [False, True])
async def test_a_thread_whose_client_owes_a_result_is_paused(source: Any, more: Any, text_chunks: bool) -> None:
    app = create_app(errands(source=source, text_chunks=text_chunks))
    asked = await say(app, "ask", **more)
    (entry,) = await listed(app)
    assert entry["status"] == "paused"
    (call_id,) = {event["toolCallId"] for event in asked.events if event.get("toolCallId")}
    history = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    result = {"id": "x", "role": "tool", "toolCallId": call_id, "content": "yes"}
    body = {**run_body(None, run="r2", tools=CONFIRM, **more), "messages": [*history, result]}
    assert (await call(app, "POST", "/", body)).types()[-1] == "RUN_FINISHED"
    assert (await listed(app))[0]["status"] == "idle"


@pytest.mark.parametrize(
    ("text", "status"), [("hello", "idle"), ("backend", "idle"), ("fail", "failed"), ("approve", "paused")]
)
async def test_the_status_after_other_runs(text: str, status: str, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(errands())
    await say(app, text)
    assert (await listed(app))[0]["status"] == status


async def test_the_janitor_keeps_threads_that_wait_for_their_client() -> None:
    settings = ServerSettings(thread_idle=0.3, janitor_every=0.05)
    app = create_app(errands(), settings=settings)
    async with living(app):
        for thread, text in (("asked", "ask"), ("patched", "ask"), ("done", "hello")):
            await say(app, text, thread=thread)
        patch = await call(app, "PATCH", "/threads/patched/state", [{"op": "add", "path": "/n", "value": 1}])
        assert patch.status == 200
        async with asyncio.timeout(10):
            while (await call(app, "GET", "/threads/done/state")).status == 200:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        assert {entry["threadId"]: entry["status"] for entry in await listed(app)} == {
            "asked": "paused",
            "patched": "paused",
        }


async def test_the_janitor_asks_the_storage_before_it_deletes() -> None:
    """The index of a worker that crashed says nothing of how the run ended."""
    app = create_app(errands(), settings=ServerSettings(thread_idle=0.05, janitor_every=0.05))
    await say(app, "ask")
    index = app.state.agui.index
    (entry,) = await index.entries("agent", "", limit=9)
    for status in ("running", "idle", "failed"):
        await index.touch(entry.thread, status)
        async with living(create_app(errands())), living(app):
            await asyncio.sleep(0.3)
        assert (await call(app, "GET", "/threads/t1/messages")).status == 200, status


async def test_a_run_that_was_stopped_in_a_tool_does_not_wait() -> None:
    app = create_app(errands())
    run = await post(app, run_body("slowtool")).until(lambda it: "TOOL_CALL_START" in it.types())
    await call(app, "POST", "/threads/t1/cancel", {})
    await run.end()
    assert (await listed(app))[0]["status"] == "idle"


# ---------------------------------------------------------------- threads that were deleted


@pytest.mark.parametrize("whole", [True, False], ids=["with its history", "the answer alone"])
async def test_an_answer_to_a_question_of_a_deleted_thread_brings_nothing_back(whole: bool) -> None:
    app = app_of(asker())
    asked = await call(app, "POST", "/", run_body(protocolVersion="1.0"))
    (question,) = asked.events[-1]["outcome"]["interrupts"]
    assert (await call(app, "DELETE", "/threads/t1")).status == 200
    resume = [{"interruptId": question["id"], "status": "resolved", "payload": "yes"}]
    given = run_body(None, run="r2", protocolVersion="1.0", resume=resume)
    shown = [event["messages"] for event in asked.events if event["type"] == "MESSAGES_SNAPSHOT"][-1]
    said = {"id": "a1", "role": "assistant", "content": "Well."}
    answered = await call(app, "POST", "/", {**given, "messages": [*shown, said] if whole else []})
    assert answered.events[-1].get("code") == ("INVALID_RESUME" if whole else None)
    assert await listed(app) == []
    assert (await call(app, "GET", "/threads/t1/messages")).status == 404
    again = await call(app, "POST", "/", run_body(protocolVersion="1.0", run="r3"))
    assert again.events[-1]["outcome"]["type"] == "interrupt", "its name is free"
    assert [entry["status"] for entry in await listed(app)] == ["paused"]
