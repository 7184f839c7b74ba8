"""Values that clients see before the graph has them and that never come true; events of the application that
cannot be sent or must be traced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy
from typing_extensions import TypedDict

from tests.support.graphs import Graph, chat_node, in_a_row, let_others_run, scripted
from tests.support.playing import Played, Player
from yai_nexus_agentkit import AdapterOptions, EventEmitter
from yai_nexus_agentkit.testing import tool_call_parts

TEXT = "It was a dark and stormy night; the rain fell in torrents."
WRITE = tool_call_parts("write", {"document": TEXT}, "call_1", pieces=4)
PREDICTED = AdapterOptions(predict_state={"document": ("write", "document")})
UI = EventEmitter()


class Doc(MessagesState):
    document: str
    number: int


@tool
def write(document: str) -> str:
    """Write."""
    return "written"


# ---------------------------------------------------------------------- predicted values that never come true


def counted(state: Any) -> dict[str, Any]:
    return {"number": 1}


def with_more_steps(agent: Any, state: Any = Doc) -> Graph:
    """agent → (tools) → count, the agent tried again when its model fails."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    again = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ConnectionError)
    builder.add_node("agent", agent, retry_policy=again)
    builder.add_node("tools", ToolNode([write]))
    builder.add_node("count", counted)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges(
        "agent",
        lambda values: "tools" if getattr(values.get("messages", [None])[-1], "tool_calls", ()) else "count",
        ["tools", "count"],
    )
    builder.add_edge("tools", "count")
    builder.add_edge("count", END)
    return builder.compile(checkpointer=InMemorySaver())


def failed() -> Graph:
    return with_more_steps(chat_node(scripted([*WRITE, ConnectionError("gone")], "Nothing to write.")))


def fallen_back() -> Graph:
    model = scripted([*WRITE, ConnectionError("gone")]).with_fallbacks([scripted("Nothing to write.")])
    return with_more_steps(chat_node(model))


def thrown_away() -> Graph:
    model = scripted(WRITE)

    async def agent(state: Doc) -> dict[str, Any]:
        await model.ainvoke(state["messages"])
        return {"messages": [AIMessage("Nothing to write.")]}

    return with_more_steps(agent)


def without_a_conversation() -> Graph:
    class Bare(TypedDict, total=False):
        document: str
        number: int

    model = scripted([*WRITE, ConnectionError("gone")], "Nothing to write.")

    async def agent(state: Bare) -> dict[str, Any]:
        await model.ainvoke("Write.")
        return {"number": 0}

    return with_more_steps(agent, Bare)


def tried_again() -> Graph:
    """The second attempt calls under the same id; its value is good until the result."""
    return with_more_steps(chat_node(scripted([*WRITE, ConnectionError("gone")], WRITE)))


def rebuilt() -> Graph:
    """The node stores a message of its own with the model's call."""
    model = scripted(WRITE)

    async def agent(state: Doc) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage("Let me write.", tool_calls=answer.tool_calls)]}

    return with_more_steps(agent)


@pytest.mark.parametrize(
    ("build", "last"),
    [
        (failed, "agent"),
        (fallen_back, "agent"),
        (thrown_away, "agent"),
        (without_a_conversation, "agent"),
        (tried_again, "tools"),
        (rebuilt, "tools"),
    ],
)
async def test_a_predicted_value_lasts_as_long_as_its_call(play: Player, build: Callable[[], Graph], last: str) -> None:
    """It is taken back when the step is over in which nothing came of it."""
    played = await play(build, options=PREDICTED, ignore=["AGUI204"])

    shown = [step for step, delta in deltas(played) if delta["op"] != "remove" and delta["path"] == "/document"]
    removed = [step for step, delta in deltas(played) if delta == {"op": "remove", "path": "/document"}]
    assert shown
    assert removed == [last]
    assert played.state == {"number": 1}


def deltas(played: Played) -> list[tuple[str, dict[str, Any]]]:
    """Each operation, with the newest step before it."""
    found: list[tuple[str, dict[str, Any]]] = []
    step = ""
    for event in played.events:
        step = event.get("stepName", step)
        found += [(step, operation) for operation in event.get("delta", ()) if event["type"] == "STATE_DELTA"]
    return found


# ---------------------------------------------------------------------- activities


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "replace", "path": "/nowhere/x", "value": 1}],
        [{"op": "test", "path": "/value", "value": 5}, {"op": "replace", "path": "/value", "value": 6}],
        [{"op": "replace", "path": "/value", "value": 6}, {"op": "remove", "path": "/rows/9"}],
        [{"op": "add", "path": "/__proto__/x", "value": 1}],
        [{"op": "replace", "path": "", "value": [1]}],
        [{"op": "grow", "path": "/value"}],
    ],
)
async def test_an_activity_patch_that_does_not_apply_is_left_out_as_a_whole(
    play: Player, patch: list[dict[str, Any]]
) -> None:
    """Clients would skip it with a warning; those that come after still fit."""

    def node(state: Doc) -> dict[str, Any]:
        UI.activity("chart", "chart", {"value": 1, "rows": []})
        UI.activity_patch("chart", [{"op": "add", "path": "/rows/-", "value": "a"}])
        UI.activity_patch("chart", patch)
        UI.activity_patch("chart", [{"op": "add", "path": "/rows/-", "value": "b"}])
        return {"messages": [AIMessage("Done.")]}

    played = await play(lambda: in_a_row({"node": node}, Doc), in_step=False)

    [chart] = [m for m in played.messages if m["role"] == "activity"]
    assert chart["content"] == {"value": 1, "rows": ["a", "b"]}
    assert len([e for e in played.events if e["type"] == "ACTIVITY_DELTA"]) == 2
    assert played.events[-1]["type"] == "RUN_FINISHED"


# ---------------------------------------------------------------------- where it came from


def writes(name: str) -> Any:
    async def node(state: Any) -> None:
        await let_others_run(5)
        get_stream_writer()(name)
        await asyncio.sleep(0)

    return node


async def test_what_the_roots_stream_writer_wrote_is_attributed(play: Player) -> None:
    """A chunk of the root does not say which node wrote it. One node at a time is no question; of several none is
    named."""

    def build() -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        names = "first", "left", "right", "last"
        for name in names:
            builder.add_node(name, writes(name))
        builder.add_edge(START, "first")
        builder.add_edge("first", "left")
        builder.add_edge("first", "right")
        builder.add_edge(["left", "right"], "last")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, options=AdapterOptions(custom_events="all"), ordered=False)

    origins = {e["value"]: e.get("metadata") for e in played.events if e["type"] == "CUSTOM"}
    assert origins == {
        "first": {"langgraph": {"node": "first", "path": "first"}},
        "left": None,
        "right": None,
        "last": {"langgraph": {"node": "last", "path": "last"}},
    }
