# ruff: noqa: E501
"""Graphs inside graphs: as a node, called in a function, nested, with names of the parent, with a memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted, tool_loop
from tests.support.playing import Player
from yai_nexus_agentkit.testing import tool_call_parts


class Noted(MessagesState):
    note: str


class Topic(TypedDict):
    topic: str
    said: Annotated[list[Any], add_messages]


async def test_a_subgraph_as_a_node(play: Player) -> None:
    def build() -> Graph:
        inner = in_a_row(
            {"think": chat_node(scripted("Let me see.", "Again.")), "say": chat_node(scripted(["It ", "is."], "Yes."))}
        )
        return in_a_row({"before": chat_node(scripted("First.", "Second.")), "inner": inner})

    played = await play(build, "hi", "again?")

    assert played.streams == snapshot(
        [
            [
                "STEP_STARTED stepName=before",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + First. END",
                "STEP_FINISHED stepName=before",
                "STEP_STARTED stepName=inner",
                "STEP_STARTED stepName=inner/think",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Let me see." END',
                "STEP_FINISHED stepName=inner/think",
                "STEP_STARTED stepName=inner/say",
                'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "It " + is. END',
                "STEP_FINISHED stepName=inner/say",
                "STEP_FINISHED stepName=inner",
            ],
            [
                "STEP_STARTED stepName=before",
                "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Second. END",
                "STEP_FINISHED stepName=before",
                "STEP_STARTED stepName=inner",
                "STEP_STARTED stepName=inner/think",
                "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant + Again. END",
                "STEP_FINISHED stepName=inner/think",
                "STEP_STARTED stepName=inner/say",
                "TEXT_MESSAGE_START messageId=lc_run--#6 role=assistant + Yes. END",
                "STEP_FINISHED stepName=inner/say",
                "STEP_FINISHED stepName=inner",
            ],
        ]
    )


async def test_a_subgraph_that_writes_state_of_the_parent(play: Player) -> None:
    async def note(state: Noted) -> dict[str, Any]:
        return {"note": "from inside"}

    def build() -> Graph:
        inner = in_a_row({"say": chat_node(scripted("Done.")), "note": note}, Noted, checkpointer=None)
        return in_a_row({"inner": inner, "after": chat_node(scripted("Bye."))}, Noted)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=inner",
            "STEP_STARTED stepName=inner/say",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Done. END",
            "STEP_FINISHED stepName=inner/say",
            "STEP_STARTED stepName=inner/note FINISHED",
            "STEP_FINISHED stepName=inner",
            'STATE_DELTA delta=[(op=add path="/note" value="from inside")]',
            "STEP_STARTED stepName=after",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Bye. END",
            "STEP_FINISHED stepName=after",
        ]
    )
    assert played.state == {"note": "from inside"}


async def test_a_subgraph_called_in_a_function(play: Player) -> None:
    def build() -> Graph:
        inner = in_a_row({"say": chat_node(scripted(["Inner ", "words."]))}, checkpointer=None)

        async def ask(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            found = await inner.ainvoke({"messages": state["messages"]}, config)
            return {"messages": [found["messages"][-1]]}

        return in_a_row({"ask": ask})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=ask",
            "STEP_STARTED stepName=ask/say",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Inner " + words. END',
            "STEP_FINISHED stepName=ask/say",
            "STEP_FINISHED stepName=ask",
        ]
    )


async def test_a_subgraph_whose_answer_the_function_rewrites(play: Player) -> None:
    def build() -> Graph:
        inner = chat(scripted("A draft."), checkpointer=None)

        async def ask(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            found = await inner.ainvoke({"messages": state["messages"]}, config)
            return {"messages": [AIMessage(f"Edited: {found['messages'][-1].text}", id="edited")]}

        return in_a_row({"ask": ask})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=ask",
            "STEP_STARTED stepName=ask/chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "A draft." END',
            "STEP_FINISHED stepName=ask/chat",
            "STEP_FINISHED stepName=ask",
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[edited]))",
            "  user id=user-1 content=hi",
            '  assistant id=edited content="Edited: A draft."',
        ]
    )


async def test_a_subgraph_called_twice_in_a_function(play: Player) -> None:
    def build() -> Graph:
        inner = chat(scripted("One.", "Two."), checkpointer=None)

        async def ask(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            first = await inner.ainvoke({"messages": state["messages"]}, config)
            second = await inner.ainvoke({"messages": first["messages"]}, config)
            return {"messages": second["messages"]}

        return in_a_row({"ask": ask})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=ask",
            "STEP_STARTED stepName=ask/chat",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
            "STEP_FINISHED stepName=ask/chat",
            "STEP_STARTED stepName=ask/chat",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
            "STEP_FINISHED stepName=ask/chat",
            "STEP_FINISHED stepName=ask",
        ]
    )


async def test_three_levels_with_a_tool_in_the_innermost(play: Player) -> None:
    @tool
    def lookup(city: str) -> str:
        """Look up."""
        return f"sun in {city}"

    def build() -> Graph:
        agent = tool_loop(scripted(tool_call_parts("lookup", {"city": "Rome"}, "call_1"), "Sunny."), [lookup])
        agent = agent.copy({"checkpointer": None})
        middle = in_a_row({"agent": agent}, checkpointer=None)
        return in_a_row({"middle": middle, "end": chat_node(scripted("Bye."))})

    played = await play(build, "hi")

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=middle",
            "STEP_STARTED stepName=middle/agent",
            "STEP_STARTED stepName=middle/agent/agent",
            'TOOL_CALL_START toolCallId=call_1 toolCallName=lookup parentMessageId=lc_run--#1 + "{\\"city\\":" + " \\"Rome\\"}" END',
            "STEP_FINISHED stepName=middle/agent/agent",
            "STEP_STARTED stepName=middle/agent/tools",
            'TOOL_CALL_RESULT messageId=tool-#2 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=middle/agent/tools",
            "STEP_STARTED stepName=middle/agent/agent",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Sunny. END",
            "STEP_FINISHED stepName=middle/agent/agent",
            "STEP_FINISHED stepName=middle/agent",
            "STEP_FINISHED stepName=middle",
            "STEP_STARTED stepName=end",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Bye. END",
            "STEP_FINISHED stepName=end",
        ]
    )


async def test_nodes_with_the_names_of_the_parents_nodes(play: Player) -> None:
    def build() -> Graph:
        inner = in_a_row({"chat": chat_node(scripted("Inner.")), "end": chat_node(scripted("Inner end."))})
        return in_a_row({"chat": inner, "end": chat_node(scripted("Outer end."))})

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            "STEP_STARTED stepName=chat/chat",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Inner. END",
            "STEP_FINISHED stepName=chat/chat",
            "STEP_STARTED stepName=chat/end",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Inner end." END',
            "STEP_FINISHED stepName=chat/end",
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=end",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "Outer end." END',
            "STEP_FINISHED stepName=end",
        ]
    )


async def test_a_subgraph_with_a_memory_of_its_own(play: Player) -> None:
    """Its own conversation is not the thread's; the second turn goes on with it."""

    def build() -> Graph:
        model = scripted("First.", "Second.")
        inner = chat(model, checkpointer=True)

        async def ask(state: Topic) -> dict[str, Any]:
            found = await inner.ainvoke({"messages": [HumanMessage(f"about {state['topic']}")]})
            return {"messages": [found["messages"][-1]], "topic": str(len(found["messages"]))}

        class State(MessagesState):
            topic: str

        return in_a_row({"ask": ask}, State)

    played = await play(
        build,
        lambda view: {"message": [{"id": "user-1", "role": "user", "content": "hi"}], "state": {"topic": "cats"}},
        "more?",
    )

    assert played.streams == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=(topic=cats)",
                "STEP_STARTED stepName=ask",
                "STEP_STARTED stepName=ask/chat",
                "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + First. END",
                "STEP_FINISHED stepName=ask/chat",
                "STEP_FINISHED stepName=ask",
                'STATE_DELTA delta=[(op=add path="/topic" value="2")]',
            ],
            [
                'STATE_SNAPSHOT snapshot=(topic="2")',
                "STEP_STARTED stepName=ask",
                "STEP_STARTED stepName=ask/chat",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Second. END",
                "STEP_FINISHED stepName=ask/chat",
                "STEP_FINISHED stepName=ask",
                'STATE_DELTA delta=[(op=add path="/topic" value="4")]',
            ],
        ]
    )
    assert played.state == {"topic": "4"}


async def test_a_subgraph_with_a_memory_of_its_own_as_a_node(play: Player) -> None:
    def build() -> Graph:
        inner = chat(scripted("First.", "Second."), checkpointer=True)
        return in_a_row({"inner": inner})

    played = await play(build, "hi", "more?")

    assert played.streams[1] == snapshot(
        [
            "STEP_STARTED stepName=inner",
            "STEP_STARTED stepName=inner/chat",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Second. END",
            "STEP_FINISHED stepName=inner/chat",
            "STEP_FINISHED stepName=inner",
        ]
    )


async def test_a_subgraph_with_another_schema(play: Player) -> None:
    """Its words stream; the parent has no channel for them and keeps nothing."""

    def build() -> Graph:
        model = scripted("Hidden talk.")

        async def talk(state: Topic, config: RunnableConfig) -> dict[str, Any]:
            return {"said": [await model.ainvoke("go", config)], "topic": "dogs"}

        inner = in_a_row({"talk": talk}, Topic, checkpointer=None)

        class State(MessagesState):
            topic: str

        return in_a_row({"inner": inner, "end": chat_node(scripted("Bye."))}, State)

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=inner",
            "STEP_STARTED stepName=inner/talk",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Hidden talk." END',
            "STEP_FINISHED stepName=inner/talk",
            "STEP_FINISHED stepName=inner",
            'STATE_DELTA delta=[(op=add path="/topic" value=dogs)]',
            "STEP_STARTED stepName=end",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Bye. END",
            "STEP_FINISHED stepName=end",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#2 content=Bye.",
        ]
    )
    assert played.state == {"topic": "dogs"}


def handing_over() -> StateGraph[Any, Any, Any, Any]:
    async def leave(state: MessagesState) -> Command[Any]:
        handed = AIMessage("Handing over.", id="handed")
        return Command(graph=Command.PARENT, goto="other", update={"messages": [handed]})

    inner = in_a_row({"say": chat_node(scripted("Inner.")), "leave": leave}, checkpointer=None)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("inner", inner, destinations=("other",))
    builder.add_node("other", chat_node(scripted("I take over.")))
    builder.set_entry_point("inner")
    return builder


async def test_a_subgraph_that_hands_over_to_the_thread(play: Player) -> None:
    """The subgraph's messages are lost with its run: LangGraph keeps the command's update only."""
    played = await play(lambda: handing_over().compile(checkpointer=InMemorySaver()))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=inner",
            "STEP_STARTED stepName=inner/say",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Inner. END",
            "STEP_FINISHED stepName=inner/say",
            "STEP_STARTED stepName=inner/leave FINISHED",
            "STEP_FINISHED stepName=inner",
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[handed]))",
            "  user id=user-1 content=hi",
            '  assistant id=handed content="Handing over."',
            "STEP_STARTED stepName=other",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "I take over." END',
            "STEP_FINISHED stepName=other",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=handed content="Handing over."',
            '  assistant id=lc_run--#2 content="I take over."',
        ]
    )


async def test_a_subgraph_that_hands_over_to_a_subgraph(play: Player) -> None:
    played = await play(lambda: in_a_row({"whole": handing_over().compile()}))

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=whole",
            "STEP_STARTED stepName=whole/inner",
            "STEP_STARTED stepName=whole/inner/say",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + Inner. END",
            "STEP_FINISHED stepName=whole/inner/say",
            "STEP_STARTED stepName=whole/inner/leave FINISHED",
            "STEP_FINISHED stepName=whole/inner",
            "STEP_STARTED stepName=whole/other",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "I take over." END',
            "STEP_FINISHED stepName=whole/other",
            "STEP_FINISHED stepName=whole",
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[handed]))",
            "  user id=user-1 content=hi",
            "MESSAGES_SNAPSHOT metadata=(langgraph=(rewritten=[handed]))",
            "  user id=user-1 content=hi",
            '  assistant id=handed content="Handing over."',
            '  assistant id=lc_run--#2 content="I take over."',
        ]
    )


def nested_twice() -> Graph:
    innermost = in_a_row({"say": chat_node(scripted("Deep."))}, checkpointer=None)
    inner = in_a_row({"deep": innermost}, checkpointer=None)
    return in_a_row({"first": lambda state: {}, "inner": inner})


def function_with_a_task() -> Any:
    @task
    async def fetch(number: int) -> int:
        return number + 1

    @entrypoint()
    async def flow(given: Any) -> int:
        return await fetch(await fetch(1))

    return flow


def failed_node() -> Graph:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("chat", chat_node(scripted(RuntimeError("down"))), error_handler=lambda state: {})
    builder.add_edge(START, "chat")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            nested_twice,
            snapshot(
                [
                    "STEP_STARTED stepName=first metadata=(langgraph=(node=first step=1 task_id=#1 checkpoint_ns=first:#1)) FINISHED",
                    "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=2 task_id=#2 checkpoint_ns=inner:#2))",
                    "STEP_STARTED stepName=inner/deep metadata=(langgraph=(node=deep step=1 task_id=#3 checkpoint_ns=inner:#2|deep:#3))",
                    "STEP_STARTED stepName=inner/deep/say metadata=(langgraph=(node=say step=1 task_id=#4 checkpoint_ns=inner:#2|deep:#3|say:#4))",
                ]
            ),
        ),
        (
            function_with_a_task,
            snapshot(
                [
                    "STEP_STARTED stepName=flow metadata=(langgraph=(node=flow step=0 task_id=#1 checkpoint_ns=flow:#1))",
                    "STEP_STARTED stepName=flow/fetch metadata=(langgraph=(node=fetch step=0 task_id=#2 checkpoint_ns=flow:#1|fetch:#2)) FINISHED",
                    "STEP_STARTED stepName=flow/fetch metadata=(langgraph=(node=fetch step=0 task_id=#3 checkpoint_ns=flow:#1|fetch:#3)) FINISHED",
                ]
            ),
        ),
        (
            failed_node,
            snapshot(
                [
                    "STEP_STARTED stepName=chat metadata=(langgraph=(node=chat step=1 task_id=#1 checkpoint_ns=chat:#1)) FINISHED",
                    "STEP_STARTED stepName=chat metadata=(langgraph=(node=__error_handler__chat step=1 task_id=#2 checkpoint_ns=chat:#1|__error_handler__chat:#2)) FINISHED",
                ]
            ),
        ),
    ],
)
async def test_step_metadata_says_where_the_step_is(play: Player, build: Callable[[], Any], expected: Any) -> None:
    played = await play(build)

    assert [line for line in played.full_stream if line.startswith("STEP_STARTED")] == expected
