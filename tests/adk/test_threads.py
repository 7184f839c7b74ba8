"""Sessions as threads: in memory, SQLite and PostgreSQL, in process and on the server."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.memory import InMemoryMemoryService
from google.adk.platform.time import reset_time_provider, set_time_provider
from google.adk.sessions import BaseSessionService, DatabaseSessionService, InMemorySessionService
from google.adk.tools import ToolContext

from tests.adk.playing import Talk, artist, calling, cleaner, get_weather, model, of, text_of, weather
from tests.conftest import Judge
from tests.support.postgres import postgres
from tests.support.serving import call, living, post, run_body
from yai_nexus_agentkit import AGUIAdapter, Hooks
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.server import Identity, ServerSettings, create_app
from yai_nexus_agentkit.testing import collect, run_input

SERVICES = ["memory", "sqlite", "postgres"]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres() as address:
        host = address.partition("host=")[2]
        yield f"postgresql+psycopg://agui@/postgres?host={host}"


@asynccontextmanager
async def sessions(kind: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[BaseSessionService]:
    if kind == "memory":
        yield InMemorySessionService()
        return
    address = f"sqlite+aiosqlite:///{folder}/s.db" if kind == "sqlite" else request.getfixturevalue("database")
    service = DatabaseSessionService(db_url=address)
    try:
        yield service
    finally:
        await service.close()


async def test_workers_whose_clocks_differ_store_a_thread_in_its_order(judge: Judge, tmp_path: Path) -> None:
    llm = model(["One."], ["Two. ", calling("get_weather", city="Paris")], ["21."], ["Three."], ["Four."])
    service = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{tmp_path}/s.db")
    agent = Agent(name="weather", model=llm, tools=[get_weather])
    talk = Talk(AGUIAdapter(AdkSource(agent, session_service=service)), judge)
    try:
        for minutes in (10, 0, -10, 10):
            set_time_provider(lambda ahead=60 * minutes: time.time() + ahead)
            await talk.say(f"at {minutes}")
    finally:
        reset_time_provider()
    seen = [[part.text or "call" for content in r.contents for part in content.parts] for r in llm.requests]
    assert seen[-1] == ["at 10", "One.", "at 0", "Two. ", "call", "call", "21.", "at -10", "Three.", "at 10"]
    await service.close()


@pytest.mark.parametrize("kind", SERVICES)
async def test_a_thread_from_its_first_message_to_its_end(
    judge: Judge, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with sessions(kind, tmp_path, request) as service:
        llm = model(["Look. ", calling("get_weather", city="Paris")], ["21."], ["Still 21."])
        agent = Agent(name="weather", model=llm, tools=[get_weather])
        talk = Talk(AGUIAdapter(AdkSource(agent, session_service=service)), judge)
        await talk.say("weather?")

        # Another process, with nothing in memory, goes on.
        other = AGUIAdapter(AdkSource(agent, session_service=service))
        talk.adapter = other
        assert text_of(await talk.say("and now?")) == "Still 21."
        assert len(llm.requests[-1].contents) == 5

        threads = other.threads()
        assert threads is not None
        assert await threads.exists("t")
        assert not await threads.exists("u")
        store = other.source.thread_store()
        assert store is not None
        assert await store.state("t") == {"last_city": "Paris"}
        await store.change_state("t", {"a/b": 1, "m~n": [2]}, ["last_city"])
        assert await store.state("t") == {"a/b": 1, "m~n": [2]}
        await store.delete("t")
        assert not await store.exists("t")


async def test_removed_and_odd_keys_on_the_wire(judge: Judge) -> None:
    def change(tool_context: ToolContext) -> str:
        """Change the state."""
        tool_context.state["a/b~c"] = {"x": 1}
        tool_context.state["gone"] = None
        tool_context.state["app:all"] = tool_context.state["user:me"] = tool_context.state["temp:now"] = "hidden"
        tool_context.state["_own"] = "hidden"
        return "ok"

    agent = Agent(name="root", model=model([calling("change")], ["Done."]), tools=[change])
    talk = Talk(AGUIAdapter(agent), judge)
    talk.state = {"gone": 1, "kept": 2, "app:all": "mine", "user:me": "mine", "_own": "mine"}
    events = await talk.say()
    assert of(events, "STATE_SNAPSHOT")[0]["snapshot"] == {"gone": 1, "kept": 2}
    operations = [operation for event in of(events, "STATE_DELTA") for operation in event["delta"]]
    assert {"op": "remove", "path": "/gone"} in operations
    assert {"op": "add", "path": "/a~1b~0c", "value": {"x": 1}} in operations
    assert talk.state == {"kept": 2, "a/b~c": {"x": 1}}
    assert "hidden" not in json.dumps(events)


async def test_what_the_client_holds_of_an_unknown_thread_is_taken_over(judge: Judge) -> None:
    llm = model(["Yes."], ["Again."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm)), judge)
    call_ = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    talk.messages = [
        {"id": "u-1", "role": "user", "content": "Before?"},
        {"id": "a-1", "role": "assistant", "content": "Wait.", "toolCalls": [call_]},
        {"id": "r-1", "role": "tool", "toolCallId": "c1", "content": "seen"},
        {"id": "a-2", "role": "assistant", "content": "Seen."},
    ]
    assert text_of(await talk.say("Sure?")) == "Yes."
    assert [content.role for content in llm.requests[0].contents] == ["user", "model", "user", "model", "user"]
    assert text_of(await talk.say("And?")) == "Again."
    assert len(llm.requests[1].contents) == 7


async def test_messages_without_news_run_nothing(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(Agent(name="root", model=model(["One."]))), judge)
    await talk.say()
    events = await talk.send(talk.messages)
    assert [event["type"] for event in events] == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]


async def test_pictures_reach_the_model_and_come_back(judge: Judge) -> None:
    llm = model(["A picture."])
    talk = Talk(AGUIAdapter(Agent(name="root", model=llm)), judge)
    source = {"type": "data", "value": "iVBORw==", "mimeType": "image/png"}
    link = {"type": "url", "value": "https://example.com/a.pdf", "mimeType": "application/pdf"}
    content = [
        {"type": "text", "text": "What?"},
        {"type": "image", "source": source},
        {"type": "document", "source": link},
    ]
    await talk.say(content)
    parts = llm.requests[0].contents[-1].parts
    assert (parts[1].inline_data.data, parts[2].file_data.file_uri) == (b"\x89PNG", "https://example.com/a.pdf")
    store = talk.adapter.source.thread_store()
    assert store is not None
    held = await store.messages("t", None)  # type: ignore[arg-type]
    assert held[0].model_dump(by_alias=True, exclude_none=True)["content"] == content


async def test_a_look_up_that_fails_is_no_new_session() -> None:
    class Broken(InMemorySessionService):
        async def get_session(self, **given: Any) -> Any:
            raise ConnectionError("the database is away")

    events = await collect(AGUIAdapter(AdkSource(weather(), session_service=Broken())), "hi")
    assert (events[-1]["type"], events[-1]["message"]) == ("RUN_ERROR", "the database is away")


async def test_users_and_apps_by_run_are_found_again(judge: Judge) -> None:
    service = InMemorySessionService()

    def source() -> AdkSource:
        agent = Agent(name="root", model=model(["Hi."]))
        return AdkSource(
            agent,
            session_service=service,
            app_name=lambda run: f"app_{run.run_input.forwarded_props['tenant']}",
            user_id=lambda run: run.request["user"],
        )

    request = run_input(thread_id="t", forwarded_props={"tenant": "a"})
    await collect(AGUIAdapter(source()), request, request={"user": "anna"})
    assert await service.get_session(app_name="app_a", user_id="anna", session_id="t") is not None

    store = source().thread_store()
    assert await store.exists("t")
    assert [m.role for m in await store.messages("t", None)] == ["user", "assistant"]  # type: ignore[arg-type]
    await store.delete("t")
    assert not await store.exists("t")
    assert await service.get_session(app_name="app_a", user_id="anna", session_id="t") is None


async def test_a_thread_that_expires_goes_to_the_memory_first() -> None:
    memory = InMemoryMemoryService()
    adapter = AGUIAdapter(AdkSource(Agent(name="root", model=model(["Blue whales."])), memory_service=memory))
    await collect(adapter, run_input("whales?", thread_id="t"))
    threads = adapter.threads()
    assert threads is not None
    await threads.expire("t")
    assert not await threads.exists("t")
    found = await memory.search_memory(app_name="root", user_id="thread_user_t", query="whales")
    assert found.memories


# ---------------------------------------------------------------- on the server


async def by_header(request: Any) -> Identity:
    return Identity(user=request.headers.get("x-user", ""))


async def test_every_route_of_threads() -> None:
    llm = model(["Look. ", calling("get_weather", city="Paris")], ["21."])
    hooks = Hooks(on_state=lambda state, run: {k: v for k, v in state.items() if k != "secret"})
    adapter = AGUIAdapter(Agent(name="weather", model=llm, tools=[get_weather]), hooks=hooks)
    app = create_app(adapter, settings=ServerSettings(identity=by_header, seed_paths=True))
    mine, other = {"x-user": "anna"}, {"x-user": "ben"}

    ran = await call(app, "POST", "/", run_body("weather?", thread="t", state={"secret": 1}), mine)
    assert ran.status == 200
    assert '"type":"RUN_FINISHED"' in ran.body.decode()

    state = await call(app, "GET", "/threads/t/state", headers=mine)
    assert state.json["snapshot"] == {"last_city": "Paris"}
    messages = (await call(app, "GET", "/threads/t/messages", headers=mine)).json["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert [t["threadId"] for t in (await call(app, "GET", "/threads", headers=mine)).json] == ["t"]
    for target in ("/threads/t/state", "/threads/t/messages"):
        assert (await call(app, "GET", target, headers=other)).status == 404

    patch = [{"op": "remove", "path": "/last_city"}, {"op": "add", "path": "/n", "value": 1}]
    assert (await call(app, "PATCH", "/threads/t/state", patch, mine)).status == 200
    assert (await call(app, "GET", "/threads/t/state", headers=mine)).json["snapshot"] == {"n": 1}
    wrong = await call(app, "PATCH", "/threads/t/state", [{"op": "test", "path": "/n", "value": 2}], mine)
    assert wrong.status == 409
    hidden = await call(app, "PATCH", "/threads/t/state", [{"op": "add", "path": "/app:x", "value": 2}], mine)
    assert hidden.status in (409, 422)

    assert (await call(app, "GET", "/thread/list", headers=mine)).status == 200
    assert (await call(app, "GET", "/state_snapshot/t", headers=mine)).json["snapshot"] == {"n": 1}
    seen = await call(app, "POST", "/connect", run_body(None, thread="t"), mine)
    assert [m["role"] for m in _snapshot(seen)] == ["user", "assistant", "tool", "assistant"]
    both = await call(app, "POST", "/agents/state", {"threadId": "t"}, mine)
    assert (both.json["threadExists"], both.json["state"]) == (True, {"n": 1})
    declared = (await call(app, "GET", "/capabilities")).json
    assert declared["identity"] == {"name": "weather", "type": "adk"}
    assert (await call(app, "DELETE", "/threads/t", headers=mine)).status == 200
    assert (await call(app, "GET", "/threads/t/state", headers=mine)).status == 404


def _snapshot(exchange: Any) -> list[dict[str, Any]]:
    events = [json.loads(line.removeprefix("data: ")) for line in exchange.body.decode().splitlines() if line]
    [snapshot] = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    messages: list[dict[str, Any]] = snapshot["messages"]
    return messages


async def test_a_question_keeps_its_thread() -> None:
    app = create_app(AGUIAdapter(cleaner()))
    await call(app, "POST", "/", run_body("wipe", thread="t"))
    refused = await call(app, "PATCH", "/threads/t/state", [{"op": "add", "path": "/n", "value": 1}])
    assert refused.status == 409
    asked = await call(app, "POST", "/connect", run_body(None, thread="t"))
    assert '"type":"interrupt"' in asked.body.decode()


async def test_a_run_goes_on_without_its_page() -> None:
    llm = model(["One ", "two ", "three ", "four."], pause=0.05)
    app = create_app(AGUIAdapter(Agent(name="root", model=llm)), settings=ServerSettings(disconnect="continue"))
    async with living(app):
        first = post(app, run_body("go", thread="t"))
        await first.until(lambda exchange: "One" in exchange.body.decode())
        first.disconnect()
        joined = await call(app, "POST", "/connect", run_body(None, thread="t", run="r2"))
        text = joined.body.decode()
        assert "four." in text
        assert '"type":"RUN_FINISHED"' in text


# ---------------------------------------------------------------- going back


def count(request: Any) -> list[str]:
    users = [content.parts[0].text for content in request.contents if content.role == "user"]
    return [f"{len(users)}: {users[-1]}"]


def counted(state: bool = False) -> Agent:
    def remember(callback_context: Any) -> None:
        callback_context.state["turns"] = callback_context.state.get("turns", 0) + 1

    return Agent(name="root", model=model(*[count] * 6), before_agent_callback=remember)


async def test_a_user_who_goes_back(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(counted()), judge)
    await talk.say("one")
    await talk.say("two")
    before = list(talk.messages)
    assert [m["content"] for m in before] == ["one", "1: one", "two", "2: two"]

    assert text_of(await talk.send(before[:3])) == "2: two"  # again
    assert talk.state == {"turns": 2}
    edited = {**before[2], "content": "zwei"}
    assert text_of(await talk.send([*before[:2], edited])) == "2: zwei"
    new = {"id": "other", "role": "user", "content": "anew"}
    assert text_of(await talk.send([*before[:2], new])) == "2: anew"
    assert [m["content"] for m in talk.messages] == ["one", "1: one", "anew", "2: anew"]
    assert text_of(await talk.say("three")) == "3: three"
    assert talk.state == {"turns": 3}


async def test_only_new_messages_count_where_that_is_set(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(AdkSource(counted(), edits="append")), judge)
    await talk.say("one")
    assert text_of(await talk.send(talk.messages[:1])) == ""
    assert text_of(await talk.send([talk.messages[0], {"id": "x", "role": "user", "content": "new"}])) == "2: new"


async def test_a_turn_that_failed_is_tried_again(judge: Judge) -> None:
    adapter = AGUIAdapter(Agent(name="root", model=model(RuntimeError("no"), ["Yes."])))
    request = run_input([{"id": "u", "role": "user", "content": "go"}], thread_id="t")
    first, second = await collect(adapter, request), await collect(adapter, request)
    assert (first[-1]["type"], text_of(second)) == ("RUN_ERROR", "Yes.")


async def test_a_tab_that_lost_an_answer_goes_on(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(counted()), judge)
    await talk.say("one")
    messages = [talk.messages[0], {"id": "u2", "role": "user", "content": "two"}]
    assert text_of(await talk.send(messages)) == "2: two"
    assert sorted(m["content"] for m in talk.messages) == ["1: one", "2: two", "one", "two"]


async def test_a_file_is_there_after_a_reload() -> None:
    app = create_app(AGUIAdapter(artist()))
    async with living(app):
        await call(app, "POST", "/", run_body("a cat", thread="t"))
        again = await call(app, "POST", "/connect", run_body(None, thread="t"))
    [file] = [event for event in again.events if event["type"] == "CUSTOM"]
    assert (file["name"], file["value"]["filename"], file["value"]["data"]) == ("artifact", "cat.png", "iVBORw==")
