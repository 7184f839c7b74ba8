# ruff: noqa: E501
"""Whole runs with tool calls: the graph of create_agent, calls among text, ids that are used twice."""

from __future__ import annotations

import asyncio
from typing import Any

from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.graph.state import CompiledStateGraph

from tests.support.graphs import Graph, in_a_row, scripted, tool_loop, turns
from tests.support.playing import Player
from tests.support.tools import OSLO, ROME, weather
from yai_nexus_agentkit.testing import (
    ai_message,
    text_part,
    tool_call_part,
    tool_call_parts,
)


def agent(*script: Any, **fields: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    return create_agent(scripted(*script, **fields), [weather], checkpointer=InMemorySaver())


def loop(*script: Any, **fields: Any) -> Graph:
    return tool_loop(scripted(*script, **fields), [weather])


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
            "TEXT_MESSAGE_START messageId=lc_run--#1-0 role=assistant name=forecaster + Looking.",
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
            'TEXT_MESSAGE_START messageId=lc_run--#4-0 role=assistant name=forecaster + "Sun in both." END',
            "STEP_FINISHED stepName=model",
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
