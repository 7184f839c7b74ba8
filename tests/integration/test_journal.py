"""Activities come back where they stood beside the conversation, and custom events that are kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from starlette.requests import Request

from tests.support.charting import charting, ui
from tests.support.serving import Exchange, call, living, post, run_body
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.runs.journal import MemoryThreadJournal
from yai_nexus_agentkit.runs.stores.store import Store
from yai_nexus_agentkit.server import Identity, ServerSettings, create_app

ANN, BOB = {"x-user": "ann"}, {"x-user": "bob"}


def who(request: Request) -> Identity:
    return Identity(user=request.headers.get("x-user", ""))


def app_of(graph: Any = None, options: Any = None, **settings: Any) -> Any:
    adapter = AGUIAdapter(graph or charting(), options=options or AdapterOptions())
    return create_app(adapter, settings=ServerSettings(identity=who, **settings))


async def say(app: Any, *texts: str, headers: Any = None) -> None:
    for text in texts:
        run = await call(app, "POST", "/", run_body(text, run=f"r-{text}"), headers)
        assert run.types()[-1] == "RUN_FINISHED", run.events[-1]


async def stored(app: Any, thread: str = "t1", headers: Any = None) -> list[str]:
    """The messages of GET, each as a word."""
    answer = await call(app, "GET", f"/threads/{thread}/messages", None, headers)
    return [shown(message) for message in answer.json["messages"]]


def shown(message: dict[str, Any]) -> str:
    if message["role"] == "activity":
        content = message["content"]
        return f"<{message['activityType']} {content.get('steps', content.get('name'))}>"
    return str(message.get("content") or f"calls {message['toolCalls'][0]['function']['name']}").strip()


async def connect(app: Any, headers: Any = None, **more: Any) -> Exchange:
    return await post(app, run_body(None, run="page", **more), "/connect", headers).end()


def charts(page: Exchange) -> list[str]:
    return [event["value"]["title"] for event in page.events if event["type"] == "CUSTOM"]


def restored(page: Exchange) -> list[str]:
    (snapshot,) = [event for event in page.events if event["type"] == "MESSAGES_SNAPSHOT"]
    return [shown(message) for message in snapshot["messages"]]


PLANNED = ["plan a", "Planning a.", "<plan ['look a', 'book a']>", "<progress a>", "Planned a."]


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("text_chunks", [False, True])
@pytest.mark.parametrize("snapshots", ["auto", "always"])
async def test_activities_come_back_where_they_stood(source: Any, text_chunks: bool, snapshots: Any) -> None:
    options = AdapterOptions(source=source, text_chunks=text_chunks, messages_snapshot=snapshots)
    app = app_of(options=options)
    await say(app, "plan a", "hello")
    expected = [*PLANNED, "hello", "You said hello."]
    assert await stored(app) == expected
    for declared in ("1.0", None):
        page = await connect(app, protocolVersion=declared)
        assert restored(page) == expected
        assert charts(page) == ["a"]
        types = page.types()
        assert types.index("CUSTOM") == types.index("MESSAGES_SNAPSHOT") + 1


async def test_a_kept_event_stands_behind_the_activity_that_came_before_it() -> None:
    def draw(state: MessagesState) -> dict[str, Any]:
        ui.emit("display_chart", {"title": "first"}, keep=True)
        ui.progress("load", 0.5)
        ui.emit("display_chart", {"title": "second"}, keep=True)
        return {"messages": [("ai", "Drawn.")]}

    app = app_of(StateGraph(MessagesState).add_node(draw).add_edge(START, "draw").compile(InMemorySaver()))
    await say(app, "go")
    page = await connect(app)
    (snapshot,) = [event for event in page.events if event["type"] == "MESSAGES_SNAPSHOT"]
    places = [event["metadata"]["agentkit.after"] for event in page.events if event["type"] == "CUSTOM"]
    assert [message["role"] for message in snapshot["messages"]] == ["user", "activity", "assistant"]
    assert places == [message["id"] for message in snapshot["messages"][:2]]


async def test_custom_events_come_back_only_if_they_are_kept() -> None:
    app = app_of()
    await say(app, "pass x", "draw y", "pin one", "draw z", "pin two")
    page = await connect(app)
    assert charts(page) == ["y", "two", "z"], "in the order in which they first came"
    assert not any("activity" in str(message) for message in page.events if message["type"] == "MESSAGES_SNAPSHOT")
    assert "tool_output" not in page.body.decode(), "the call has its result"


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_the_wire_names_what_is_kept(source: Any) -> None:
    app = app_of(options=AdapterOptions(source=source))
    run = await call(app, "POST", "/", run_body("pin one"))
    (event,) = [event for event in run.events if event["type"] == "CUSTOM"]
    assert event["metadata"]["agentkit.kept"] == "pin"
    run = await call(app, "POST", "/", run_body("pass x", run="r2"))
    (event,) = [event for event in run.events if event["type"] == "CUSTOM"]
    assert "agentkit.kept" not in event["metadata"]


async def test_a_page_that_joins_a_run_gets_what_was_kept_before_and_nothing_twice() -> None:
    app = app_of(disconnect="continue")
    await say(app, "plan a", "pin one")
    history = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    history = [message for message in history if message["role"] != "activity"]  # as clients do
    body = run_body("slow b", run="r2")
    body["messages"] = [*history, *body["messages"]]
    first = await post(app, body).until(lambda it: b"word1" in it.body)
    page = await connect(app)
    await first.end()
    before = [*PLANNED, "pin one", "You said pin one.", "slow b"]
    assert restored(page) == before
    assert charts(page) == ["a", "one", "b"]
    late = await connect(app)
    assert charts(late) == ["a", "one", "b"]
    activities = ["<plan ['look b', 'book b']>", "<progress b>"]
    assert restored(late)[:-1] == [*before, "Planning b.", *activities]


async def test_a_pinned_event_of_the_run_under_way_follows_the_earlier_one() -> None:
    app = app_of(disconnect="continue")
    await say(app, "pin one", "pin two")
    assert charts(await connect(app)) == ["two"]


async def test_an_activity_shown_again_keeps_its_place() -> None:
    app = app_of()
    await say(app, "plan a", "hello", "plan a again")
    assert (await stored(app))[:5] == PLANNED
    again = app_of()
    await say(again, "plan a", "hello")
    run = await call(again, "POST", "/", run_body("plan a", run="r9"))
    assert run.types()[-1] == "RUN_FINISHED"
    shown_again = await stored(again)
    assert shown_again[:3] == PLANNED[:3]
    assert len([one for one in shown_again if one.startswith("<plan")]) == 1


class Form(TypedDict, total=False):
    done: bool


async def test_a_thread_without_a_conversation_has_its_widgets() -> None:
    def work(state: Form) -> Form:
        ui.activity("plan-a", "plan", {"steps": ["look"]})
        ui.emit("chart", {"title": "a"}, keep=True)
        return {"done": True}

    app = app_of(StateGraph(Form).add_node("work", work).add_edge(START, "work").compile(InMemorySaver()))
    await call(app, "POST", "/", run_body(None, state={"done": False}))
    page = await connect(app)
    assert page.types() == ["RUN_STARTED", "STATE_SNAPSHOT", "ACTIVITY_SNAPSHOT", "CUSTOM", "RUN_FINISHED"]
    assert await stored(app) == ["<plan ['look']>"]


async def test_a_turn_that_the_user_takes_back_takes_its_widgets_along() -> None:
    app = app_of()
    await say(app, "plan a")
    first = (await call(app, "GET", "/threads/t1/messages")).json["messages"][0]
    await say(app, "plan b")
    edited = {"id": "edited", "role": "user", "content": "hello"}
    body = {**run_body(None, run="r3"), "messages": [edited]}
    assert first["role"] == "user"
    history = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    kept = [message for message in history if message["role"] != "activity"][:3]
    run = await call(app, "POST", "/", {**body, "messages": [*kept, edited]})
    assert run.types()[-1] == "RUN_FINISHED"
    assert await stored(app) == [*PLANNED, "hello", "You said hello."]
    assert charts(await connect(app)) == ["a"]


async def test_a_run_that_was_stopped_keeps_what_it_showed() -> None:
    app = app_of()
    run = await post(app, run_body("slow a")).until(lambda it: b"word1" in it.body)
    await call(app, "POST", "/threads/t1/cancel", {})
    await run.end()
    assert charts(await connect(app)) == ["a"]
    assert "<plan ['look a', 'book a']>" in await stored(app)


# ---------------------------------------------------------------- whose, and for how long


async def test_nobody_sees_what_somebody_else_was_shown() -> None:
    app = app_of()
    await say(app, "plan secret", headers=ANN)
    await say(app, "hello", headers=BOB)
    assert await stored(app, headers=BOB) == ["hello", "You said hello."]
    page = await connect(app, BOB)
    assert "secret" not in page.body.decode()
    assert charts(await connect(app, ANN)) == ["secret"]


async def test_a_deleted_thread_takes_its_journal_along() -> None:
    app = app_of()
    await say(app, "plan a")
    assert (await call(app, "DELETE", "/threads/t1")).status == 200
    await say(app, "hello")
    assert await stored(app) == ["hello", "You said hello."]
    assert charts(await connect(app)) == []


async def test_the_janitor_takes_the_journal_along() -> None:
    app = app_of(thread_idle=0.1, janitor_every=0.05)
    await say(app, "plan a")
    journal = app.state.agui.store.journal
    (entry,) = await app.state.agui.index.entries("agent", "", limit=9)
    assert await journal.kept(entry.thread.key)
    async with living(app), asyncio.timeout(10):
        while await journal.kept(entry.thread.key):
            await asyncio.sleep(0.02)


async def test_threads_that_nobody_stores_have_no_journal() -> None:
    graph = charting()
    graph.checkpointer = None
    app = app_of(graph)
    await call(app, "POST", "/", run_body("plan a"))
    assert (await connect(app)).body == b""


async def test_a_store_keeps_titles_and_widgets_over_a_restart(tmp_path: Path) -> None:
    saver = InMemorySaver()
    for turn in (1, 2):
        app = app_of(charting(saver), store=f"sqlite:{tmp_path / 'store.db'}")
        async with living(app):
            if turn == 1:
                await say(app, "plan a", "pin one", "pin two")
                await call(app, "PATCH", "/threads/t1", {"title": "Trip", "metadata": {"pinned": True}})
            assert (await stored(app))[:5] == PLANNED
            assert charts(await connect(app)) == ["a", "two"]
            (entry,) = (await call(app, "GET", "/threads?search=trip")).json
            assert (entry["title"], entry["metadata"], entry["status"]) == ("Trip", {"pinned": True}, "idle")
            if turn == 2:
                key = (await app.state.agui.index.entries("agent", "", limit=1))[0].thread.key
                assert (await call(app, "DELETE", "/threads/t1")).status == 200
                assert await app.state.agui.store.journal.kept(key) == []
                assert await app.state.agui.store.log.runs(key) == []


async def test_a_journal_that_is_away_costs_no_run(caplog: pytest.LogCaptureFixture) -> None:
    class Away(MemoryThreadJournal):
        async def keep(self, thread: str, entries: Any) -> None:
            raise ConnectionError("the journal is away")

    app = app_of(store=Store(journal=Away()))
    run = await call(app, "POST", "/", run_body("plan a"))
    assert run.types()[-1] == "RUN_FINISHED"
    assert "could not be kept" in caplog.text
    assert (await call(app, "GET", "/threads/t1/messages")).status == 200
