"""Calls of one message that have one id, or an empty one, as some providers' proxies give it: each gets its own
result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from tests.conftest import Judge
from tests.support.graphs import chat, scripted, tool_loop
from tests.support.two_sources import Source, answer, hear
from tests.support.verifier import ClientRun

pytest.importorskip("langchain")

from langchain.agents import create_agent

PICK = {"name": "pick", "description": "Pick.", "parameters": {"type": "object", "properties": {}}}


@tool
async def later(n: int) -> str:
    """The first call ends last."""
    await asyncio.sleep(0.03 / n)
    return f"result of {n}"


@tool
async def confirmed(n: int) -> str:
    """Ask."""
    return f"{interrupt(f'{n}?')} of {n}"


@tool
async def sooner(n: int) -> str:
    """Another tool."""
    return f"result of {n}"


def twins(name: str, own: str, other: str = "") -> AIMessage:
    names = enumerate((name, other or name), 1)
    return AIMessage("", tool_calls=[{"name": name, "args": {"n": n}, "id": own} for n, name in names])


def given(view: ClientRun) -> dict[str, Any]:
    """The page answers both of its calls."""
    made = [call for m in view["messages"] for call in m.get("toolCalls") or []]
    found = [
        {"id": f"given-{n}", "role": "tool", "toolCallId": call["id"], "content": f"result of {n}"}
        for n, call in enumerate(made, 1)
    ]
    return {"message": [*view["messages"], *found], "tools": [PICK]}


def agent(name: str, tools: list[Any], **fields: Any) -> Callable[[str], Any]:
    return lambda own: create_agent(scripted([twins(name, own)], ["Done."]), tools, **fields)


CASES: dict[str, tuple[Callable[[str], Any], list[Any]]] = {
    "a node for each call": (agent("later", [later], checkpointer=InMemorySaver()), []),
    "without a thread": (agent("later", [later]), []),
    "one node": (lambda own: tool_loop(scripted([twins("later", own)], ["Done."]), [later]), []),
    "two tools": (
        lambda own: tool_loop(scripted([twins("later", own, "sooner")], ["Done."]), [later, sooner]),
        [],
    ),
    "questions": (agent("confirmed", [confirmed], checkpointer=InMemorySaver()), [answer("result")]),
    "the client's": (
        lambda own: chat(scripted([twins("pick", own)], ["Done."]), checkpointer=InMemorySaver()),
        [given],
    ),
}


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("own", ["c", ""], ids=["one id", "no id"])
@pytest.mark.parametrize(("build", "further"), CASES.values(), ids=CASES.keys())
async def test_each_of_two_calls_with_one_id_has_its_result(
    judge: Judge, source: Source, build: Callable[[str], Any], further: list[Any], own: str
) -> None:
    judge_now = partial(judge, clients=["1.0.0"])  # older ones know no pending calls
    heard = await hear(partial(build, own), source, judge_now, "hi", *further)

    messages = heard.views[-1]["messages"]
    made = {call["id"]: json.loads(call["function"]["arguments"])["n"] for call in messages[1]["toolCalls"]}
    found = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    assert {made[call]: text for call, text in found.items()} == {1: "result of 1", 2: "result of 2"}
    assert messages[-1]["content"] == "Done."
    assert "pendingToolCallIds" not in (heard.runs[-1]["events"][-1].get("outcome") or {})
