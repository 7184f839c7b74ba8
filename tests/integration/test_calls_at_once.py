"""Workers that run at once, each with a model and its tool; the model numbers its calls anew each time (``call_0``)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt

from tests.support.graphs import Graph, in_a_row
from tests.support.people import EACH_PEER, Peer, Tab
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts

pytestmark = EACH_PEER
COUNT = 3


@tool
async def look(n: int) -> str:
    """The last one ends first."""
    await asyncio.sleep(0.01 * (COUNT - n))
    return f"seen {n}"


MODEL = ScriptedChatModel(script=lambda given: tool_call_parts("look", {"n": int(given[-1].content)}, "call_0"))


async def by_tool(n: int, config: RunnableConfig) -> list[BaseMessage]:
    asked = await MODEL.ainvoke([HumanMessage(str(n))], config)
    return [asked, await look.ainvoke(asked.tool_calls[0], config)]


async def by_node(n: int, config: RunnableConfig) -> list[BaseMessage]:
    asked = await MODEL.ainvoke([HumanMessage(str(n))], config)
    done = await ToolNode([look]).ainvoke({"messages": [asked]}, config)
    return [asked, *done["messages"]]


Work = Callable[[int, RunnableConfig], Any]


def gathered(work: Work) -> Graph:
    """In one node."""

    async def all_of_them(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        found = await asyncio.gather(*(work(n, config) for n in range(COUNT)))
        return {"messages": [message for messages in found for message in messages]}

    return in_a_row({"all": all_of_them})


def tasks(work: Work) -> Graph:
    """Each in a task."""

    @task
    async def one(n: int, config: RunnableConfig) -> list[BaseMessage]:
        return list(await work(n, config))

    async def all_of_them(state: MessagesState) -> dict[str, Any]:
        found = await asyncio.gather(*(one(n) for n in range(COUNT)))
        return {"messages": [message for messages in found for message in messages]}

    return in_a_row({"all": all_of_them})


def sent(work: Work) -> Graph:
    """Each in a run of one node."""

    async def one(state: dict[str, int], config: RunnableConfig) -> dict[str, Any]:
        return {"messages": await work(state["n"], config)}

    builder = StateGraph(MessagesState)
    builder.add_node("one", one)  # type: ignore[type-var]
    builder.add_conditional_edges(START, lambda state: [Send("one", {"n": n}) for n in range(COUNT)], ["one"])
    return builder.compile(checkpointer=InMemorySaver())


def nodes(work: Work) -> Graph:
    """Each in a node of its own."""
    builder = StateGraph(MessagesState)
    for n in range(COUNT):

        async def one(state: MessagesState, config: RunnableConfig, n: int = n) -> dict[str, Any]:
            return {"messages": await work(n, config)}

        builder.add_node(f"worker{n}", one)
        builder.add_edge(START, f"worker{n}")
    return builder.compile(checkpointer=InMemorySaver())


def looped(work: Work) -> Graph:
    """One after the other, in one node."""

    async def all_of_them(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [message for n in range(COUNT) for message in await work(n, config)]}

    return in_a_row({"all": all_of_them})


@pytest.mark.parametrize("work", [by_tool, by_node], ids=["tool", "tool node"])
@pytest.mark.parametrize("build", [gathered, tasks, sent, nodes, looped])
async def test_each_call_has_its_own_result_as_soon_as_it_is_there(peer: Peer, build: Any, work: Work) -> None:
    tab = Tab(build(work), peer)
    for text in ("go", "again"):
        await tab.say(text)  # the client shows what the thread holds, in its order
        asked = {call["toolCallId"]: "" for call in tab.events_of("TOOL_CALL_START")}
        for event in tab.events_of("TOOL_CALL_ARGS"):
            asked[event["toolCallId"]] += event["delta"]
        answered = {event["toolCallId"]: event["content"] for event in tab.events_of("TOOL_CALL_RESULT")}
        assert {asked[call]: content for call, content in answered.items()} == {
            f'{{"n": {n}}}': f"seen {n}" for n in range(COUNT)
        }
        assert "MESSAGES_SNAPSHOT" not in tab.types


@tool
async def confirm(what: str) -> str:
    """Ask."""
    return f"{what}: {interrupt(what)}"


async def test_subagents_that_asked_at_once_go_on_with_their_own_calls(peer: Peer) -> None:
    agents = pytest.importorskip("langchain.agents")

    def sub(given: list[BaseMessage]) -> Any:
        last = given[-1]
        asked = isinstance(last, HumanMessage)
        return tool_call_parts("confirm", {"what": last.content}, "call_0") if asked else [str(last.content)]

    worker = agents.create_agent(ScriptedChatModel(script=sub), [confirm], name="worker")

    @tool
    async def delegate(what: str) -> str:
        """Let a worker do it."""
        done = await worker.ainvoke({"messages": [("user", what)]})
        return str(done["messages"][-1].content)

    calls = [{"name": "delegate", "args": {"what": what}, "id": f"call_{n}"} for n, what in enumerate(["buy", "sell"])]
    model = ScriptedChatModel(script=[AIMessage("", tool_calls=calls), ["Done."]])
    tab = Tab(agents.create_agent(model, [delegate], checkpointer=InMemorySaver()), peer)
    await tab.say("go")
    assert [question["message"] for question in tab.questions] == ["buy", "sell"]
    await tab.answer("yes", "no")
    results = {m["toolCallId"]: m["content"] for m in tab.messages if m["role"] == "tool"}
    made = [call for message in tab.messages for call in message.get("toolCalls") or ()]
    assert [(json.loads(call["function"]["arguments"])["what"], results[call["id"]]) for call in made] == [
        ("buy", "buy: yes"),
        ("sell", "sell: no"),
    ] * 2
