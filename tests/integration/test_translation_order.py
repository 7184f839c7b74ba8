"""The client's messages stand in the thread's order, whatever order they were sent in, and none goes missing in a
snapshot."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tests.support.graphs import Graph, chat_node, in_a_row, scripted, turns
from tests.support.playing import Player
from yai_nexus_agentkit.testing import (
    ScriptedChatModel,
    reasoning_part,
    text_part,
    tool_call_part,
    tool_call_parts,
    tool_calls_part,
)

THOUGHT = [reasoning_part("Hmm."), *turns(100)]
B = [*turns(50), "B says."]


def in_one_node(first: list[Any], second: list[Any]) -> Graph:
    models = scripted(first, provider="anthropic"), scripted(second)

    async def both(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": list(await asyncio.gather(*(m.ainvoke(state["messages"], config) for m in models)))}

    return in_a_row({"both": both})


def in_two_nodes(first: list[Any], second: list[Any]) -> Graph:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("a", chat_node(scripted(first, provider="anthropic")))
    builder.add_node("b", chat_node(scripted(second)))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("build", [in_one_node, in_two_nodes])
@pytest.mark.parametrize(
    "first",
    [
        pytest.param([*THOUGHT, text_part("A says.", index=1)], id="text"),
        pytest.param([*THOUGHT, *tool_call_parts("f", {"x": 1}, "call_1")], id="call"),
        pytest.param([*THOUGHT, tool_call_part(name="f", args="{}")], id="call without an id"),
        pytest.param([*THOUGHT, text_part("A ", index=1), *turns(50), text_part("says.", index=1)], id="slow text"),
    ],
)
async def test_two_models_of_which_the_first_reasons_before_it_answers(
    play: Player, build: Any, first: list[Any]
) -> None:
    """The client has B's answer before A's; `play` compares it with the thread, where A's is first."""
    played = await play(lambda: build(first, B), ordered=False)

    assert played.messages[-1]["content"] == "B says."


async def test_the_one_that_reasons_first_ends_second_in_the_thread_too(play: Player) -> None:
    """Client and thread agree: no snapshot is spent on it."""
    played = await play(lambda: in_one_node(B, [*THOUGHT, text_part("A says.", index=1)]))

    assert [m["content"] for m in played.messages if m["role"] == "assistant"] == ["B says.", "A says."]
    assert "MESSAGES_SNAPSHOT" not in [e["type"] for e in played.events]


# ---------------------------------------------------------------------- what a subagent said becomes the thread's


@pytest.mark.parametrize("before", ["result", "history"])
@pytest.mark.parametrize("calls", [1, 2])
async def test_a_subagents_history_that_its_tool_hands_to_the_thread(play: Player, calls: int, before: str) -> None:
    """The client has the subagent's words, tagged; the thread has them as its own, behind the question."""

    def build() -> Graph:
        helper = create_agent(ScriptedChatModel(script=lambda messages: [f"About {messages[-1].text}."]), [])

        @tool
        async def research(question: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
            """Ask the helper."""
            said = await helper.ainvoke({"messages": [("user", question)]})
            history, result = said["messages"], [ToolMessage("done", tool_call_id=tool_call_id)]
            return Command(update={"messages": [*result, *history] if before == "result" else [*history, *result]})

        asked = [("research", {"question": f"question {n}"}, f"call_{n}") for n in range(calls)]
        model = scripted(["Let me ask. ", tool_calls_part(*asked)], "So it is.", "You are welcome.")
        return create_agent(model, [research], checkpointer=InMemorySaver())

    played = await play(build, "hi", "thanks", ordered=False)

    assert [m["content"] for m in played.messages if m["role"] == "assistant"][-3:] == [
        f"About question {calls - 1}.",
        "So it is.",
        "You are welcome.",
    ]
    assert not any(m.get("subagentRunId") for m in played.messages)


# ---------------------------------------------------------------------- reasoning without an answer


def thinks(text: str) -> list[Any]:
    return [reasoning_part(text), reasoning_part("", signature=f"about {text}")]


async def note(state: MessagesState) -> dict[str, Any]:
    """Only a snapshot can send a message of the user's."""
    return {"messages": [HumanMessage("A note.")]}


def one_after_the_other() -> Graph:
    model = scripted(thinks("First."), [*thinks("Second."), text_part("Answer.", index=1)], provider="anthropic")
    return in_a_row({"think": chat_node(model), "answer": chat_node(model), "note": note})


def in_a_subgraph_beside_a_snapshot() -> Graph:
    """The subgraph still runs when the snapshot of the root's first step goes out, and stores its thought later."""
    thinking = chat_node(scripted(thinks("First."), provider="anthropic"))
    inner = in_a_row({"think": thinking, "answer": chat_node(scripted([*turns(100), "Answer."]))}, checkpointer=None)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("inner", inner)
    builder.add_node("note", note)
    builder.add_edge(START, "inner")
    builder.add_edge(START, "note")
    return builder.compile(checkpointer=InMemorySaver())


def before_a_question() -> Graph:
    """A paused subgraph holds the thought; the thread does not have it yet."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You said {interrupt('Well?')}.")]}

    thinking = chat_node(scripted(thinks("First."), provider="anthropic"))
    inner = in_a_row({"think": thinking, "ask": ask}, checkpointer=None)
    return in_a_row({"inner": inner, "note": note})


@pytest.mark.parametrize("build", [one_after_the_other, in_a_subgraph_beside_a_snapshot])
async def test_reasoning_of_a_message_that_is_nothing_else_stays(play: Player, build: Any) -> None:
    played = await play(build, "hi", ordered=False)

    assert "MESSAGES_SNAPSHOT" in [e["type"] for e in played.events]
    thoughts = [m["content"] for m in played.messages if m["role"] == "reasoning"]
    assert thoughts == ["First.", "Second."][: 1 + (build is one_after_the_other)]


async def test_reasoning_before_a_question_stays(play: Player) -> None:
    def says(view: Any) -> dict[str, Any]:
        assert [m["content"] for m in view["messages"] if m["role"] == "reasoning"] == ["First."]
        [asked] = view["interrupts"]
        return {"resume": [{"interruptId": asked["id"], "status": "resolved", "payload": "yes"}]}

    played = await play(before_a_question, "hi", says, in_step=False)

    assert [m["content"] for m in played.messages if m["role"] == "reasoning"] == ["First."]
    assert [m["content"] for m in played.messages][-2:] == ["You said yes.", "A note."]
