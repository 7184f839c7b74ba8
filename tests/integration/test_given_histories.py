"""Histories that a client brings to a graph that has none: to a new thread, or with every run where nothing is kept.
Results may be missing, misplaced, doubled or of no call; a model is given a history that providers accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint

from tests.conftest import Judge
from tests.support.graphs import chat, scripted
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, record, run_input


def functional(model: ScriptedChatModel, **fields: Any) -> Any:
    @entrypoint(**fields)
    async def agent(messages: list[BaseMessage]) -> BaseMessage:
        return await model.ainvoke(messages)

    return agent


GRAPHS: dict[str, Callable[[ScriptedChatModel], Any]] = {
    "new thread": lambda model: chat(model, checkpointer=InMemorySaver()),
    "no thread": chat,
    "functional": lambda model: functional(model, checkpointer=InMemorySaver()),
    "functional without thread": functional,
}


def history(text: str) -> list[dict[str, Any]]:
    """``"user ai:a,b tool:a"`` as messages: an assistant message with the calls a and b, a result of a."""
    found: list[dict[str, Any]] = []
    for number, word in enumerate(text.split()):
        role, _, calls = word.partition(":")
        message = {"id": f"m{number}", "role": {"ai": "assistant"}.get(role, role), "content": "Well."}
        if role == "tool":
            message["toolCallId"] = calls
        elif calls:
            names = calls.split(",")
            function = {"name": "pick", "arguments": "{}"}
            message["toolCalls"] = [{"id": name, "type": "function", "function": function} for name in names]
        found.append(message)
    return found


HISTORIES = {
    # what the client brings, and what the model is given
    "a result of no call": ("user tool:x user", "user user"),
    "a call without result": ("user ai:a user", "user ai tool:a user"),
    "one of two calls": ("user ai:a,b tool:b user", "user ai tool:b tool:a user"),
    "a call further back": ("user ai:a user ai user", "user ai tool:a user ai user"),
    "two results": ("user ai:a tool:a tool:a user", "user ai tool:a user"),
    "a late result": ("user ai:a user tool:a user", "user ai tool:a user user"),
    "an early result": ("user tool:a ai:a user", "user ai tool:a user"),
    "an open call of the turn": ("user ai:a,b tool:a", "user ai tool:a"),
    "a whole history": ("user ai:a tool:a ai user", "user ai tool:a ai user"),
}


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize(("brought", "given"), HISTORIES.values(), ids=HISTORIES.keys())
async def test_a_model_is_given_a_history_that_providers_accept(
    judge: Judge, source: Any, build: Any, brought: str, given: str
) -> None:
    model = scripted(["Yes."])
    adapter = AGUIAdapter(build(model), options=AdapterOptions(source=source))

    view = judge([await record(adapter, run_input(history(brought)))]).runs[-1]

    [asked] = model.calls
    names = {"human": "user", "tool": "tool"}
    called = [f"tool:{m.tool_call_id}" if m.type == "tool" else names.get(m.type, m.type) for m in asked]
    assert " ".join(called) == given
    assert view["messages"][-1]["content"] == "Yes."
    if build is GRAPHS["new thread"]:
        shown = [m.get("toolCallId") for m in view["messages"][:-1]]
        assert shown == [getattr(m, "tool_call_id", None) for m in asked]


@pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS.keys())
async def test_a_call_whose_arguments_were_cut_off_is_one_that_providers_accept(judge: Judge, build: Any) -> None:
    """The stream of an earlier run broke in the middle of the call."""
    model = scripted(["Yes."])
    brought = history("user ai:a user")
    brought[1]["toolCalls"][0]["function"]["arguments"] = '{"n": 1, "te'

    judge([await record(AGUIAdapter(build(model)), run_input(brought))])

    [[_, asked, result, _]] = model.calls
    assert [(one["id"], one["args"]) for one in asked.tool_calls] == [("a", {})]
    assert asked.invalid_tool_calls == []
    assert (result.tool_call_id, result.status) == ("a", "error")


@pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS.keys())
async def test_nothing_runs_for_a_result_of_no_call(judge: Judge, build: Any) -> None:
    model = scripted(["Yes."])

    run = await record(AGUIAdapter(build(model)), run_input(history("user tool:x")))

    judge([run])
    assert run["events"][-1]["code"] == "NO_TOOL_RESULTS"
    assert model.calls == []


@pytest.mark.parametrize("build", GRAPHS.values(), ids=GRAPHS.keys())
async def test_nothing_runs_for_a_second_result_of_a_call_that_was_dealt_with(judge: Judge, build: Any) -> None:
    model = scripted(["Yes."])

    run = await record(AGUIAdapter(build(model)), run_input(history("user ai:a tool:a ai tool:a")))

    judge([run])
    assert run["events"][-1]["type"] == "RUN_FINISHED"
    assert model.calls == []
