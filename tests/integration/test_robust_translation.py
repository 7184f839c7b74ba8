"""Native events that cannot be translated, kinds that nobody knows, events that cannot be encoded."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any

import pytest
from ag_ui.core import BaseEvent, CustomEvent, EventType
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import MessagesState

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row, scripted, tool_loop
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks
from yai_nexus_agentkit.adapter.langgraph_events import LangGraphEventType
from yai_nexus_agentkit.testing import collect, parse_sse, reasoning_part, run_input, tool_call_parts
from yai_nexus_agentkit.transport.agui_sse import MAX_FRAME

SOURCES = pytest.mark.parametrize("source", ["events", "callbacks"])


class Counted(MessagesState):
    count: int


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def working() -> Graph:
    first = [reasoning_part("Hm."), "Let me ", "add.", *tool_call_parts("add", {"a": 1, "b": 2}, "call_1")]
    loop = tool_loop(scripted(first, ["It is ", "3."]), [add]).copy({"checkpointer": None})
    return in_a_row({"loop": loop, "count": lambda state: {"count": 1}}, Counted)


BROKEN: dict[str, Any] = {
    "no data": lambda native: {**native, "data": None},
    "empty data": lambda native: {**native, "data": {}},
    "data of another kind": lambda native: {
        **native,
        "data": {"chunk": object(), "output": object(), "input": object()},
    },
    "no run id": lambda native: {key: value for key, value in native.items() if key != "run_id"},
    "unknown run": lambda native: {**native, "run_id": "nobody", "parent_ids": ["nobody's parent"]},
    "no name": lambda native: {**native, "name": None},
    "no metadata": lambda native: {**native, "metadata": None, "tags": None},
    "wrong metadata": lambda native: {**native, "metadata": {"langgraph_step": object(), "langgraph_path": 7}},
    "only a kind": lambda native: {"event": native["event"]},
    "no kind": lambda native: {"run_id": native["run_id"]},
    "nothing": lambda native: None,
}


@SOURCES
@pytest.mark.parametrize("fault", BROKEN)
async def test_broken_copies_beside_the_events(judge: Judge, source: Any, fault: str) -> None:
    """After each native event a broken copy of it. Whatever it means, the run ends well and the stream conforms."""
    breaks = BROKEN[fault]

    def doubled(native: Any, run: Any) -> Iterable[Any]:
        return (native, breaks(native))

    adapter = AGUIAdapter(working(), options=AdapterOptions(source=source), hooks=Hooks(on_native=doubled))
    events = await collect(adapter, "hi")

    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    judge([events], ignore=["AGUI204"])


@SOURCES
@pytest.mark.parametrize("kind", sorted(LangGraphEventType))
async def test_each_kind_of_event_broken_instead(judge: Judge, source: Any, kind: str) -> None:
    """Events of one kind come without their data: only what they would have shown is missing."""

    def instead(native: Any, run: Any) -> Iterable[Any]:
        return ({**native, "data": {"chunk": 3, "output": 4, "input": 5}} if native["event"] == kind else native,)

    adapter = AGUIAdapter(working(), options=AdapterOptions(source=source), hooks=Hooks(on_native=instead))
    events = await collect(adapter, "hi")

    assert events[-1]["type"] == "RUN_FINISHED"
    judge([events], ignore=["AGUI204"])


async def test_one_malformed_event_is_logged_and_skipped(judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    def broken(native: Any, run: Any) -> Iterable[Any]:
        if native["event"] == "on_tool_end":
            return ({"event": "on_chat_model_stream", "payload": "secret"}, native)
        return (native,)

    plain = await collect(AGUIAdapter(working()), run_input("hi", run_id="run"))
    events = await collect(AGUIAdapter(working(), hooks=Hooks(on_native=broken)), run_input("hi", run_id="run"))

    assert [event["type"] for event in events] == [event["type"] for event in plain]
    [logged] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "on_chat_model_stream" in logged.getMessage()
    assert "secret" not in logged.getMessage()
    judge([events])


async def test_unknown_kinds_are_logged_once(judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    """Once per kind and process, at warning; the run goes on."""

    def future(native: Any, run: Any) -> Iterable[Any]:
        return (native, {**native, "event": "on_future_start"}, {**native, "event": "on_other_future_start"})

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            events = await collect(AGUIAdapter(working(), hooks=Hooks(on_native=future)), "hi")
            judge([events])

    sent = [record.getMessage() for record in caplog.records if "unknown kind" in record.getMessage()]
    assert sorted(sent) == [
        "skipping native events of the unknown kind 'on_future_start'",
        "skipping native events of the unknown kind 'on_other_future_start'",
    ]


async def test_node_events_are_honoured_if_a_runtime_sends_them(judge: Judge) -> None:
    """`on_node_start` and `on_node_end` instead of a node's chain events."""

    def renamed(native: Any, run: Any) -> Iterable[Any]:
        is_node = any(tag.startswith("graph:step:") for tag in native["tags"])
        kind = {"on_chain_start": "on_node_start", "on_chain_end": "on_node_end"}.get(native["event"])
        return ({**native, "event": kind} if is_node and kind else native,)

    def steps(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return [(event["type"], event["stepName"]) for event in events if event["type"].startswith("STEP")]

    plain = await collect(AGUIAdapter(working()), "hi")
    events = await collect(AGUIAdapter(working(), hooks=Hooks(on_native=renamed)), "hi")

    assert steps(events) == steps(plain)
    assert [event["type"] for event in events] == [event["type"] for event in plain]
    judge([events])


# ---------------------------------------------------------------- bytes


class Unwritable:
    """A value that no encoder can write."""


def spoiling(kind: EventType, number: int = 1) -> Hooks:
    """Puts something unwritable into the n-th event of a kind, after validation."""
    seen = [0]

    def spoil(event: BaseEvent, run: Any) -> Iterable[BaseEvent]:
        if event.type == kind:
            seen[0] += 1
            if seen[0] == number:
                spoiled = CustomEvent(name="spoiled", value=Unwritable())
                return (event.model_copy(update={"metadata": {"bad": Unwritable()}}), spoiled)
        return (event,)

    return Hooks(on_event=spoil)


ENCODED = [
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TOOL_CALL_START",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "RUN_STARTED",
    "STATE_SNAPSHOT",
    "REASONING_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_RESULT",
    "STATE_DELTA",
    "STEP_FINISHED",
    "RUN_FINISHED",
]


@pytest.mark.parametrize("kind", ENCODED)
async def test_an_event_that_cannot_be_encoded_ends_the_run(judge: Judge, kind: str) -> None:
    """With ENCODING_ERROR, and after closing what is open. Nothing of the event goes out."""
    ended: list[Any] = []
    hooks = spoiling(EventType(kind))
    hooks = Hooks(on_event=hooks.on_event, after_run=lambda run: ended.append(run.outcome))

    frames = [frame async for frame in AGUIAdapter(working(), hooks=hooks).stream_sse(run_input("hi"))]

    events = parse_sse(b"".join(frames).decode())
    assert events[-1]["type"] == "RUN_ERROR"
    assert events[-1]["code"] == "ENCODING_ERROR"
    assert "Unwritable" not in str(events[:-1])
    assert ended == ["error"]
    judge([events], ignore=["AGUI204"])


async def test_a_value_that_turns_out_unwritable_in_the_graph(judge: Judge) -> None:
    """Emitted values are made JSON when they are emitted, so there is nothing to stumble over."""

    def work(state: MessagesState, config: RunnableConfig) -> None:
        EventEmitter(config).emit("chart", {"data": Unwritable(), "nan": float("nan")})

    frames = [frame async for frame in AGUIAdapter(in_a_row({"work": work})).stream_sse(run_input("hi"))]

    events = parse_sse(b"".join(frames).decode())
    [custom] = [event for event in events if event["type"] == "CUSTOM"]
    assert custom["value"]["nan"] is None
    assert re.search("Unwritable", custom["value"]["data"])
    judge([events])


async def test_a_snapshot_that_no_client_would_read(judge: Judge) -> None:
    """Frames above the clients' limit are refused by the encoder, not sent."""
    hooks = Hooks(
        on_event=lambda event, run: (
            (event, CustomEvent(name="long", value="x" * MAX_FRAME)) if event.type == "STATE_SNAPSHOT" else (event,)
        )
    )

    frames = [frame async for frame in AGUIAdapter(working(), hooks=hooks).stream_sse(run_input("hi"))]

    assert max(map(len, frames)) < MAX_FRAME
    events = parse_sse(b"".join(frames).decode())
    assert events[-1]["code"] == "TOO_LARGE"
    judge([events])
