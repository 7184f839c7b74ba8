"""State that the client is shown before the graph has it: what exactly is sent, that the application's hook has the
last word on it, and that the client ends with the graph's state."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.conftest import Judge
from tests.support.graphs import Graph, in_a_row
from tests.support.playing import Player
from tests.support.verifier import ClientRun
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, Hooks
from yai_nexus_agentkit.testing import WireEvent, record, run_input

UI = EventEmitter()
both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])


class Board(TypedDict, total=False):
    a: Any
    b: Any
    number: int
    rows: Annotated[list[Any], operator.add]


def sends(state: Mapping[str, Any]) -> Callable[[ClientRun], dict[str, Any]]:
    """A request without messages, with this state."""
    return lambda view: {"message": [], "state": dict(state)}


def got(events: Sequence[WireEvent]) -> list[Any]:
    """The state in the events: a snapshot's document, a delta's operations."""
    return [event.get("snapshot", event.get("delta")) for event in events if event["type"].startswith("STATE_")]


Patch = list[dict[str, Any]]

PATCHES: dict[str, tuple[Patch, Patch | None, Patch]] = {
    # what is emitted, what is sent (None: the same), and the correction
    "add": (
        [{"op": "add", "path": "/b", "value": 1}],
        None,
        [{"op": "remove", "path": "/b"}],
    ),
    "remove": (
        [{"op": "remove", "path": "/a/q"}],
        None,
        [{"op": "add", "path": "/a", "value": {"q": 1}}],
    ),
    "move": (
        [{"op": "move", "from": "/a", "path": "/b"}],
        None,
        [{"op": "add", "path": "/a", "value": {"q": 1}}, {"op": "remove", "path": "/b"}],
    ),
    "move of a member": (
        [{"op": "move", "from": "/a/q", "path": "/b"}],
        None,
        [{"op": "add", "path": "/a", "value": {"q": 1}}, {"op": "remove", "path": "/b"}],
    ),
    "copy": (
        [{"op": "copy", "from": "/a/q", "path": "/b"}, {"op": "remove", "path": "/a"}],
        None,
        [{"op": "add", "path": "/a", "value": {"q": 1}}, {"op": "remove", "path": "/b"}],
    ),
    "root": (
        [{"op": "replace", "path": "", "value": {"number": 9, "b": [1]}}],
        [
            {"op": "add", "path": "/number", "value": 9},
            {"op": "add", "path": "/b", "value": [1]},
            {"op": "remove", "path": "/a"},
            {"op": "remove", "path": "/rows"},
        ],
        [
            {"op": "add", "path": "/a", "value": {"q": 1}},
            {"op": "add", "path": "/number", "value": 1},
            {"op": "add", "path": "/rows", "value": []},
            {"op": "remove", "path": "/b"},
        ],
    ),
    "copy of the root": (
        [{"op": "copy", "from": "", "path": "/b"}],
        [{"op": "add", "path": "/b", "value": {"a": {"q": 1}, "number": 1, "rows": []}}],
        [{"op": "remove", "path": "/b"}],
    ),
    "root in the middle": (
        [
            {"op": "test", "path": "/a/q", "value": 1},
            {"op": "add", "path": "", "value": {"number": 2}},
            {"op": "add", "path": "/a", "value": "x"},
        ],
        [
            {"op": "add", "path": "/number", "value": 2},
            {"op": "add", "path": "/a", "value": "x"},
            {"op": "remove", "path": "/rows"},
        ],
        [
            {"op": "add", "path": "/a", "value": {"q": 1}},
            {"op": "add", "path": "/number", "value": 1},
            {"op": "add", "path": "/rows", "value": []},
        ],
    ),
}


@pytest.mark.parametrize(("patch", "sent", "correction"), PATCHES.values(), ids=PATCHES.keys())
async def test_every_operation_is_corrected_at_the_end_of_the_step(
    play: Player, patch: Patch, sent: Patch | None, correction: Patch
) -> None:
    def build() -> Graph:
        def work(state: Board) -> Board:
            UI.state_patch(patch)
            return {}

        return in_a_row({"work": work, "after": lambda state: {}}, Board)

    played = await play(build, sends({"a": {"q": 1}, "number": 1}))

    assert got(played.events) == [{"a": {"q": 1}, "number": 1, "rows": []}, sent or patch, correction]


@pytest.mark.parametrize("patch", [patch for patch, *_ in PATCHES.values()], ids=PATCHES.keys())
async def test_every_operation_is_corrected_before_a_question_and_after_a_failure(play: Player, patch: Patch) -> None:
    def build() -> Graph:
        def work(state: Board) -> Board:
            UI.state_patch(patch)
            answer = interrupt("Really?")
            UI.state_patch(patch)
            if answer == "fail":
                raise RuntimeError("no")
            return {"number": 5}

        return in_a_row({"work": work}, Board)

    def answers(text: str) -> Callable[[ClientRun], dict[str, Any]]:
        return lambda view: {
            "resume": [{"interruptId": view["interrupts"][0]["id"], "status": "resolved", "payload": text}]
        }

    asked = await play(build, sends({"a": {"q": 1}, "number": 1}), answers("yes"))
    assert asked.state == {"a": {"q": 1}, "number": 5, "rows": []}
    failed = await play(build, sends({"a": {"q": 1}, "number": 1}), answers("fail"))
    assert failed.state == {"a": {"q": 1}, "number": 1, "rows": []}


HIDING: dict[str, tuple[Sequence[tuple[str, Any]], list[Patch]]] = {
    # what is emitted, and the deltas that follow; the hook hides the key "a", and of the rows those that begin with "-"
    "a hidden key": (
        [("state", {"a": "SECRET"}), ("state_patch", [{"op": "add", "path": "/a", "value": "SECRET"}])],
        [],
    ),
    "a copy of a hidden key is the application's own doing": (
        [("state_patch", [{"op": "copy", "from": "/a", "path": "/b"}])],
        [[{"op": "add", "path": "/b", "value": "open"}], [{"op": "remove", "path": "/b"}]],
    ),
    "the root": (
        [("state_patch", [{"op": "replace", "path": "", "value": {"a": "SECRET", "number": 2}}])],
        [
            [{"op": "add", "path": "/number", "value": 2}, {"op": "remove", "path": "/rows"}],
            [{"op": "add", "path": "/number", "value": 1}, {"op": "add", "path": "/rows", "value": ["x"]}],
        ],
    ),
    "paths mean the application's own state": (
        [("state_patch", [{"op": "replace", "path": "/rows/1", "value": "y"}])],
        [[{"op": "add", "path": "/rows", "value": ["y"]}], [{"op": "add", "path": "/rows", "value": ["x"]}]],
    ),
    "one emitted upon the other": (
        [
            ("state", {"rows": ["-SECRET", "-SECRET", "z"]}),
            ("state_patch", [{"op": "add", "path": "/rows/-", "value": "-SECRET"}]),
            ("state_patch", [{"op": "add", "path": "/rows/2", "value": "y"}]),
            ("state_patch", [{"op": "remove", "path": "/rows"}]),
            ("state_patch", [{"op": "add", "path": "/rows/0", "value": "does not apply"}]),
        ],
        [
            [{"op": "add", "path": "/rows", "value": ["z"]}],
            [{"op": "add", "path": "/rows", "value": ["y", "z"]}],
            [{"op": "remove", "path": "/rows"}],
            [{"op": "add", "path": "/rows", "value": ["x"]}],
        ],
    ),
}


@both_sources
@pytest.mark.parametrize(("emitted", "deltas"), HIDING.values(), ids=HIDING.keys())
async def test_the_hook_has_the_last_word_on_what_is_emitted(
    judge: Judge, source: Any, emitted: Sequence[tuple[str, Any]], deltas: list[Patch]
) -> None:
    def work(state: Board) -> Board:
        for method, argument in emitted:
            getattr(UI, method)(argument)
        return {}

    def hide(state: dict[str, Any], run: Any) -> dict[str, Any]:
        shown = {key: value for key, value in state.items() if key != "a"}
        return {**shown, "rows": [r for r in shown["rows"] if r[0] != "-"]} if "rows" in shown else shown

    graph = in_a_row({"seed": lambda state: {"a": "open", "rows": ["-SECRET", "x"]}, "work": work}, Board)
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source), hooks=Hooks(on_state=hide))
    run = await record(adapter, run_input([], state={"number": 1}))

    assert judge([run]).state == {"number": 1, "rows": ["x"]}
    assert "SECRET" not in str(run["events"])
    assert got(run["events"])[2:] == deltas


@both_sources
async def test_a_failure_after_a_hidden_patch_shows_nothing_of_it(judge: Judge, source: Any) -> None:
    def work(state: Board, config: RunnableConfig) -> Board:
        EventEmitter(config).state_patch(
            [{"op": "add", "path": "/a", "value": "SECRET"}, {"op": "add", "path": "/b", "value": 1}]
        )
        raise RuntimeError("no")

    graph = StateGraph(Board).add_node(work).add_edge(START, "work").compile(checkpointer=InMemorySaver())
    hooks = Hooks(on_state=lambda state, run: {key: value for key, value in state.items() if key != "a"})
    run = await record(
        AGUIAdapter(graph, options=AdapterOptions(source=source), hooks=hooks), run_input([], state={"number": 1})
    )

    assert "SECRET" not in str(run["events"])
    assert judge([run]).state == {"number": 1, "rows": []}
