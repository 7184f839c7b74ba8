"""State shown before the graph has sent its own: in an edge that leaves the start, in functional graphs and in
plain runnables, which have none. The client holds the request's state; nothing may wipe it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Annotated, Any

import pytest
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.conftest import Judge
from tests.support.graphs import Graph
from tests.support.playing import Player
from tests.support.verifier import ClientRun
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks
from yai_nexus_agentkit.testing import WireEvent, record, run_input

UI = EventEmitter()
Emits = Sequence[tuple[str, Any]]
both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])


class Board(TypedDict, total=False):
    a: Any
    number: int
    rows: Annotated[list[Any], operator.add]


def emit(emits: Emits) -> None:
    for method, argument in emits:
        getattr(UI, method)(argument)


def got(events: Sequence[WireEvent]) -> list[Any]:
    """The state in the events, a snapshot's document or a delta's operations, and the nodes that began."""
    return [
        event.get("snapshot", event.get("delta", event.get("stepName")))
        for event in events
        if event["type"] in ("STATE_SNAPSHOT", "STATE_DELTA", "STEP_STARTED")
    ]


def sends(state: Any) -> Callable[[ClientRun], dict[str, Any]]:
    return lambda view: {"message": [], "state": state}


def answers(view: ClientRun) -> dict[str, Any]:
    [asked] = view["interrupts"]
    return {"resume": [{"interruptId": asked["id"], "status": "resolved", "payload": "yes"}]}


# -- edges that leave the start ----------------------------------------------------------------------------------------


class Talk(Board):
    messages: Annotated[list[Any], add_messages]


def routed(emits: Emits, fail: bool = False, state: type = Board) -> Callable[[], Graph]:
    def build() -> Graph:
        def route(state: Board) -> str:
            emit(emits)
            if fail:
                raise RuntimeError("no way")
            return "work"

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
        builder.add_node("work", lambda state: {"rows": ["done"]})
        builder.add_conditional_edges(START, route, ["work"])
        return builder.compile(checkpointer=InMemorySaver())

    return build


START_EDGES: dict[str, tuple[Emits, list[Any]]] = {
    # what is emitted, and what is sent: upon the request's state, in the snapshot, and at the end of the first step
    "values": (
        [("state", {"a": "soon"})],
        [
            [{"op": "add", "path": "/a", "value": "soon"}],
            {"a": "soon", "number": 1, "rows": ["x"]},
            "work",
            [{"op": "add", "path": "/rows", "value": ["x", "done"]}, {"op": "add", "path": "/a", "value": 0}],
        ],
    ),
    "a patch": (
        [("state_patch", [{"op": "add", "path": "/rows/-", "value": "soon"}])],
        [
            [{"op": "add", "path": "/rows/-", "value": "soon"}],
            {"a": 0, "number": 1, "rows": ["x", "soon"]},
            "work",
            [{"op": "add", "path": "/rows", "value": ["x", "done"]}],
        ],
    ),
    "a key that the client lacks, and one that it loses": (
        [("state_patch", [{"op": "remove", "path": "/a"}, {"op": "test", "path": "/number", "value": 1}])],
        [
            [{"op": "remove", "path": "/a"}, {"op": "test", "path": "/number", "value": 1}],
            {"a": 0, "number": 1, "rows": ["x"]},
            "work",
            [{"op": "add", "path": "/rows", "value": ["x", "done"]}],
        ],
    ),
    "a key of no client's": (
        [("state", {"unknown": 1})],
        [{"a": 0, "number": 1, "rows": ["x"]}, "work", [{"op": "add", "path": "/rows", "value": ["x", "done"]}]],
    ),
}


@pytest.mark.parametrize(("emits", "expected"), START_EDGES.values(), ids=START_EDGES.keys())
async def test_edges_that_leave_the_start(play: Player, emits: Emits, expected: list[Any]) -> None:
    played = await play(routed(emits), sends({"a": 0, "number": 1, "rows": ["x"]}), sends({"a": 0, "number": 2}))

    assert [sorted(map(str, part)) for part in got(played.runs[0]["events"])] == [
        sorted(map(str, part)) for part in expected
    ]
    assert played.state == {"a": 0, "number": 2, "rows": ["x", "done", "done"]}


@pytest.mark.parametrize("emits", [emits for emits, _ in START_EDGES.values()], ids=START_EDGES.keys())
@both_sources
async def test_an_edge_that_fails_leaves_the_client_its_state(judge: Judge, source: Any, emits: Emits) -> None:
    adapter = AGUIAdapter(routed(emits, fail=True)(), options=AdapterOptions(source=source))
    sent = {"a": 0, "number": 1, "rows": ["x"]}
    run = await record(adapter, run_input([], state=sent))

    assert judge([run]).state == sent
    assert run["events"][-1]["type"] == "RUN_ERROR"


@pytest.mark.parametrize("state", [None, [1, 2], "text", {}], ids=str)
@both_sources
async def test_an_edge_of_a_client_without_state(judge: Judge, source: Any, state: Any) -> None:
    graph = routed([("state", {"a": 1}), ("state", {"number": 2})], state=Talk)()
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))
    run = await record(adapter, run_input("hi", state=state))

    assert judge([run]).state == {"rows": ["done"]}
    first = [event["type"] for event in run["events"] if event["type"].startswith("STATE_")]
    assert first[:2] == (["STATE_DELTA", "STATE_DELTA"] if state == {} else ["STATE_SNAPSHOT", "STATE_DELTA"])


@both_sources
async def test_the_state_that_a_hook_of_the_application_put_in_is_not_the_clients(judge: Judge, source: Any) -> None:
    """`before_run` changes the request; the client's patch base stays what the client sent."""

    def before(run: Any) -> Any:
        return run.run_input.model_copy(update={"state": {"rows": ["put in"], "number": 3}})

    patch = [{"op": "add", "path": "/a/q", "value": 1}]
    adapter = AGUIAdapter(
        routed([("state_patch", patch)])(), options=AdapterOptions(source=source), hooks=Hooks(before_run=before)
    )
    run = await record(adapter, run_input([], state={"a": {}}))

    assert got(run["events"])[0] == patch
    assert judge([run]).state == {"number": 3, "rows": ["put in", "done"]}


# -- no input ----------------------------------------------------------------------------------------------------------


async def test_a_graph_without_input_begins_with_what_its_nodes_see(play: Player) -> None:
    seen: list[Any] = []

    def build() -> Graph:
        def work(state: Board) -> Board:
            seen.append(dict(state))
            emit([("state_patch", [{"op": "add", "path": "/rows/-", "value": "soon"}])])
            return {"rows": ["done"]}

        builder = StateGraph(Board).add_node(work).add_edge(START, "work")
        return builder.compile()

    played = await play(build, sends({}), sends({"number": 1}))

    assert seen[0] == {"rows": []}
    assert [got(run["events"]) for run in played.runs] == [
        [
            *({**own, "rows": []}, "work", [{"op": "add", "path": "/rows/-", "value": "soon"}]),
            [{"op": "add", "path": "/rows", "value": ["done"]}],
        ]
        for own in ({}, {"number": 1})
    ]


async def test_a_thread_without_input_begins_with_what_its_nodes_see(play: Player) -> None:
    seen: list[Any] = []

    def build() -> Graph:
        def work(state: Board) -> Board:
            seen.append(dict(state))
            return {"a": 1}

        builder = StateGraph(Board).add_node(work).add_edge(START, "work")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, sends({}), sends({}))

    assert seen[:2] == [{"rows": []}, {"a": 1, "rows": []}]
    assert [got(run["events"])[0] for run in played.runs] == seen[:2]


# -- graphs and runnables without channels -----------------------------------------------------------------------------


def functional(emits: Emits, how: str) -> Callable[[], Runnable[Any, Any]]:
    def build() -> Runnable[Any, Any]:
        @task
        async def show() -> None:
            emit(emits)

        @entrypoint(checkpointer=InMemorySaver())
        async def agent(given: dict[str, Any]) -> str:
            if how == "changes in place":
                given["plan"]["x"] = "changed"
            await show()
            if how == "asks":
                interrupt("Sure?")
            if how == "fails":
                raise RuntimeError("no")
            return "done"

        return agent

    return build


def plain(emits: Emits, how: str) -> Callable[[], Runnable[Any, Any]]:
    async def work(given: dict[str, Any]) -> str:
        if how == "changes in place":
            given["plan"]["x"] = "changed"
        emit(emits)
        if how == "fails":
            raise RuntimeError("no")
        return "done"

    return lambda: RunnableLambda(work)


OWN: Mapping[str, Any] = {"a": 1, "plan": {"x": 1}, "rows": ["r"], "1": "one"}

EMITTED: dict[str, tuple[Emits, list[Any]]] = {
    # what is emitted upon `OWN`, and what is sent of it until the corrections
    "values": (
        [("state", {"b": 2}), ("state", {"a": 2})],
        [[{"op": "add", "path": "/b", "value": 2}], [{"op": "add", "path": "/a", "value": 2}]],
    ),
    "patches": (
        [
            ("state_patch", [{"op": "replace", "path": "/a", "value": 2}]),
            ("state_patch", [{"op": "move", "from": "/rows", "path": "/list"}]),
        ],
        [[{"op": "replace", "path": "/a", "value": 2}], [{"op": "move", "from": "/rows", "path": "/list"}]],
    ),
    "a name that is no text": (
        [("state", {1: 2, 2: 3, "__proto__": 4, "": 5, "a~/b": 6})],
        [
            [
                {"op": "add", "path": "/1", "value": 2},
                {"op": "add", "path": "/2", "value": 3},
                {"op": "add", "path": "/", "value": 5},
                {"op": "add", "path": "/a~0~1b", "value": 6},
            ]
        ],
    ),
    "nothing": ([], []),
}


@pytest.mark.parametrize("how", ["ends", "asks", "fails"])
@pytest.mark.parametrize("make", [functional, plain])
@pytest.mark.parametrize(("emits", "expected"), EMITTED.values(), ids=EMITTED.keys())
async def test_without_channels_the_client_keeps_its_own_state(
    play: Player, make: Any, how: str, emits: Emits, expected: list[Any]
) -> None:
    turns = [sends(OWN), answers] if how == "asks" and make is functional else [sends(OWN)]
    played = await play(make(emits, how), *turns)

    assert [view["state"] for view in played.views] == [OWN] * len(turns)
    deltas = [event["delta"] for event in played.runs[0]["events"] if event["type"] == "STATE_DELTA"]
    assert deltas[: len(expected)] == expected
    snapshots = [event["snapshot"] for event in played.runs[0]["events"] if event["type"] == "STATE_SNAPSHOT"]
    assert all(document == OWN for document in snapshots)


@pytest.mark.parametrize("make", [functional, plain])
@both_sources
async def test_a_value_that_the_graph_changed_in_place(judge: Judge, source: Any, make: Any) -> None:
    graph = make([("state", {"plan": {"x": "changed"}})], "changes in place")()
    request = run_input([], state=deepcopy(OWN))
    run = await record(AGUIAdapter(graph, options=AdapterOptions(source=source)), request)

    run["input"]["state"] = OWN  # as it was sent
    assert got(run["events"])[-2:] == [
        [{"op": "add", "path": "/plan", "value": {"x": "changed"}}],
        [{"op": "add", "path": "/plan", "value": {"x": 1}}],
    ]
    assert judge([run]).state == OWN


@pytest.mark.parametrize("final", [True, False])
@both_sources
async def test_without_channels_and_state(judge: Judge, source: Any, final: bool) -> None:
    """A client that has no state gets one for the time of what is shown; the hook applies to it."""
    emits: Emits = [("state", {"plan": 1, "a": "SECRET"}), ("state_patch", [{"op": "add", "path": "/b", "value": 1}])]
    hooks = Hooks(on_state=lambda state, run: {key: value for key, value in state.items() if key != "a"})
    options = AdapterOptions(source=source, final_state_snapshot=final)
    run = await record(
        AGUIAdapter(functional(emits, "ends")(), options=options, hooks=hooks), run_input("hi", state=None)
    )

    assert judge([run]).state == {}
    assert got(run["events"])[2:4] == [{"plan": 1}, [{"op": "add", "path": "/b", "value": 1}]]
    assert "SECRET" not in str(run["events"])
