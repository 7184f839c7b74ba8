# ruff: noqa: E501
"""Tool results on the wire: whatever tools return, however they fail, and whoever calls them."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Annotated, Any

from inline_snapshot import snapshot
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import BaseModel

from tests.support.graphs import Graph, chat_node, in_a_row, let_others_run, scripted, tool_loop
from tests.support.playing import Player
from yai_nexus_agentkit.testing import ai_message, tool_call_parts, tool_calls_part


class City(MessagesState):
    city: str


class Traveller(AgentState[Any]):
    city: str


class Place(BaseModel):
    name: str
    seen: datetime


@dataclasses.dataclass
class Box:
    width: int


def returning(value: Any, name: str = "give", **fields: Any) -> BaseTool:
    async def give() -> Any:
        """Give it."""
        return value

    made: BaseTool = tool(name, **fields)(give)
    return made


def results(lines: list[str]) -> list[str]:
    """The results and what comes after the last one: the rest of these streams is like any other."""
    return [line for line in lines if line.startswith(("TOOL_CALL_RESULT", "MESSAGES", "  ", "STATE_DELTA", "RUN_F"))]


VALUES = {
    "str": "plain",
    "empty": "",
    "dict": {"k": [1, None, "é"], "nested": {"a": True}},
    "list": ["x", 2, {"y": 3}],
    "strings": ["one", "two"],
    "None": None,
    "bytes": b"\x00\xff",
    "float": 3.5,
    "bool": True,
    "tuple": (1, "two"),
    "set": {7},
    "pydantic": Place(name="Rome", seen=datetime(2026, 1, 2, tzinfo=UTC)),
    "dataclass": Box(4),
    "datetime": datetime(2026, 1, 2, tzinfo=UTC),
    "nan": float("nan"),
    "surrogate": "half \ud83d",
}


async def test_tools_that_return_any_value(play: Player) -> None:
    def build() -> Graph:
        tools = [returning(value, name=f"give_{name}") for name, value in VALUES.items()]
        return tool_loop(scripted(tool_calls_part(*((t.name, {}, t.name) for t in tools)), "Done."), tools)

    played = await play(build, in_step=False)

    assert results(played.stream) == snapshot(
        [
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=give_str content=plain role=tool",
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=give_empty content="" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#4 toolCallId=give_dict content="{\\"k\\": [1, null, \\"é\\"], \\"nested\\": {\\"a\\": true}}" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#5 toolCallId=give_list content="[\\"x\\", 2, {\\"y\\": 3}]" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#6 toolCallId=give_strings content="[\\"one\\", \\"two\\"]" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#7 toolCallId=give_None content="null" role=tool',
            "TOOL_CALL_RESULT messageId=tool-#8 toolCallId=give_bytes content=\"b'\\\\x00\\\\xff'\" role=tool",
            'TOOL_CALL_RESULT messageId=tool-#9 toolCallId=give_float content="3.5" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#10 toolCallId=give_bool content="true" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#11 toolCallId=give_tuple content="[1, \\"two\\"]" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#12 toolCallId=give_set content="{7}" role=tool',
            "TOOL_CALL_RESULT messageId=tool-#13 toolCallId=give_pydantic content=\"name='Rome' seen=datetime.datetime(2026, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)\" role=tool",
            'TOOL_CALL_RESULT messageId=tool-#14 toolCallId=give_dataclass content="Box(width=4)" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#15 toolCallId=give_datetime content="2026-01-02 00:00:00+00:00" role=tool',
            "TOOL_CALL_RESULT messageId=tool-#16 toolCallId=give_nan content=NaN role=tool",
            'TOOL_CALL_RESULT messageId=tool-#17 toolCallId=give_surrogate content="half �" role=tool',
        ]
    )


BLOCKS = {
    "text": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    "image": [{"type": "text", "text": "Look:"}, {"type": "image", "base64": "AAAA", "mime_type": "image/png"}],
    "image_url": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
    "mixed": ["plain", {"type": "text", "text": " block"}],
    "unknown": [{"type": "text", "text": "A"}, {"type": "search_result", "source": "https://a.b"}],
    "json": [{"type": "json", "json": {"a": 1}}],
    "file": [{"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}}],
}


async def test_tools_that_return_content_blocks(play: Player) -> None:
    def build() -> Graph:
        tools = [returning(blocks, name=f"give_{name}") for name, blocks in BLOCKS.items()]
        return tool_loop(scripted(tool_calls_part(*((t.name, {}, t.name) for t in tools)), "Done."), tools)

    played = await play(build, same=False)

    assert results(played.stream) == snapshot(
        [
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=give_text content="one\\ntwo" role=tool',
            "TOOL_CALL_RESULT messageId=tool-#3 toolCallId=give_image content=[(type=text text=Look:) (type=image source=(type=data value=AAAA mimeType=image/png))] role=tool",
            "TOOL_CALL_RESULT messageId=tool-#4 toolCallId=give_image_url content=[(type=image source=(type=data value=AAAA mimeType=image/png))] role=tool",
            'TOOL_CALL_RESULT messageId=tool-#5 toolCallId=give_mixed content="[\\"plain\\", {\\"type\\": \\"text\\", \\"text\\": \\" block\\"}]" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#6 toolCallId=give_unknown content="A\\n{\\"type\\":\\"search_result\\",\\"source\\":\\"https://a.b\\"}" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#7 toolCallId=give_json content="{\\"type\\":\\"json\\",\\"json\\":{\\"a\\":1}}" role=tool',
            "TOOL_CALL_RESULT messageId=tool-#8 toolCallId=give_file content=[(type=document source=(type=data value=AAAA mimeType=application/pdf) metadata=(filename=a.pdf))] role=tool",
        ]
    )
    assert results(play.old.stream) == snapshot(
        [
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=give_text content="one\\ntwo" role=tool',
            "TOOL_CALL_RESULT messageId=tool-#3 toolCallId=give_image content=Look: role=tool",
            'TOOL_CALL_RESULT messageId=tool-#4 toolCallId=give_image_url content="" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#5 toolCallId=give_mixed content="[\\"plain\\", {\\"type\\": \\"text\\", \\"text\\": \\" block\\"}]" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#6 toolCallId=give_unknown content="A\\n{\\"type\\":\\"search_result\\",\\"source\\":\\"https://a.b\\"}" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#7 toolCallId=give_json content="{\\"type\\":\\"json\\",\\"json\\":{\\"a\\":1}}" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#8 toolCallId=give_file content="" role=tool',
        ]
    )


async def test_an_artifact_stays_with_the_graph(play: Player) -> None:
    def build() -> Graph:
        give = returning(("shown", {"rows": [1, 2]}), response_format="content_and_artifact")
        return tool_loop(scripted(tool_calls_part(("give", {}, "call_1")), "Done."), [give])

    played = await play(build)

    assert results(played.stream) == snapshot(
        ["TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=shown role=tool"]
    )


@tool
async def go(city: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Go to a city."""
    return Command(update={"city": city, "messages": [ToolMessage(f"went to {city}", tool_call_id=call)]})


@tool
async def look(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Look around."""
    return f"nice, after {len(state['messages'])} messages"


async def test_a_command_with_state_and_result(play: Player) -> None:
    played = await play(
        lambda: tool_loop(scripted(tool_call_parts("go", {"city": "Rome"}, "call_1"), "There."), [go], City)
    )

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=go parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="went to Rome" role=tool',
            "STEP_FINISHED stepName=tools",
            'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + There. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_a_command_beside_a_plain_result(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_calls_part(("go", {"city": "Rome"}, "call_1"), ("look", {}, "call_2")), "There.")
        return tool_loop(model, [go, look], City)

    played = await play(build)

    assert results(played.stream) == snapshot(
        [
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="went to Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="nice, after 2 messages" role=tool',
            'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
        ]
    )


async def test_create_agents_command_beside_a_plain_result(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_calls_part(("go", {"city": "Rome"}, "call_1"), ("look", {}, "call_2")), "There.")
        return create_agent(model, [go, look], state_schema=Traveller, checkpointer=InMemorySaver())

    played = await play(build)

    assert results(played.stream) == snapshot(
        [
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="went to Rome" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="nice, after 2 messages" role=tool',
            'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
        ]
    )


async def test_a_list_of_commands(play: Player) -> None:
    @tool
    async def tour(call: Annotated[str, InjectedToolCallId]) -> list[Any]:
        """Two things at once."""
        return [
            Command(update={"city": "Rome"}),
            Command(update={"messages": [ToolMessage("toured", tool_call_id=call)]}),
        ]

    played = await play(lambda: tool_loop(scripted(tool_calls_part(("tour", {}, "call_1")), "There."), [tour], City))

    assert results(played.stream) == snapshot(
        [
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=toured role=tool",
            'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
        ]
    )


async def test_a_command_that_also_speaks(play: Player) -> None:
    @tool
    async def say(call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """A result, and an answer of its own."""
        return Command(update={"messages": [ToolMessage("said", tool_call_id=call), AIMessage("By the way: hello.")]})

    played = await play(lambda: tool_loop(scripted(tool_calls_part(("say", {}, "call_1")), "There."), [say]))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=say parentMessageId=lc_run--#1 + "{}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=said role=tool",
            'TEXT_MESSAGE_START messageId=#3 role=assistant + "By the way: hello." END',
            "STEP_FINISHED stepName=tools",
            "STEP_STARTED stepName=agent",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + There. END",
            "STEP_FINISHED stepName=agent",
        ]
    )


async def test_a_command_that_removes_messages(play: Player) -> None:
    @tool
    async def forget(state: Annotated[dict[str, Any], InjectedState], call: Annotated[str, InjectedToolCallId]) -> Any:
        """Forget the first message."""
        gone = RemoveMessage(id=state["messages"][0].id)
        return Command(update={"messages": [gone, ToolMessage("forgot", tool_call_id=call)]})

    played = await play(lambda: tool_loop(scripted(tool_calls_part(("forget", {}, "call_1")), "What?"), [forget]))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=forget parentMessageId=lc_run--#1 + "{}" END',
            "STEP_FINISHED stepName=agent",
            "STEP_STARTED stepName=tools",
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=forgot role=tool",
            "STEP_FINISHED stepName=tools",
            "MESSAGES_SNAPSHOT",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=forget arguments="{}"))]',
            "  tool id=tool-#2 content=forgot toolCallId=call_1",
            "STEP_STARTED stepName=agent",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "What?" END',
            "STEP_FINISHED stepName=agent",
            "MESSAGES_SNAPSHOT",
            '  assistant id=lc_run--#1 toolCalls=[(id=call_1 type=function function=(name=forget arguments="{}"))]',
            "  tool id=tool-#2 content=forgot toolCallId=call_1",
            '  assistant id=lc_run--#3 content="What?"',
        ]
    )


async def test_a_very_long_result(play: Player) -> None:
    text = "line of text é\n" * 20_000
    played = await play(
        lambda: tool_loop(scripted(tool_calls_part(("give", {}, "call_1")), "Done."), [returning(text)])
    )

    [result] = [event for event in played.events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["content"] == text
    assert sum(len(str(event)) for event in played.events) < len(text) * 1.2


@tool
async def risky(n: int) -> str:
    """Fails for 1."""
    if n == 1:
        raise ValueError("kaboom 42")
    return "fine"


async def test_a_fast_tool_need_not_wait_for_a_slow_one(play: Player) -> None:
    @tool
    async def wait(n: int) -> str:
        """Wait."""
        await let_others_run(100 * n)
        return f"waited {n}"

    def build() -> Graph:
        calls = tool_calls_part(*(("wait", {"n": n}, f"call_{n}") for n in (2, 1)))
        return tool_loop(scripted(calls, "Done."), [wait])

    # The thread stores the results in the order of the calls; among themselves the client keeps them as they came.
    played = await play(build, in_step=False)

    assert results(played.stream) == snapshot(
        [
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="waited 1" role=tool',
            'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="waited 2" role=tool',
        ]
    )
    assert [m["role"] for m in played.messages] == ["user", "assistant", "tool", "tool", "assistant"]


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


async def test_a_tool_called_by_hand_without_a_call(play: Player) -> None:
    def build() -> Graph:
        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            found = await risky.ainvoke({"n": 0}, config)
            return {"messages": [AIMessage(f"It is {found}.")]}

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=node",
            'TOOL_CALL_START toolCallId=call-#1 toolCallName=risky parentMessageId=#1-message + "{\\"n\\":0}" END',
            "TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call-#1 content=fine role=tool",
            "STEP_FINISHED stepName=node",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=#2 content="It is fine."',
        ]
    )


async def test_a_tool_called_by_hand_with_the_models_call(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_call_parts("risky", {"n": 0}, "call_1"), "Fine.")

        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            asked = await model.ainvoke(state["messages"], config)
            found = await risky.ainvoke({**asked.tool_calls[0], "type": "tool_call"}, config)
            said = await model.ainvoke([*state["messages"], asked, found], config)
            return {"messages": [asked, found, said]}

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=node",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 0}" END',
            "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=fine role=tool",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Fine. END",
            "STEP_FINISHED stepName=node",
        ]
    )


async def test_a_tool_called_by_hand_with_a_models_arguments_in_the_same_node(play: Player) -> None:
    def build() -> Graph:
        model = scripted(tool_call_parts("risky", {"n": 0}, "call_1"), "Fine.")

        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            asked = await model.ainvoke(state["messages"], config)
            found = ToolMessage(await risky.ainvoke(asked.tool_calls[0]["args"], config), tool_call_id="call_1")
            return {"messages": [asked, found, await model.ainvoke([*state["messages"], asked, found], config)]}

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=node",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=risky parentMessageId=lc_run--#1 + "{\\"n\\"" + ": 0}" END',
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Fine. END",
            "TOOL_CALL_RESULT messageId=#3 toolCallId=call_1 content=fine role=tool",
            "STEP_FINISHED stepName=node",
        ]
    )


async def test_a_tool_called_by_hand_with_a_call_that_no_model_made(play: Player) -> None:
    def build() -> Graph:
        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            asked = ai_message("", ("risky", {"n": 0}, "mine_1"))
            found = await risky.ainvoke({**asked.tool_calls[0], "type": "tool_call"}, config)
            return {"messages": [asked, found]}

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
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
        ]
    )


async def test_a_tool_called_by_hand_that_fails(play: Player) -> None:
    def build() -> Graph:
        async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            try:
                await risky.ainvoke({"n": 1}, config)
            except ValueError:
                return {"messages": [AIMessage("It failed.")]}
            raise AssertionError

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=node",
            'TOOL_CALL_START toolCallId=call-#1 toolCallName=risky parentMessageId=#1-message + "{\\"n\\":1}" END',
            "TOOL_CALL_RESULT messageId=tool-#1 toolCallId=call-#1 content=\"Error: ValueError('kaboom 42')\" role=tool metadata=(langgraph=(status=error))",
            "STEP_FINISHED stepName=node",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=#2 content="It failed."',
        ]
    )


async def test_calls_and_results_that_a_node_writes_as_constants(play: Player) -> None:
    def build() -> Graph:
        async def node(state: MessagesState) -> dict[str, Any]:
            asked = ai_message("Checking.", ("lookup", {"q": 1}, "mine_1"))
            return {"messages": [asked, ToolMessage("found", tool_call_id="mine_1"), AIMessage("Found it.")]}

        return in_a_row({"node": node})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=node",
            "TEXT_MESSAGE_START messageId=#1 role=assistant + Checking.",
            'TOOL_CALL_START toolCallId=mine_1 toolCallName=lookup parentMessageId=#1 + "{\\"q\\":1}" END',
            "TEXT_MESSAGE_END messageId=#1",
            "TOOL_CALL_RESULT messageId=#2 toolCallId=mine_1 content=found role=tool",
            'TEXT_MESSAGE_START messageId=#3 role=assistant + "Found it." END',
            "STEP_FINISHED stepName=node",
        ]
    )


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

    assert results(played.stream) == snapshot(
        [
            'TOOL_CALL_RESULT messageId=#2 toolCallId=call_2 content="ran b" role=tool',
            'TOOL_CALL_RESULT messageId=#3 toolCallId=call_1 content="ran a" role=tool',
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
