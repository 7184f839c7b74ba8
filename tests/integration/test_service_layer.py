"""What services around agents expect beside AG-UI's own: strict SSE, locks as events, paths of their own, and hooks
that take the translator's place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    RunErrorEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.support.desk import Desk, Turn
from tests.support.serving import call, post, run_body, talker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.errors import RunTimeoutError
from yai_nexus_agentkit.server import ServerSettings, StrictSSEWire, create_app
from yai_nexus_agentkit.testing import collect, run_input

Native = tuple[Any, ...]


def desk(*natives: Native, waits: float = 0) -> Desk:
    async def agent(turn: Turn) -> AsyncGenerator[Native, None]:
        for native in natives:
            yield native
        await asyncio.sleep(waits)

    return Desk(agent)


def frames(body: bytes) -> list[dict[str, str]]:
    texts = [text for text in body.decode().split("\n\n") if text and not text.startswith(":")]
    return [dict(line.split(": ", 1) for line in text.split("\n")) for text in texts]


# ---------------------------------------------------------------- the wire


async def test_strict_sse_has_the_type_in_its_own_line() -> None:
    app = create_app(AGUIAdapter(desk(("say", "Hal\nlo"))), wire=StrictSSEWire(clock=lambda: 1.5))
    ran = [*frames((await call(app, "POST", "/", run_body("go"))).body)]
    again = frames((await call(app, "POST", "/", run_body("go", run="r2", thread="t2"))).body)

    text = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert [frame["event"] for frame in ran] == ["RUN_STARTED", "STATE_SNAPSHOT", *text, "RUN_FINISHED"]
    data = [json.loads(frame["data"]) for frame in ran]
    assert all("type" not in one and one["timestamp"] == 1500 for one in data)
    assert data[3]["delta"] == "Hal\nlo"
    ids = [frame["id"] for frame in (*ran, *again)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("busy", "wire"), [("wait", StrictSSEWire()), ("stream", None), ("stream", StrictSSEWire())])
async def test_a_locked_thread_is_an_event(busy: Any, wire: Any) -> None:
    settings = ServerSettings(busy=busy, busy_wait=0.05)
    app = create_app(AGUIAdapter(desk(("say", "Hallo"), waits=30)), settings=settings, wire=wire)
    first = post(app, run_body("go"))
    await first.until(lambda exchange: b"Hallo" in exchange.body)

    second = await call(app, "POST", "/", run_body("more", run="r2"))
    deleted = await call(app, "DELETE", "/threads/t1")
    first.disconnect()
    await first.end()

    assert (second.status, second.headers["content-type"]) == (200, "text/event-stream")
    [frame] = frames(second.body)
    data = json.loads(frame["data"])
    assert (frame.get("event", data.get("type")), data["code"]) == ("RUN_ERROR", "THREAD_IS_LOCKED")
    assert (deleted.status, b"THREAD_IS_LOCKED" in deleted.body) != (200, True)
    wrong = await call(app, "POST", "/", {"threadId": 1})
    assert wrong.status == 422


# ---------------------------------------------------------------- paths


async def test_threads_under_other_paths() -> None:
    paths = {"list": "/all", "messages": "/said/{}", "state": "/kept/{}", "patch": "/kept/{}"}
    app = create_app(AGUIAdapter(talker(1, checkpointer=InMemorySaver())), settings=ServerSettings(seed_paths=paths))
    await call(app, "POST", "/", run_body("go", thread="t/1"))

    assert [entry["threadId"] for entry in (await call(app, "GET", "/all")).json] == ["t/1"]
    assert len((await call(app, "GET", "/said/t/1")).json["messages"]) == 2
    assert (await call(app, "GET", "/kept/t/1")).status == 200
    assert (await call(app, "DELETE", "/thread/t/1")).status == 200
    assert (await call(app, "GET", "/message_snapshot/t/1")).status == 404


@pytest.mark.parametrize("paths", [{"lists": "/all"}, {"messages": "/said"}, {"list": "/all/{}"}, {"state": "kept/{}"}])
def test_wrong_paths_are_refused(paths: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="seed_paths"):
        ServerSettings(seed_paths=paths)


# ---------------------------------------------------------------- hooks


async def test_a_hook_translates_some_events_itself(judge: Judge) -> None:
    def translate(native: Native, run: RunContext) -> list[BaseEvent] | None:
        if native[0] != "table":
            return None
        run.send(CustomEvent(name="rows", value=len(native[1])))
        start = TextMessageStartEvent(message_id="own", role="assistant")
        content = TextMessageContentEvent(message_id="own", delta=", ".join(native[1]))
        return [start, content, TextMessageEndEvent(message_id="own")]

    source = desk(("say", "Here: "), ("table", ["a", "b"]), ("say", "That is all."))
    events = await collect(AGUIAdapter(source, hooks=Hooks(translate=translate)), "go")

    judge([events])
    assert [event["delta"] for event in events if "delta" in event] == ["Here: ", "a, b", "That is all."]
    kinds = [event["type"] for event in events]
    assert kinds[kinds.index("CUSTOM") - 1] == "TEXT_MESSAGE_END"


async def test_a_translating_hook_that_fails_ends_the_run() -> None:
    def translate(native: Native, run: RunContext) -> list[BaseEvent] | None:
        raise ValueError("no")

    events = await collect(AGUIAdapter(desk(("say", "x")), hooks=Hooks(translate=translate)), "go")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "HOOK_ERROR")


@pytest.mark.parametrize("fails", [False, True])
async def test_events_in_place_of_what_took_too_long(judge: Judge, fails: bool) -> None:
    def on_timeout(error: RunTimeoutError, run: RunContext) -> list[BaseEvent]:
        if fails:
            raise ValueError("no")
        return [CustomEvent(name="late", value=error.code)]

    adapter = AGUIAdapter(
        desk(("say", "Half a"), waits=30),
        options=AdapterOptions(execution_timeout=0.1),
        hooks=Hooks(on_timeout=on_timeout),
    )
    events = await collect(adapter, "go")

    judge([events])
    assert events[-1]["code"] == "EXECUTION_TIMEOUT"
    assert (events[-2].get("value") == "EXECUTION_TIMEOUT") is not fails


async def test_events_that_other_hooks_send_come_before_the_end(judge: Judge) -> None:
    def on_state(state: dict[str, Any], run: RunContext) -> dict[str, Any]:
        run.send(CustomEvent(name="state", value=sorted(state)))
        return state

    events = await collect(AGUIAdapter(desk(("state", {"a": 1})), hooks=Hooks(on_state=on_state)), "go")
    judge([events])
    assert [event["type"] for event in events][-3:] == ["CUSTOM", "CUSTOM", "RUN_FINISHED"]


@pytest.mark.parametrize("answered", [False, True])
async def test_a_request_sees_which_calls_wait(answered: bool) -> None:
    seen: list[dict[str, str]] = []

    async def before_run(run: RunContext) -> None:
        seen.append(await run.pending_calls())

    natives: list[Native] = [("call", "c1", "pick", {}), ("call", "c2", "show", {})]
    if answered:
        natives.append(("result", "c2", "shown"))
    adapter = AGUIAdapter(desk(*natives), hooks=Hooks(before_run=before_run))
    await collect(adapter, run_input("go", thread_id="t"))
    await collect(adapter, run_input("on", thread_id="t"))
    assert seen == [{}, {"c1": "pick"} if answered else {"c1": "pick", "c2": "show"}]


async def test_a_code_is_changed_by_a_hook() -> None:
    def on_event(event: BaseEvent, run: RunContext) -> list[BaseEvent]:
        if isinstance(event, RunErrorEvent) and event.code == "AGENT_ERROR":
            return [event.model_copy(update={"code": "EXECUTION_ERROR"})]
        return [event]

    async def agent(turn: Turn) -> AsyncGenerator[Native, None]:
        raise ValueError("broken")
        yield

    events = await collect(AGUIAdapter(Desk(agent), hooks=Hooks(on_event=on_event)), "go")
    assert events[-1]["code"] == "EXECUTION_ERROR"
