"""The client's messages stand in the thread's order, whatever order they were told in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.graphs import Graph, chat_node, in_a_row, scripted, turns
from tests.support.playing import Player
from yai_nexus_agentkit.testing import reasoning_part, text_part, tool_call_part, tool_call_parts

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
