"""The emitter's promises: order, values, attribution, fallbacks, failures, threads."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, CallbackManager
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.graph import START, StateGraph
from langgraph.types import TimeoutPolicy

from tests.support.emitting import State, between_tokens, envelopes, events, graph_of
from yai_nexus_agentkit.orchestration.events import EVENT_NAME, EventEmitter

UI = EventEmitter()
CHUNKS: dict[str, Any] = {"stream_mode": ["updates", "values", "custom"], "subgraphs": True}


def names(items: Any) -> list[str]:
    return [envelope["name"] for envelope in envelopes(items)]


def sent(native: list[dict[str, Any]]) -> list[str]:
    """Tokens and emitted names in the order of the stream."""
    order: list[str] = []
    for event in native:
        if event["event"] == "on_chat_model_stream":
            order.append(event["data"]["chunk"].content)
        elif event["event"] == "on_custom_event":
            order.append(event["data"]["name"])
    return [item for item in order if item]


# -- order and values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, CHUNKS], ids=["bare", "with chunks"])
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("synchronous", [True, False])
async def test_events_stand_exactly_between_the_tokens(options: dict[str, Any], depth: int, synchronous: bool) -> None:
    graph = between_tokens(["a", "b", "c", "d"], synchronous=synchronous)
    for _ in range(depth):
        graph = graph_of(graph)
    native = await events(graph, **options)
    assert sent(native) == ["0", "a", "1", "b", "2", "c", "3", "d", "4", "end"]
    kinds = [event["event"] for event in native if event["metadata"].get("langgraph_node") == "n0"]
    assert kinds.index("on_custom_event") > kinds.index("on_chain_start")
    assert max(n for n, kind in enumerate(kinds) if kind == "on_custom_event") < kinds.index("on_chain_end")


async def test_a_value_arrives_as_it_was_at_the_emit() -> None:
    async def node(state: State) -> State:
        rows: list[int] = []
        for number in range(3):
            rows.append(number)
            UI.emit("rows", {"rows": rows})
            UI.state({"rows": rows})
        rows.clear()
        return {"number": 2}

    graph = graph_of(node)
    for items in (await events(graph), [chunk async for chunk in graph.astream({"number": 1}, stream_mode="custom")]):
        seen = [envelope["value"]["rows"] for envelope in envelopes(items)]
        assert seen == [[0], [0], [0, 1], [0, 1], [0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("mode", ["events", "custom", "several"])
async def test_aemit_lets_the_consumer_see_the_event_first(mode: str) -> None:
    order: list[str] = []

    async def node(state: State) -> State:
        for number in range(3):
            await UI.aemit(f"event {number}")
            order.append(f"node {number}")
        return {"number": 2}

    graph = graph_of(graph_of(node))
    stream: Any
    if mode == "events":
        stream = graph.astream_events({"number": 1}, version="v2")
    elif mode == "custom":
        stream = graph.astream({"number": 1}, stream_mode="custom", subgraphs=True)
    else:
        stream = graph.astream({"number": 1}, stream_mode=["messages", "values", "custom"], subgraphs=True)
    async for item in stream:
        order += names(item)
    assert order == ["event 0", "node 0", "event 1", "node 1", "event 2", "node 2"]


# -- attribution -------------------------------------------------------------------------------------------------------


async def test_the_enclosing_run_is_named() -> None:
    def link(value: int) -> int:
        UI.emit("in the chain")
        return value

    chain = RunnableLambda(link, name="the_chain")

    async def worker(state: State, config: RunnableConfig) -> State:
        EventEmitter(config).emit("in the node")
        await chain.ainvoke(1)
        return {"number": 2}

    native = await events(graph_of(graph_of(worker=worker)))
    starts = {event["run_id"]: event for event in native if event["event"] == "on_chain_start"}
    custom = [event for event in native if event["event"] == "on_custom_event"]
    assert [event["name"] for event in custom] == [EVENT_NAME, EVENT_NAME]
    assert [starts[event["run_id"]]["name"] for event in custom] == ["worker", "the_chain"]
    for event in custom:
        assert event["parent_ids"] == starts[event["run_id"]]["parent_ids"]
        assert event["metadata"]["langgraph_node"] == "worker"
        assert event["metadata"]["langgraph_checkpoint_ns"].startswith("n0:")


# -- which run ---------------------------------------------------------------------------------------------------------


class Bystander(BaseCallbackHandler):
    """A user's own handler."""

    def __init__(self, *, inline: bool) -> None:
        self.run_inline = inline
        self.seen: list[Any] = []

    def on_custom_event(self, name: str, data: Any, **more: Any) -> None:
        self.seen.append(data)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"callbacks": None},
        {"callbacks": []},
        {"callbacks": [Bystander(inline=False)]},
        {"callbacks": CallbackManager([])},
        {"metadata": {"mine": 1}, "configurable": {"thread_id": "1"}},
    ],
    ids=["empty", "no callbacks", "an empty list", "a handler", "a manager", "metadata"],
)
async def test_a_config_without_a_run_leaves_the_run_of_the_context(config: RunnableConfig) -> None:
    async def node(state: State) -> State:
        EventEmitter(config).emit("once")
        return {"number": 2}

    graph = graph_of(node)
    [event] = [event for event in await events(graph, **CHUNKS) if event["event"] == "on_custom_event"]
    assert event["data"]["name"] == "once"
    assert event["metadata"]["langgraph_node"] == "n0"
    assert event["parent_ids"] != []
    assert names([chunk async for chunk in graph.astream({"number": 1}, stream_mode="custom")]) == ["once"]


async def test_the_nodes_config_with_its_callbacks_changed_still_works() -> None:
    inline = Bystander(inline=True)

    async def node(state: State, config: RunnableConfig) -> State:
        handlers: list[Any] = config["callbacks"].handlers  # type: ignore[union-attr]
        EventEmitter({**config, "callbacks": None}).emit("none")
        EventEmitter({**config, "callbacks": [*handlers, *handlers]}).emit("doubled list")
        EventEmitter({**config, "callbacks": [inline]}).emit("mine only")
        return {"number": 2}

    native = await events(graph_of(node), config={"callbacks": [inline]}, **CHUNKS)
    native = [event for event in native if envelopes(event)]
    assert [(event["event"], event["data"]["name"]) for event in native] == [
        ("on_custom_event", "none"),
        ("on_custom_event", "doubled list"),
        ("on_custom_event", "mine only"),
    ]
    assert len({event["run_id"] for event in native}) == 1
    assert names(inline.seen) == ["none", "doubled list", "mine only"]


async def test_where_a_chain_lost_the_callbacks_the_stream_writer_takes_over() -> None:
    chain = RunnableLambda(lambda value: UI.emit("in the chain") or value)

    async def node(state: State) -> State:
        await chain.ainvoke(1, {"callbacks": []})  # its tokens would be lost
        return {"number": 2}

    assert names(await events(graph_of(node), **CHUNKS)) == ["in the chain"]


async def test_a_given_config_wins_over_the_context() -> None:
    outer_saw: list[str] = []
    kept: list[EventEmitter] = []

    async def inner_node(state: State) -> State:
        kept[0].emit("to the outer run")
        return {"number": 2}

    inner = graph_of(inner_node)

    async def outer_node(state: State, config: RunnableConfig) -> State:
        kept.append(EventEmitter(config))
        alone = asyncio.create_task(run_alone(), context=clean)
        outer_saw.extend(await alone)
        return {"number": 2}

    async def run_alone() -> list[str]:
        return names(await events(inner))

    clean = Context()
    assert names(await events(graph_of(outer_node))) == ["to the outer run"]
    assert outer_saw == []


async def test_a_given_config_of_an_unstreamed_run_stays_silent_inside_a_streamed_one() -> None:
    kept: list[RunnableConfig] = []

    async def keep(state: State, config: RunnableConfig) -> State:
        kept.append(config)
        return {"number": 2}

    async def node(state: State) -> State:
        EventEmitter(kept[0]).emit("to nobody")
        return {"number": 2}

    await graph_of(keep).ainvoke({"number": 1})
    assert names(await events(graph_of(node), **CHUNKS)) == []


async def test_nested_streams_get_the_event_once_each() -> None:
    inner_saw: list[str] = []

    async def deep(state: State) -> State:
        UI.emit("deep")
        return {"number": 2}

    inner = graph_of(deep)

    async def node(state: State) -> State:
        inner_saw.extend(names(await events(inner)))
        return {"number": 2}

    assert names(await events(graph_of(node), **CHUNKS)) == ["deep"]
    assert inner_saw == ["deep"]


async def test_plain_langchain_needs_no_graph() -> None:
    def link(value: int) -> int:
        UI.emit("linked", value)
        UI.progress("bar", 0.5)
        UI.progress("bar", 1)
        return value

    chain = RunnableLambda(link) | RunnableLambda(link)
    handlers: RunnableConfig = {"callbacks": [Bystander(inline=True)]}  # lives longer than a run
    ids = []
    for _ in range(2):
        native = [dict(event) async for event in chain.astream_events(1, handlers, version="v2")]
        assert names(native) == ["linked", "progress", "progress"] * 2
        ids.append({envelope["activity_id"] for envelope in envelopes(native) if envelope["name"] == "progress"})
    assert [len(of_one_run) for of_one_run in ids] == [1, 1]
    assert ids[0] != ids[1]
    assert await chain.ainvoke(1) == 1


@pytest.mark.parametrize("options", [{}, {"config": {"callbacks": []}}])
async def test_nothing_happens_outside_a_run(options: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    emitter = EventEmitter(**options)
    emitter.emit("x", iter([1]))
    await emitter.aemit("x")
    emitter.progress("x", 0.1)
    emitter.activity("a", "t", {})
    emitter.activity_patch("a", [{"op": "remove", "path": "/x"}])
    emitter.state({})
    emitter.state_patch([{"op": "remove", "path": "/x"}])
    assert caplog.records == []


# -- progress ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", ["events", "astream"])
async def test_progress_is_one_activity_per_name_and_run(driver: str) -> None:
    def deep(state: State) -> State:
        UI.progress("import", 0.6)
        EventEmitter().progress("export", 0.1)
        return {"number": 2}

    async def node(state: State, config: RunnableConfig) -> State:
        EventEmitter(config).progress("import", 0.1, "starting")
        await asyncio.to_thread(EventEmitter(config).progress, "import", 0.3)
        own = threading.Thread(target=EventEmitter(config).progress, args=("import", 0.4))
        own.start()
        own.join()
        return {"number": 2}

    graph = graph_of(node, graph_of(deep))
    runs = []
    for _ in range(2):
        if driver == "events":
            items: list[Any] = await events(graph)
        else:
            items = [chunk async for chunk in graph.astream({"number": 1}, stream_mode="custom", subgraphs=True)]
        runs.append(envelopes(items))
    for run in runs:
        assert [envelope["value"] for envelope in run] == [
            {"name": "import", "fraction": 0.1, "message": "starting"},
            {"name": "import", "fraction": 0.3, "message": None},
            {"name": "import", "fraction": 0.4, "message": None},
            {"name": "import", "fraction": 0.6, "message": None},
            {"name": "export", "fraction": 0.1, "message": None},
        ]
        assert len({envelope["activity_id"] for envelope in run[:4]}) == 1
    ids = [{envelope["activity_id"] for envelope in run} for run in runs]
    assert [len(of_one_run) for of_one_run in ids] == [2, 2]
    assert ids[0].isdisjoint(ids[1])


# -- failures ----------------------------------------------------------------------------------------------------------


async def test_wrong_arguments_are_warned_about_once_per_line_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    emitter: Any = UI

    async def node(state: State) -> State:
        for _ in range(3):
            emitter.emit("")
            emitter.progress("load", "half")
            emitter.activity("a", "t", ["no", "object"])
            emitter.activity_patch("a", [{"op": "put", "path": "/x"}])
            emitter.state(None)
            emitter.state_patch({"op": "remove", "path": "/x"})
            await emitter.aemit("file", 1, mime_type="image/png")
            EventEmitter("thread-1").emit("but this arrives")  # type: ignore[arg-type]
        return {"number": 2}

    native = await events(graph_of(node))
    assert names(native) == ["but this arrives"] * 3
    assert native[-1]["event"] == "on_chain_end"
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "EventEmitter.emit",
        "EventEmitter.progress",
        "EventEmitter.activity",
        "EventEmitter.activity_patch",
        "EventEmitter.state",
        "EventEmitter.state_patch",
        "EventEmitter.aemit",
        "EventEmitter",
    ]
    assert {(record.levelno, record.pathname) for record in caplog.records} == {(logging.WARNING, __file__)}
    lines = [record.lineno for record in caplog.records]
    assert lines == list(range(lines[0], lines[0] + 8))


class Failing(AsyncCallbackHandler, _StreamingCallbackHandler[Any]):
    """A stream's handler that no longer keeps what the emitter relies on."""

    def __init__(self, how: str) -> None:
        self.how = how

    async def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **more: Any) -> None:
        if self.how == "raises":
            raise KeyError(name)
        await asyncio.sleep(0)

    def tap_output_aiter(self, run_id: UUID, output: Any) -> Any:
        return output

    def tap_output_iter(self, run_id: UUID, output: Any) -> Any:
        return output


@pytest.mark.parametrize("how", ["raises", "suspends"])
async def test_a_handler_that_fails_is_logged_once_and_replaced_by_the_writer(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def node(state: State) -> State:
        for number in range(3):
            UI.emit(f"{how} {number}")
        return {"number": 2}

    stream = graph_of(node).astream({"number": 1}, {"callbacks": [Failing(how)]}, stream_mode="custom")
    assert names([chunk async for chunk in stream]) == [f"{how} {number}" for number in range(3)]
    assert len(caplog.records) == 1
    assert "Failing.on_custom_event failed" in caplog.text


async def test_a_failing_handler_does_not_stop_the_next_one() -> None:
    async def node(state: State) -> State:
        UI.emit("x")
        return {"number": 2}

    native = await events(graph_of(node), config={"callbacks": [Failing("raises")]}, **CHUNKS)
    assert names(native) == ["x"]


async def test_payloads_whose_own_code_fails_do_not_matter() -> None:
    class Hostile(dict[str, Any]):
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        def items(self) -> Any:
            raise RuntimeError("no items")

    async def node(state: State) -> State:
        UI.emit("hostile", {"inside": Hostile(a=1)})
        UI.emit("next")
        return {"number": 2}

    native = await events(graph_of(node))
    assert [event["data"]["name"] for event in native if event["event"] == "on_custom_event"] == ["hostile", "next"]


class Recorder(BaseCallbackHandler, _StreamingCallbackHandler[Any]):
    """A synchronous stream's handler, as a source beside ``astream`` has it."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def on_custom_event(
        self,
        name: str,
        data: Any,
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.events.append({"name": name, "data": data, "run_id": run_id, "tags": tags, "metadata": metadata, **more})

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        self.events.append({"name": "start", "run_id": run_id, "data": more.get("name")})

    def tap_output_aiter(self, run_id: UUID, output: Any) -> Any:
        return output

    def tap_output_iter(self, run_id: UUID, output: Any) -> Any:
        return output


@pytest.mark.parametrize("synchronous", [True, False])
async def test_a_synchronous_streaming_handler_takes_the_event_from_the_writer(synchronous: bool) -> None:
    async def anode(state: State) -> State:
        UI.emit("x")
        return {"number": 2}

    def node(state: State) -> State:
        UI.emit("x")
        return {"number": 2}

    recorder = Recorder()
    graph = graph_of(graph_of(node if synchronous else anode))
    config: RunnableConfig = {"callbacks": [recorder], "tags": ["mine"]}
    stream = graph.astream({"number": 1}, config, stream_mode=["custom", "updates"], subgraphs=True)
    assert names([chunk async for chunk in stream]) == []
    [event] = [event for event in recorder.events if event["name"] == EVENT_NAME]
    starts = {start["run_id"]: start["data"] for start in recorder.events if start["name"] == "start"}
    assert event["data"]["name"] == "x"
    assert starts[event["run_id"]] == "n0"
    assert "mine" in event["tags"]
    assert event["metadata"]["langgraph_checkpoint_ns"].count("|") == 1
    assert event.keys() == {"name", "data", "run_id", "tags", "metadata"}


async def test_inline_handlers_get_events_and_others_do_not() -> None:
    async def node(state: State) -> State:
        UI.emit("x")
        return {"number": 2}

    inline, other = Bystander(inline=True), Bystander(inline=False)
    assert names(await events(graph_of(node), config={"callbacks": [inline, other]})) == ["x"]
    await graph_of(node).ainvoke({"number": 1}, {"callbacks": [inline, other]})
    assert names(inline.seen) == ["x", "x"]
    assert other.seen == []


async def test_emitting_keeps_an_idle_timeout_away() -> None:
    async def node(state: State) -> State:
        for _ in range(8):
            await asyncio.sleep(0.1)
            UI.progress("load", 0.5)
        return {"number": 2}

    builder = StateGraph(State)
    builder.add_node("slow", node, timeout=TimeoutPolicy(idle_timeout=0.4))
    builder.add_edge(START, "slow")
    assert len(envelopes(await events(builder.compile()))) == 8


async def test_a_thread_that_outlives_its_stream_emits_into_the_void(caplog: pytest.LogCaptureFixture) -> None:
    finished = threading.Event()

    def node(state: State) -> State:
        for number in range(20):
            UI.emit(str(number))
            time.sleep(0.005)
        finished.set()
        return {"number": 2}

    for stream in (
        graph_of(node).astream_events({"number": 1}, version="v2"),
        graph_of(node).astream({"number": 1}, stream_mode="custom"),
    ):
        finished.clear()
        async for item in stream:
            if envelopes(item):
                break
        await stream.aclose()  # type: ignore[attr-defined]
        assert not finished.is_set()
        assert await asyncio.to_thread(finished.wait, 5)
    assert caplog.records == []


def test_a_thread_that_outlives_its_loop_emits_into_the_void() -> None:
    go_on, finished = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    async def node(state: State, config: RunnableConfig) -> State:
        emitter = EventEmitter(config)

        def late() -> None:
            try:
                go_on.wait(5)
                emitter.emit("late")
            except BaseException as error:
                errors.append(error)
            finished.set()

        threading.Thread(target=late).start()
        return {"number": 2}

    async def drain(mode: str) -> None:
        graph = graph_of(node)
        if mode == "events":
            await events(graph)
        else:
            _ = [chunk async for chunk in graph.astream({"number": 1}, stream_mode="custom")]

    for mode in ("events", "custom"):
        go_on.clear()
        finished.clear()
        asyncio.run(drain(mode))
        go_on.set()
        assert finished.wait(5)
    assert errors == []


# -- many --------------------------------------------------------------------------------------------------------------


async def test_fifty_nodes_on_eight_threads_lose_and_double_nothing() -> None:
    """Without the adapter, in LangGraph's own stream."""
    nodes, each = 50, 200
    threads: set[int] = set()

    def worker(lane: int) -> Any:
        def node(state: State, config: RunnableConfig) -> State:
            emitter = EventEmitter(config) if lane % 2 else UI
            threads.add(threading.get_ident())
            for number in range(each):
                emitter.emit("tick", [lane, number])
            return {"done": [lane]}

        return node

    builder = StateGraph(State)
    for lane in range(nodes):
        builder.add_node(f"n{lane}", worker(lane))
        builder.add_edge(START, f"n{lane}")
    graph = builder.compile()
    with ThreadPoolExecutor(8) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        items = [chunk async for chunk in graph.astream({"number": 1}, stream_mode="custom")]
    seen = envelopes(items)
    assert len(seen) == len({envelope["id"] for envelope in seen}) == nodes * each
    lanes = defaultdict(list)
    for envelope in seen:
        lanes[envelope["value"][0]].append(envelope["value"][1])
    assert lanes == {lane: list(range(each)) for lane in range(nodes)}
    assert len(threads) > 1


async def test_eight_threads_share_one_emitter_and_each_keeps_its_order() -> None:
    async def node(state: State, config: RunnableConfig) -> State:
        emitter = EventEmitter(config)

        def work(lane: int) -> None:
            for number in range(1250):
                emitter.emit("tick", [lane, number])

        with ThreadPoolExecutor(8) as pool:  # its threads have no context: the config carries the run
            await asyncio.gather(*(asyncio.wrap_future(pool.submit(work, lane)) for lane in range(8)))
        return {"number": 2}

    graph = graph_of(node)
    for items in (await events(graph), [chunk async for chunk in graph.astream({"number": 1}, stream_mode="custom")]):
        seen = envelopes(items)
        assert len(seen) == len({envelope["id"] for envelope in seen}) == 10_000
        for lane in range(8):
            assert [e["value"][1] for e in seen if e["value"][0] == lane] == list(range(1250))
