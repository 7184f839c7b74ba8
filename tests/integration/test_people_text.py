"""Text that UTF-8 cannot encode: clients get it in one form, savers keep it in another."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.support.graphs import Graph, in_a_row, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER

HALF, TOLD, KEPT = "half \ud83d emoji", "half \ufffd emoji", "half ? emoji"
SPLIT, JOINED = "split \ud83d\ude00", "split \U0001f600"


def telling(*messages: BaseMessage) -> Any:
    """A node that says this in each turn, under ids of the turn."""

    def tell(state: MessagesState) -> dict[str, Any]:
        n = len(state["messages"])
        return {"messages": [m.model_copy(update={"id": f"{n}-{k}"}) for k, m in enumerate(messages)]}

    return tell


MESSAGES: dict[str, list[BaseMessage]] = {
    "an answer": [AIMessage(HALF)],
    "a character in two halves": [AIMessage(SPLIT)],
    "both, and a question": [AIMessage(f"{HALF}? {SPLIT}?")],
    "parts": [AIMessage([{"type": "text", "text": HALF}])],
    "reasoning": [AIMessage([{"type": "reasoning", "reasoning": HALF}, {"type": "text", "text": HALF}])],
    "a user's message": [HumanMessage(HALF), AIMessage("so")],
}


@pytest.mark.parametrize("said", MESSAGES.values(), ids=MESSAGES)
async def test_a_sent_message_comes_back_as_the_same_message(
    peer: Peer, saver: BaseCheckpointSaver[Any], said: list[BaseMessage]
) -> None:
    tab = Tab(in_a_row({"tell": telling(*said)}, checkpointer=saver), peer)
    await tab.say("one", in_step=False)
    for text in ("two", "three"):
        before = tab.messages
        await tab.say(text, in_step=False)
        assert tab.messages[: len(before)] == before
        if said[0].type == "ai":  # else a snapshot has it
            assert "MESSAGES_SNAPSHOT" not in tab.types
    assert not any("?" in m["content"] for m in before if said[0].content == HALF)
    _, messages = await held(tab.graph)
    assert len([m for m in messages if m.text in ("one", "two", "three")]) == 3


async def test_a_result_and_its_call(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    @tool
    async def look(at: str) -> str:
        """Look."""
        return HALF

    def script(messages: list[BaseMessage]) -> Any:
        if messages[-1].type == "tool":
            return [SPLIT]
        return [HALF, tool_calls_part(("look", {"at": "x"}, "call"))]  # the same id in every turn

    graph = tool_loop(strict_model(script, ids="all"), [look])
    graph.checkpointer = saver
    tab = Tab(graph, peer)
    for text in ("one", "two", "three"):
        await tab.say(text, in_step=False)
        assert "MESSAGES_SNAPSHOT" not in tab.types
    assert [text for _, text in tab.said[-4:]] == ["three", TOLD, TOLD, JOINED]


async def test_a_snapshot_has_the_messages_as_they_were_sent(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    """One that comes for another reason; a page that was not there gets what the saver kept."""

    def drop(state: MessagesState) -> dict[str, Any]:
        return {"messages": [RemoveMessage(m.id or "") for m in state["messages"][:-3] if m.text == "one"]}

    tab = Tab(in_a_row({"tell": telling(AIMessage(HALF)), "drop": drop}, checkpointer=saver), peer)
    for text in ("one", "two", "three"):
        await tab.say(text, in_step=False)

    assert [text for _, text in tab.said] == [TOLD, "two", TOLD, "three", TOLD]
    other = Tab(tab.graph, peer, name="other")
    await other.send([], in_step=False, state=None)
    assert [text for _, text in other.said] == [KEPT, "two", KEPT, "three", KEPT]
    await other.say("four", in_step=False)
    assert other.said[0] == ("assistant", KEPT)


async def test_a_question_in_between(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"heard {interrupt('Go?')}", id=f"heard-{len(state['messages'])}")]}

    tab = Tab(in_a_row({"tell": telling(AIMessage(HALF)), "ask": ask}, checkpointer=saver), peer)
    await tab.say("one", in_step=False)
    await tab.answer("yes", in_step=False)
    assert "MESSAGES_SNAPSHOT" not in tab.types
    await tab.say("two", in_step=False)
    assert [text for _, text in tab.said] == ["one", TOLD, "heard yes", "two", TOLD]


async def test_another_text_is_an_edit(peer: Peer) -> None:
    graph: Graph = in_a_row({"tell": telling(HumanMessage(HALF), AIMessage("so"))})
    tab = Tab(graph, peer)
    await tab.say("one", in_step=False)

    await tab.edit(1, TOLD + "!", in_step=False)

    assert (await held(graph))[1][1].text == TOLD + "!"
