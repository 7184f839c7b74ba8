"""Runs that the server owns: viewers leave, come later or read too slowly, and further requests want the thread."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import interrupt
from starlette.requests import Request

from tests.scenarios.reading import view
from tests.support.graphs import in_a_row
from tests.support.serving import Exchange, asker, call, living, post, run_body, talker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.server import ServerSettings, create_app

TALK = "TEXT_MESSAGE_CONTENT"


def app_of(graph: Any, hooks: Hooks | None = None, **settings: Any) -> Any:
    return create_app(AGUIAdapter(graph, hooks=hooks or Hooks()), settings=ServerSettings(**settings))


def join(app: Any, thread: str = "t1", **more: Any) -> Exchange:
    return post(app, run_body(None, thread=thread, run="page", **more), "/connect", more.pop("headers", None))


async def settled(app: Any) -> None:
    """No run is left."""
    async with asyncio.timeout(30):
        while app.state.agui.live:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("disconnect", ["cancel", "continue"])
async def test_a_run_ends_with_its_last_viewer_or_goes_on(source: Any, disconnect: Any) -> None:
    adapter = AGUIAdapter(talker(40, 0.02), options=AdapterOptions(source=source))
    app = create_app(adapter, settings=ServerSettings(disconnect=disconnect))
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    first.disconnect()
    await first.end()
    await settled(app)
    stored = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    assert [message["role"] for message in stored] == (["user", "assistant"] if disconnect == "continue" else ["user"])


async def test_a_run_with_two_viewers_goes_on_without_the_one_who_started_it() -> None:
    app = app_of(talker(40, 0.02))
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    second = await join(app).until(lambda it: TALK in it.types())
    first.disconnect()
    await second.end()
    assert second.types()[-1] == "RUN_FINISHED"
    assert second.text().split() == [f"w{n}" for n in range(40)]
    assert second.events[0]["runId"] == "r1", "it is the active run, not one of the page's own"


async def test_a_reloaded_page_joins_and_a_late_one_sees_the_thread() -> None:
    app = app_of(talker(30, 0.02), disconnect="continue")
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    first.disconnect()
    page = await join(app).end()
    late = await join(app).end()
    assert page.text().split() == [f"w{n}" for n in range(30)]
    assert page.types()[:3] == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    (shown,) = [event for event in late.events if event["type"] == "MESSAGES_SNAPSHOT"]
    ids = [event["messageId"] for event in page.events if event["type"] == "TEXT_MESSAGE_START"]
    assert [message["id"] for message in shown["messages"]][1:] == ids
    assert late.types()[-1] == "RUN_FINISHED"


async def test_a_page_that_comes_before_the_first_event_waits_for_it() -> None:
    gate = asyncio.Event()
    app = app_of(talker(3), Hooks(before_run=lambda run: gate.wait()), disconnect="continue")
    first = post(app, run_body())
    await asyncio.sleep(0.02)
    page = join(app)
    await asyncio.sleep(0.02)
    gate.set()
    assert (await page.end()).types()[:3] == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    assert page.text() == (await first.end()).text()


async def test_joining_a_thread_that_rests_never_calls_the_model() -> None:
    app = app_of(asker())
    assert (await join(app).end()).body == b"", "nobody ever wrote in this thread"
    asked = await post(app, run_body()).end()
    late = await join(app, protocolVersion="1.0").end()
    assert late.events[-1]["outcome"]["interrupts"] == asked.events[-1]["outcome"]["interrupts"]
    assert "STEP_STARTED" not in late.types()
    [question] = late.events[-1]["outcome"]["interrupts"]
    for brought in (
        {"state": {"count": 7}},
        {"resume": [{"interruptId": question["id"], "status": "resolved", "payload": "yes"}]},
        {"forwardedProps": {"command": {"resume": "yes"}}},
    ):
        again = await post(app, run_body("more", run="page", **brought), "/connect").end()
        assert again.events[-1]["outcome"]["interrupts"] == [question], "such a request changes nothing"
    assert len((await call(app, "GET", "/threads/t1/messages")).json["messages"]) == 1


async def test_a_tab_that_comes_back_shows_messages_where_the_thread_has_them() -> None:
    """The tab holds the user's message; the run put one before it. Clients keep what they hold in place."""

    def summed(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        said = [SystemMessage("So far.", id="sum"), HumanMessage(last.text, id=last.id), AIMessage("Yes.", id="yes")]
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *said]}

    app = app_of(in_a_row({"n": summed}, MessagesState, checkpointer=InMemorySaver()))
    body = run_body("more")
    await post(app, body).end()
    late = await post(app, body, "/connect").end()
    assert view(late.events, body["messages"]) == view((await join(app).end()).events)


async def test_a_tab_with_a_question_of_a_graph_that_keeps_no_messages_keeps_its_own() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def agent(given: dict[str, Any]) -> str:
        return f"{interrupt('Sure?')}"

    app = app_of(agent)
    asked = await post(app, run_body("more")).end()
    late = await post(app, run_body("more"), "/connect").end()
    assert late.events[-1]["outcome"] == asked.events[-1]["outcome"]
    assert "MESSAGES_SNAPSHOT" not in late.types()


class Counted(TypedDict, total=False):
    count: int


@pytest.mark.parametrize("kind", ["without messages", "functional"])
async def test_a_page_that_opens_runs_no_graph_without_a_conversation_either(kind: str) -> None:
    runs: list[str] = []

    def work(state: Counted) -> Counted:
        runs.append("run")
        return {"count": len(runs)}

    graph: Any = StateGraph(Counted).add_node("work", work).add_edge(START, "work").compile(InMemorySaver())
    if kind == "functional":
        graph = entrypoint(checkpointer=InMemorySaver())(work)
    app = app_of(graph)
    await post(app, run_body(None, state={"count": 7})).end()
    late = await join(app).end()
    assert runs == ["run"]
    assert late.types()[-1] == "RUN_FINISHED"
    if kind == "without messages":
        (state,) = [event for event in late.events if event["type"] == "STATE_SNAPSHOT"]
        assert state["snapshot"] == {"count": 1}


async def test_hooks_of_a_run_are_not_called_for_a_page_that_opens_and_those_that_redact_are() -> None:
    calls: list[str] = []

    def note(name: str) -> Any:
        return lambda *args: calls.append(name)

    hooks = Hooks(
        before_run=note("before_run"),
        after_run=note("after_run"),
        record=note("record"),
        on_messages=lambda messages, run: [message for message in messages if message.role != "user"],
        on_state=lambda state, run: {},
    )
    app = app_of(talker(2), hooks)
    await post(app, run_body()).end()
    calls.clear()
    late = await join(app).end()
    assert calls == []
    assert "hello" not in late.body.decode()
    assert "notes" not in late.body.decode()


async def test_a_run_without_viewers_is_cancelled_after_a_while() -> None:
    app = app_of(talker(200, 0.02), disconnect="continue", orphaned=0.3)
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    first.disconnect()
    await asyncio.sleep(0.15)
    page = await join(app).until(lambda it: TALK in it.types())
    await asyncio.sleep(0.4)
    assert app.state.agui.live == 1, "somebody watches"
    page.disconnect()
    await page.end()
    async with asyncio.timeout(2):
        await settled(app)


@pytest.mark.parametrize(
    ("allowed", "query", "status"),
    [(False, "continue", 422), (True, "continue", 200), (True, "cancel", 200), (True, "maybe", 422)],
)
async def test_a_request_may_choose_where_the_server_allows_it(allowed: bool, query: str, status: int) -> None:
    app = app_of(talker(20, 0.02), disconnect_by_request=allowed)
    first = post(app, run_body(), f"/?disconnect={query}")
    if status == 422:
        assert ((await first.end()).status, first.error) == (422, "INVALID_QUERY")
        return
    await first.until(lambda it: TALK in it.types())
    first.disconnect()
    await first.end()
    await settled(app)
    stored = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    assert len(stored) == (2 if query == "continue" else 1)


async def test_a_slow_viewer_loses_its_view_and_not_the_run() -> None:
    app = app_of(talker(400, 0.002), max_buffer=300)
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    slow = join(app)
    slow.gate.clear()
    await first.end()
    slow.gate.set()
    await slow.end()
    assert (slow.events[-1]["type"], slow.events[-1]["code"]) == ("RUN_ERROR", "OVERLOADED")
    assert slow.types()[-2:] != ["RUN_ERROR", "RUN_ERROR"]
    assert "TEXT_MESSAGE_END" in slow.types(), "what is open is closed"
    assert first.types()[-1] == "RUN_FINISHED"
    assert first.text().split() == [f"w{n}" for n in range(400)]


async def test_a_run_that_is_too_long_to_be_joined_is_shown_when_it_has_ended() -> None:
    app = app_of(talker(40, 0.02), run_memory=100, disconnect="continue")
    await post(app, run_body()).until(lambda it: TALK in it.types())
    late = await join(app).end()
    assert TALK not in late.types()
    (shown,) = [event for event in late.events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert shown["messages"][-1]["content"].split() == [f"w{n}" for n in range(40)]


async def test_an_interrupting_request_stops_the_run_and_keeps_what_it_wrote() -> None:
    app = app_of(talker(40, 0.02), busy="interrupt")
    first = await post(app, run_body("one", protocolVersion="1.0")).until(lambda it: TALK in it.types())
    second = await post(app, run_body("two", run="r2")).end()
    await first.end()
    assert first.events[-1]["outcome"]["type"] == "cancelled"
    assert second.types()[-1] == "RUN_FINISHED"
    stored = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    assert [message["content"] for message in stored if message["role"] == "user"] == ["one", "two"]


async def test_a_deletion_does_not_interrupt_a_run() -> None:
    app = app_of(talker(40, 0.02), busy="interrupt")
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    assert (await call(app, "DELETE", "/threads/t1")).status == 409
    assert (await first.end()).types()[-1] == "RUN_FINISHED"


async def test_the_thread_is_free_when_the_terminal_event_comes() -> None:
    app = app_of(talker(3), ending_wait=0, busy_wait=0)
    service = app.state.agui
    for turn in range(3):
        one = post(app, run_body(f"turn {turn}", run=f"r{turn}"))
        await one.until(lambda it: "RUN_FINISHED" in it.types())
        assert (service.live, service.capacity.taken) == (0, 0)
        await one.end()


async def test_runs_of_a_thread_are_listed_while_they_go_on() -> None:
    app = app_of(talker(40, 0.02))
    first = await post(app, run_body()).until(lambda it: TALK in it.types())
    (run,) = (await call(app, "GET", "/threads/t1/runs")).json
    assert (run["runId"], run["status"]) == ("r1", "running")
    await first.end()
    assert (await call(app, "GET", "/threads/t1/runs")).json == []


@pytest.mark.parametrize(
    ("settings", "resumable"),
    [({}, False), ({"disconnect": "continue"}, True), ({"disconnect_by_request": True}, True)],
)
async def test_the_capabilities_say_whether_runs_survive_their_connection(settings: Any, resumable: bool) -> None:
    declared = (await call(app_of(talker(), **settings), "GET", "/capabilities")).json
    assert declared["transport"]["resumable"] is resumable


async def test_nobody_sees_or_stops_the_run_of_somebody_else() -> None:
    def who(request: Request) -> Identity:
        return Identity(user=request.headers["x-user"])

    app = app_of(talker(30, 0.02), identity=who, disconnect="continue")
    ann, bob = {"x-user": "ann"}, {"x-user": "bob"}
    first = await post(app, run_body(), headers=ann).until(lambda it: TALK in it.types())
    body = run_body(None, run="page")
    assert (await post(app, body, "/connect", bob).end()).body == b""
    assert (await call(app, "GET", "/threads/t1/runs", headers=bob)).json == []
    assert (await call(app, "POST", "/threads/t1/cancel", {}, bob)).status == 404
    assert (await post(app, body, "/connect", ann).end()).text() == (await first.end()).text()


async def test_the_end_of_the_application_ends_runs_that_nobody_watches() -> None:
    app = app_of(talker(1000, 0.02), disconnect="continue")
    async with living(app):
        first = await post(app, run_body()).until(lambda it: TALK in it.types())
        first.disconnect()
        await first.end()
        assert app.state.agui.live == 1
    assert app.state.agui.live == 0
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_many_runs_without_viewers_leave_nothing() -> None:
    app = app_of(talker(20, 0.01), disconnect="continue")
    started = [
        await post(app, run_body(thread=f"t{n}")).until(lambda it: "RUN_STARTED" in it.types()) for n in range(50)
    ]
    for one in started:
        one.disconnect()
    await settled(app)
    for one in started:
        await one.end()
    async with asyncio.timeout(30):
        while [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("declared", ["1.0", None])
async def test_fields_that_only_1_0_knows_follow_the_viewer(declared: str | None) -> None:
    app = app_of(talker(40, 0.02))
    first = await post(app, run_body(protocolVersion="1.0")).until(lambda it: TALK in it.types())
    second = await join(app, protocolVersion=declared).until(lambda it: TALK in it.types())
    await call(app, "POST", "/threads/t1/cancel", {})
    await asyncio.gather(first.end(), second.end())
    assert first.events[-1]["outcome"]["type"] == "cancelled"
    assert second.types()[-1] == ("RUN_FINISHED" if declared else "RUN_ERROR")
    assert (await join(app).end()).events[-1]["metadata"] == {"langgraph": {"unfinished": True}}
    await post(app, run_body("go on", run="r2")).end()
    assert "metadata" not in (await join(app).end()).events[-1]
