"""Two workers share a store and a checkpointer: each watches, cancels and takes over runs of the other."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from redis.asyncio import Redis
from starlette.requests import Request

from tests.support.charting import charting
from tests.support.redis_server import RedisServer, redis_server
from tests.support.serving import Exchange, call, living, post, run_body, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef, thread_key
from yai_nexus_agentkit.runs.index import ThreadStatus
from yai_nexus_agentkit.runs.log import RunHead
from yai_nexus_agentkit.runs.remote_run import events_of
from yai_nexus_agentkit.runs.stores.opening import open_store
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel

TALK = "TEXT_MESSAGE_CONTENT"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'runs.db'}"


class Workers:
    """Workers of one service."""

    def __init__(self, address: str, tokens: int = 60, pause: float = 0.02, **settings: Any) -> None:
        self._address, self._tokens, self._pause, self._settings = address, tokens, pause, settings
        self.saver = InMemorySaver()
        self._ends: dict[int, AsyncExitStack] = {}

    async def __aenter__(self) -> Workers:
        return self

    async def start(self, **more: Any) -> Any:
        graph = talker(self._tokens, self._pause, checkpointer=self.saver)
        given = {"disconnect": "continue", "store": self._address, "lease": 1.0, **self._settings, **more}
        app = create_app(AGUIAdapter(graph), settings=ServerSettings(**given))
        stack = self._ends[id(app)] = AsyncExitStack()
        await stack.enter_async_context(living(app))
        return app

    async def end(self, app: Any) -> None:
        await self._ends.pop(id(app)).aclose()

    async def __aexit__(self, *_: Any) -> None:
        for stack in self._ends.values():
            await stack.aclose()


def join(app: Any, thread: str = "t1", headers: Any = None) -> Exchange:
    return post(app, run_body(None, thread=thread, run="page"), "/connect", headers)


async def open_connections(server: RedisServer) -> int:
    """This one is among them."""
    async with Redis.from_url(server.address) as client:
        return len(await client.client_list())


def whole(tokens: int = 60) -> list[str]:
    return [f"w{n}" for n in range(tokens)]


async def test_ten_viewers_on_another_worker_see_the_whole_run(address: str) -> None:
    async with Workers(address) as workers:
        here, there = await workers.start(), await workers.start()
        first = await post(here, run_body()).until(lambda it: TALK in it.types())
        viewers = [join(there) for _ in range(10)]
        (run,) = (await call(there, "GET", "/threads/t1/runs")).json
        assert (run["runId"], run["status"]) == ("r1", "running")
        for viewer in [first, *viewers]:
            await viewer.end()
            assert viewer.text().split() == whole()
            assert viewer.types()[-1] == "RUN_FINISHED"
        assert (await call(there, "GET", "/threads")).json[0]["status"] == "idle"
        late = await join(there).end()
        assert TALK not in late.types()
        assert late.types()[-1] == "RUN_FINISHED"


async def test_a_viewer_that_comes_before_the_log_has_an_event_waits_for_it(address: str) -> None:
    async with Workers(address, 3, flush=0.3) as workers:
        here, there = await workers.start(), await workers.start()
        await post(here, run_body()).until(lambda it: "RUN_STARTED" in it.types())
        second = await post(here, run_body(thread="t2", run="r2")).until(lambda it: "RUN_STARTED" in it.types())
        viewer = await join(there, "t2").end()
        assert viewer.types()[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
        assert viewer.text() == (await second.end()).text()


async def test_a_second_run_is_refused_on_another_worker_too(address: str) -> None:
    async with Workers(address, ending_wait=0.0) as workers:
        here, there = await workers.start(), await workers.start()
        first = await post(here, run_body()).until(lambda it: TALK in it.types())
        second = await post(there, run_body("more", run="r2")).end()
        assert (second.status, second.error) == (409, "THREAD_BUSY")
        await first.end()


async def test_a_cancellation_reaches_the_other_worker_at_once(redis: RedisServer) -> None:
    async with Workers(redis.address, tokens=2000, lease=3.0) as workers:
        here, there = await workers.start(), await workers.start()
        took = []
        for n in range(20):
            thread = f"c{n}"
            first = await post(here, run_body(thread=thread, protocolVersion="1.0")).until(
                lambda it: TALK in it.types()
            )
            began = time.monotonic()
            assert (await call(there, "POST", f"/threads/{thread}/cancel", {})).status == 202
            await first.end()
            took.append(time.monotonic() - began)
            assert first.events[-1]["outcome"]["type"] == "cancelled"
        assert sorted(took)[len(took) // 2] < 0.5, "it is pushed: polling would take a third of the lease of 3 seconds"


async def test_a_rolling_restart_loses_no_run(address: str) -> None:
    async with Workers(address, tokens=100) as workers:
        old = await workers.start()
        started = [post(old, run_body(thread=f"t{n}")) for n in range(10)]
        for one in started:
            await one.until(lambda it: TALK in it.types())
        new = await workers.start()
        await workers.end(old)
        for n, one in enumerate(started):
            await one.end()
            assert not one.complete, "its client sees a broken connection and comes again"
            again = await post(new, run_body(None, thread=f"t{n}", run="page"), "/connect").end()
            assert again.types()[-1] == "RUN_FINISHED"
            (shown,) = (await call(new, "GET", f"/threads/t{n}/messages")).json["messages"][1:]
            assert shown["content"].split() == whole(100)


async def test_restarts_are_not_deaths(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "yai_nexus_agentkit")
    async with Workers(address) as workers:
        app = await workers.start()
        await post(app, run_body()).until(lambda it: TALK in it.types())
        for restart in range(1, 7):
            old, app = app, await workers.start()
            await workers.end(old)
            async with asyncio.timeout(10):
                while caplog.text.count("is taken over from a worker that stopped") < restart:
                    await asyncio.sleep(0.02)
        assert (await join(app).end()).types()[-1] == "RUN_FINISHED"
    assert "lost its worker" not in caplog.text
    assert caplog.text.count("(agent): handed over, ") == 6
    assert " 0 bytes" not in caplog.text, "what another worker sent is not counted here"


def abandoned(who: str = "ann", **facts: Any) -> RunHead:
    """A run whose worker is gone before its first step."""
    thread = ThreadRef("agent", who, "t1", thread_key("agent", who, "t1"))
    kept = {"thread": None, "whole": True, "disconnect": "continue", "orphaned": None, "facts": {}, **facts}
    return RunHead(
        "log1", thread, "r1", json.dumps(run_body("hi")), facts=json.dumps(kept), started=time.time(), fence=1
    )


def ann(request: Request) -> Identity:
    return Identity(user="ann")


@pytest.mark.parametrize(
    ("kept", "settings", "last"),
    [
        ({}, {}, "RUN_FINISHED"),
        ({}, {"on_crash": "fail"}, "RUN_ERROR"),
        ({"whole": False}, {}, "RUN_ERROR"),
        ({"whole": False}, {"restore_identity": lambda agent, user, facts: Identity(user=user)}, "RUN_FINISHED"),
    ],
    ids=["continue", "fail", "identity lost", "identity restored"],
)
async def test_a_run_without_a_worker_is_taken_over_or_given_up(
    address: str, kept: Any, settings: Any, last: str
) -> None:
    async with open_store(address) as store, Workers(address, identity=ann, **settings) as workers:
        assert store.log is not None
        await store.log.create(abandoned(**kept))
        await store.index.touch(abandoned().thread, ThreadStatus.RUNNING)
        app = await workers.start()
        async with asyncio.timeout(10):
            while (head := await store.log.head("log1")) is None or head.ended is None:
                await asyncio.sleep(0.05)
        lines = b"\n".join(entry.data for entry in await store.log.read("log1")).split(b"\n")
        end = json.loads(lines[-1])
        assert end["type"] == last
        code = None if last == "RUN_FINISHED" else "WORKER_LOST"
        assert end.get("code") == code
        late = (await join(app).end()).events[-1]
        assert (late["type"], late.get("code")) == (last, code), "a viewer that comes later sees the same end"
        assert (await call(app, "GET", "/threads/t1/runs")).json == []
        [listed] = (await call(app, "GET", "/threads")).json
        assert listed["status"] == ("failed" if code else "idle")
        after = await post(app, run_body("more", run="r2")).end()
        assert after.types()[-1] == "RUN_FINISHED", "the thread is usable"


async def test_a_run_that_takes_its_workers_with_it_is_given_up(address: str) -> None:
    async with open_store(address) as store, Workers(address, identity=ann) as workers:
        assert store.log is not None
        await store.log.create(abandoned())
        for fence in range(2, 7):
            await store.log.claim("log1", fence)
        await workers.start()
        async with asyncio.timeout(10):
            while (head := await store.log.head("log1")) is None or head.ended is None:
                await asyncio.sleep(0.05)
        last = (await store.log.read("log1"))[-1]
        assert b"WORKER_LOST" in last.data


async def test_nobody_on_another_worker_sees_or_stops_the_run_of_somebody_else(address: str) -> None:
    def who(request: Request) -> Identity:
        return Identity(user=request.headers["x-user"])

    async with Workers(address, identity=who) as workers:
        here, there = await workers.start(), await workers.start()
        mine, theirs = {"x-user": "ann"}, {"x-user": "bob"}
        first = await post(here, run_body(), headers=mine).until(lambda it: TALK in it.types())
        assert (await join(there, headers=theirs).end()).body == b""
        assert (await call(there, "GET", "/threads/t1/runs", headers=theirs)).json == []
        assert (await call(there, "POST", "/threads/t1/cancel", {}, theirs)).status == 404
        assert (await call(there, "GET", "/threads", headers=theirs)).json == []
        assert (await join(there, headers=mine).end()).text() == (await first.end()).text()


async def test_while_the_store_is_away_runs_go_on_for_those_who_watch() -> None:
    with redis_server() as server:
        async with Workers(server.address, tokens=150) as workers:
            app = await workers.start()
            first = await post(app, run_body()).until(lambda it: TALK in it.types())
            server.stop()
            refused = await post(app, run_body("more", thread="t2", run="r2")).end()
            assert (refused.status, refused.error) == (503, "STORE_UNAVAILABLE")
            assert (await call(app, "GET", "/ready")).status == 503
            await first.until(lambda it: len(it.text().split()) > 100)
            server.start()
            await first.end()
            assert first.types()[-1] == "RUN_FINISHED"
            assert first.text().split() == whole(150)
            async with asyncio.timeout(15):
                while (await call(app, "GET", "/ready")).status != 200:
                    await asyncio.sleep(0.1)
            again = await post(app, run_body("more", thread="t2", run="r2")).end()
            assert again.types()[-1] == "RUN_FINISHED"


async def test_while_the_store_is_away_every_route_says_so_and_the_log_stays_short(
    caplog: pytest.LogCaptureFixture,
) -> None:
    routes: list[tuple[str, str, Any]] = [
        ("GET", "/threads", None),
        ("GET", "/connections", None),
        ("POST", "/connect", run_body()),
        ("POST", "/", run_body()),
        ("GET", "/threads/t1/runs", None),
        ("GET", "/threads/t1/messages", None),
        ("POST", "/threads/t1/cancel", {}),
        ("PATCH", "/threads/t1", {"title": "new"}),
        ("PATCH", "/threads/t1/state", []),
        ("DELETE", "/threads/t1", None),
    ]
    with redis_server() as server:
        async with Workers(server.address, tokens=1) as workers:
            app = await workers.start()
            await post(app, run_body()).end()
            caplog.clear()
            server.stop()
            for method, path, body in routes:
                refused = await call(app, method, path, body)
                assert (refused.status, refused.error) == (503, "STORE_UNAVAILABLE"), (method, path)
            await asyncio.sleep(2.5)  # the background tasks try again every second
            server.start()
            async with asyncio.timeout(15):
                while "it works again" not in caplog.text:
                    await asyncio.sleep(0.1)
            async with asyncio.timeout(15):
                while outages(caplog) != recoveries(caplog):
                    await asyncio.sleep(0.1)
    assert not [record.getMessage() for record in caplog.records if record.exc_info]
    assert len(outages(caplog)) == len(set(outages(caplog))) >= 3


def outages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged not to work, in order."""
    texts = [record.getMessage().partition(", trying again: ") for record in caplog.records]
    return sorted(what for what, found, _ in texts if found)


def recoveries(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged to work again, in order."""
    texts = [record.getMessage().partition("it works again, after: ") for record in caplog.records]
    return sorted(what for _, found, what in texts if found)


async def test_who_watches_another_workers_run_learns_that_the_store_is_away() -> None:
    with redis_server() as server:
        async with Workers(server.address, tokens=2000) as workers:
            here, there = await workers.start(), await workers.start()
            await post(here, run_body()).until(lambda it: TALK in it.types())
            viewer = await join(there).until(lambda it: TALK in it.types())
            server.stop()
            await viewer.end()
            assert viewer.events[-1]["code"] == "STORE_UNAVAILABLE"


async def test_the_log_of_a_long_run_is_shortened_along_the_way(address: str) -> None:
    model = ScriptedChatModel(script=lambda messages: [f"{n:04}" + "x" * 4000 for n in range(600)], pause=0.001)

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile(InMemorySaver())
    settings = ServerSettings(store=address, disconnect="continue")
    app = create_app(AGUIAdapter(graph), settings=settings)
    async with living(app), open_store(address) as other:
        first = await post(app, run_body()).end()
        thread = (await call(app, "GET", "/threads")).json[0]["threadId"]
        assert other.log is not None
        (head,) = await other.log.runs(thread_key("agent", "", thread))
        assert head.base > 0
        events = [event for entry in await other.log.read(head.id) for event in events_of(entry)]
    assert "".join(getattr(event, "delta", "") for event in events) == first.text()


async def test_an_application_whose_lifespan_does_not_run_refuses_runs(address: str) -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(store=address))
    refused = await post(app, run_body()).end()
    assert (refused.status, refused.error) == (503, "STORE_UNAVAILABLE")
    assert "lifespan" in refused.json["detail"]["error_description"]


async def test_a_burst_of_runs_waits_for_connections_to_the_store(redis: RedisServer) -> None:
    async with Workers(redis.address, tokens=3, pause=0.0) as workers:
        app = await workers.start()
        burst = [post(app, run_body(thread=f"burst{n}")) for n in range(150)]
        assert {(await one.end()).types()[-1] for one in burst} == {"RUN_FINISHED"}
    assert await open_connections(redis) == 1, "the worker's are closed"


async def test_a_worker_that_ends_leaves_no_connection_to_the_store() -> None:
    with redis_server() as server:
        async with Workers(server.address, tokens=400, lease=0.6) as workers:
            here, there = await workers.start(), await workers.start()
            runs = [await post(here, run_body(thread=f"t{n}")).until(lambda it: TALK in it.types()) for n in range(5)]
            viewer = await join(there, "t0").until(lambda it: TALK in it.types())
            async with Redis.from_url(server.address) as client:
                await client.client_pause(400)
            await asyncio.sleep(0.3)  # locks are being renewed, logs written and read
            await workers.end(there)
            await workers.end(here)
            assert await open_connections(server) == 1
            for one in [viewer, *runs]:
                await one.end()


@pytest.mark.parametrize("store", ["sqlite", "redis", "postgres"])
async def test_what_a_run_kept_is_shown_by_another_worker(
    request: pytest.FixtureRequest, address: str, store: str
) -> None:
    shared = {
        "sqlite": lambda: address,
        "redis": lambda: request.getfixturevalue("redis").address,
        "postgres": lambda: request.getfixturevalue("database"),
    }[store]()
    saver, thread = InMemorySaver(), f"kept-{store}"
    here, there = (create_app(AGUIAdapter(charting(saver)), settings=ServerSettings(store=shared)) for _ in range(2))
    async with living(here), living(there):
        for text in ("plan a", "pin one", "pin two"):
            assert (await post(here, run_body(text, thread=thread)).end()).types()[-1] == "RUN_FINISHED"
        page = await join(there, thread).end()
        activities = [m for event in page.events for m in event.get("messages", ()) if m["role"] == "activity"]
        assert [m["activityType"] for m in activities] == ["plan", "progress"]
        assert [e["value"]["title"] for e in page.events if e["type"] == "CUSTOM"] == ["a", "two"]
        assert (await call(there, "DELETE", f"/threads/{thread}")).status == 200
        assert "pinned" not in (await join(here, thread).end()).body.decode()
