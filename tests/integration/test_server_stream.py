"""The stream of a run: framing, joined writes, keep-alive, disconnects, slow readers, thread locks.

The ASGI application is called by hand, so that the client's side is the test's.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import threading
import time
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware

from tests.support.graphs import in_a_row
from tests.support.serving import JSON, Exchange, call, failing, living, post, run_body, talker
from tests.support.sockets import listening
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.server import Identity, ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts


def app_of(graph: Any, *, hooks: Hooks | None = None, **settings: Any) -> Any:
    return create_app(AGUIAdapter(graph, hooks=hooks or Hooks()), settings=ServerSettings(**settings))


# ---------------------------------------------------------------- the response


async def test_a_run_is_a_stream_of_lf_frames_with_the_client_s_ids() -> None:
    done = await call(app_of(talker(3)), "POST", "/", run_body(thread="mine", run="r7"))

    assert (done.status, done.headers["content-type"]) == (200, "text/event-stream")
    assert done.headers["cache-control"] == "no-cache"
    assert done.headers["x-accel-buffering"] == "no"
    assert "content-length" not in done.headers
    assert b"\r" not in done.body
    assert done.body.endswith(b"\n\n")
    assert all(frame.startswith(b"data: {") for frame in done.body.split(b"\n\n")[:-1])
    first, *_, last = done.events
    assert (first["type"], first["threadId"], first["runId"]) == ("RUN_STARTED", "mine", "r7")
    assert (last["type"], last["threadId"], last["runId"]) == ("RUN_FINISHED", "mine", "r7")
    assert done.text() == "w0 w1 w2 "


async def test_the_stream_is_conformant(judge: Any) -> None:
    body = run_body()
    done = await call(app_of(talker(3)), "POST", "/", body)
    verdict = judge([{"events": done.events, "input": body}])
    assert [message["content"] for message in verdict.messages] == ["hello", "w0 w1 w2 "]


async def test_event_lines_are_an_option() -> None:
    done = await call(app_of(talker(1), event_lines=True), "POST", "/", run_body())
    frames = [frame.split(b"\n") for frame in done.body.split(b"\n\n")[:-1]]
    assert [line[:5] for line in frames[0]] == [b"event", b"id: 1", b"data:"]
    assert len({frame[1] for frame in frames}) == len(frames)
    assert frames[0][0] == b"event: RUN_STARTED"


async def test_an_accept_header_for_protobuf_is_answered_with_sse() -> None:
    headers = {"accept": "application/vnd.ag-ui.event+proto"}
    done = await call(app_of(talker(1)), "POST", "/", run_body(), headers)
    assert done.headers["content-type"] == "text/event-stream"
    assert done.types()[-1] == "RUN_FINISHED"


async def test_run_started_is_written_before_the_agent_works() -> None:
    started, may_go = asyncio.Event(), asyncio.Event()

    async def agent(state: MessagesState) -> dict[str, Any]:
        started.set()
        await may_go.wait()
        return {"messages": [("ai", "done")]}

    exchange = post(app_of(in_a_row({"agent": agent}, checkpointer=None)), run_body())
    await exchange.until(lambda it: b"RUN_STARTED" in it.body)
    await started.wait()
    assert not exchange.complete
    may_go.set()
    assert (await exchange.end()).types()[-1] == "RUN_FINISHED"


async def test_run_started_is_written_before_the_thread_is_read() -> None:
    may_read = asyncio.Event()

    class Slow(InMemorySaver):
        async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
            await may_read.wait()
            return await super().aget_tuple(config)

    exchange = post(app_of(talker(checkpointer=Slow())), run_body())
    await exchange.until(lambda it: b"RUN_STARTED" in it.body)
    await asyncio.sleep(0.05)
    assert exchange.types() == ["RUN_STARTED"]
    may_read.set()
    done = await exchange.end()
    assert done.types().count("RUN_STARTED") == 1
    assert done.types()[-1] == "RUN_FINISHED"


async def test_a_burst_of_requests_is_answered_one_after_the_other() -> None:
    """Each gets ``RUN_STARTED`` before the next one is looked at: the first need not wait for the last."""
    happened: list[str] = []

    class Noting(InMemorySaver):
        async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
            happened.append("read")
            return await super().aget_tuple(config)

    def notes_writes(app: Any) -> Any:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            async def noted(message: Any) -> None:
                if b"RUN_STARTED" in message.get("body", b""):
                    happened.append("started")
                await send(message)

            await app(scope, receive, noted)

        return noting

    app = notes_writes(app_of(talker(checkpointer=Noting())))
    for exchange in [post(app, run_body(thread=f"t{n}")) for n in range(10)]:
        assert (await exchange.end()).types()[-1] == "RUN_FINISHED"
    assert happened[:10] == ["started"] * 10


@pytest.mark.parametrize("error", [OSError("the peer closed the connection"), RuntimeError("closed")])
async def test_a_client_that_is_gone_before_the_first_write(error: Exception) -> None:
    """The run's task had no turn yet. The run ends all the same, and gives its thread back."""
    ends: list[str | None] = []
    app = app_of(talker(), hooks=Hooks(after_run=lambda run: ends.append(run.outcome)))
    exchange = post(app, run_body())
    exchange.broken = error
    await asyncio.wait_for(exchange.end(), 5)
    assert ends == ["abandoned"]
    assert (await post(app, run_body(run="r2")).end()).types()[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("leaves", [True, False])
async def test_a_client_that_does_not_take_the_first_write(leaves: bool) -> None:
    """It is noticed that it is gone, or takes nothing for too long."""
    watched = Watched()
    exchange = post(app_of(watched.graph(), stalled=5.0 if leaves else 0.2, keep_alive=0.1), run_body())
    exchange.gate.clear()
    await watched.running.wait()
    if leaves:
        exchange.disconnect()
    await asyncio.wait_for(exchange.end(), 3)
    assert watched.cancelled.is_set()


class Releasing(ScriptedChatModel):
    """Says eight words, and opens a gate some turns of the loop after one of them: from inside the agent's task. `left`
    counts the words of all models until then."""

    gates: Any
    left: Any
    turns: int

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            self.left[0] -= 1
            if self.left[0] == 0:
                for _ in range(self.turns):
                    await asyncio.sleep(0)
                self.gates[0].set()
            await asyncio.sleep(0)


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_a_slow_first_write_loses_nothing(source: Any) -> None:
    """While it lasts the deltas of two models wait, in turn; whenever it ends, each of them is sent, and once."""
    words = {name: [f"{name}{n} " for n in range(8)] for name in "xy"}
    for after, turns in itertools.product(range(3, 12), range(14)):
        gates: list[asyncio.Event] = []
        left = [after]
        builder = StateGraph(MessagesState)
        for name in words:
            model = Releasing(script=[words[name]], gates=gates, left=left, turns=turns)

            async def node(state: MessagesState, model: Releasing = model) -> dict[str, Any]:
                return {"messages": [await model.ainvoke(state["messages"])]}

            builder.add_node(name, node)
            builder.add_edge(START, name)
        exchange = post(create_app(AGUIAdapter(builder.compile(), options=AdapterOptions(source=source))), run_body())
        gates.append(exchange.gate)
        exchange.gate.clear()
        texts: dict[str, str] = {}
        for event in (await exchange.end()).events:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
        assert sorted(texts.values()) == ["".join(said) for said in words.values()], (after, turns)


async def test_every_token_is_written_at_once_when_the_client_reads() -> None:
    exchange = await post(app_of(talker(10, 0.02)), run_body()).end()
    tokens = [write for write in exchange.writes if b"TEXT_MESSAGE_CONTENT" in write]
    assert len(tokens) >= 9, "tokens 20 ms apart are not held back"


def emitting(events: int, size: int, *, together: bool) -> Any:
    async def agent(state: MessagesState) -> dict[str, Any]:
        for n in range(events):
            if not together:
                await asyncio.sleep(0)
            EventEmitter().emit("chart", {"n": n, "data": "x" * size})
        return {}

    return in_a_row({"agent": agent})


@pytest.mark.parametrize(("together", "most"), [(True, 20), (False, 100)])
async def test_frames_that_wait_are_joined_into_one_write(together: bool, most: int) -> None:
    """Those that come one by one wait a few milliseconds for those behind them, but for the first."""
    exchange = await post(app_of(emitting(200, 1, together=together)), run_body()).end()
    assert [event["value"]["n"] for event in exchange.events if event["type"] == "CUSTOM"] == list(range(200))
    assert len(exchange.writes) < most


async def test_silence_is_filled_with_comments_and_the_agent_is_not_disturbed() -> None:
    exchange = await post(app_of(talker(2, 0.35), keep_alive=0.1), run_body()).end()
    assert exchange.body.count(b": keep-alive\n\n") >= 3
    assert exchange.text() == "w0 w1 "
    assert exchange.types()[-1] == "RUN_FINISHED"


async def test_no_comment_while_tokens_flow() -> None:
    exchange = await post(app_of(talker(60, 0.02), keep_alive=1.0), run_body()).end()
    assert b"keep-alive" not in exchange.body


# ---------------------------------------------------------------- the client goes away


class Watched:
    """A graph whose node records that it is cancelled."""

    def __init__(self) -> None:
        self.running, self.cancelled = asyncio.Event(), asyncio.Event()
        self.turns = 0

    def graph(self) -> Any:
        async def agent(state: MessagesState) -> dict[str, Any]:
            self.turns += 1
            if self.turns > 1:
                return {"messages": [("ai", "second")]}
            self.running.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return {}

        return in_a_row({"agent": agent})


async def test_a_client_that_goes_away_cancels_the_agent_within_100_ms() -> None:
    took: list[float] = []
    for _ in range(5):
        watched = Watched()
        exchange = post(app_of(watched.graph()), run_body())
        await watched.running.wait()
        before = asyncio.all_tasks()
        began = time.perf_counter()
        exchange.disconnect()
        await exchange.end()
        took.append(time.perf_counter() - began)
        assert watched.cancelled.is_set()
        assert not [task for task in asyncio.all_tasks() & before if task is not asyncio.current_task()]
    assert min(took) < 0.1, took  # the least: a busy machine is no fault of the server


async def test_the_thread_is_free_for_the_next_request() -> None:
    watched = Watched()
    app = app_of(watched.graph())
    exchange = post(app, run_body(run="r1"))
    await watched.running.wait()
    exchange.disconnect()
    again = await call(app, "POST", "/", run_body("again", run="r2"))
    assert again.status == 200
    assert again.types()[-1] == "RUN_FINISHED"


async def test_stop_and_resend_works_although_the_disconnect_is_noticed_late() -> None:
    watched = Watched()
    app = app_of(watched.graph())
    exchange = post(app, run_body(run="r1"))
    await watched.running.wait()
    resent = post(app, run_body("again", run="r2"))
    await asyncio.sleep(0.1)
    exchange.disconnect()
    await resent.end()
    assert (resent.status, resent.types()[-1]) == (200, "RUN_FINISHED")


@pytest.mark.parametrize(("cleanup", "status"), [(0.5, 200), (3.0, 409)])
async def test_a_request_waits_up_to_two_seconds_for_a_run_that_is_ending(cleanup: float, status: int) -> None:
    running = asyncio.Event()

    async def agent(state: MessagesState) -> dict[str, Any]:
        if running.is_set():
            return {"messages": [("ai", "second")]}
        running.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(cleanup)
        return {}

    app = app_of(in_a_row({"agent": agent}), ending_wait=1.5)
    first = post(app, run_body(run="r1"))
    await running.wait()
    assert (await call(app, "POST", "/threads/t1/cancel")).status == 202
    second = await call(app, "POST", "/", run_body("again", run="r2"))
    assert second.status == status
    await first.end()


async def test_a_sync_node_is_left_behind_and_its_result_dropped() -> None:
    entered, may_end = threading.Event(), threading.Event()
    turns: list[int] = []

    def agent(state: MessagesState) -> dict[str, Any]:
        turns.append(1)
        if len(turns) == 1:
            entered.set()
            may_end.wait(10)
        return {"messages": [("ai", f"turn {len(turns)}")]}

    app = app_of(in_a_row({"agent": agent}))
    exchange = post(app, run_body(run="r1"))
    await asyncio.to_thread(entered.wait, 10)
    exchange.disconnect()
    await asyncio.wait_for(exchange.end(), 1)
    again = await call(app, "POST", "/", run_body("again", run="r2"))
    may_end.set()
    assert again.types()[-1] == "RUN_FINISHED"
    sent = await call(app, "GET", "/threads/t1/messages")
    assert [m["content"] for m in sent.json["messages"] if m["role"] == "assistant"] == ["turn 2"]


async def test_a_write_that_fails_counts_as_a_client_that_is_gone() -> None:
    watched = Watched()
    exchange = post(app_of(watched.graph(), keep_alive=0.05), run_body())
    await watched.running.wait()
    exchange.broken = OSError("the peer closed the connection")
    await asyncio.wait_for(exchange.end(), 5)
    assert watched.cancelled.is_set()


# ---------------------------------------------------------------- slow readers


async def test_deltas_are_merged_while_the_client_does_not_read() -> None:
    exchange = post(app_of(talker(500)), run_body())
    await exchange.until(lambda it: b"RUN_STARTED" in it.body)
    exchange.gate.clear()
    await asyncio.sleep(1.0)
    exchange.gate.set()
    await exchange.end()
    assert exchange.text() == "".join(f"w{n} " for n in range(500))
    assert exchange.types().count("TEXT_MESSAGE_CONTENT") < 250
    assert exchange.types()[-1] == "RUN_FINISHED"


async def test_a_client_that_reads_too_slowly_gets_an_error_and_its_run_ends() -> None:
    app = app_of(emitting(10_000, 500, together=False), max_buffer=50_000)
    exchange = post(app, run_body())
    await exchange.until(lambda it: b"CUSTOM" in it.body)
    exchange.gate.clear()
    await asyncio.sleep(0.5)
    again = await call(app, "POST", "/threads/t1/cancel")
    assert again.status == 200, "the run is over although its client still has to read"
    exchange.gate.set()
    await exchange.end()
    assert exchange.complete
    last = exchange.events[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "OVERLOADED")
    assert len(exchange.body) < 300_000


async def test_a_client_that_takes_nothing_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    app = app_of(talker(200), stalled=0.3, keep_alive=0.1)
    exchange = post(app, run_body())
    await exchange.until(lambda it: b"RUN_STARTED" in it.body)
    exchange.gate.clear()
    await asyncio.wait_for(exchange.end(), 3)
    assert not exchange.complete


async def test_a_view_that_is_cut_off_is_no_error_for_uvicorn(caplog: pytest.LogCaptureFixture) -> None:
    """Only a fault of the application's own is one."""
    caplog.set_level(logging.INFO, "yai_nexus_agentkit")
    model = ScriptedChatModel(script=[["x" * 500_000] * 40])
    agent = in_a_row({"agent": lambda state: {"messages": [model.invoke(state["messages"])]}}, MessagesState)
    app = app_of(agent, stalled=0.2, keep_alive=0.1)

    async def faulty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    app.mount("/faulty", faulty)
    body = json.dumps(run_body()).encode()
    posted = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
    async with listening(app, log_config=None) as host:
        reader, writer = await asyncio.open_connection(*host.split(":"), limit=1000)
        writer.write(posted % (len(body), body))
        await reader.readuntil(b"RUN_STARTED")
        async with asyncio.timeout(5):
            while app.state.agui.live or "took nothing" not in caplog.text:
                await asyncio.sleep(0.05)
        writer.close()
        assert "ASGI" not in caplog.text

        reader, writer = await asyncio.open_connection(*host.split(":"))
        writer.write(b"GET /faulty/ HTTP/1.1\r\nhost: a\r\n\r\n")
        await reader.read()
        writer.close()
    assert "ASGI callable returned without completing response" in caplog.text


# ---------------------------------------------------------------- one run per thread


async def test_a_busy_thread_is_refused_before_the_stream() -> None:
    watched = Watched()
    app = app_of(watched.graph())
    first = post(app, run_body(run="r1"))
    await watched.running.wait()
    second = await call(app, "POST", "/", run_body(run="r2"))
    assert (second.status, second.error) == (409, "THREAD_BUSY")
    assert second.headers["content-type"] == "application/json"
    other = await call(app, "POST", "/", run_body(thread="t2", run="r3"))
    assert other.status == 200
    first.disconnect()
    await first.end()


@pytest.mark.parametrize("busy", ["reject", "wait"])
async def test_a_blocked_event_loop_costs_no_run_its_thread(busy: Any) -> None:
    """Whoever blocks the loop keeps all others from renewing their locks; none of them crashed."""
    blocked, go_on = asyncio.Event(), asyncio.Event()

    async def agent(state: MessagesState) -> dict[str, Any]:
        if len(state["messages"]) == 1:
            await asyncio.sleep(0.05)
            time.sleep(0.7)
            blocked.set()
            await (asyncio.sleep(1) if busy == "wait" else go_on.wait())
        return {"messages": [("ai", f"answer {len(state['messages'])}")]}

    app = app_of(in_a_row({"agent": agent}), lease=0.3, busy=busy)
    first = post(app, run_body(run="r1"))
    other = post(app, run_body(run="r1", thread="t2"))
    early = post(app, run_body("early", run="r2")) if busy == "wait" else None
    await blocked.wait()
    late = await call(app, "POST", "/", run_body("late", run="r3"))
    go_on.set()
    for exchange in (first, other, *([early] if early else [])):
        await exchange.end()
        assert exchange.types()[-1] == "RUN_FINISHED"
    assert late.status == (200 if busy == "wait" else 409)


async def test_the_wait_policy_runs_one_after_the_other() -> None:
    app = app_of(talker(5, 0.05), busy="wait")
    first, second = post(app, run_body("one", run="r1")), post(app, run_body("two", run="r2"))
    await asyncio.gather(first.end(), second.end())
    assert first.types()[-1] == second.types()[-1] == "RUN_FINISHED"
    state = await call(app, "GET", "/threads/t1/state")
    assert state.json["snapshot"]["count"] == 2


async def test_the_next_request_may_come_right_after_run_finished() -> None:
    async def slow_end(run: Any) -> None:
        await asyncio.sleep(0.5)

    app = app_of(talker(1), hooks=Hooks(after_run=slow_end))
    first = post(app, run_body(run="r1"))
    await first.until(lambda it: b"RUN_FINISHED" in it.body)
    second = await call(app, "POST", "/", run_body("two", run="r2"))
    assert second.status == 200
    await first.end()


async def test_cancel_ends_the_stream_with_the_cancelled_outcome() -> None:
    watched = Watched()
    app = app_of(watched.graph())
    exchange = post(app, run_body())
    await watched.running.wait()
    answer = await call(app, "POST", "/threads/t1/cancel")
    assert (answer.status, answer.json) == (202, {"status": "cancelling"})
    await exchange.end()
    assert exchange.events[-1]["outcome"] == {"type": "cancelled"}
    assert watched.cancelled.is_set()
    again = await call(app, "POST", "/threads/t1/cancel")
    assert (again.status, again.json) == (200, {"status": "idle"})


async def test_a_client_before_1_0_gets_an_error_instead_of_the_outcome() -> None:
    watched = Watched()
    app = app_of(watched.graph())
    body = run_body()
    del body["protocolVersion"]
    exchange = post(app, body)
    await watched.running.wait()
    await call(app, "POST", "/threads/t1/cancel")
    await exchange.end()
    assert (exchange.events[-1]["type"], exchange.events[-1]["code"]) == ("RUN_ERROR", "CANCELLED")


async def test_too_many_runs_are_refused_with_retry_after() -> None:
    watched = Watched()
    app = app_of(watched.graph(), max_runs=1, retry_after=7)
    first = post(app, run_body())
    await watched.running.wait()
    second = await call(app, "POST", "/", run_body(thread="t2"))
    assert (second.status, second.error, second.headers["retry-after"]) == (429, "OVERLOADED", "7")
    first.disconnect()
    await first.end()
    third = await call(app, "POST", "/", run_body(thread="t2"))
    assert third.status == 200


async def test_the_limit_per_user_leaves_others_alone() -> None:
    watched = Watched()
    settings: dict[str, Any] = {
        "max_runs_per_user": 1,
        "identity": lambda request: Identity(user=request.headers["x-user"]),
    }
    app = app_of(watched.graph(), **settings)
    first = post(app, run_body(), headers={"x-user": "ann"})
    await watched.running.wait()
    assert (await call(app, "POST", "/", run_body(thread="t2"), {"x-user": "ann"})).status == 429
    assert (await call(app, "POST", "/", run_body(thread="t2"), {"x-user": "bob"})).status == 200
    first.disconnect()
    await first.end()


async def test_time_limits_end_the_run_with_their_codes() -> None:
    watched = Watched()
    exchange = await post(app_of(watched.graph(), run_timeout=0.2), run_body()).end()
    assert exchange.events[-1]["code"] == "EXECUTION_TIMEOUT"
    exchange = await post(app_of(Watched().graph(), idle_timeout=0.2), run_body()).end()
    assert exchange.events[-1]["code"] == "IDLE_TIMEOUT"


class Hanging:
    """A hook that hangs the first time."""

    def __init__(self) -> None:
        self.reached, self.cancelled = asyncio.Event(), asyncio.Event()

    async def __call__(self, run: Any) -> None:
        if self.reached.is_set():
            return
        self.reached.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


@pytest.mark.parametrize("name", ["before_run", "config"])
@pytest.mark.parametrize("limit", ["run_timeout", "idle_timeout"])
async def test_time_limits_reach_hooks_before_the_run(name: str, limit: str, judge: Any) -> None:
    hook, body = Hanging(), run_body()
    app = app_of(talker(1), hooks=Hooks(**{name: hook}), **{limit: 0.2})
    exchange = await asyncio.wait_for(post(app, body).end(), 5)
    assert exchange.types() == ["RUN_STARTED", "RUN_ERROR"]
    assert exchange.events[-1]["code"] == {"run_timeout": "EXECUTION_TIMEOUT", "idle_timeout": "IDLE_TIMEOUT"}[limit]
    assert hook.cancelled.is_set()
    judge([{"events": exchange.events, "input": body}])
    assert (await call(app, "POST", "/", run_body(run="r2"))).types()[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("name", ["before_run", "config"])
async def test_a_hook_before_the_run_can_be_cancelled(name: str) -> None:
    hook = Hanging()
    app = app_of(talker(1), hooks=Hooks(**{name: hook}))
    exchange = post(app, run_body())
    await hook.reached.wait()
    assert (await call(app, "POST", "/threads/t1/cancel")).status == 202
    await asyncio.wait_for(exchange.end(), 5)
    assert exchange.types() == ["RUN_STARTED", "RUN_FINISHED"]
    assert exchange.events[-1]["outcome"] == {"type": "cancelled"}
    assert hook.cancelled.is_set()


async def test_an_after_run_hook_that_hangs_does_not_hold_the_thread_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    hook = Hanging()
    app = app_of(talker(1), hooks=Hooks(after_run=hook), idle_timeout=0.2)
    exchange = await asyncio.wait_for(post(app, run_body()).end(), 5)
    assert exchange.types()[-1] == "RUN_FINISHED"
    assert hook.cancelled.is_set()
    assert "the after_run hook took longer than 0.2 seconds" in caplog.text
    assert (await call(app, "POST", "/", run_body(run="r2"))).types()[-1] == "RUN_FINISHED"


async def test_a_client_that_leaves_after_run_finished_does_not_cut_the_after_run_hook_off() -> None:
    done: list[str] = []

    async def audit(run: Any) -> None:
        await asyncio.sleep(0.2)
        done.append(run.outcome)

    exchange = post(app_of(talker(1), hooks=Hooks(after_run=audit)), run_body())
    await exchange.until(lambda it: b"RUN_FINISHED" in it.body)
    exchange.disconnect()
    await exchange.end()
    assert done == ["success"]


async def test_a_body_that_breaks_off_is_no_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    exchange = Exchange(app_of(talker(1)), "POST", "/", [b'{"threadId": '], JSON, cut_off=True)
    exchange.disconnect()
    assert (await exchange.end()).status == 400
    assert not caplog.records


async def test_middleware_of_the_application_does_not_hold_the_stream_back() -> None:
    class Passing(BaseHTTPMiddleware):
        async def dispatch(self, request: Any, call_next: Any) -> Any:
            response = await call_next(request)
            response.headers["x-seen"] = "yes"
            return response

    watched = Watched()
    app = app_of(watched.graph())
    app.add_middleware(Passing)
    app.add_middleware(GZipMiddleware, minimum_size=1)
    exchange = post(app, run_body(), headers={"accept-encoding": "gzip"})
    await exchange.until(lambda it: b"RUN_STARTED" in it.body)
    assert exchange.headers["x-seen"] == "yes"
    await watched.running.wait()
    exchange.disconnect()
    async with asyncio.timeout(1):
        await watched.cancelled.wait()
        await exchange.end()


async def test_a_tool_that_takes_too_long_ends_the_run() -> None:
    @tool
    async def dig() -> str:
        """Dig for long."""
        await asyncio.sleep(60)
        return "gold"

    model = ScriptedChatModel(script=[tool_call_parts("dig", {}, "c1")])
    app = app_of(create_agent(model, [dig], checkpointer=InMemorySaver()), tool_timeout=0.2)
    exchange = await post(app, run_body()).end()
    assert exchange.events[-1]["code"] == "TOOL_TIMEOUT"


async def test_what_was_there_at_the_start_is_left_alone_by_the_collector() -> None:
    app = app_of(talker(1))
    async with living(app):
        assert gc.get_freeze_count() > 10_000
        await call(app, "POST", "/", run_body())
    assert gc.get_freeze_count() == 0


async def test_the_end_of_the_application_ends_its_runs() -> None:
    watched = Watched()
    app = app_of(watched.graph())
    async with living(app):
        exchange = post(app, run_body())
        await watched.running.wait()
    await exchange.end()
    assert exchange.events[-1]["outcome"] == {"type": "cancelled"}


# ---------------------------------------------------------------- errors


async def test_texts_of_unexpected_errors_stay_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    exchange = await call(app_of(failing(ValueError("the password is swordfish"))), "POST", "/", run_body())
    last = exchange.events[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_ERROR")
    assert last["message"].startswith("internal error (id ")
    assert b"swordfish" not in exchange.body
    known = last["message"].removeprefix("internal error (id ").removesuffix(")")
    [logged] = [record for record in caplog.records if record.exc_info]
    assert known in logged.getMessage()
    assert logged.levelname == "ERROR"


@pytest.mark.parametrize("way", ["exposed", "worded", "a hook's"])
async def test_a_failure_is_logged_once(caplog: pytest.LogCaptureFixture, way: str) -> None:
    def raising(event: Any, run: Any) -> Any:
        raise KeyError("swordfish")

    hooks = Hooks(on_error=(lambda error, run: "Sorry.") if way == "worded" else None)
    app = app_of(failing(ValueError("swordfish")), hooks=hooks, expose_errors=way == "exposed")
    if way == "a hook's":
        app = app_of(talker(), hooks=Hooks(on_event=raising))
    exchange = await call(app, "POST", "/", run_body())
    [logged] = [record for record in caplog.records if record.exc_info]
    assert exchange.events[-1]["message"] in logged.getMessage()


async def refuse(run: Any) -> None:
    raise RunInputError("this tenant has no budget left", path="/threadId")


def fail(*_: Any) -> Any:
    raise KeyError("swordfish")


@pytest.mark.parametrize(
    ("hooks", "expose", "code", "text"),
    [
        (Hooks(), True, "AGENT_ERROR", "the password is swordfish"),
        (Hooks(before_run=refuse), False, "INVALID_INPUT", "/threadId: this tenant has no budget left"),
        (Hooks(config=fail), False, "HOOK_ERROR", "internal error (id "),
        (Hooks(on_error=lambda error, run: "please try again"), False, "AGENT_ERROR", "please try again"),
        (Hooks(on_error=fail), False, "AGENT_ERROR", "internal error (id "),
    ],
    ids=["exposed", "our own error", "a failing hook", "the application's text", "a failing text"],
)
async def test_the_text_that_clients_get(hooks: Hooks, expose: bool, code: str, text: str) -> None:
    graph = failing(ValueError("the password is swordfish"))
    exchange = await call(app_of(graph, hooks=hooks, expose_errors=expose), "POST", "/", run_body())
    assert exchange.events[-1]["code"] == code
    assert exchange.events[-1]["message"].startswith(text)
    assert (b"swordfish" in exchange.body) is expose


@pytest.mark.parametrize("expose", [True, False])
async def test_what_fails_outside_a_run_is_logged(caplog: pytest.LogCaptureFixture, expose: bool) -> None:
    def broken(request: Any) -> Any:
        raise KeyError("swordfish")

    refused = await call(app_of(talker(), identity=broken, expose_errors=expose), "GET", "/threads")
    assert (refused.status, b"swordfish" in refused.body) == (500, expose)
    [logged] = [record for record in caplog.records if record.exc_info]
    assert refused.json["detail"]["error_description"] in logged.getMessage()
