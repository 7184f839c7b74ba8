# ruff: noqa: E501
"""Agents that are no graph: a model, a chain, a function."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableGenerator, RunnableLambda
from langgraph.pregel.remote import RemoteGraph

from tests.support.graphs import scripted
from tests.support.playing import Player
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts


async def letters(given: AsyncIterator[Any]) -> AsyncIterator[str]:
    async for _ in given:
        for letter in "abc":
            yield letter


def prompt() -> ChatPromptTemplate:
    return ChatPromptTemplate.from_messages([("system", "Be brief."), ("placeholder", "{messages}")])


def made_by_code() -> Any:
    """A function without a module."""
    names: dict[str, Any] = {"__name__": None}
    exec("def answer(given): return 'made'", names)
    return names["answer"]


AGENTS: dict[str, Any] = {
    "model": lambda: scripted(["Hello ", "there."]),
    "model that calls": lambda: scripted(tool_call_parts("look", {"at": "x"}, "call_1")),
    "chain": lambda: prompt() | scripted(["Hello ", "there."]) | StrOutputParser(),
    "chain that changes the words": lambda: scripted("Hello.") | StrOutputParser() | RunnableLambda(str.upper),
    "function": lambda: RunnableLambda(lambda given: f"You said {given['messages'][-1].content}."),
    "function with a message": lambda: RunnableLambda(lambda given: AIMessage("Hello.", id="answer")),
    "function with data": lambda: RunnableLambda(lambda given: {"words": {"a"}}),
    "function with messages": lambda: RunnableLambda(
        lambda given: {
            "messages": [
                *given["messages"],
                AIMessage("", id="asks", tool_calls=[{"id": "call_1", "name": "look", "args": {}}]),
                ToolMessage("a tree", tool_call_id="call_1", id="sees"),
                AIMessage("A tree."),
            ]
        }
    ),
    "function with a list of messages": lambda: RunnableLambda(
        lambda given: [*given["messages"], AIMessage("Hello.", id="answer")]
    ),
    "function that lists what a model said": lambda: (
        scripted(["Hel", "lo."]) | RunnableLambda(lambda said: [said, AIMessage("And more.", id="more")])
    ),
    "generator": lambda: RunnableGenerator(letters),
    "function that code made": lambda: RunnableLambda(made_by_code()),
    "failing function": lambda: RunnableLambda(lambda given: 1 / 0),
    "failing model": lambda: scripted(["Half ", RuntimeError("down")]),
}


@pytest.mark.parametrize("kind", AGENTS)
async def test_the_stream_of_an_agent_without_a_graph(play: Player, kind: str) -> None:
    played = await play(AGENTS[kind])

    expected = snapshot(
        {
            "model": ['TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there. END'],
            "model that calls": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=look parentMessageId=lc_run--#1 + "{\\"at\\"" + ": \\"x\\"}" END',
                "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
            ],
            "chain": [
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hello " + there. END',
                'RUN_FINISHED result="Hello there."',
            ],
            "chain that changes the words": [
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hello. END",
                "TEXT_MESSAGE_START messageId=run-1-output role=assistant + HELLO. END",
                "RUN_FINISHED result=HELLO.",
            ],
            "function": [
                'TEXT_MESSAGE_START messageId=run-1-output role=assistant + "You said hi." END',
                'RUN_FINISHED result="You said hi."',
            ],
            "function with a message": ["TEXT_MESSAGE_START messageId=answer role=assistant + Hello. END"],
            "function with data": ["RUN_FINISHED result=(words=[a])"],
            "generator": [
                "TEXT_MESSAGE_START messageId=run-1-output role=assistant + abc END",
                "RUN_FINISHED result=abc",
            ],
            "function that code made": [
                "TEXT_MESSAGE_START messageId=run-1-output role=assistant + made END",
                "RUN_FINISHED result=made",
            ],
            "failing function": ['RUN_ERROR message="division by zero" code=AGENT_ERROR'],
            "failing model": [
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
                "RUN_ERROR message=down code=AGENT_ERROR",
            ],
            "function with messages": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=look parentMessageId=asks + "{}" END',
                'TOOL_CALL_RESULT messageId=sees toolCallId=call_1 content="a tree" role=tool',
                'TEXT_MESSAGE_START messageId=run-1-output3 role=assistant + "A tree." END',
            ],
            "function with a list of messages": ["TEXT_MESSAGE_START messageId=answer role=assistant + Hello. END"],
            "function that lists what a model said": [
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hel + lo. END",
                'TEXT_MESSAGE_START messageId=more role=assistant + "And more." END',
            ],
        }
    )
    assert played.stream == expected[kind]


async def test_the_conversation_comes_with_every_request(play: Player) -> None:
    def build() -> Runnable[Any, Any]:
        return prompt() | ScriptedChatModel(script=lambda messages: [f"{len(messages)} messages."]) | StrOutputParser()

    played = await play(build, "hi", "and?", "well?")

    assert [m["content"] for m in played.messages if m["role"] == "assistant"] == snapshot(
        ["2 messages.", "4 messages.", "6 messages."]
    )


async def test_state_of_the_request_is_given_to_functions(play: Player) -> None:
    played = await play(
        lambda: RunnableLambda(lambda given: f"in {given['city']}"),
        lambda view: {"message": [{"id": "user-1", "role": "user", "content": "hi"}], "state": {"city": "Rome"}},
    )

    assert [m["content"] for m in played.messages] == ["hi", "in Rome"]


def test_what_is_no_agent() -> None:
    with pytest.raises(TypeError, match="a compiled graph, a runnable, an agent of google-adk or a Source, not str"):
        AGUIAdapter("graph")  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [False, True])
def test_a_remote_graph_is_refused_with_the_reason(bound: bool) -> None:
    remote = RemoteGraph("agent", url="http://localhost:1")
    with pytest.raises(TypeError, match="a RemoteGraph cannot be served: its astream_events gives no events"):
        AGUIAdapter(remote.with_config({"tags": ["t"]}) if bound else remote)
