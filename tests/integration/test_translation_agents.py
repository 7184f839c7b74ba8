# ruff: noqa: E501
"""Agents with middleware: what retries, rewrites, limits, summaries and redactions look like to a client."""

from __future__ import annotations

from typing import Any

from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    after_model,
    before_agent,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.graphs import Graph, scripted
from tests.support.lines import brief, named
from tests.support.playing import Played, Player
from tests.support.tools import OSLO, ROME, weather
from yai_nexus_agentkit.testing import tool_call_parts, tool_calls_part


def agent(*script: Any, **fields: Any) -> Graph:
    return create_agent(scripted(*script), **{"tools": [weather], "checkpointer": InMemorySaver(), **fields})


def streams(played: Played) -> list[list[str]]:
    """The streams without steps: hooks are nodes, which LangChain names and numbers as it likes."""
    runs = ([e for e in brief(run["events"]) if not e["type"].startswith("STEP_")] for run in played.runs)
    return named(*runs)


def stream(played: Played) -> list[str]:
    """The only stream."""
    [only] = streams(played)
    return only


async def test_a_tool_that_returns_directly(play: Player) -> None:
    @tool(return_direct=True)
    async def final(x: int) -> str:
        """The answer itself."""
        return f"final {x}"

    def build() -> Graph:
        script = [["Say ", *tool_call_parts("final", {"x": n}, "call_1")] for n in (1, 2)]
        return agent(*script, tools=[final])

    played = await play(build, "hi", "again")

    assert streams(played) == snapshot(
        [
            [
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Say "',
                'TOOL_CALL_START toolCallId=call_1 toolCallName=final parentMessageId=lc_run--#1 + "{\\"x\\"" + ": 1}" END',
                "TEXT_MESSAGE_END messageId=lc_run--#1",
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="final 1" role=tool',
            ],
            [
                'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "Say "',
                'TOOL_CALL_START toolCallId=call_1-lc_run--#3 toolCallName=final parentMessageId=lc_run--#3 + "{\\"x\\"" + ": 2}" END',
                "TEXT_MESSAGE_END messageId=lc_run--#3",
                'TOOL_CALL_RESULT messageId=tool-#4 toolCallId=call_1-lc_run--#3 content="final 2" role=tool',
            ],
        ]
    )


async def test_a_result_that_middleware_rewrites(play: Player) -> None:
    @wrap_tool_call
    async def shout(request: Any, handler: Any) -> ToolMessage:
        sent = await handler(request)
        return ToolMessage(sent.content.upper(), tool_call_id=sent.tool_call_id)

    played = await play(lambda: agent(tool_calls_part(ROME), "Done.", middleware=[shout]))

    assert stream(played) == snapshot(
        [
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}" END',
            'TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content="SUN IN ROME" role=tool',
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Done. END",
        ]
    )


async def test_a_call_that_middleware_answers_itself(play: Player) -> None:
    @wrap_tool_call
    async def refuse(request: Any, handler: Any) -> ToolMessage:
        return ToolMessage("refused", tool_call_id=request.tool_call["id"], status="error")

    played = await play(lambda: agent(tool_calls_part(ROME), "Done.", middleware=[refuse]))

    assert stream(played) == snapshot(
        [
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}" END',
            "TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content=refused role=tool metadata=(langgraph=(status=error))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Done. END",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}"))]',
            "  tool id=#2 content=refused toolCallId=call_1 error=refused",
            "  assistant id=lc_run--#3 content=Done.",
        ]
    )


async def test_a_tool_that_middleware_retries(play: Player) -> None:
    def build() -> Graph:
        failures = iter([True, False])

        @tool
        async def flaky() -> str:
            """Fails once."""
            if next(failures):
                raise ValueError("not yet")
            return "fine"

        @wrap_tool_call
        async def retry(request: Any, handler: Any) -> ToolMessage:
            try:
                return await handler(request)
            except ValueError:
                return await handler(request)

        return agent(tool_calls_part(("flaky", {}, "call_1")), "Done.", tools=[flaky], middleware=[retry])

    played = await play(build)

    assert stream(played) == snapshot(
        [
            'TOOL_CALL_START toolCallId=call_1 toolCallName=flaky parentMessageId=lc_run--#1 + "{}" END',
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=fine role=tool",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Done. END",
        ]
    )


async def test_a_model_that_middleware_replaces_after_half_an_answer(play: Player) -> None:
    def build() -> Graph:
        return agent(["Half ", ConnectionError("lost")], middleware=[ModelFallbackMiddleware(scripted(["Whole."]))])

    played = await play(build)

    assert stream(played) == snapshot(
        [
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Whole. END",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#2 content=Whole.",
        ]
    )


async def test_an_answer_that_middleware_replaces(play: Player) -> None:
    @wrap_model_call
    async def replace(request: Any, handler: Any) -> AIMessage:
        await handler(request)
        return AIMessage("Something else.")

    played = await play(lambda: agent(["One", "."], middleware=[replace]))

    assert stream(played) == snapshot(
        [
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One + "." END',
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[#2]))",
            "  user id=user-1 content=hi",
            '  assistant id=#2 content="Something else."',
        ]
    )


async def test_personal_data_that_middleware_takes_out_of_the_answer(play: Player) -> None:
    def build() -> Graph:
        hide = PIIMiddleware("email", strategy="redact", apply_to_output=True)
        return agent(["Write to ", "ann@example.com"], middleware=[hide])

    played = await play(build)

    assert stream(played) == snapshot(
        ['TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Write to [REDACTED_EMAIL]" END']
    )


async def test_a_summary_that_replaces_the_history(play: Player) -> None:
    def build() -> Graph:
        summary = SummarizationMiddleware(scripted("SHORT"), trigger=("messages", 3), keep=("messages", 1))
        return agent("One.", "Two.", middleware=[summary])

    played = await play(build, "hi", "again")

    assert streams(played) == snapshot(
        [
            ["TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END"],
            [
                "MESSAGES_SNAPSHOT",
                "MESSAGES_SNAPSHOT",
                '  developer id=#2 content="Here is a summary of the conversation to date:\\n\\nSHORT" metadata=(lc_source=summarization)',
                "  user id=user-2 content=again",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Two. END",
                "MESSAGES_SNAPSHOT",
                '  developer id=#2 content="Here is a summary of the conversation to date:\\n\\nSHORT" metadata=(lc_source=summarization)',
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#3 content=Two.",
            ],
        ]
    )


async def test_the_limit_of_model_calls(play: Player) -> None:
    def build() -> Graph:
        limit = ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")
        return agent(tool_calls_part(ROME), middleware=[limit])

    played = await play(build)

    assert stream(played) == snapshot(
        [
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}" END',
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            'TEXT_MESSAGE_START messageId=#3 role=assistant + "Model call limits exceeded: run limit (1/1)" END',
        ]
    )


async def test_the_limit_of_tool_calls(play: Player) -> None:
    def build() -> Graph:
        return agent(tool_calls_part(ROME, OSLO), "Done.", middleware=[ToolCallLimitMiddleware(run_limit=1)])

    played = await play(build)

    assert stream(played) == snapshot(
        [
            'TOOL_CALL_START toolCallId=call_1 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Rome\\"}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=weather parentMessageId=lc_run--#1 + "{\\"city\\": \\"Oslo\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            'TOOL_CALL_RESULT messageId=#2 toolCallId=call_2 content="Tool call limit exceeded. Do not make additional tool calls." role=tool metadata=(langgraph=(status=error))',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_1 content="sun in Rome" role=tool',
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Done. END",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=weather arguments="{\\"city\\":\\"Rome\\"}")) (id=call_2 type=function function=(name=weather arguments="{\\"city\\":\\"Oslo\\"}"))]',
            '  tool id=#2 content="Tool call limit exceeded. Do not make additional tool calls." toolCallId=call_2 error="Tool call limit exceeded. Do not make additional tool calls."',
            '  tool id=tool-#3 content="sun in Rome" toolCallId=call_1',
            "  assistant id=lc_run--#4 content=Done.",
        ]
    )


async def test_a_hook_that_speaks_and_ends_the_run(play: Player) -> None:
    @after_model(can_jump_to=["end"])
    def stop(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Stopped here.")], "jump_to": "end"}

    played = await play(lambda: agent("Never mind.", middleware=[stop]))

    assert stream(played) == snapshot(
        [
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Never mind." END',
            'TEXT_MESSAGE_START messageId=#2 role=assistant + "Stopped here." END',
        ]
    )


async def test_a_hook_that_adds_a_system_message(play: Player) -> None:
    @before_agent
    def add(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [SystemMessage("Be brief.", id="brief")]}

    played = await play(lambda: agent("One.", middleware=[add]))

    assert stream(played) == snapshot(
        [
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  system id=brief content="Be brief."',
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  system id=brief content="Be brief."',
            "  assistant id=lc_run--#1 content=One.",
        ]
    )


async def test_four_turns_of_calls_with_the_same_id(play: Player) -> None:
    def build() -> Graph:
        turns = ((tool_calls_part(("weather", {"city": f"{n}"}, "call_0")), f"Answer {n}.") for n in range(4))
        return agent(*(answer for turn in turns for answer in turn))

    played = await play(build, *"abcd")

    assert [m["content"] for m in played.messages if m["role"] == "tool"] == [f"sun in {n}" for n in range(4)]
    calls = [c["id"] for m in played.messages for c in m.get("toolCalls", ())]
    assert len(set(calls)) == 4
    assert calls == [m["toolCallId"] for m in played.messages if m["role"] == "tool"]
    assert not any(e["type"] == "MESSAGES_SNAPSHOT" for run in played.runs for e in run["events"])
