# ruff: noqa: E501
"""Tool calls on the wire: every way in which providers and compatible servers stream them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.graph.state import CompiledStateGraph

from tests.support.graphs import Graph, chat, in_a_row, scripted, tool_loop, turns
from tests.support.playing import Player
from yai_nexus_agentkit.testing import (
    ai_message,
    interleave,
    text_part,
    tool_call_part,
    tool_call_parts,
    tool_calls_part,
)


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


@tool
async def ping() -> str:
    """Is anybody there?"""
    return "pong"


ROME = ("weather", {"city": "Rome"}, "call_1")
OSLO = ("weather", {"city": "Oslo"}, "call_2")


def agent(*script: Any, **fields: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    return create_agent(scripted(*script, **fields), [weather, ping], checkpointer=InMemorySaver())


def loop(*script: Any, **fields: Any) -> Graph:
    return tool_loop(scripted(*script, **fields), [weather, ping])


async def test_create_agent_one_call_after_the_other(play: Player) -> None:
    def build() -> Graph:
        return agent(["Let me ", "look. ", *tool_call_parts(*ROME)], tool_call_parts(*OSLO), ["Sun in ", "both."])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=model",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Let me " + "look. "',
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=model",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=model",
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#3 + "{\\"city\\":" + " \\"Oslo\\"}" END',
            "STEP_FINISHED stepName=model",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#4 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=model",
            'TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant + "Sun in " + both. END',
            "STEP_FINISHED stepName=model",
        ]
    )


async def test_create_agent_parallel_calls(play: Player) -> None:
    def build() -> Graph:
        return agent([*tool_call_parts(*ROME), *tool_call_parts(*OSLO, index=1)], "Sun in both.", ids="all")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=model",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=scripted-0 + "{\\"city\\":" + " \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=scripted-0 + "{\\"city\\":" + " \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=model",
            "STEP_STARTED stepName=tools",
            "STEP_STARTED stepName=tools#2",
            'TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_FINISHED stepName=tools#2",
            "STEP_STARTED stepName=model",
            'TEXT_MESSAGE_START messageId=scripted-1 role=assistant + "Sun in both." END',
            "STEP_FINISHED stepName=model",
        ]
    )


async def test_create_agent_with_a_name_and_a_model_that_cannot_stream(play: Player) -> None:
    def build() -> Graph:
        model = scripted(ai_message("Looking.", ROME, OSLO), "Sun in both.", streaming=False)
        return create_agent(model, [weather], name="forecaster", checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=model",
            "TEXT_MESSAGE_START messageId=lc_run--#1-0 role=assistant + Looking.",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1-0 + "{\\"city\\":\\"Rome\\"}" END',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1-0 + "{\\"city\\":\\"Oslo\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#1-0",
            "STEP_FINISHED stepName=model",
            "STEP_STARTED stepName=tools",
            "STEP_STARTED stepName=tools#2",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_FINISHED stepName=tools#2",
            "STEP_STARTED stepName=model",
            'TEXT_MESSAGE_START messageId=lc_run--#4-0 role=assistant + "Sun in both." END',
            "STEP_FINISHED stepName=model",
        ]
    )


async def test_parallel_calls_in_one_chunk(play: Player) -> None:
    played = await play(lambda: loop(tool_calls_part(ROME, OSLO, content="Both. "), "Sun."))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Both. "',
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_parallel_calls_in_one_chunk_with_blocks_and_text_after_them(play: Player) -> None:
    blocks = [{"type": "text", "text": "Both. ", "index": 0}]
    played = await play(lambda: loop([tool_calls_part(ROME, OSLO, content=blocks), text_part("Wait."), ""], "Sun."))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Both. "',
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}"',
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=Wait.",
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_parallel_calls_interleaved_by_index(play: Player) -> None:
    def build() -> Graph:
        return loop(interleave(tool_call_parts(*ROME), tool_call_parts(*OSLO, index=1)), "Sun.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
            'TOOL_CALL_ARGS toolCallId=call_1 delta=" \\"Rome\\"}"',
            'TOOL_CALL_ARGS toolCallId=call_2 delta=" \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_indices_that_are_content_block_indices(play: Player) -> None:
    def build() -> Graph:
        return loop([text_part("Hm."), *tool_call_parts(*ROME, index=3), *tool_call_parts(*OSLO, index=7)], "Sun.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hm.",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


@pytest.mark.parametrize("ids", ["all", "empty"])
async def test_ids_repeated_or_empty_on_later_chunks(play: Player, ids: Any) -> None:
    def build() -> Graph:
        one, two = tool_call_parts(*ROME, ids=ids), tool_call_parts(*OSLO, index=1, ids=ids)
        return loop(interleave(one, two), "Sun.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
            'TOOL_CALL_ARGS toolCallId=call_1 delta=" \\"Rome\\"}"',
            'TOOL_CALL_ARGS toolCallId=call_2 delta=" \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_the_whole_name_repeated_on_every_chunk(play: Player) -> None:
    def build() -> Graph:
        return loop([tool_call_part("weather", '{"city":', "call_1"), tool_call_part("", '"Rome"}', "call_1")], "Sun.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + "\\"Rome\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_the_same_index_for_two_calls(play: Player) -> None:
    played = await play(lambda: loop([*tool_call_parts(*ROME), *tool_call_parts(*OSLO)], "Sun."))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}" END',
            "STEP_FINISHED stepName=agent",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}")) (id=call_2 type=function function=(name=weather arguments="{}"))]',
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "TOOL_CALL_RESULT messageId=#3 toolCallId=call_2 content=\"Error invoking tool 'weather' with kwargs {} with error:\\n city: Field required\\n Please fix the error and try again.\" role=tool metadata=(langgraph=(status=error))",
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}")) (id=call_2 type=function function=(name=weather arguments="{}"))]',
            '  tool id=tool-#2 content="sun in Rome" toolCallId=call_1',
            "  tool id=#3 content=\"Error invoking tool 'weather' with kwargs {} with error:\\n city: Field required\\n Please fix the error and try again.\" toolCallId=call_2 error=\"Error invoking tool 'weather' with kwargs {} with error:\\n city: Field required\\n Please fix the error and try again.\"",
            "  assistant id=lc_run--#4 content=Sun.",
        ]
    )


async def test_no_index_at_all(play: Player) -> None:
    def build() -> Graph:
        return loop([tool_calls_part(ROME), tool_calls_part(OSLO)], "Sun.")

    def unindexed() -> Graph:
        one = tool_call_part("weather", '{"city": "Rome"}', "call_1", index=None)
        two = tool_call_part("weather", '{"city": "Oslo"}', "call_2", index=None)
        return loop([one, two], "Sun.")

    indexed = await play(build)
    played = await play(unindexed)

    assert played.stream == indexed.stream
    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}" END',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_ids_that_never_come_are_minted(play: Player) -> None:
    def build() -> Graph:
        one = tool_call_parts("weather", {"city": "Rome"}, None)
        two = tool_call_parts("weather", {"city": "Oslo"}, None, index=1)
        return chat(scripted([*one, *two]))

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TOOL_CALL_START toolCallId=lc_run--#1-call-0 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=lc_run--#1-call-1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=lc_run--#1-call-0",
            "TOOL_CALL_END toolCallId=lc_run--#1-call-1",
            "STEP_FINISHED stepName=chat",
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[lc_run--#1-call-0 lc_run--#1-call-1])",
        ]
    )


async def test_an_id_that_comes_after_the_name(play: Player) -> None:
    def build() -> Graph:
        parts = [
            tool_call_part("weather", ""),
            tool_call_part(None, "", "call_1"),
            tool_call_part(None, '{"city":"Rome"}'),
        ]
        return loop(parts, "Sun.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":\\"Rome\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_call_ids_that_every_answer_numbers_anew(play: Player) -> None:
    def build() -> Graph:
        return loop(
            tool_call_parts("weather", {"city": "Rome"}, "call_0"),
            tool_call_parts("weather", {"city": "Oslo"}, "call_0"),
            "Sun.",
            tool_call_parts("weather", {"city": "Bonn"}, "call_0"),
            "Rain.",
        )

    played = await play(build, "Rome and Oslo?", "Bonn?")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=agent",
                'TOOL_CALL_START toolCallId=call_0 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
                "STEP_FINISHED stepName=agent",
                "STEP_STARTED stepName=tools",
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_0 content="sun in Rome" role=tool',
                "STEP_FINISHED stepName=tools",
                "STEP_STARTED stepName=agent",
                'TOOL_CALL_START toolCallId=call_0-lc_run--#3 toolCallName=weather parentMessageId=lc_run--#3 + "{\\"city\\":" + " \\"Oslo\\"}" END',
                "STEP_FINISHED stepName=agent",
                "STEP_STARTED stepName=tools",
                'TOOL_CALL_RESULT messageId=tool-#4 toolCallId=call_0-lc_run--#3 content="sun in Oslo" role=tool',
                "STEP_FINISHED stepName=tools",
                "STEP_STARTED stepName=agent",
                "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant + Sun. END",
                "STEP_FINISHED stepName=agent",
            ],
            [
                "STEP_STARTED stepName=agent",
                'TOOL_CALL_START toolCallId=call_0-lc_run--#6 toolCallName=weather parentMessageId=lc_run--#6 + "{\\"city\\":" + " \\"Bonn\\"}" END',
                "STEP_FINISHED stepName=agent",
                "STEP_STARTED stepName=tools",
                'TOOL_CALL_RESULT messageId=tool-#7 toolCallId=call_0-lc_run--#6 content="sun in Bonn" role=tool',
                "STEP_FINISHED stepName=tools",
                "STEP_STARTED stepName=agent",
                "TEXT_MESSAGE_START messageId=lc_run--#8 role=assistant + Rain. END",
                "STEP_FINISHED stepName=agent",
            ],
        ]
    )


@pytest.mark.parametrize("pieces", [0, 1])
async def test_a_call_without_arguments(play: Player, pieces: int) -> None:
    played = await play(lambda: loop(tool_call_parts("ping", {}, "call_1", pieces=pieces), "Yes."))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=ping parentMessageId=lc_run--#1 + "{}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=pong role=tool",
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Yes. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_a_call_without_arguments_next_to_one_with(play: Player) -> None:
    def build() -> Graph:
        empty = tool_call_parts("ping", {}, "call_1", pieces=0)
        return loop([*empty, *tool_call_parts(*OSLO, index=1)], "Yes.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "TOOL_CALL_START toolCallId=call_1 toolCallName=ping parentMessageId=lc_run--#1",
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
            'TOOL_CALL_ARGS toolCallId=call_1 delta="{}" END',
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=pong role=tool",
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Yes. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_invalid_arguments_are_passed_on_as_they_are(play: Player) -> None:
    def build() -> Graph:
        return loop(tool_call_parts("weather", '{"city": "Rome", ]', "call_1"), "Never.")

    played = await play(build, ignore=["AGUI204"])

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": " + "\\"Rome\\", ]" END',
            "STEP_FINISHED stepName=agent",
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
        ]
    )


async def test_arguments_that_are_cut_off_among_valid_ones(play: Player) -> None:
    def build() -> Graph:
        cut = tool_call_parts("weather", '{"city": "Ro', "call_2", index=1)
        return chat(scripted([*tool_call_parts(*ROME), *cut]))

    played = await play(build, ignore=["AGUI204"])

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city" + "\\": \\"Ro"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=chat",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}")) (id=call_2 type=function function=(name=weather arguments="{\\"city\\":\\"Ro\\"}"))]',
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1 call_2])",
        ]
    )


async def test_invalid_arguments_of_a_model_that_cannot_stream(play: Player) -> None:
    def build() -> Graph:
        invalid = {"name": "weather", "args": '{"city"', "id": "call_1", "error": "cut", "type": "invalid_tool_call"}
        return chat(scripted(AIMessage("", invalid_tool_calls=[invalid]), streaming=False))

    played = await play(build, ignore=["AGUI204"])

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1-0 + "{\\"city\\"" END',
            "STEP_FINISHED stepName=chat",
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
        ]
    )


async def test_arguments_that_are_no_object(play: Player) -> None:
    played = await play(lambda: chat(scripted(tool_call_parts("weather", '["Rome"]', "call_1"))))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "[\\"Ro" + "me\\"]" END',
            "STEP_FINISHED stepName=chat",
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
        ]
    )


async def test_arguments_with_text_of_every_kind(play: Player) -> None:
    city = 'São "Paulo"\n\t\\ 🌆 \u2028 </script>'
    played = await play(lambda: loop(tool_call_parts("weather", {"city": city}, "call_1", pieces=5), "Sun."))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"S\\\\u" + "00e3o \\\\\\"Paulo" + "\\\\\\"\\\\n\\\\t\\\\\\\\ \\\\ud8" + "3c\\\\udf06 \\\\u20" + "28 </script>\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in São \\"Paulo\\"\\n\\t\\\\ 🌆 \u2028 </script>" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_text_before_between_and_after_calls(play: Player) -> None:
    def build() -> Graph:
        one, two = tool_call_parts(*ROME), tool_call_parts(*OSLO, index=1)
        return loop(["First ", *one, "then ", *two, "done."], "Sun.", ids="all")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=scripted-0 role=assistant + "First "',
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=scripted-0 + "{\\"city\\":" + " \\"Rome\\"}"',
            'TEXT_MESSAGE_CONTENT messageId=scripted-0 delta="then "',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=scripted-0 + "{\\"city\\":" + " \\"Oslo\\"}"',
            "TEXT_MESSAGE_CONTENT messageId=scripted-0 delta=done.",
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "TEXT_MESSAGE_END messageId=scripted-0",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call_1 content="sun in Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_2 content="sun in Oslo" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=scripted-1 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_arguments_beside_text_in_the_same_chunk(play: Player) -> None:
    def build() -> Graph:
        parts = [
            tool_call_part("weather", '{"city": ', "call_1", content="Look"),
            tool_call_part(None, '"Rome"}', None, content="ing."),
            AIMessageChunk(content="", chunk_position="last"),
        ]
        return loop(parts, "Sun.")

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Look",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": "',
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=ing.",
            'TOOL_CALL_ARGS toolCallId=call_1 delta="\\"Rome\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_anthropics_blocks_of_a_call(play: Player) -> None:
    def block(**fields: Any) -> list[dict[str, Any]]:
        return [{"index": 1, **fields}]

    def build() -> Graph:
        use = block(type="tool_use", id="toolu_1", name="weather", input={})
        part = '{"city": "Rome"}'
        return loop(
            [
                text_part("I'll look."),
                tool_call_part("weather", "", "toolu_1", index=1, content=use),
                tool_call_part(None, "", index=1, content=block(type="input_json_delta", partial_json="")),
                tool_call_part(None, part, index=1, content=block(type="input_json_delta", partial_json=part)),
            ],
            [text_part("Sun.")],
            ids="first",
            provider="anthropic",
        )

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=scripted-0 role=assistant + "I\'ll look."',
            'TOOL_CALL_START toolCallId=toolu_1 toolCallName=weather parentMessageId=scripted-0 + "{\\"city\\": \\"Rome\\"}" END',
            "TEXT_MESSAGE_END messageId=scripted-0",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#1 toolCallId=toolu_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=scripted-1 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_a_providers_id_in_a_first_chunk_without_content(play: Player) -> None:
    def build() -> Graph:
        opening = AIMessageChunk(content=[], id="resp_1")
        return loop([opening, *tool_call_parts(*ROME)], [AIMessageChunk(content="", id="resp_2"), "Sun."])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=resp_1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=resp_2 role=assistant + Sun. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_calls_nobody_answers_are_pending(play: Player) -> None:
    played = await play(lambda: chat(scripted([*tool_call_parts(*ROME), *tool_call_parts(*OSLO, index=1)])))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=chat",
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1 call_2])",
        ]
    )


async def test_calls_of_two_models_at_once_keep_to_their_messages(play: Player) -> None:
    def build() -> Graph:
        one = scripted(["A ", *turns(100), *tool_call_parts(*ROME)])
        two = scripted([*turns(50), "B ", *turns(100), *tool_call_parts("weather", {"city": "Oslo"}, "call_1")])

        async def both(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": await asyncio.gather(*(m.ainvoke(state["messages"], config) for m in (one, two)))}

        return in_a_row({"both": both})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=both",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "A "',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "B "',
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#1",
            'TOOL_CALL_START toolCallId=call_1-lc_run--#2 toolCallName=weather parentMessageId=lc_run--#2 + "{\\"city\\":" + " \\"Oslo\\"}" END',
            "TEXT_MESSAGE_END messageId=lc_run--#2",
            "STEP_FINISHED stepName=both",
            "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1 call_1-lc_run--#2])",
        ]
    )
