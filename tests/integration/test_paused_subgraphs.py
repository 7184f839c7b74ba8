"""What nodes of a subgraph write without a model, before it pauses: people see it with the question, not after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.graphs import Graph, chat_node, in_a_row
from tests.support.people import EACH_PEER, Peer, Tab
from yai_nexus_agentkit.testing import ScriptedChatModel

pytestmark = EACH_PEER
Node = Callable[[MessagesState], dict[str, Any]]


def called(state: MessagesState) -> dict[str, Any]:
    own = f"call-{len(state['messages'])}"
    call = {"name": "look", "args": {}, "id": own}
    return {"messages": [AIMessage("", tool_calls=[call]), ToolMessage("seen", tool_call_id=own)]}


WRITERS: dict[str, Node] = {
    "a message": lambda state: {"messages": [AIMessage("The plan.")]},
    "its own id": lambda state: {"messages": [AIMessage("The plan.", id=f"plan-{len(state['messages'])}")]},
    "tuples": lambda state: {"messages": [("ai", "The plan."), ("ai", "Its price.")]},
    "a dict": lambda state: {"messages": {"role": "assistant", "content": "The plan."}},
    "a call and its result": called,
}


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", f"Answer: {interrupt('Shall I?')}")]}


def row(**nodes: Any) -> Any:
    """A subgraph of these nodes."""
    builder = StateGraph(MessagesState)
    last = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(last, name)
        last = name
    return builder.compile()


talk = chat_node(ScriptedChatModel(script=lambda given: ["Hel", "lo."]))


PLACES: dict[str, Callable[[Node], Graph]] = {
    "beside the question": lambda node: in_a_row({"inner": row(write=node, ask=ask)}),
    "between answers": lambda node: in_a_row({"inner": row(before=talk, write=node, after=talk, ask=ask)}),
    "deeper": lambda node: in_a_row({"outer": row(inner=row(write=node), ask=ask)}),
    "in both": lambda node: in_a_row({"outer": row(first=row(write=node), inner=row(write=node, ask=ask))}),
    "behind a question": lambda node: in_a_row({"outer": row(inner=row(ask=ask, write=node), again=ask)}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("writer", WRITERS)
async def test_it_is_shown_with_the_question(peer: Peer, writer: str, place: str) -> None:
    tab = Tab(PLACES[place](WRITERS[writer]), peer)
    for text in ("go", "again"):
        await tab.say(text)
        while tab.outcome == "interrupt":
            shown = len(tab.said)
            await tab.send(reloaded=True)  # a page that looks again sees the same
            assert len(tab.said) == shown
            await tab.answer("yes")
        assert tab.outcome == "success"
