# ruff: noqa: E501
"""Tools that fail: who handles it, and what the next turn knows of it."""

from __future__ import annotations

from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.graphs import Graph, scripted, tool_loop
from tests.support.playing import Player
from tests.support.tools import risky
from yai_nexus_agentkit.testing import tool_call_parts, tool_calls_part


def results(lines: list[str]) -> list[str]:
    """The results and what comes after the last one: the rest of these streams is like any other."""
    return [line for line in lines if line.startswith(("TOOL_CALL_RESULT", "MESSAGES", "  ", "STATE_DELTA", "RUN_F"))]


async def test_an_error_that_the_tool_node_handles(play: Player) -> None:
    def build() -> Graph:
        calls = tool_calls_part(("risky", {"n": 1}, "call_1"), ("risky", {"n": 0}, "call_2"))
        return tool_loop(scripted(calls, "One failed."), [risky], handle_tool_errors=True)

    played = await play(build, "hi")

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 1}"',
            'TOOL_CALL_START toolCallId=call_2 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 0}"',
            "TOOL_CALL_END toolCallId=call_1",
            "TOOL_CALL_END toolCallId=call_2",
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_2 content=fine role=tool",
            "TOOL_CALL_RESULT messageId=#3 toolCallId=call_1 content=\"Error: ValueError('kaboom 42')\\n Please fix your mistakes.\" role=tool metadata=(langgraph=(status=error))",
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + "One failed." END',
            "STEP_FINISHED stepName=agent",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=risky arguments="{\\"n\\":1}")) (id=call_2 type=function function=(name=risky arguments="{\\"n\\":0}"))]',
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=risky arguments="{\\"n\\":1}")) (id=call_2 type=function function=(name=risky arguments="{\\"n\\":0}"))]',
            "  tool id=#3 content=\"Error: ValueError('kaboom 42')\\n Please fix your mistakes.\" toolCallId=call_1 error=\"Error: ValueError('kaboom 42')\\n Please fix your mistakes.\"",
            "  tool id=tool-#2 content=fine toolCallId=call_2",
            '  assistant id=lc_run--#4 content="One failed."',
        ]
    )


async def test_an_error_that_nobody_handles(play: Player) -> None:
    def build() -> Graph:
        calls = tool_calls_part(("risky", {"n": 1}, "call_1"), content="Trying.")
        return tool_loop(scripted(calls, "Again."), [risky])

    played = await play(build, "hi", "again")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=agent",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Trying.",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 1}" END',
                "TEXT_MESSAGE_END messageId=lc_run--#1",
                "STEP_FINISHED stepName=agent",
                "STEP_STARTED stepName=tools FINISHED",
                'RUN_ERROR message="kaboom 42" code=AGENT_ERROR',
            ],
            [
                'TOOL_CALL_RESULT messageId=unanswered-lc_run--#1-call_1 toolCallId=call_1 content="There is no result: the conversation went on before one came. The call may have had an effect." role=tool metadata=(langgraph=(status=error))',
                "STEP_STARTED stepName=agent",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Again. END",
                "STEP_FINISHED stepName=agent",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#1 content=Trying. toolCalls=[(id=call_1 type=function function=(name=risky arguments="{\\"n\\":1}"))]',
                '  tool id=unanswered-lc_run--#1-call_1 content="There is no result: the conversation went on before one came. The call may have had an effect." toolCallId=call_1 error="There is no result: the conversation went on before one came. The call may have had an effect."',
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#2 content=Again.",
            ],
        ]
    )


async def test_create_agents_unhandled_error_beside_a_good_result(play: Player) -> None:
    def build() -> Graph:
        calls = tool_calls_part(("risky", {"n": 0}, "call_1"), ("risky", {"n": 1}, "call_2"))
        return create_agent(scripted(calls, "Again."), [risky], checkpointer=InMemorySaver())

    played = await play(build, "hi", "again", ordered=False)

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=model",
                'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 0}"',
                'TOOL_CALL_START toolCallId=call_2 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\": 1}"',
                "TOOL_CALL_END toolCallId=call_1",
                "TOOL_CALL_END toolCallId=call_2",
                "STEP_FINISHED stepName=model",
                "STEP_STARTED stepName=tools",
                "STEP_STARTED stepName=tools#2",
                "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=fine role=tool",
                "STEP_FINISHED stepName=tools",
                "STEP_FINISHED stepName=tools#2",
                'RUN_ERROR message="kaboom 42" code=AGENT_ERROR',
            ],
            [
                'TOOL_CALL_RESULT messageId=unanswered-lc_run--#1-call_2 toolCallId=call_2 content="There is no result: the conversation went on before one came. The call may have had an effect." role=tool metadata=(langgraph=(status=error))',
                "STEP_STARTED stepName=model",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Again. END",
                "STEP_FINISHED stepName=model",
                "MESSAGES_SNAPSHOT",
                "  user id=user-1 content=hi",
                '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=risky arguments="{\\"n\\":0}")) (id=call_2 type=function function=(name=risky arguments="{\\"n\\":1}"))]',
                "  tool id=tool-#2 content=fine toolCallId=call_1",
                '  tool id=unanswered-lc_run--#1-call_2 content="There is no result: the conversation went on before one came. The call may have had an effect." toolCallId=call_2 error="There is no result: the conversation went on before one came. The call may have had an effect."',
                "  user id=user-2 content=again",
                "  assistant id=lc_run--#3 content=Again.",
            ],
        ]
    )


async def test_a_tool_exception_that_the_tool_handles(play: Player) -> None:
    async def picky() -> str:
        """Never works."""
        raise ToolException("not like that")

    def build() -> Graph:
        given = tool(picky)
        given.handle_tool_error = True
        return tool_loop(scripted(tool_calls_part(("picky", {}, "call_1")), "Sorry."), [given])

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=picky parentMessageId=lc_run--#1 + "{}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="not like that" role=tool metadata=(langgraph=(status=error))',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sorry. END",
            "STEP_FINISHED stepName=agent",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=picky arguments="{}"))]',
            '  tool id=tool-#2 content="not like that" toolCallId=call_1 error="not like that"',
            "  assistant id=lc_run--#3 content=Sorry.",
        ]
    )


async def test_an_unknown_tool_beside_a_known_one(play: Player) -> None:
    def build() -> Graph:
        calls = tool_calls_part(("riskier", {"n": 0}, "call_1"), ("risky", {"n": 0}, "call_2"))
        return tool_loop(scripted(calls, "One."), [risky])

    played = await play(build)

    assert results(played.stream) == snapshot(
        [
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_2 content=fine role=tool",
            'TOOL_CALL_RESULT messageId=#3 toolCallId=call_1 content="Error: riskier is not a valid tool, try one of [risky]." role=tool metadata=(langgraph=(status=error))',
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=riskier arguments="{\\"n\\":0}")) (id=call_2 type=function function=(name=risky arguments="{\\"n\\":0}"))]',
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=riskier arguments="{\\"n\\":0}")) (id=call_2 type=function function=(name=risky arguments="{\\"n\\":0}"))]',
            '  tool id=#3 content="Error: riskier is not a valid tool, try one of [risky]." toolCallId=call_1 error="Error: riskier is not a valid tool, try one of [risky]."',
            "  tool id=tool-#2 content=fine toolCallId=call_2",
            "  assistant id=lc_run--#4 content=One.",
        ]
    )


async def test_arguments_that_the_tool_refuses(play: Player) -> None:
    played = await play(
        lambda: tool_loop(scripted(tool_call_parts("risky", {"n": "many"}, "call_1"), "Sorry."), [risky])
    )

    assert results(played.stream) == snapshot(
        [
            "TOOL_CALL_RESULT messageId=#2 toolCallId=call_1 content=\"Error invoking tool 'risky' with kwargs {'n': 'many'} with error:\\n n: Input should be a valid integer, unable to parse string as an integer\\n Please fix the error and try again.\" role=tool metadata=(langgraph=(status=error))",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=risky arguments="{\\"n\\":\\"many\\"}"))]',
            "  tool id=#2 content=\"Error invoking tool 'risky' with kwargs {'n': 'many'} with error:\\n n: Input should be a valid integer, unable to parse string as an integer\\n Please fix the error and try again.\" toolCallId=call_1 error=\"Error invoking tool 'risky' with kwargs {'n': 'many'} with error:\\n n: Input should be a valid integer, unable to parse string as an integer\\n Please fix the error and try again.\"",
            "  assistant id=lc_run--#3 content=Sorry.",
        ]
    )
