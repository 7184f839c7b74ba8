# ruff: noqa: E501
"""Graphs inside graphs: as a node, called in a function, nested, with names of the parent, with a memory of their own."""

from __future__ import annotations

from typing import Annotated, Any

from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
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
                'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
                "STATE_SNAPSHOT snapshot=()",
                "STEP_STARTED stepName=before metadata=(langgraph=(node=before step=1 task_id=#1 checkpoint_ns=before:#1))",
                "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=First.",
                "TEXT_MESSAGE_END messageId=lc_run--#2",
                "STEP_FINISHED stepName=before",
                "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=2 task_id=#3 checkpoint_ns=inner:#3))",
                "STEP_STARTED stepName=inner/think metadata=(langgraph=(node=think step=1 task_id=#4 checkpoint_ns=inner:#3|think:#4))",
                "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant",
                'TEXT_MESSAGE_CONTENT messageId=lc_run--#5 delta="Let me see."',
                "TEXT_MESSAGE_END messageId=lc_run--#5",
                "STEP_FINISHED stepName=inner/think",
                "STEP_STARTED stepName=inner/say metadata=(langgraph=(node=say step=2 task_id=#6 checkpoint_ns=inner:#3|say:#6))",
                "TEXT_MESSAGE_START messageId=lc_run--#7 role=assistant",
                'TEXT_MESSAGE_CONTENT messageId=lc_run--#7 delta="It "',
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#7 delta=is.",
                "TEXT_MESSAGE_END messageId=lc_run--#7",
                "STEP_FINISHED stepName=inner/say",
                "STEP_FINISHED stepName=inner",
                "RUN_FINISHED threadId=thread runId=run-1",
            ],
            [
                'RUN_STARTED threadId=thread runId=run-2 protocolVersion="1.0"',
                "STATE_SNAPSHOT snapshot=()",
                "STEP_STARTED stepName=before metadata=(langgraph=(node=before step=5 task_id=#8 checkpoint_ns=before:#8))",
                "TEXT_MESSAGE_START messageId=lc_run--#9 role=assistant",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#9 delta=Second.",
                "TEXT_MESSAGE_END messageId=lc_run--#9",
                "STEP_FINISHED stepName=before",
                "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=6 task_id=#10 checkpoint_ns=inner:#10))",
                "STEP_STARTED stepName=inner/think metadata=(langgraph=(node=think step=1 task_id=#11 checkpoint_ns=inner:#10|think:#11))",
                "TEXT_MESSAGE_START messageId=lc_run--#12 role=assistant",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#12 delta=Again.",
                "TEXT_MESSAGE_END messageId=lc_run--#12",
                "STEP_FINISHED stepName=inner/think",
                "STEP_STARTED stepName=inner/say metadata=(langgraph=(node=say step=2 task_id=#13 checkpoint_ns=inner:#10|say:#13))",
                "TEXT_MESSAGE_START messageId=lc_run--#14 role=assistant",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#14 delta=Yes.",
                "TEXT_MESSAGE_END messageId=lc_run--#14",
                "STEP_FINISHED stepName=inner/say",
                "STEP_FINISHED stepName=inner",
                "RUN_FINISHED threadId=thread runId=run-2",
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
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=1 task_id=#1 checkpoint_ns=inner:#1))",
            "STEP_STARTED stepName=inner/say metadata=(langgraph=(node=say step=1 task_id=#2 checkpoint_ns=inner:#1|say:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=Done.",
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=inner/say",
            "STEP_STARTED stepName=inner/note metadata=(langgraph=(node=note step=2 task_id=#4 checkpoint_ns=inner:#1|note:#4))",
            "STEP_FINISHED stepName=inner/note",
            "STEP_FINISHED stepName=inner",
            'STATE_DELTA delta=[(op=add path="/note" value="from inside")]',
            "STEP_STARTED stepName=after metadata=(langgraph=(node=after step=2 task_id=#5 checkpoint_ns=after:#5))",
            "TEXT_MESSAGE_START messageId=lc_run--#6 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#6 delta=Bye.",
            "TEXT_MESSAGE_END messageId=lc_run--#6",
            "STEP_FINISHED stepName=after",
            "RUN_FINISHED threadId=thread runId=run-1",
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
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=ask metadata=(langgraph=(node=ask step=1 task_id=#1 checkpoint_ns=ask:#1))",
            "STEP_STARTED stepName=ask/say metadata=(langgraph=(node=say step=1 task_id=#2 checkpoint_ns=ask:#1|say:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta="Inner "',
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=words.",
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=ask/say",
            "STEP_FINISHED stepName=ask",
            "RUN_FINISHED threadId=thread runId=run-1",
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
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=ask metadata=(langgraph=(node=ask step=1 task_id=#1 checkpoint_ns=ask:#1))",
            "STEP_STARTED stepName=ask/chat metadata=(langgraph=(node=chat step=1 task_id=#2 checkpoint_ns=ask:#1|chat:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta="A draft."',
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=ask/chat",
            "STEP_FINISHED stepName=ask",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=edited content="Edited: A draft."',
            "RUN_FINISHED threadId=thread runId=run-1",
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
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=ask metadata=(langgraph=(node=ask step=1 task_id=#1 checkpoint_ns=ask:#1))",
            "STEP_STARTED stepName=ask/chat metadata=(langgraph=(node=chat step=1 task_id=#2 checkpoint_ns=ask:#1|chat:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=One.",
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=ask/chat",
            "STEP_STARTED stepName=ask/chat metadata=(langgraph=(node=chat step=1 task_id=#4 checkpoint_ns=ask:#1|1|chat:#4))",
            "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#5 delta=Two.",
            "TEXT_MESSAGE_END messageId=lc_run--#5",
            "STEP_FINISHED stepName=ask/chat",
            "STEP_FINISHED stepName=ask",
            "RUN_FINISHED threadId=thread runId=run-1",
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
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=middle metadata=(langgraph=(node=middle step=1 task_id=#1 checkpoint_ns=middle:#1))",
            "STEP_STARTED stepName=middle/agent metadata=(langgraph=(node=agent step=1 task_id=#2 checkpoint_ns=middle:#1|agent:#2))",
            "STEP_STARTED stepName=middle/agent/agent metadata=(langgraph=(node=agent step=1 task_id=#3 checkpoint_ns=middle:#1|agent:#2|agent:#3))",
            "TOOL_CALL_START toolCallId=call_1 toolCallName=lookup parentMessageId=lc_run--#4",
            'TOOL_CALL_ARGS toolCallId=call_1 delta="{\\"city\\":"',
            'TOOL_CALL_ARGS toolCallId=call_1 delta=" \\"Rome\\"}"',
            "TOOL_CALL_END toolCallId=call_1",
            "STEP_FINISHED stepName=middle/agent/agent",
            "STEP_STARTED stepName=middle/agent/tools metadata=(langgraph=(node=tools step=2 task_id=#5 checkpoint_ns=middle:#1|agent:#2|tools:#5))",
            'TOOL_CALL_RESULT messageId=tool-#6 toolCallId=call_1 content="sun in Rome" role=tool',
            "STEP_FINISHED stepName=middle/agent/tools",
            "STEP_STARTED stepName=middle/agent/agent metadata=(langgraph=(node=agent step=3 task_id=#7 checkpoint_ns=middle:#1|agent:#2|agent:#7))",
            "TEXT_MESSAGE_START messageId=lc_run--#8 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#8 delta=Sunny.",
            "TEXT_MESSAGE_END messageId=lc_run--#8",
            "STEP_FINISHED stepName=middle/agent/agent",
            "STEP_FINISHED stepName=middle/agent",
            "STEP_FINISHED stepName=middle",
            "STEP_STARTED stepName=end metadata=(langgraph=(node=end step=2 task_id=#9 checkpoint_ns=end:#9))",
            "TEXT_MESSAGE_START messageId=lc_run--#10 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#10 delta=Bye.",
            "TEXT_MESSAGE_END messageId=lc_run--#10",
            "STEP_FINISHED stepName=end",
            "RUN_FINISHED threadId=thread runId=run-1",
        ]
    )


async def test_nodes_with_the_names_of_the_parents_nodes(play: Player) -> None:
    def build() -> Graph:
        inner = in_a_row({"chat": chat_node(scripted("Inner.")), "end": chat_node(scripted("Inner end."))})
        return in_a_row({"chat": inner, "end": chat_node(scripted("Outer end."))})

    played = await play(build)

    assert played.stream == snapshot(
        [
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=chat metadata=(langgraph=(node=chat step=1 task_id=#1 checkpoint_ns=chat:#1))",
            "STEP_STARTED stepName=chat/chat metadata=(langgraph=(node=chat step=1 task_id=#2 checkpoint_ns=chat:#1|chat:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=Inner.",
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=chat/chat",
            "STEP_STARTED stepName=chat/end metadata=(langgraph=(node=end step=2 task_id=#4 checkpoint_ns=chat:#1|end:#4))",
            "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#5 delta="Inner end."',
            "TEXT_MESSAGE_END messageId=lc_run--#5",
            "STEP_FINISHED stepName=chat/end",
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=end metadata=(langgraph=(node=end step=2 task_id=#6 checkpoint_ns=end:#6))",
            "TEXT_MESSAGE_START messageId=lc_run--#7 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#7 delta="Outer end."',
            "TEXT_MESSAGE_END messageId=lc_run--#7",
            "STEP_FINISHED stepName=end",
            "RUN_FINISHED threadId=thread runId=run-1",
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
                'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
                "STATE_SNAPSHOT snapshot=(topic=cats)",
                "STEP_STARTED stepName=ask metadata=(langgraph=(node=ask step=1 task_id=#1 checkpoint_ns=ask:#1))",
                "STEP_STARTED stepName=ask/chat metadata=(langgraph=(node=chat step=1 task_id=#2 checkpoint_ns=ask|chat:#2))",
                "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=First.",
                "TEXT_MESSAGE_END messageId=lc_run--#3",
                "STEP_FINISHED stepName=ask/chat",
                "STEP_FINISHED stepName=ask",
                'STATE_DELTA delta=[(op=add path="/topic" value="2")]',
                "RUN_FINISHED threadId=thread runId=run-1",
            ],
            [
                'RUN_STARTED threadId=thread runId=run-2 protocolVersion="1.0"',
                'STATE_SNAPSHOT snapshot=(topic="2")',
                "STEP_STARTED stepName=ask metadata=(langgraph=(node=ask step=4 task_id=#4 checkpoint_ns=ask:#4))",
                "STEP_STARTED stepName=ask/chat metadata=(langgraph=(node=chat step=4 task_id=#5 checkpoint_ns=ask|chat:#5))",
                "TEXT_MESSAGE_START messageId=lc_run--#6 role=assistant",
                "TEXT_MESSAGE_CONTENT messageId=lc_run--#6 delta=Second.",
                "TEXT_MESSAGE_END messageId=lc_run--#6",
                "STEP_FINISHED stepName=ask/chat",
                "STEP_FINISHED stepName=ask",
                'STATE_DELTA delta=[(op=add path="/topic" value="4")]',
                "RUN_FINISHED threadId=thread runId=run-2",
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
            'RUN_STARTED threadId=thread runId=run-2 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=4 task_id=#4 checkpoint_ns=inner:#4))",
            "STEP_STARTED stepName=inner/chat metadata=(langgraph=(node=chat step=4 task_id=#5 checkpoint_ns=inner|chat:#5))",
            "TEXT_MESSAGE_START messageId=lc_run--#6 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#6 delta=Second.",
            "TEXT_MESSAGE_END messageId=lc_run--#6",
            "STEP_FINISHED stepName=inner/chat",
            "STEP_FINISHED stepName=inner",
            "RUN_FINISHED threadId=thread runId=run-2",
        ]
    )


async def test_a_subgraph_with_another_schema(play: Player) -> None:
    """What it says streams; the parent, which has no channel for it, keeps nothing of it."""

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
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=1 task_id=#1 checkpoint_ns=inner:#1))",
            "STEP_STARTED stepName=inner/talk metadata=(langgraph=(node=talk step=1 task_id=#2 checkpoint_ns=inner:#1|talk:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta="Hidden talk."',
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=inner/talk",
            "STEP_FINISHED stepName=inner",
            'STATE_DELTA delta=[(op=add path="/topic" value=dogs)]',
            "STEP_STARTED stepName=end metadata=(langgraph=(node=end step=2 task_id=#4 checkpoint_ns=end:#4))",
            "TEXT_MESSAGE_START messageId=lc_run--#5 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#5 delta=Bye.",
            "TEXT_MESSAGE_END messageId=lc_run--#5",
            "STEP_FINISHED stepName=end",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#5 content=Bye.",
            "RUN_FINISHED threadId=thread runId=run-1",
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
    """What the subgraph said is lost with its run: LangGraph keeps the command's update only."""
    played = await play(lambda: handing_over().compile(checkpointer=InMemorySaver()))

    assert played.stream == snapshot(
        [
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=inner metadata=(langgraph=(node=inner step=1 task_id=#1 checkpoint_ns=inner:#1))",
            "STEP_STARTED stepName=inner/say metadata=(langgraph=(node=say step=1 task_id=#2 checkpoint_ns=inner:#1|say:#2))",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=Inner.",
            "TEXT_MESSAGE_END messageId=lc_run--#3",
            "STEP_FINISHED stepName=inner/say",
            "STEP_STARTED stepName=inner/leave metadata=(langgraph=(node=leave step=2 task_id=#4 checkpoint_ns=inner:#1|leave:#4))",
            "STEP_FINISHED stepName=inner/leave",
            "STEP_FINISHED stepName=inner",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=handed content="Handing over."',
            "STEP_STARTED stepName=other metadata=(langgraph=(node=other step=2 task_id=#5 checkpoint_ns=other:#5))",
            "TEXT_MESSAGE_START messageId=lc_run--#6 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#6 delta="I take over."',
            "TEXT_MESSAGE_END messageId=lc_run--#6",
            "STEP_FINISHED stepName=other",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=handed content="Handing over."',
            '  assistant id=lc_run--#6 content="I take over."',
            "RUN_FINISHED threadId=thread runId=run-1",
        ]
    )


async def test_a_subgraph_that_hands_over_to_a_subgraph(play: Player) -> None:
    played = await play(lambda: in_a_row({"whole": handing_over().compile()}))

    assert played.stream == snapshot(
        [
            'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
            "STATE_SNAPSHOT snapshot=()",
            "STEP_STARTED stepName=whole metadata=(langgraph=(node=whole step=1 task_id=#1 checkpoint_ns=whole:#1))",
            "STEP_STARTED stepName=whole/inner metadata=(langgraph=(node=inner step=1 task_id=#2 checkpoint_ns=whole:#1|inner:#2))",
            "STEP_STARTED stepName=whole/inner/say metadata=(langgraph=(node=say step=1 task_id=#3 checkpoint_ns=whole:#1|inner:#2|say:#3))",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#4 delta=Inner.",
            "TEXT_MESSAGE_END messageId=lc_run--#4",
            "STEP_FINISHED stepName=whole/inner/say",
            "STEP_STARTED stepName=whole/inner/leave metadata=(langgraph=(node=leave step=2 task_id=#5 checkpoint_ns=whole:#1|inner:#2|leave:#5))",
            "STEP_FINISHED stepName=whole/inner/leave",
            "STEP_FINISHED stepName=whole/inner",
            "STEP_STARTED stepName=whole/other metadata=(langgraph=(node=other step=2 task_id=#6 checkpoint_ns=whole:#1|other:#6))",
            "TEXT_MESSAGE_START messageId=lc_run--#7 role=assistant",
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#7 delta="I take over."',
            "TEXT_MESSAGE_END messageId=lc_run--#7",
            "STEP_FINISHED stepName=whole/other",
            "STEP_FINISHED stepName=whole",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=handed content="Handing over."',
            '  assistant id=lc_run--#7 content="I take over."',
            "RUN_FINISHED threadId=thread runId=run-1",
        ]
    )
