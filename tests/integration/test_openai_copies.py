"""Nodes that write again what was said: a reader of an answer reads it once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from tests.support.chats import chat, message_of, said, streamed
from tests.support.graphs import in_a_row, tool_loop
from tests.support.serving import call
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

HERE = {"X-Conversation-Id": "c"}


class State(MessagesState, total=False):
    draft: str


def speaking(*parts: str) -> Any:
    model = ScriptedChatModel(script=lambda messages: list(parts))

    async def node(state: State) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return node


async def draft(state: State) -> dict[str, Any]:
    model = ScriptedChatModel(script=lambda messages: ["Hel", "lo."])
    return {"draft": (await model.ainvoke(state["messages"])).text}


def store(state: State) -> dict[str, Any]:
    return {"messages": [("ai", state["draft"])]}


def store_blocks(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage([{"type": "text", "text": state["draft"]}])]}


def copy(state: State) -> dict[str, Any]:
    return {"messages": [("ai", next(m.text for m in reversed(state["messages"]) if m.text == "Hello."))]}


def copy_twice(state: State) -> dict[str, Any]:
    return {"messages": [("ai", state["messages"][-1].text), AIMessage(state["messages"][-1].text, name="final")]}


def drop(state: State) -> dict[str, Any]:
    """The first answer of the turn."""
    first = next(n for n in range(len(state["messages"]) - 1, -1, -1) if state["messages"][n].type == "human") + 1
    return {"messages": [RemoveMessage(id=str(state["messages"][first].id))]}


def rebuild(state: State) -> dict[str, Any]:
    fresh = [message.model_copy(update={"id": None}) for message in state["messages"]]
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *fresh]}


say = speaking("Hel", "lo.")
longer = speaking("Hello.", " And more.")
other = speaking("Well.")
inside = in_a_row({"draft": draft, "store": store}, State, checkpointer=None)

# By name: nodes in a row, and the answer: whole, and streamed if that differs.
CASES: dict[str, tuple[list[Any], str, str | None]] = {
    "stored by a later node": ([draft, store], "Hello.", None),
    "stored in blocks": ([draft, store_blocks], "Hello.", None),
    "stored twice": ([say, copy], "Hello.", None),
    "stored three times": ([say, copy_twice], "Hello.", None),
    "copied, then removed": ([say, copy, drop], "Hello.", None),
    "copied around a subgraph": ([inside, copy, drop], "Hello.", None),
    "all messages made anew": ([say, rebuild], "Hello.", None),
    "copied behind another answer": ([say, other, copy, drop], "Well.\n\nHello.", "Hello.\n\nWell.\n\nHello."),
    "only begins alike": ([say, longer], "Hello.\n\nHello. And more.", None),
}


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", CASES)
async def test_a_copy_is_read_once(name: str, stream: bool, source: Any) -> None:
    nodes, whole, sent = CASES[name]
    graph = in_a_row({f"node{n}": node for n, node in enumerate(nodes)}, State)
    app = create_app({"model": AGUIAdapter(graph, options=AdapterOptions(source=source))}, openai="/v1")
    texts = ["hi"]
    for following in ("and", "more"):
        answer = await chat(app, said(*texts), HERE, stream=stream)
        texts += [streamed(answer) if stream else message_of(answer)["content"], following]
    shown = sent or whole if stream else whole
    assert texts == ["hi", shown, "and", shown, "more"]
    assert len((await call(app, "GET", "/model/threads")).json) == 1, "the conversation goes on in its thread"


@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_said_again_after_a_call_is_no_copy(stream: bool) -> None:
    @tool
    def look(n: int) -> str:
        """Looks."""
        return "nothing"

    script: Any = [["Looking.", tool_calls_part(("look", {"n": n}, f"c{n}"))] for n in range(2)]
    model = ScriptedChatModel(script=[*script, ["Looking."]], streaming=False)
    app = create_app({"model": AGUIAdapter(tool_loop(model, [look]))}, openai="/v1")
    answer = await chat(app, "hi", stream=stream)
    text = streamed(answer) if stream else message_of(answer)["content"]
    assert text == "Looking.\n\nLooking.\n\nLooking."
