# ruff: noqa: E501
"""Tool calls on the wire: every way in which providers and compatible servers stream them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool

from tests.support.graphs import Graph, chat, scripted, tool_loop
from tests.support.playing import Player
from tests.support.tools import OSLO, ROME, weather
from yai_nexus_agentkit.testing import (
    ScriptedChatModel,
    interleave,
    text_part,
    tool_call_part,
    tool_call_parts,
    tool_calls_part,
)


@tool
async def ping() -> str:
    """Is anybody there?"""
    return "pong"


def loop(*script: Any, **fields: Any) -> Graph:
    return tool_loop(scripted(*script, **fields), [weather, ping])


# ---------------------------------------------------------------- how a call is cut into chunks

BOTH = {"call_1": "sun in Rome", "call_2": "sun in Oslo"}
ONE = {"call_1": "sun in Rome"}
CITY = 'São "Paulo"\n\t\\ 🌆 \u2028 </script>'

CHUNKS: dict[str, tuple[list[Any], dict[str, str]]] = {
    "in one chunk": ([tool_calls_part(ROME, OSLO, content="Both. ")], BOTH),
    "in one chunk, with blocks, and text after them": (
        [tool_calls_part(ROME, OSLO, content=[{"type": "text", "text": "Both. ", "index": 0}]), text_part("Wait."), ""],
        BOTH,
    ),
    "interleaved by index": (interleave(tool_call_parts(*ROME), tool_call_parts(*OSLO, index=1)), BOTH),
    "indices of content blocks": (
        [text_part("Hm."), *tool_call_parts(*ROME, index=3), *tool_call_parts(*OSLO, index=7)],
        BOTH,
    ),
    "ids on all chunks": (
        interleave(tool_call_parts(*ROME, ids="all"), tool_call_parts(*OSLO, index=1, ids="all")),
        BOTH,
    ),
    "empty ids on later chunks": (
        interleave(tool_call_parts(*ROME, ids="empty"), tool_call_parts(*OSLO, index=1, ids="empty")),
        BOTH,
    ),
    "the whole name on every chunk": (
        [tool_call_part("weather", '{"city":', "call_1"), tool_call_part("", '"Rome"}', "call_1")],
        ONE,
    ),
    "one index for two whole calls": ([tool_calls_part(ROME), tool_calls_part(OSLO)], BOTH),
    "no index": ([tool_call_part(name, json.dumps(args), call, index=None) for name, args, call in (ROME, OSLO)], BOTH),
    "an id after the name": (
        [tool_call_part("weather", ""), tool_call_part(None, "", "call_1"), tool_call_part(None, '{"city":"Rome"}')],
        ONE,
    ),
    "arguments before the name": (
        [tool_call_part(None, '{"city":', "call_1"), tool_call_part("weather", '"Rome"'), tool_call_part(None, "}")],
        ONE,
    ),
    "arguments before id and name": (
        [tool_call_part(None, '{"city":'), tool_call_part("weather", '"Rome"}', "call_1")],
        ONE,
    ),
    "the name last": (
        [tool_call_part(None, '{"city":', "call_1"), tool_call_part(None, '"Rome"}'), tool_call_part("weather", "")],
        ONE,
    ),
    "no arguments, no chunk for them": (tool_call_parts("ping", {}, "call_1", pieces=0), {"call_1": "pong"}),
    "no arguments, a chunk for them": (tool_call_parts("ping", {}, "call_1", pieces=1), {"call_1": "pong"}),
    "one without arguments, one with": (
        [*tool_call_parts("ping", {}, "call_1", pieces=0), *tool_call_parts(*OSLO, index=1)],
        {"call_1": "pong", "call_2": "sun in Oslo"},
    ),
    "text of every kind": (
        tool_call_parts("weather", {"city": CITY}, "call_1", pieces=5),
        {"call_1": f"sun in {CITY}"},
    ),
    "text in the chunks of a call": (
        [
            tool_call_part("weather", '{"city": ', "call_1", content="Look"),
            tool_call_part(None, '"Rome"}', None, content="ing."),
            AIMessageChunk(content="", chunk_position="last"),
        ],
        ONE,
    ),
}
"""The chunks of an answer that calls, and the results of its calls."""


def first_answer(stream: list[str], results: dict[str, str]) -> list[str]:
    """The lines of the first answer. Around it stands what all these runs have: steps, results, the last answer."""
    numbers = itertools.count(2)
    rest = [
        "STEP_FINISHED stepName=agent",
        "STEP_STARTED stepName=tools",
        *(
            f"TOOL_CALL_RESULT messageId=tool-#{next(numbers)} toolCallId={call} content={word(content)} role=tool"
            for call, content in results.items()
        ),
        "STEP_FINISHED stepName=tools",
        "STEP_STARTED stepName=agent",
        f"TEXT_MESSAGE_START messageId=lc_run--#{next(numbers)} role=assistant + Sun. END",
        "STEP_FINISHED stepName=agent",
    ]
    assert stream[0] == "STEP_STARTED stepName=agent"
    assert stream[-len(rest) :] == rest
    return stream[1 : -len(rest)]


def word(content: str) -> str:
    return content if content.isalpha() else json.dumps(content, ensure_ascii=False)


@pytest.mark.parametrize("name", CHUNKS)
async def test_calls_in_chunks(play: Player, name: str) -> None:
    chunks, results = CHUNKS[name]
    played = await play(lambda: loop(chunks, "Sun."))

    expected = snapshot(
        {
            "in one chunk": [
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Both. "',
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
                "TEXT_MESSAGE_END messageId=lc_run--#1",
            ],
            "in one chunk, with blocks, and text after them": [
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Both. "',
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}"',
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=Wait.",
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
                "TEXT_MESSAGE_END messageId=lc_run--#1",
            ],
            "interleaved by index": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
                'TOOL_CALL_ARGS toolCallId=call_1 delta=" \\"Rome\\"}"',
                'TOOL_CALL_ARGS toolCallId=call_2 delta=" \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
            ],
            "indices of content blocks": [
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Hm.",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
                "TEXT_MESSAGE_END messageId=lc_run--#1",
            ],
            "ids on all chunks": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
                'TOOL_CALL_ARGS toolCallId=call_1 delta=" \\"Rome\\"}"',
                'TOOL_CALL_ARGS toolCallId=call_2 delta=" \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
            ],
            "empty ids on later chunks": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":"',
                'TOOL_CALL_ARGS toolCallId=call_1 delta=" \\"Rome\\"}"',
                'TOOL_CALL_ARGS toolCallId=call_2 delta=" \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
            ],
            "the whole name on every chunk": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + "\\"Rome\\"}" END'
            ],
            "one index for two whole calls": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}" END',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}" END',
            ],
            "no index": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}" END',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}" END',
            ],
            "an id after the name": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":\\"Rome\\"}" END'
            ],
            "no arguments, no chunk for them": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=ping parentMessageId=lc_run--#1 + "{}" END'
            ],
            "no arguments, a chunk for them": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=ping parentMessageId=lc_run--#1 + "{}" END'
            ],
            "one without arguments, one with": [
                "TOOL_CALL_START toolCallId=call_1 toolCallName=ping parentMessageId=lc_run--#1",
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
                'TOOL_CALL_ARGS toolCallId=call_1 delta="{}" END',
                "TOOL_CALL_END toolCallId=call_2",
            ],
            "text of every kind": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"S\\\\u" + "00e3o \\\\\\"Paulo" + "\\\\\\"\\\\n\\\\t\\\\\\\\ \\\\ud8" + "3c\\\\udf06 \\\\u20" + "28 </script>\\"}" END'
            ],
            "text in the chunks of a call": [
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Look",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": "',
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta=ing.",
                'TOOL_CALL_ARGS toolCallId=call_1 delta="\\"Rome\\"}" END',
                "TEXT_MESSAGE_END messageId=lc_run--#1",
            ],
            "arguments before the name": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":\\"Rome\\"" + "}" END'
            ],
            "arguments before id and name": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":\\"Rome\\"}" END'
            ],
            "the name last": [
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":\\"Rome\\"}" END'
            ],
        }
    )
    assert first_answer(played.stream, results) == expected[name]


# ---------------------------------------------------------------- calls that nobody answers

CUT = {"name": "weather", "args": '{"city"', "id": "call_1", "error": "cut", "type": "invalid_tool_call"}
PENDING: dict[str, Callable[[], ScriptedChatModel]] = {
    "two": lambda: scripted([*tool_call_parts(*ROME), *tool_call_parts(*OSLO, index=1)]),
    "ids that never come": lambda: scripted(
        [*tool_call_parts("weather", ROME[1], None), *tool_call_parts("weather", OSLO[1], None, index=1)]
    ),
    "arguments that are no object": lambda: scripted(tool_call_parts("weather", '["Rome"]', "call_1")),
    "cut off arguments": lambda: scripted(
        [*tool_call_parts(*ROME), *tool_call_parts("weather", '{"city": "Ro', "call_2", index=1)]
    ),
    "invalid arguments": lambda: scripted(tool_call_parts("weather", '{"city": "Rome", ]', "call_1")),
    "invalid arguments of a model that cannot stream": lambda: scripted(
        AIMessage("", invalid_tool_calls=[CUT]), streaming=False
    ),
}


@pytest.mark.parametrize("name", PENDING)
async def test_calls_that_nobody_answers(play: Player, name: str) -> None:
    cut = ["AGUI204"] if name.startswith(("invalid", "cut off")) else []  # arguments that are no JSON
    played = await play(lambda: chat(PENDING[name]()), ignore=cut)

    expected = snapshot(
        {
            "two": [
                "STEP_STARTED stepName=chat",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
                "STEP_FINISHED stepName=chat",
                "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1 call_2])",
            ],
            "ids that never come": [
                "STEP_STARTED stepName=chat",
                'TOOL_CALL_START toolCallId=lc_run--#1-call-0 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}"',
                'TOOL_CALL_START toolCallId=lc_run--#1-call-1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Oslo\\"}"',
                "TOOL_CALL_END toolCallId=lc_run--#1-call-0",
                "TOOL_CALL_END toolCallId=lc_run--#1-call-1",
                "STEP_FINISHED stepName=chat",
                "RUN_FINISHED outcome=(type=success pendingToolCallIds=[lc_run--#1-call-0 lc_run--#1-call-1])",
            ],
            "arguments that are no object": [
                "STEP_STARTED stepName=chat",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "[\\"Ro" + "me\\"]" END',
                "STEP_FINISHED stepName=chat",
                "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
            ],
            "cut off arguments": [
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
            ],
            "invalid arguments": [
                "STEP_STARTED stepName=chat",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": " + "\\"Rome\\", ]" END',
                "STEP_FINISHED stepName=chat",
                "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
            ],
            "invalid arguments of a model that cannot stream": [
                "STEP_STARTED stepName=chat",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1-0 + "{\\"city\\"" END',
                "STEP_FINISHED stepName=chat",
                "RUN_FINISHED outcome=(type=success pendingToolCallIds=[call_1])",
            ],
        }
    )
    assert played.stream == expected[name]
