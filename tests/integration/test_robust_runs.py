"""Many runs at once on one adapter; runs that are left, cancelled, stopped, or that take too long."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from ag_ui.core import EventType, RunAgentInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.conftest import Judge
from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted, tool_loop
from tests.support.lines import named
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks
from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.errors import AGUIAdapterError, ThreadBusyError
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part, run_input, tool_call_parts, wire

DECLARED = ["1.0.0"]
"""Clients that know the cancelled outcome."""

SOURCES = pytest.mark.parametrize("source", ["events", "callbacks"])


def request(thread: str, *turns: str, run: str = "run-1", **fields: Any) -> RunAgentInput:
    users = [{"id": f"user-{number}", "role": "user", "content": text} for number, text in enumerate(turns, 1)]
    return run_input(users, **{"thread_id": thread, "run_id": run, **fields})


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


async def read(adapter: AGUIAdapter, asked: RunAgentInput, **kwargs: Any) -> list[dict[str, Any]]:
    return [wire(event) async for event in adapter.run(asked, **kwargs)]


# ---------------------------------------------------------------- many at once


def busy_graph() -> Graph:
    """Answers depend on the question only; everything yields to the other runs many times."""

    def answer(messages: list[Any]) -> Any:
        asked = messages[-1].content
        if messages[-1].type == "human":
            parts = [reasoning_part(f"Think {asked}. "), 0.001, "Let me look at ", 0.002, asked]
            return [*parts, *tool_call_parts("look", {"at": asked}, "call_1", pieces=3)]
        return [f"{part} " for part in f"I saw {asked}".split()]

    @tool
    async def look(at: str, config: RunnableConfig) -> str:
        """Look."""
        EventEmitter(config).emit("looking", {"at": at})
        await asyncio.sleep(0.002)
        return f"all of {at}"

    class State(MessagesState):
        seen: list[str]

    def note(state: Any) -> dict[str, Any]:
        time.sleep(0.001)  # a thread
        return {"seen": [*state.get("seen", []), state["messages"][-1].text]}

    loop = tool_loop(ScriptedChatModel(script=answer), [look]).copy({"checkpointer": None})
    return in_a_row({"loop": loop, "note": note}, State)


@SOURCES
async def test_twenty_interleaved_runs_on_one_adapter_equal_twenty_adapters(judge: Judge, source: Any) -> None:
    options = AdapterOptions(source=source)
    one = AGUIAdapter(busy_graph(), options=options)
    asked = [request(f"thread-{n}", f"topic {n}", run=f"run-{n}") for n in range(20)]

    together = await asyncio.gather(*(read(one, given) for given in asked))
    alone = [await read(AGUIAdapter(busy_graph(), options=options), given) for given in asked]

    for mine, single in zip(together, alone, strict=True):
        assert named(mine) == named(single)
    for mine in together[:3]:
        judge([mine])


@SOURCES
async def test_forty_runs_on_twenty_threads_one_after_the_other(source: Any) -> None:
    """The second turn of each thread knows the first, and nothing of its neighbours."""
    adapter = AGUIAdapter(busy_graph(), options=AdapterOptions(source=source))

    async def two_turns(n: int) -> Any:
        await read(adapter, request(f"thread-{n}", f"topic {n}"))
        events = await read(adapter, request(f"thread-{n}", f"topic {n}", "again", run="run-2"))
        return next(event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT")

    states = await asyncio.gather(*(two_turns(n) for n in range(20)))

    assert states == [{"seen": [f"I saw all of topic {n} "]} for n in range(20)]


# ---------------------------------------------------------------- runs that nobody reads to the end


def long_graph() -> Graph:
    """Every kind of place where a run can be left: async and sync nodes, a subgraph, a tool, a pause."""
    first = [reasoning_part("Hm."), "Let me ", 0.001, "look.", *tool_call_parts("look", {"at": "x"}, "call_1")]

    @tool
    async def look(at: str) -> str:
        """Look."""
        await asyncio.sleep(0.001)
        return f"all of {at}"

    def answer(messages: list[Any]) -> Any:
        return first if messages[-1].type == "human" else ["It is ", "x."]

    def note(state: Any) -> dict[str, Any]:
        return {"count": state.get("count", 0) + 1}

    class State(MessagesState):
        count: int

    loop = tool_loop(ScriptedChatModel(script=answer), [look]).copy({"checkpointer": None})
    bye = ScriptedChatModel(script=lambda messages: ["Bye ", "bye."])
    return in_a_row({"loop": loop, "note": note, "bye": chat_node(bye, "invoke")}, State)


async def closed_at(adapter: AGUIAdapter, asked: RunAgentInput, stop: int) -> None:
    stream = adapter.run(asked)
    for _ in range(stop):
        await anext(stream)
    await stream.aclose()


async def cancelled_at(adapter: AGUIAdapter, asked: RunAgentInput, stop: int) -> None:
    async def consume() -> None:
        seen = 0
        async for _ in adapter.run(asked):
            seen += 1
            if seen == stop:
                asyncio.current_task().cancel()  # type: ignore[union-attr]
        pytest.fail("the cancellation was swallowed")

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(consume())


async def forgotten_at(adapter: AGUIAdapter, asked: RunAgentInput, stop: int) -> None:
    stream = adapter.run(asked)
    for _ in range(stop):
        await anext(stream)
    del stream
    gc.collect()
    for _ in range(100):  # the event loop closes what was collected
        if not others():
            break
        await asyncio.sleep(0.001)


WAYS: dict[str, Callable[[AGUIAdapter, RunAgentInput, int], Awaitable[None]]] = {
    "closed": closed_at,
    "cancelled": cancelled_at,
    "forgotten": forgotten_at,
}


@SOURCES
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_may_be_left_at_any_event(judge: Judge, source: Any, way: str) -> None:
    """No task is left, and the thread can be continued."""
    graph = long_graph()
    outcomes: list[str | None] = []
    hooks = Hooks(after_run=lambda run: outcomes.append(run.outcome))
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source), hooks=hooks)
    whole = await read(adapter, request("whole", "hi"))
    left = range(1, len(whole), 9 if way == "forgotten" else 1)  # collecting takes long
    outcomes.clear()

    for stop in left:
        await WAYS[way](adapter, request(f"thread-{stop}", "hi"), stop)
        assert not others(), f"left at event {stop}, {whole[stop - 1]['type']}"
    assert outcomes == ["abandoned"] * len(left)

    for stop in left:
        asked = request(f"thread-{stop}", "hi", "and?", run="run-2")
        events = await read(adapter, asked)
        assert events[-1]["type"] == "RUN_FINISHED", f"continued after event {stop}: {events[-1]}"
        if stop % 9 == 1:
            given = {"events": events, "input": wire(asked.model_dump_json(by_alias=True))}
            last = judge([given]).messages[-1]
            assert (last["role"], last["content"]) == ("assistant", "Bye bye.")


@SOURCES
async def test_leaving_a_run_cancels_the_node_and_lets_it_clean_up(source: Any) -> None:
    happened: list[str] = []

    async def wait(state: MessagesState) -> dict[str, Any]:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            happened.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0.01)
            happened.append("cleaned up")
        return {}

    stream = AGUIAdapter(in_a_row({"wait": wait}), options=AdapterOptions(source=source)).run(request("t", "hi"))
    async for event in stream:
        if event.type == EventType.STEP_STARTED:
            break
    await asyncio.sleep(0.05)  # the node begins a moment later
    began = time.monotonic()
    await stream.aclose()

    assert happened == ["cancelled", "cleaned up"]
    assert time.monotonic() - began < 2


async def test_closing_before_the_first_event() -> None:
    stream = AGUIAdapter(long_graph()).run(request("t", "hi"))
    await stream.aclose()

    assert not others()


@SOURCES
async def test_an_exception_thrown_into_the_stream_by_its_reader(source: Any) -> None:
    stream = AGUIAdapter(long_graph(), options=AdapterOptions(source=source)).run(request("t", "hi"))
    await anext(stream)
    await anext(stream)

    with pytest.raises(GeneratorExit):
        await stream.athrow(GeneratorExit())

    assert not others()


# ---------------------------------------------------------------- runs that are stopped


def waiting_graph(place: str) -> Graph:
    """Says a word, then waits for long: in a model, a node, a sync node, a tool."""
    model = ScriptedChatModel(script=lambda messages: ["Wait. "] if len(messages) < 3 else ["Done."])
    slow = ScriptedChatModel(script=lambda messages: ["Slow ", 5.0, "never."] if len(messages) < 4 else ["Fast."])

    @tool
    async def rest() -> str:
        """Rest."""
        await asyncio.sleep(5)
        return "rested"

    async def wait(state: MessagesState) -> dict[str, Any]:
        if len(state["messages"]) < 4:
            await asyncio.sleep(5)
        return {"messages": [AIMessage("Waited.")]}

    def wait_in_a_thread(state: MessagesState) -> dict[str, Any]:
        if len(state["messages"]) < 4:
            time.sleep(0.3)
        return {"messages": [AIMessage("Waited.")]}

    def calling(messages: list[Any]) -> Any:
        return tool_call_parts("rest", {}, "call_1") if len(messages) < 3 else ["No rest."]

    parts: dict[str, Any] = {
        "model": chat_node(slow),
        "node": wait,
        "sync node": wait_in_a_thread,
        "tool": tool_loop(ScriptedChatModel(script=calling), [rest]).copy({"checkpointer": None}),
    }
    return in_a_row({"say": chat_node(model), "wait": parts[place]})


PLACES = pytest.mark.parametrize("place", ["model", "node", "sync node", "tool"])


@SOURCES
@PLACES
async def test_stopping_a_run_that_waits(judge: Judge, source: Any, place: str) -> None:
    """The stream ends as cancelled, at once; the thread goes on with the next request."""
    adapter = AGUIAdapter(waiting_graph(place), options=AdapterOptions(source=source))
    control = RunControl()
    events: list[dict[str, Any]] = []
    began = time.monotonic()

    async for event in adapter.run(request("t", "hi"), control=control):
        events.append(wire(event))
        if event.type == EventType.STEP_STARTED and event.step_name == "wait":
            asyncio.get_running_loop().call_later(0.05, control.stop)

    assert time.monotonic() - began < 2
    assert events[-1]["type"] == "RUN_FINISHED"
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert not others()
    judge([events], clients=DECLARED)

    after = await read(adapter, request("t", "hi", "and?", "well?", run="run-2"))
    assert after[-1]["type"] == "RUN_FINISHED"
    judge([after])


async def test_clients_before_1_0_are_told_an_error(judge: Judge) -> None:
    control = RunControl()
    control.stop()
    asked = request("t", "hi", protocol_version=None)

    events = await read(AGUIAdapter(chat(scripted("Never."))), asked, control=control)

    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1]["code"] == "CANCELLED"
    judge([events], clients=["0.0.59"])


@SOURCES
async def test_a_stop_before_the_run_begins(judge: Judge, source: Any) -> None:
    model = scripted("Never.")
    control = RunControl()
    control.stop()

    adapter = AGUIAdapter(chat(model), options=AdapterOptions(source=source))
    events = await read(adapter, request("t", "hi"), control=control)

    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_FINISHED"]
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert model.calls == []
    judge([events], clients=DECLARED)


async def test_a_stop_while_the_thread_is_read(judge: Judge) -> None:
    class Slow(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            await asyncio.sleep(5)

    control = RunControl()
    asyncio.get_running_loop().call_later(0.05, control.stop)

    events = await read(AGUIAdapter(chat(scripted("x"), checkpointer=Slow())), request("t", "hi"), control=control)

    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_FINISHED"]
    judge([events], clients=DECLARED)


async def test_a_stop_with_a_reason(judge: Judge) -> None:
    control = RunControl()
    adapter = AGUIAdapter(waiting_graph("model"))
    events = []
    async for event in adapter.run(request("t", "hi"), control=control):
        events.append(wire(event))
        if event.type == EventType.TEXT_MESSAGE_CONTENT:
            control.stop(ThreadBusyError("another tab"))
            control.stop(AGUIAdapterError("too late: the first one counts"))

    assert events[-1] == {"type": "RUN_ERROR", "message": "another tab", "code": "THREAD_BUSY"}
    judge([events])


async def test_a_stop_at_any_event(judge: Judge) -> None:
    adapter = AGUIAdapter(long_graph())
    whole = len(await read(adapter, request("whole", "hi")))
    ends = set()
    for stop in range(1, whole + 1):
        control, events = RunControl(), []
        async for event in adapter.run(request(f"thread-{stop}", "hi"), control=control):
            events.append(wire(event))
            if len(events) == stop:
                control.stop()
        assert not others()
        ends.add(str(events[-1].get("outcome")))
        judge([events], clients=DECLARED, ignore=["AGUI204"])  # a call that was cut off
    assert ends == {"{'type': 'cancelled'}", "None"}  # too late: the last batch was on its way


@SOURCES
async def test_a_stop_while_the_reader_is_busy(judge: Judge, source: Any) -> None:
    """The reader's own waits are not cut off; the run ends when it asks for the next event."""
    control, events, undisturbed = RunControl(), [], False
    async for event in AGUIAdapter(long_graph(), options=AdapterOptions(source=source)).run(
        request("t", "hi"), control=control
    ):
        events.append(wire(event))
        if event.type == EventType.TEXT_MESSAGE_CONTENT and not control.stopped:
            asyncio.get_running_loop().call_soon(control.stop)
            await asyncio.sleep(0.01)
            undisturbed = True

    assert undisturbed
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert not others()
    judge([events], clients=DECLARED, ignore=["AGUI204"])


async def test_a_stop_after_the_end_does_nothing(judge: Judge) -> None:
    control = RunControl()
    events = await read(AGUIAdapter(chat(scripted("Yes."))), request("t", "hi"), control=control)
    control.stop()
    await asyncio.sleep(0)

    assert events[-1]["type"] == "RUN_FINISHED"
    judge([events])


async def test_the_readers_own_cancellation_is_no_stop() -> None:
    """With a control, too, a cancelled reader sees its cancellation."""
    control = RunControl()

    async def consume() -> None:
        async for _ in AGUIAdapter(waiting_graph("node")).run(request("t", "hi"), control=control):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.1)
    control.stop()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not others()


# ---------------------------------------------------------------- runs that take too long


@SOURCES
@PLACES
@pytest.mark.parametrize(
    ("limit", "code"),
    [({"execution_timeout": 0.2}, "EXECUTION_TIMEOUT"), ({"idle_timeout": 0.2}, "IDLE_TIMEOUT")],
    ids=["execution", "idle"],
)
async def test_time_limits(judge: Judge, source: Any, place: str, limit: Any, code: str) -> None:
    adapter = AGUIAdapter(waiting_graph(place), options=AdapterOptions(source=source, **limit))
    began = time.monotonic()

    events = await read(adapter, request("t", "hi"))

    assert time.monotonic() - began < 3
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", code)
    assert not others()
    judge([events])


@SOURCES
async def test_a_tool_that_takes_too_long(judge: Judge, source: Any) -> None:
    options = AdapterOptions(source=source, tool_timeout=0.2)

    events = await read(AGUIAdapter(waiting_graph("tool"), options=options), request("t", "hi"))

    assert events[-1]["code"] == "TOOL_TIMEOUT"
    judge([events])


@SOURCES
async def test_what_keeps_within_the_limits_is_not_disturbed(judge: Judge, source: Any) -> None:
    """Longer in all than one idle or tool limit."""

    @tool
    async def rest() -> str:
        """Rest."""
        await asyncio.sleep(0.15)
        return "rested"

    def answer(messages: list[Any]) -> Any:
        if len(messages) < 6:
            return tool_call_parts("rest", {}, f"call_{len(messages)}")
        return ["Done ", 0.15, "now."]

    options = AdapterOptions(source=source, execution_timeout=30, idle_timeout=5, tool_timeout=0.4)
    graph = tool_loop(ScriptedChatModel(script=answer), [rest])

    events = await read(AGUIAdapter(graph, options=options), request("t", "hi"))

    assert events[-1]["type"] == "RUN_FINISHED"
    judge([events])


@SOURCES
async def test_two_branches_of_which_one_never_ends(judge: Judge, source: Any) -> None:
    """A limit ends both; the words of the finished branch are sent."""

    async def stuck(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(5)
        return {}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    for name, node in (("quick", chat_node(scripted("Quick."))), ("stuck", stuck)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    graph = builder.compile(checkpointer=InMemorySaver())

    events = await read(AGUIAdapter(graph, options=AdapterOptions(source=source, idle_timeout=0.3)), request("t", "hi"))

    assert events[-1]["code"] == "IDLE_TIMEOUT"
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Quick."]
    judge([events])
