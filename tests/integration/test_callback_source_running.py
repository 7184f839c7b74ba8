"""The callback source while it runs: cancellation, worker threads, readers that are slow, many runs at once."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph

from tests.support.native_events import EXTRA, by_callbacks, observe
from tests.support.shapes import SHAPES, remembering, row, saying, talker
from tests.support.shapes.base import ASK, NUMBER, Numbers
from yai_nexus_agentkit.adapter.langgraph.native.callback_stream import callback_events
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.adapter.shared.channel import Channel

THREAD: Any = {"configurable": {"thread_id": "t"}}


def start(agent: Any, given: Any = ASK, extra: Any = EXTRA) -> AsyncGenerator[dict[str, Any], None]:
    return callback_events(agent, given, THREAD, notes=RunNotes(complete=True), extra=extra)


@contextmanager
def nothing_left() -> Iterator[None]:
    yield
    assert asyncio.all_tasks() == {asyncio.current_task()}


class Patient:
    """A node that talks slowly, and what becomes of it."""

    def __init__(self, cleanup: float = 0.0, failing: bool = False) -> None:
        self.log: list[str] = []
        self._cleanup, self._failing = cleanup, failing

    async def __call__(self, state: Any) -> Any:
        try:
            await saying(*"abcdefgh", pause=0.1).ainvoke("x")
            self.log.append("finished")
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        finally:
            await asyncio.sleep(self._cleanup)
            self.log.append("cleaned")
            if self._failing:
                raise RuntimeError("cleanup")


async def read(events: Any, number: int) -> list[str]:
    kinds: list[str] = []
    async for event in events:
        kinds.append(event["event"])
        if len(kinds) == number:
            break
    return kinds


# -------------------------------------------------------------------------------------------------------- cancellation


async def test_closing_cancels_the_graph_and_waits_for_its_cleanup() -> None:
    patient = Patient(cleanup=0.05)
    graph = remembering(talker("first"), patient=patient)
    with nothing_left():
        events = start(graph)
        await read(events, 14)
        await events.aclose()
        assert patient.log == ["cancelled", "cleaned"]
    state = await graph.aget_state(THREAD)
    assert (state.next, len(state.values["messages"])) == (("patient",), 2)


async def test_closing_before_the_first_event_starts_nothing() -> None:
    patient = Patient()
    with nothing_left():
        await start(row(patient=patient)).aclose()
    assert patient.log == []


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_cancelling_the_reader_cancels_the_graph(how: str) -> None:
    patient = Patient()

    async def drain() -> None:
        async with aclosing(start(row(patient=patient))) as events:
            async for _ in events:
                pass

    with nothing_left():
        if how == "timeout":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(drain(), 0.3)
        else:
            task = asyncio.create_task(drain())
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert patient.log == ["cancelled", "cleaned"]


async def test_an_error_of_the_cleanup_comes_out_of_closing() -> None:
    events = start(row(patient=Patient(failing=True)))
    await read(events, 5)
    with nothing_left(), pytest.raises(RuntimeError, match="cleanup"):
        await events.aclose()


async def test_a_forgotten_generator_is_closed() -> None:
    patient = Patient()

    async def forget() -> None:
        await read(start(row(patient=patient)), 5)

    with nothing_left():
        await forget()
        gc.collect()
        for _ in range(100):
            await asyncio.sleep(0.001)
    assert patient.log == ["cancelled", "cleaned"]


async def test_the_thread_of_a_cancelled_node_runs_on_unheard() -> None:
    loud, ended = threading.Event(), threading.Event()

    def blocking(state: Any) -> Any:
        saying("first").invoke("x")
        loud.wait(5)
        saying("later").invoke("x")
        ended.set()
        return {"number": 2}

    events = start(row(blocking, state=Numbers), NUMBER)
    with nothing_left():
        await read(events, 7)
        before = time.perf_counter()
        await events.aclose()
        assert time.perf_counter() - before < 2, "closing does not wait for the thread"
    loud.set()
    assert await asyncio.to_thread(ended.wait, 5)


def test_a_thread_that_outlives_the_loop_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    loud, ended = threading.Event(), threading.Event()
    channel: list[Any] = []

    async def main() -> None:
        mine: Channel[int] = Channel()
        mine.open()
        channel.append(mine)
        reader = asyncio.create_task(mine.more())
        await asyncio.sleep(0)
        threading.Thread(target=late).start()
        reader.cancel()

    def late() -> None:
        loud.wait(5)
        channel[0].put(1)
        ended.set()

    asyncio.run(main())
    loud.set()
    assert ended.wait(5)
    assert caplog.records == []


# ---------------------------------------------------------------------------------------------------------- exceptions


async def test_what_happened_comes_before_the_exception_and_the_exception_is_the_graphs_own() -> None:
    error = ValueError("no")

    async def fail(state: Any) -> Any:
        raise error

    kinds: list[str] = []
    with nothing_left(), pytest.raises(ValueError) as raised:
        async for event in start(row(talker("x"), fail=fail)):
            kinds.append(event["event"])
            await asyncio.sleep(0)
    assert raised.value is error
    assert kinds[-2:] == ["on_chain_error", "on_chain_error"]
    assert "on_chat_model_end" in kinds


async def test_a_cancellation_that_user_code_raises_ends_the_stream() -> None:
    def give_up(_: Any) -> Any:
        raise asyncio.CancelledError

    with nothing_left():
        assert [e["event"] async for e in start(RunnableLambda(give_up), 1, {})] == ["on_chain_start", "on_chain_error"]


# ------------------------------------------------------------------------------------------------------------- threads


async def test_eight_synchronous_nodes_side_by_side() -> None:
    """Every run is complete and in its own order, and nothing is lost between threads and loop."""
    tokens = 500
    words = [f"{n} " for n in range(tokens)]

    def blocking(state: Any) -> Any:
        saying(*words).invoke("x")
        return {"done": [1]}

    builder = StateGraph(Numbers)
    for n in range(8):
        builder.add_node(f"n{n}", blocking)
        builder.add_edge(START, f"n{n}")
    said: dict[str, list[str]] = {}
    ends: Counter[str] = Counter()
    with nothing_left():
        async for event in start(builder.compile(), NUMBER):
            if event["event"] == "on_chat_model_start":
                said[event["run_id"]] = []
            elif event["event"] == "on_chat_model_stream":
                said[event["run_id"]].append(event["data"]["chunk"].content)
            elif event["event"] == "on_chat_model_end":
                assert event["data"]["output"].content == "".join(said[event["run_id"]])
                ends["model"] += 1
            elif event["event"] == "on_chain_end":
                ends[event["name"]] += 1
    assert [text[:-1] for text in said.values()] == 8 * [words]
    assert ends == {"model": 8, "LangGraph": 1, **{f"n{n}": 1 for n in range(8)}}


async def test_a_channel_filled_by_many_threads_loses_nothing() -> None:
    channel: Channel[tuple[int, int]] = Channel()
    channel.open()
    writers, each = 6, 2000

    def fill(writer: int) -> None:
        for n in range(each):
            channel.put((writer, n))
            if n % 50 == 0:
                time.sleep(0)

    async def drain() -> list[tuple[int, int]]:
        got = []
        while await channel.more():
            while channel.items:
                got.append(channel.items.popleft())
        return got

    reader = asyncio.create_task(drain())
    await asyncio.gather(*(asyncio.to_thread(fill, writer) for writer in range(writers)))
    channel.close()
    got = await reader
    for writer in range(writers):
        assert [n for w, n in got if w == writer] == list(range(each))
    channel.put((0, 0))
    assert not channel.items
    assert not await channel.more()


async def test_a_reader_that_waits_gets_the_event_at_once() -> None:
    """Not only when the node is done: its thread wakes the reader."""
    spoken, heard = threading.Event(), threading.Event()

    def blocking(state: Any) -> Any:
        saying("now").invoke("x")
        spoken.set()
        assert heard.wait(5), "the token did not arrive while the node was running"
        return {"number": 2}

    async for event in start(row(blocking, state=Numbers), NUMBER):
        if event["event"] == "on_chat_model_end":
            assert await asyncio.to_thread(spoken.wait, 5)
            heard.set()


# ------------------------------------------------------------------------------------------------- readers and runs


async def test_the_graph_does_not_wait_for_its_reader() -> None:
    events = start(row(chat=talker(*"abcdefgh")))
    first = await anext(events)
    assert first["event"] == "on_chain_start"
    while asyncio.all_tasks() != {asyncio.current_task()}:
        await asyncio.sleep(0.001)
    assert len([event async for event in events]) > 15


async def test_twenty_interleaved_runs_equal_twenty_single_ones() -> None:
    names = ["chat_ainvoke", "chat_invoke", "tool_calls_in_turn", "three_levels", "dispatched"]
    single = [[seen.events for seen in await observe(SHAPES[name].build(), by_callbacks)] for name in names]
    cases = [(name, SHAPES[name].build()) for name in names for _ in range(4)]
    together = await asyncio.gather(*(observe(case, by_callbacks) for _, case in cases))
    for (name, _), runs in zip(cases, together, strict=True):
        assert [seen.events for seen in runs] == single[names.index(name)]


async def test_runs_of_one_graph_do_not_hear_each_other() -> None:
    async def chat(state: Any) -> Any:
        await saying(*state["messages"][-1].content.split(), pause=0.001).ainvoke("x")

    graph = row(chat=chat)

    async def one(n: int) -> str:
        events = start(graph, {"messages": [("user", f"{n} a{n} b{n}")]})
        chunks = [e["data"]["chunk"] async for e in events if e["event"] == "on_chat_model_stream"]
        return "".join(chunk.content for chunk in chunks)

    assert await asyncio.gather(*map(one, range(20))) == [f"{n}a{n}b{n}" for n in range(20)]
