"""Tools that a device of the user runs: the question, and each form of its answer."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.device_tools import on_device
from yai_nexus_agentkit.testing import ScriptedChatModel, assert_conformant, collect, run_input, tool_call_parts

Source = Literal["events", "callbacks"]
EACH_SOURCE = pytest.mark.parametrize("source", ["events", "callbacks"])


@on_device(needs=["geolocation", "screen"], message="Where are you?")
def locate(precise: bool) -> str:  # type: ignore[empty-body]
    """Where the user is."""


@on_device(needs="camera")
async def photograph() -> str:  # type: ignore[empty-body]
    """Takes a picture."""


def unlock(door: str) -> str:
    """Unlocks a door."""
    return f"{door} is open"


def adapter(source: Source, *calls: tuple[str, dict[str, Any]]) -> AGUIAdapter:
    """An agent that makes these calls at once, then repeats their results."""

    def script(messages: list[Any]) -> list[Any]:
        results = [str(m.content) for m in messages if isinstance(m, ToolMessage)]
        made = [tool_call_parts(name, args, f"call_{n}", index=n) for n, (name, args) in enumerate(calls)]
        return [" and ".join(results)] if results else [part for parts in made for part in parts]

    model = ScriptedChatModel(script=script)

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([locate, photograph, require_approval(unlock, needs="fingerprint")]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda s: [Send("tools", [c]) for c in s["messages"][-1].tool_calls])
    builder.add_edge("tools", "agent")
    return AGUIAdapter(builder.compile(InMemorySaver()), options=AdapterOptions(source=source))


async def asked(made: AGUIAdapter) -> list[dict[str, Any]]:
    events = await collect(made, run_input("go", thread_id="t", run_id="r1"))
    assert_conformant(events)
    found: list[dict[str, Any]] = events[-1]["outcome"]["interrupts"]
    return found


async def said(made: AGUIAdapter, *payloads: Any, status: str = "resolved") -> str:
    questions = await asked(made)
    entries = [
        {"interruptId": one["id"], "status": status, **({"payload": payload} if status == "resolved" else {})}
        for one, payload in zip(questions, payloads, strict=True)
    ]
    given = run_input("go", thread_id="t", run_id="r2").model_dump(by_alias=True) | {"messages": [], "resume": entries}
    events = await collect(made, given)
    assert_conformant(events)
    assert events[-1]["type"] == "RUN_FINISHED"
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


@EACH_SOURCE
async def test_the_question(source: Source) -> None:
    (one,) = await asked(adapter(source, ("locate", {"precise": True})))
    assert (one["reason"], one["message"], one["toolCallId"]) == ("tool_call", "Where are you?", "call_0")
    value = one["metadata"]["langgraph"]["value"]
    assert (value["type"], value["name"], value["needs"]) == ("device_tool", "locate", ["geolocation", "screen"])
    assert value["args"] == {"precise": True}


ANSWERS = [
    pytest.param({"result": "Berlin"}, "Berlin", id="a result"),
    pytest.param({"result": {"lat": 52}}, '{"lat": 52}', id="a result that is data"),
    pytest.param("Berlin", "Berlin", id="a plain answer"),
    pytest.param({"error": "no signal"}, "The user's device could not do it: no signal", id="an error"),
]


@EACH_SOURCE
@pytest.mark.parametrize(("payload", "result"), ANSWERS)
async def test_each_answer(source: Source, payload: Any, result: str) -> None:
    assert await said(adapter(source, ("locate", {"precise": True})), payload) == result


@EACH_SOURCE
async def test_a_cancelled_question(source: Source) -> None:
    shown = await said(adapter(source, ("photograph", {})), None, status="cancelled")
    assert shown == "The user's device did not do it."


@EACH_SOURCE
async def test_several_at_once(source: Source) -> None:
    made = adapter(source, ("locate", {"precise": False}), ("photograph", {}))
    assert sorted((await said(made, {"result": "a"}, {"result": "b"})).split(" and ")) == ["a", "b"]


@EACH_SOURCE
async def test_an_approval_that_needs_an_ability(source: Source) -> None:
    made = adapter(source, ("unlock", {"door": "back"}))
    (one,) = await asked(made)
    assert one["metadata"]["langgraph"]["value"]["needs"] == ["fingerprint"]
    assert await said(made, {"approved": True}) == "back is open"


def test_models_do_not_see_the_calls_id() -> None:
    assert set(locate.tool_call_schema.model_json_schema()["properties"]) == {"precise"}  # type: ignore[union-attr]
    assert (locate.name, locate.description) == ("locate", "Where the user is.")


@pytest.mark.parametrize("needs", ["", [], [""]])
def test_a_tool_needs_an_ability(needs: Any) -> None:
    with pytest.raises(ValueError, match="ability"):
        on_device(needs=needs)(unlock)
