# ruff: noqa: E501
"""Tool results on the wire: whatever tools return."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from inline_snapshot import snapshot
from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import BaseModel

from tests.support.graphs import Graph, let_others_run, scripted, tool_loop
from tests.support.playing import Player
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts, tool_calls_part


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


@tool
async def go(city: str, call: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Go to a city."""
    return Command(update={"city": city, "messages": [ToolMessage(f"went to {city}", tool_call_id=call)]})


@tool
async def look(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Look around."""
    return f"nice, after {len(state['messages'])} messages"


@tool
async def tour(call: Annotated[str, InjectedToolCallId]) -> list[Any]:
    """Two things at once."""
    return [Command(update={"city": "Rome"}), Command(update={"messages": [ToolMessage("toured", tool_call_id=call)]})]


def calling(*calls: tuple[str, dict[str, Any]]) -> ScriptedChatModel:
    """A model that makes these calls, numbered from 1, and then answers."""
    return scripted(tool_calls_part(*((name, args, f"call_{n}") for n, (name, args) in enumerate(calls, 1))), "There.")


ROME = {"city": "Rome"}
ARTIFACT = returning(("shown", {"rows": [1, 2]}), response_format="content_and_artifact")
RETURNS: dict[str, Callable[[], Graph]] = {
    "an artifact stays with the graph": lambda: tool_loop(calling(("give", {})), [ARTIFACT]),
    "a command beside a plain result": lambda: tool_loop(calling(("go", ROME), ("look", {})), [go, look], City),
    "a list of commands": lambda: tool_loop(calling(("tour", {})), [tour], City),
    "a command in the graph of create_agent": lambda: create_agent(
        calling(("go", ROME), ("look", {})), [go, look], state_schema=Traveller, checkpointer=InMemorySaver()
    ),
}


@pytest.mark.parametrize("name", RETURNS)
async def test_tools_that_return_more_than_a_result(play: Player, name: str) -> None:
    played = await play(RETURNS[name])

    expected = snapshot(
        {
            "an artifact stays with the graph": [
                "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=shown role=tool"
            ],
            "a command beside a plain result": [
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="went to Rome" role=tool',
                'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="nice, after 2 messages" role=tool',
                'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
            ],
            "a list of commands": [
                "TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content=toured role=tool",
                'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
            ],
            "a command in the graph of create_agent": [
                'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="went to Rome" role=tool',
                'TOOL_CALL_RESULT messageId=tool-#3 toolCallId=call_2 content="nice, after 2 messages" role=tool',
                'STATE_DELTA delta=[(op=add path="/city" value=Rome)]',
            ],
        }
    )
    assert results(played.stream) == expected[name]


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
