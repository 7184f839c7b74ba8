# ruff: noqa: E501
"""Nodes that call tools themselves, or write calls and results as constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from tests.support.playing import Player
from tests.support.tools import risky
from yai_nexus_agentkit.testing import ai_message, tool_call_parts, tool_calls_part


def without_a_call() -> Graph:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        found = await risky.ainvoke({"n": 0}, config)
        return {"messages": [AIMessage(f"It is {found}.")]}

    return in_a_row({"node": node})


def with_the_models_call() -> Graph:
    model = scripted(tool_call_parts("risky", {"n": 0}, "call_1"), "Fine.")

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        asked = await model.ainvoke(state["messages"], config)
        found = await risky.ainvoke({**asked.tool_calls[0], "type": "tool_call"}, config)
        said = await model.ainvoke([*state["messages"], asked, found], config)
        return {"messages": [asked, found, said]}

    return in_a_row({"node": node})


def with_the_models_arguments() -> Graph:
    model = scripted(tool_call_parts("risky", {"n": 0}, "call_1"), "Fine.")

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        asked = await model.ainvoke(state["messages"], config)
        found = ToolMessage(await risky.ainvoke(asked.tool_calls[0]["args"], config), tool_call_id="call_1")
        return {"messages": [asked, found, await model.ainvoke([*state["messages"], asked, found], config)]}

    return in_a_row({"node": node})


def with_a_call_that_no_model_made() -> Graph:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        asked = ai_message("", ("risky", {"n": 0}, "mine_1"))
        found = await risky.ainvoke({**asked.tool_calls[0], "type": "tool_call"}, config)
        return {"messages": [asked, found]}

    return in_a_row({"node": node})


def that_fails() -> Graph:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        try:
            await risky.ainvoke({"n": 1}, config)
        except ValueError:
            return {"messages": [AIMessage("It failed.")]}
        raise AssertionError

    return in_a_row({"node": node})


def constants() -> Graph:
    async def node(state: MessagesState) -> dict[str, Any]:
        asked = ai_message("Checking.", ("lookup", {"q": 1}, "mine_1"))
        return {"messages": [asked, ToolMessage("found", tool_call_id="mine_1"), AIMessage("Found it.")]}

    return in_a_row({"node": node})


@pytest.mark.parametrize(
    "build",
    [
        without_a_call,
        with_the_models_call,
        with_the_models_arguments,
        with_a_call_that_no_model_made,
        that_fails,
        constants,
    ],
)
async def test_tools_called_by_hand(play: Player, build: Callable[[], Graph]) -> None:
    played = await play(build)

    expected = snapshot(
        {
            "without_a_call": [
                "STEP_STARTED stepName=node",
                'TOOL_CALL_START toolCallId=call-#1 toolCallName=risky parentMessageId=#1-message + "{\\"n\\":0}" END',
                "TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call-#1 content=fine role=tool",
                "STEP_FINISHED stepName=node",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=#2 content="It is fine."',
            ],
            "with_the_models_call": [
                "STEP_STARTED stepName=node",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 0}" END',
                "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=fine role=tool",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Fine. END",
                "STEP_FINISHED stepName=node",
            ],
            "with_the_models_arguments": [
                "STEP_STARTED stepName=node",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 0}" END',
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Fine. END",
                "TOOL_CALL_RESULT messageId=#3 toolCallId=call_1 content=fine role=tool",
                "STEP_FINISHED stepName=node",
            ],
            "with_a_call_that_no_model_made": [
                "STEP_STARTED stepName=node",
                'TOOL_CALL_START toolCallId=mine_1 toolCallName=risky parentMessageId=#1-message + "{\\"n\\":0}" END',
                "TOOL_CALL_RESULT messageId=tool-#1 toolCallId=mine_1 content=fine role=tool",
                "STEP_FINISHED stepName=node",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=#2 toolCalls=[(id=mine_1 type=function function=(name=risky arguments="{\\"n\\":0}"))]',
                "  tool id=tool-#1 content=fine toolCallId=mine_1",
            ],
            "that_fails": [
                "STEP_STARTED stepName=node",
                'TOOL_CALL_START toolCallId=call-#1 toolCallName=risky parentMessageId=#1-message + "{\\"n\\":1}" END',
                "TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call-#1 content=\"Error: ValueError('kaboom 42')\" role=tool metadata=(langgraph=(status=error))",
                "STEP_FINISHED stepName=node",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=#2 content="It failed."',
            ],
            "constants": [
                "STEP_STARTED stepName=node",
                "TEXT_MESSAGE_START messageId=#1 role=assistant + Checking.",
                'TOOL_CALL_START toolCallId=mine_1 toolCallName=lookup parentMessageId=#1 + "{\\"q\\":1}" END',
                "TEXT_MESSAGE_END messageId=#1",
                "TOOL_CALL_RESULT messageId=#2 toolCallId=mine_1 content=found role=tool",
                'TEXT_MESSAGE_START messageId=#3 role=assistant + "Found it." END',
                "STEP_FINISHED stepName=node",
            ],
        }
    )
    assert played.stream == expected[build.__name__]


async def test_a_hand_written_tool_node(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_calls_part(("a", {}, "call_1"), ("b", {}, "call_2")), "Done.")

        async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"], config)]}

        async def tools(state: MessagesState) -> dict[str, Any]:
            calls = state["messages"][-1].tool_calls
            return {"messages": [ToolMessage(f"ran {c['name']}", tool_call_id=c["id"]) for c in reversed(calls)]}

        return in_a_row({"agent": agent, "tools": tools, "again": agent})

    played = await play(build)

    assert played.only("TOOL_CALL_RESULT", "MESSAGES", "STATE_DELTA") == snapshot(
        [
            'TOOL_CALL_RESULT messageId=#1 toolCallId=call_2 content="ran b" role=tool',
            'TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content="ran a" role=tool',
        ]
    )


async def test_a_hand_written_tool_node_that_runs_the_tools(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_calls_part(("risky", {"n": 0}, "call_1"), ("risky", {"n": 2}, "call_2")), "Done.")

        async def tools(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            results = []
            for call in state["messages"][-1].tool_calls:
                found = await risky.ainvoke(call["args"], config)
                results.append(ToolMessage(found, name=call["name"], tool_call_id=call["id"]))
            return {"messages": results}

        return in_a_row({"agent": chat_node(model), "tools": tools, "again": chat_node(model)})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 0}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 2}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content=fine role=tool",
            "TOOL_CALL_RESULT messageId=#3 toolCallId=call_2 content=fine role=tool",
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=again",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Done. END",
            "STEP_FINISHED stepName=again",
        ]
    )
