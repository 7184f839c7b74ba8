"""Shared state: large as a whole, changed in small places."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import MessagesState

from benchmarks.cases.parts import scene, turn
from benchmarks.registry import Scene, agent_case

_NODES = 20
_MARKER = "the first of all records"


class _State(MessagesState):
    library: dict[str, Any]
    status: str
    progress: int
    notes: dict[str, str]


class _Written(TypedDict, total=False):
    library: dict[str, Any]
    status: str
    progress: int
    notes: dict[str, str]


@agent_case("a state of {size} bytes, small keys changed by 20 nodes", size=500_000, small=20_000)
def state(size: int) -> Scene:
    """Shows costs that grow with the state instead of with the change."""

    def work(number: int, seen: _State) -> _Written:
        return {"status": f"node {number}", "progress": number, "notes": {**seen["notes"], f"n{number}": "done"}}

    return _scene(size, work, _MARKER)


@agent_case("a state of {size} bytes, 20 nodes change a little inside of its large key", size=500_000, small=20_000)
def state_inside(size: int) -> Scene:
    """The large key itself must be compared at each step."""

    def work(number: int, seen: _State) -> _Written:
        return {"library": {**seen["library"], f"record{number}": {"title": f"changed by node {number}"}}}

    return _scene(size, work)


def _scene(size: int, work: Any, marker: str | None = None) -> Scene:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(_State)

    def doing(number: int) -> Any:
        async def node(seen: _State) -> _Written:
            written: _Written = work(number, seen)
            return written

        return node

    last = START
    for number in range(_NODES):
        name = f"node{number}"
        builder.add_node(name, doing(number))
        builder.add_edge(last, name)
        last = name
    graph = builder.compile(checkpointer=InMemorySaver())
    given = turn(library=_library(size), status="new", progress=0, notes={})
    return scene(graph, given, marker=marker)


def _library(size: int) -> dict[str, Any]:
    records = size // 500
    body = "lorem ipsum dolor sit amet " * 14
    made = {
        f"record{n}": {"title": f"record number {n}", "tags": ["a", "b", str(n)], "body": body, "rank": n / 7}
        for n in range(records)
    }
    made["record0"]["title"] = _MARKER
    return made
