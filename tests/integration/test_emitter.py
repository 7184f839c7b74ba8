"""The emitter through the adapter: which AG-UI events arrive, where in the stream, and what clients make of them."""

from __future__ import annotations

import asyncio
import math
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
from ag_ui.core import ActivitySnapshotEvent, BaseEvent, CustomEvent
from dirty_equals import IsPartialDict
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from tests.conftest import Judge
from tests.support.emitting import PLACES, Place, State, assert_all_arrived, between_tokens, graph_of
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks, RunContext
from yai_nexus_agentkit.adapter.run_context import Attempt
from yai_nexus_agentkit.testing import (
    Run,
    ScriptedChatModel,
    WireEvent,
    assert_conformant,
    collect,
    record,
    run_input,
    tool_call_parts,
)

Source = Literal["events", "callbacks"]

UI = EventEmitter()

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])


def adapter(graph: Runnable[Any, Any], source: Source = "events", **options: Any) -> AGUIAdapter:
    return AGUIAdapter(graph, options=AdapterOptions(source=source, **options))


def of(events: Iterable[WireEvent], *types: str) -> list[WireEvent]:
    return [event for event in events if event["type"] in types]


def names(events: Iterable[WireEvent]) -> list[str]:
    return [event["name"] for event in of(events, "CUSTOM")]


def brief(events: Iterable[WireEvent]) -> list[str]:
    """Steps, text and custom events in their order, one word each."""
    words = {
        "STEP_STARTED": lambda event: f"<{event['stepName']}",
        "STEP_FINISHED": lambda event: f"{event['stepName']}>",
        "TEXT_MESSAGE_CONTENT": lambda event: event["delta"],
        "CUSTOM": lambda event: event["name"],
    }
    return [words[event["type"]](event) for event in events if event["type"] in words]


class IsSame:
    """Equal to the first text it is compared with, and from then on to that text only."""

    value: str | None = None

    def __eq__(self, other: object) -> bool:
        if self.value is None and isinstance(other, str):
            self.value = other
        return self.value == other


# -- custom events -----------------------------------------------------------------------------------------------------


@both_sources
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
async def test_every_place_reaches_the_client_once(place: Place, source: Source) -> None:
    events = await collect(adapter(place.graph(), source), run_input([], state={"number": 1}))
    assert_conformant(events)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert_all_arrived(place, names(events))


@both_sources
async def test_a_chart(source: Source, judge: Judge) -> None:
    def charting_node(state: State, config: RunnableConfig) -> State:
        EventEmitter(config).emit("display_chart", {"type": "line", "data": [1, 5, 3]})
        return {"number": 2}

    run = await record(adapter(graph_of(work=charting_node), source), "draw")
    judge([run])
    [chart] = of(run["events"], "CUSTOM")
    assert (chart["name"], chart["value"]) == ("display_chart", {"type": "line", "data": [1, 5, 3]})
    assert chart["metadata"]["langgraph"]["node"] == "work"
    assert brief(run["events"]) == ["<work", "display_chart", "work>"]


@both_sources
async def test_the_whole_stream_of_a_node_that_emits_everything(source: Source, judge: Judge) -> None:
    model = ScriptedChatModel(script=[["Here ", "it is."]])

    async def node(state: State) -> State:
        UI.progress("load", 0.5)
        chunks = []
        async for chunk in model.astream(state["messages"]):
            chunks.append(chunk)
            if chunk.content == "Here ":
                UI.emit("display_chart", {"type": "line", "data": [1, 5, 3]})
        UI.state({"number": 2})
        UI.activity("plan-1", "plan", {"steps": []})
        UI.activity_patch("plan-1", [{"op": "add", "path": "/steps/-", "value": "book"}])
        return {"number": 3, "messages": [sum(chunks[1:], chunks[0])]}

    request = run_input("hi", thread_id="t", run_id="r", state={"number": 1})
    run = await record(adapter(graph_of(work=node), source), request)
    origin = {"langgraph": {"node": "work", "path": "work"}}
    bar, text = IsSame(), IsSame()
    assert run["events"] == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "STATE_SNAPSHOT", "snapshot": {"number": 1, "done": []}},
        {"type": "STEP_STARTED", "stepName": "work", "metadata": IsPartialDict(langgraph=IsPartialDict(node="work"))},
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": bar,
            "activityType": "progress",
            "content": {"name": "load", "fraction": 0.5, "message": None},
            "metadata": origin,
        },
        {"type": "TEXT_MESSAGE_START", "messageId": text, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": text, "delta": "Here "},
        {
            "type": "CUSTOM",
            "name": "display_chart",
            "value": {"type": "line", "data": [1, 5, 3]},
            "metadata": origin,
        },
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": text, "delta": "it is."},
        {"type": "TEXT_MESSAGE_END", "messageId": text},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/number", "value": 2}]},
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "plan-1",
            "activityType": "plan",
            "content": {"steps": []},
            "metadata": origin,
        },
        {
            "type": "ACTIVITY_DELTA",
            "messageId": "plan-1",
            "activityType": "plan",
            "patch": [{"op": "add", "path": "/steps/-", "value": "book"}],
        },
        {"type": "STEP_FINISHED", "stepName": "work"},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/number", "value": 3}]},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    assert judge([run]).state == {"number": 3, "done": []}


@both_sources
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("synchronous", [True, False])
async def test_events_stand_exactly_between_the_tokens(source: Source, depth: int, synchronous: bool) -> None:
    graph = between_tokens(["a", "b", "c"], synchronous=synchronous)
    for _ in range(depth):
        graph = graph_of(graph)
    sent = brief(await collect(adapter(graph, source), "hi"))
    inner = [word for word in sent if not word.startswith("<") and not word.endswith(">")]
    assert inner == ["0", "a", "1", "b", "2", "c", "3", "end"]
    assert sent == [*sent[: depth + 1], *inner, *sent[-depth - 1 :]]  # all of it inside every step


@both_sources
async def test_aemit_is_sent_before_the_node_goes_on(source: Source) -> None:
    order: list[str] = []

    async def node(state: State) -> State:
        for number in range(3):
            await UI.aemit(f"event {number}")
            order.append(f"node {number}")
        return {"number": 2}

    async for event in adapter(graph_of(node), source).run(run_input("hi")):
        if event.type == "CUSTOM":
            order.append(event.name)  # type: ignore[attr-defined]
    assert order == [f"{who} {number}" for number in range(3) for who in ("event", "node")]


class Kind(BaseModel):
    text: str


@both_sources
async def test_any_value_arrives_as_json(source: Source) -> None:
    class Opaque:
        def __repr__(self) -> str:
            return "<opaque>"

    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    payload = {
        "model": Kind(text="x"),
        "time": datetime(2025, 1, 2, tzinfo=UTC),
        "bytes": b"\xff\xfb\xef",
        "nan": math.nan,
        "set": {1},
        "tuple": (1, 2),
        "surrogate": "\ud800",
        "object": Opaque(),
        "cycle": cycle,
    }

    async def node(state: State) -> State:
        UI.emit("all", payload)
        UI.emit("raw", b"\xff\xfb\xef")
        UI.emit("file", b"\xff\xfb\xef", mime_type="image/png")
        UI.emit("nothing")
        payload["model"] = "changed"
        return {"number": 2}

    events = await collect(adapter(graph_of(node), source), "hi")
    values = {event["name"]: event.get("value") for event in of(events, "CUSTOM")}
    cut = values["all"].pop("cycle")
    assert values == {
        "all": {
            "model": {"text": "x"},
            "time": "2025-01-02T00:00:00Z",
            "bytes": "//vv",
            "nan": None,
            "set": [1],
            "tuple": [1, 2],
            "surrogate": "\ufffd",
            "object": "<opaque>",
        },
        "raw": "//vv",
        "file": {"mimeType": "image/png", "data": "//vv"},
        "nothing": None,
    }
    assert "cycle" in str(cut)
    assert b64decode(values["file"]["data"]) == b"\xff\xfb\xef"


@both_sources
async def test_a_hook_changes_no_other_event(source: Source) -> None:
    """Events of one place are alike, but share nothing; neither do an event and what the node emitted."""
    payload = {"rows": [{"n": 1}]}

    async def node(state: State) -> State:
        for _ in range(3):
            UI.emit("row", payload)
        return {"number": 1}

    def change(event: BaseEvent, run: RunContext) -> list[BaseEvent]:
        if isinstance(event, CustomEvent) and event.metadata and event.metadata["langgraph"].pop("path", None):
            event.value["rows"][0]["n"] += 1
        return [event]

    changing = adapter(graph_of(node)).replace(hooks=Hooks(on_event=change), options=AdapterOptions(source=source))
    changed = of(await collect(changing, "hi"), "CUSTOM")
    assert [(one["value"], one["metadata"]) for one in changed] == [
        ({"rows": [{"n": 2}]}, {"langgraph": {"node": "n0"}})
    ] * 3
    plain = of(await collect(adapter(graph_of(node), source), "hi"), "CUSTOM")
    place = {"langgraph": {"node": "n0", "path": "n0"}}
    assert [(one["value"], one["metadata"]) for one in plain] == [({"rows": [{"n": 1}]}, place)] * 3


@both_sources
async def test_foreign_custom_events_come_only_on_request(source: Source) -> None:
    async def node(state: State) -> State:
        await adispatch_custom_event("dispatched", {"n": 1})
        get_stream_writer()({"n": 2})
        UI.emit("ours")
        return {"number": 2}

    assert names(await collect(adapter(graph_of(node), source), "hi")) == ["ours"]
    everything = await collect(adapter(graph_of(node), source, custom_events="all"), "hi")
    assert len(of(everything, "CUSTOM")) == 3
    assert names(everything).count("ours") == 1
    assert names(everything).count("dispatched") == 1


@both_sources
async def test_where_the_callbacks_are_lost_the_event_still_arrives_once(source: Source) -> None:
    inner = graph_of(lambda state: UI.emit("inner") or {"number": 3})

    async def node(state: State) -> State:
        await inner.ainvoke({"number": 1}, {"callbacks": []})
        UI.emit("outer")
        return {"number": 2}

    events = await collect(adapter(graph_of(node), source), "hi")
    assert sorted(names(events)) == ["inner", "outer"]


@both_sources
async def test_wrong_arguments_leave_the_run_alone(source: Source) -> None:
    emitter: Any = UI

    async def node(state: State) -> State:
        emitter.emit("")
        emitter.state_patch("no list")
        emitter.activity("a", "t", 1)
        emitter.activity_patch("unknown", [{"op": "remove", "path": "/x"}])
        emitter.state_patch([{"op": "remove", "path": "/not/there"}])
        emitter.emit("fine")
        return {"number": 2}

    events = await collect(adapter(graph_of(node), source), "hi")
    assert_conformant(events)
    assert names(events) == ["fine"]
    assert of(events, "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "RUN_ERROR") == []


@both_sources
async def test_an_event_from_a_subagent_carries_its_run(source: Source, judge: Judge) -> None:
    async def research(state: State) -> State:
        UI.emit("found", {"pages": 3})
        UI.progress("reading", 0.5)
        return {"number": 2}

    subagent = graph_of(research=research)

    @tool
    async def ask_researcher(question: str) -> str:
        """Ask a subagent."""
        UI.emit("asking")
        await subagent.ainvoke({"number": 1})
        return "three pages"

    model = ScriptedChatModel(script=[tool_call_parts("ask_researcher", {"question": "?"}, "call_1")])

    async def agent(state: State) -> State:
        return {"messages": [await model.ainvoke(state["messages"])]}

    run = await record(adapter(graph_of(agent=agent, tools=ToolNode([ask_researcher])), source), "hi")
    judge([run])
    [started] = of(run["events"], "SUBAGENT_STARTED")
    asking, found = of(run["events"], "CUSTOM")
    [reading] = of(run["events"], "ACTIVITY_SNAPSHOT")
    assert (asking["name"], asking.get("subagentRunId")) == ("asking", None)
    assert (found["name"], found["subagentRunId"]) == ("found", started["subagentRunId"])
    assert reading["subagentRunId"] == started["subagentRunId"]
    assert found["metadata"]["langgraph"]["node"] == "research"


# -- activities --------------------------------------------------------------------------------------------------------


@both_sources
async def test_progress_is_one_bar_that_fills(source: Source, judge: Judge) -> None:
    def first(state: State) -> State:
        UI.progress("import", 0)
        UI.progress("import", 0.5, "half")
        return {"number": 2}

    async def second(state: State) -> State:
        EventEmitter().progress("import", 1)
        return {"number": 3}

    one = adapter(graph_of(first, second), source)
    runs: list[Run] = [await record(one, run_input("hi", thread_id="t")) for _ in range(2)]
    for run in runs:
        bar = of(run["events"], "ACTIVITY_SNAPSHOT")
        assert len({event["messageId"] for event in bar}) == 1
        assert [event["content"]["fraction"] for event in bar] == [0, 0.5, 1]
        assert {event["activityType"] for event in bar} == {"progress"}
        shown = [message for message in judge([run]).messages if message["role"] == "activity"]
        assert [message["content"] for message in shown] == [{"name": "import", "fraction": 1, "message": None}]
    assert len({event["messageId"] for run in runs for event in of(run["events"], "ACTIVITY_SNAPSHOT")}) == 2


@both_sources
async def test_another_worker_moves_the_same_bar(source: Source) -> None:
    def load(state: State) -> State:
        UI.progress("import", 0.5)
        return {"number": 2}

    one = adapter(graph_of(load), source)

    async def bar(attempt: Attempt) -> Any:
        request = run_input("hi", thread_id="t", run_id="r")
        events = [event async for event in one.stream(request, lambda event: event, attempt=attempt)]
        return next(event.message_id for event in events if isinstance(event, ActivitySnapshotEvent))

    first = await bar(Attempt("key"))
    assert await bar(Attempt("key", 2)) == first
    assert await bar(Attempt("other")) != first


@both_sources
async def test_an_activity_is_patched_by_any_node_of_the_run(source: Source, judge: Judge) -> None:
    def first(state: State) -> State:
        UI.activity("plan-1", "plan", {"steps": ["look"]})
        return {"number": 2}

    async def second(state: State) -> State:
        UI.activity_patch("plan-1", [{"op": "add", "path": "/steps/-", "value": "book"}])
        UI.activity_patch("plan-1", [])
        return {"number": 3}

    run = await record(adapter(graph_of(first, graph_of(second)), source), "hi")
    [delta] = of(run["events"], "ACTIVITY_DELTA")
    assert delta["activityType"] == "plan"
    shown = [message for message in judge([run]).messages if message["role"] == "activity"]
    assert [(message["id"], message["activityType"], message["content"]) for message in shown] == [
        ("plan-1", "plan", {"steps": ["look", "book"]})
    ]


# -- state -------------------------------------------------------------------------------------------------------------


class Document(State, total=False):
    text: str
    rows: list[int]


def document_graph(node: Any) -> Runnable[Any, Any]:
    return StateGraph(Document).add_node("write", node).add_edge(START, "write").compile()


@both_sources
async def test_state_is_shown_before_the_node_returns_and_corrected_by_what_it_returns(
    source: Source, judge: Judge
) -> None:
    async def node(state: Document) -> Document:
        UI.state({"text": "Once"})
        UI.state({"text": "Once upon"})
        UI.state_patch([{"op": "add", "path": "/rows", "value": [1]}])
        UI.state_patch([{"op": "add", "path": "/rows/-", "value": 2}])
        UI.emit("shown")
        return {"text": "Once upon a time"}  # says nothing about rows

    run = await record(adapter(document_graph(node), source), run_input("hi", state={"text": ""}))
    events = run["events"]
    shown = next(index for index, event in enumerate(events) if event["type"] == "CUSTOM")
    assert len(of(events[:shown], "STATE_DELTA")) == 4
    assert of(events[shown:], "STATE_DELTA") != []
    state = judge([run]).state
    assert state["text"] == "Once upon a time"
    assert "rows" not in state


@both_sources
async def test_what_a_failing_node_showed_is_taken_back(source: Source, judge: Judge) -> None:
    async def node(state: Document) -> Document:
        UI.state({"text": "wrong"})
        raise RuntimeError("no")

    run = await record(adapter(document_graph(node), source), run_input("hi", state={"text": "right"}))
    assert run["events"][-1]["type"] == "RUN_ERROR"
    assert len(of(run["events"], "STATE_DELTA")) >= 1
    assert judge([run]).state["text"] == "right"


# -- many --------------------------------------------------------------------------------------------------------------


@both_sources
async def test_fifty_nodes_on_eight_threads_lose_and_double_nothing(source: Source) -> None:
    nodes, each = 50, 200

    def worker(lane: int) -> Any:
        def node(state: State, config: RunnableConfig) -> State:
            emitter = EventEmitter(config) if lane % 2 else UI
            for number in range(each):
                emitter.emit("tick", [lane, number])
            return {"done": [lane]}

        return node

    builder = StateGraph(State)
    for lane in range(nodes):
        builder.add_node(f"n{lane}", worker(lane))
        builder.add_edge(START, f"n{lane}")
    with ThreadPoolExecutor(8) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        events = await collect(adapter(builder.compile(), source), "hi")
    ticks = of(events, "CUSTOM")
    assert len(ticks) == nodes * each
    lanes = defaultdict(list)
    for tick in ticks:
        lane, number = tick["value"]
        lanes[lane].append(number)
        assert tick["metadata"]["langgraph"]["node"] == f"n{lane}"
    assert lanes == {lane: list(range(each)) for lane in range(nodes)}


@both_sources
async def test_concurrent_runs_of_one_adapter_keep_their_events_apart(source: Source) -> None:
    async def node(state: State) -> State:
        for number in range(20):
            UI.emit("tick", [state["number"], number])
            UI.progress("bar", number / 20)
            await asyncio.sleep(0)
        return {"number": 0}

    one = adapter(graph_of(node), source)
    runs = await asyncio.gather(*(collect(one, run_input("hi", state={"number": run})) for run in range(10)))
    for index, events in enumerate(runs):
        assert [event["value"] for event in of(events, "CUSTOM")] == [[index, number] for number in range(20)]
    bars = [{event["messageId"] for event in of(events, "ACTIVITY_SNAPSHOT")} for events in runs]
    assert [len(ids) for ids in bars] == [1] * 10
    assert len(set.union(*bars)) == 10


# -- events of releases before 1.0 -------------------------------------------------------------------------------------


@both_sources
async def test_what_is_dispatched_under_the_old_name_is_translated(source: Source, judge: Judge) -> None:
    async def node(state: State, config: RunnableConfig) -> State:
        for data in ({"event_id": "e-1", "name": "display_chart", "payload": {"data": [1]}}, {"name": "bare"}):
            await adispatch_custom_event("agent_custom_event", data, config=config)
        await adispatch_custom_event("agent_custom_event", {"payload": "nameless"}, config=config)
        await adispatch_custom_event("foreign", {"name": "foreign"}, config=config)
        return {"number": 2}

    run = await record(adapter(graph_of(work=node), source), "draw")
    judge([run])
    found = [(event["name"], event["value"], event["metadata"]) for event in of(run["events"], "CUSTOM")]
    origin = {"langgraph": {"node": "work", "path": "work"}}
    assert found == [("display_chart", {"data": [1]}, origin), ("bare", None, origin)]
