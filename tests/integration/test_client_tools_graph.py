"""Client tools in hand-written graphs: both routers, mixed turns, the next request, concurrency, context."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from tests.support.histories import calls, strict_model, transcript
from yai_nexus_agentkit.orchestration.client_tools import (
    CONTEXT_KEY,
    TOOLS_KEY,
    client_tools,
    context_text,
    route_after_model,
    route_after_tools,
    tool_routes,
)
from yai_nexus_agentkit.testing import ScriptedChatModel

COLOR = {"name": "pick_color", "description": "Let the user pick.", "parameters": {"type": "object", "properties": {}}}
CONFIRM = {"name": "confirm", "description": "Ask the user.", "parameters": {"type": "object", "properties": {}}}


@tool
async def price(item: str) -> str:
    """Price of an item."""
    return f"{item} costs 5"


@tool
def sayings(state: Annotated[dict[str, Any], InjectedState]) -> str:
    """How much was said."""
    return f"{len(state['messages'])} messages"


def request(thread: str = "t", *tools: dict[str, Any], context: Sequence[dict[str, str]] = ()) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, TOOLS_KEY: list(tools), CONTEXT_KEY: list(context)}}


def build(
    model: ScriptedChatModel, tools: Sequence[BaseTool] = (price,), **routes: Any
) -> CompiledStateGraph[Any, Any, Any, Any]:
    after_model, after_tools = tool_routes(**routes) if routes else (route_after_model, route_after_tools)

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        bound = model.bind_tools([*tools, *client_tools(config, exclude=tools)])
        text = context_text(config)
        system = [SystemMessage(text)] if text else []
        return {"messages": [await bound.ainvoke([*system, *state["messages"]], config)]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after_model, ["tools", END])
    builder.add_conditional_edges("tools", after_tools, ["agent", END])
    return builder.compile(checkpointer=InMemorySaver())


def said(*messages: AnyMessage) -> dict[str, Any]:
    return {"messages": list(messages)}


def answer(id: str, text: Any = "red", **fields: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=id, **fields)


HELLO = said(HumanMessage("hi"))


async def test_a_client_call_ends_the_run_and_its_answer_goes_on() -> None:
    model = strict_model([calls(("pick_color", {}, "c1")), "Red it is."])
    graph = build(model)
    first = await graph.ainvoke(HELLO, request("t", COLOR))
    assert transcript(first["messages"]) == [("human", "hi"), ("ai", "")]
    assert (await graph.aget_state(request())).next == ()
    second = await graph.ainvoke(said(answer("c1")), request("t", COLOR))
    assert transcript(second["messages"][2:]) == [("tool c1", "red"), ("ai", "Red it is.")]
    assert model.call_tools == [["price", "pick_color"]] * 2


async def test_a_mixed_turn_runs_the_servers_tools_first_whatever_their_order() -> None:
    model = strict_model(
        [calls(("pick_color", {}, "c1"), ("price", {"item": "tea"}, "s1"), ("confirm", {}, "c2")), "Bought."]
    )
    graph = build(model)
    first = await graph.ainvoke(HELLO, request("t", COLOR, CONFIRM))
    assert transcript(first["messages"][2:]) == [("tool s1", "tea costs 5")]
    assert len(model.calls) == 1
    second = await graph.ainvoke(said(answer("c1"), answer("c2", "yes")), request("t", COLOR, CONFIRM))
    assert transcript(second["messages"][3:]) == [("tool c1", "red"), ("tool c2", "yes"), ("ai", "Bought.")]


@pytest.mark.parametrize(
    "given",
    [
        answer("c1", ""),
        answer("c1", '{"hex": "#f00"}'),
        answer("c1", [{"type": "text", "text": "red"}]),
        answer("c1", "The user closed the dialog.", status="error"),
    ],
    ids=["empty", "json", "parts", "error"],
)
async def test_the_model_gets_the_answer_as_it_came(given: ToolMessage) -> None:
    model = strict_model([calls(("pick_color", {}, "c1")), "Fine."])
    graph = build(model)
    await graph.ainvoke(HELLO, request("t", COLOR))
    await graph.ainvoke(said(given), request("t", COLOR))
    received = model.calls[1][-1]
    assert isinstance(received, ToolMessage)
    assert (received.content, received.status) == (given.content, given.status)


async def test_a_turn_without_answers_goes_on_once_they_are_filled_in() -> None:
    # A terminal client tool: the next message is the user's. Whoever appends it answers for the client first.
    model = strict_model([calls(("pick_color", {}, "c1"), ("confirm", {}, "c2")), "Never mind."])
    graph = build(model)
    await graph.ainvoke(HELLO, request("t", COLOR, CONFIRM))
    missing = [answer(id, "not answered", status="error") for id in ("c1", "c2")]
    done = await graph.ainvoke(said(*missing, HumanMessage("forget it")), request("t", COLOR, CONFIRM))
    assert transcript(done["messages"])[-1] == ("ai", "Never mind.")


async def test_a_name_that_nobody_knows_is_answered_to_the_model() -> None:
    model = strict_model([calls(("invented", {}, "x1")), "Sorry."])
    done = await build(model).ainvoke(HELLO, request("t", COLOR))
    assert transcript(done["messages"])[2][0] == "tool x1"
    assert "invented is not a valid tool" in transcript(done["messages"])[2][1]
    assert transcript(done["messages"])[-1] == ("ai", "Sorry.")


async def test_a_tool_that_the_request_no_longer_has_is_no_client_tool() -> None:
    model = strict_model([calls(("pick_color", {}, "c1")), "Then not."])
    done = await build(model).ainvoke(HELLO, request("t"))
    assert "not a valid tool" in transcript(done["messages"])[2][1]
    assert transcript(done["messages"])[-1] == ("ai", "Then not.")


async def test_the_servers_tool_of_the_same_name_runs(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def shared_by_both(item: str) -> str:
        """The server's."""
        return f"server: {item}"

    model = strict_model([calls(("shared_by_both", {"item": "tea"}, "s1")), "Done."])
    graph = build(model, [shared_by_both], server_tools=[shared_by_both])
    with caplog.at_level(logging.WARNING, logger="yai_nexus_agentkit"):
        done = await graph.ainvoke(HELLO, request("t", {**COLOR, "name": "shared_by_both"}))
    assert transcript(done["messages"][2:]) == [("tool s1", "server: tea"), ("ai", "Done.")]
    assert model.call_tools == [["shared_by_both"]] * 2
    assert len(caplog.records) == 1


async def test_tools_see_the_graphs_state() -> None:
    model = strict_model([calls(("sayings", {}, "s1"), ("pick_color", {}, "c1"))])
    done = await build(model, [sayings]).ainvoke(HELLO, request("t", COLOR))
    assert transcript(done["messages"])[2:] == [("tool s1", "2 messages")]


async def test_a_question_of_one_tool_does_not_run_its_siblings_again() -> None:
    runs: Counter[str] = Counter()

    @tool
    async def book(item: str) -> str:
        """Book."""
        runs[item] += 1
        return f"booked {item}"

    @tool
    async def ask(what: str) -> str:
        """Ask."""
        return str(interrupt(what))

    model = strict_model(
        [calls(("book", {"item": "a"}, "s1"), ("ask", {"what": "ok?"}, "s2"), ("pick_color", {}, "c1")), "Done."]
    )
    graph = build(model, [book, ask])
    paused = await graph.ainvoke(HELLO, request("t", COLOR))
    [question] = paused["__interrupt__"]
    ended = await graph.ainvoke(Command(resume={question.id: "yes"}), request("t", COLOR))
    assert runs == {"a": 1}
    assert transcript(ended["messages"][2:]) == [("tool s1", "booked a"), ("tool s2", "yes")]
    done = await graph.ainvoke(said(answer("c1")), request("t", COLOR))
    assert transcript(done["messages"])[-1] == ("ai", "Done.")


async def test_requests_with_different_tools_on_one_graph_at_once() -> None:
    started = 0
    all_started = asyncio.Event()

    async def meet() -> None:
        nonlocal started
        started += 1
        if started == 20:
            all_started.set()
        await all_started.wait()

    model = strict_model(lambda messages: calls((messages[-1].text, {}, f"call-{messages[-1].text}")))

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        offered = [t["function"]["name"] for t in client_tools(config)]
        await meet()
        assert offered == [t["function"]["name"] for t in client_tools()]
        assert offered == [state["messages"][-1].text]
        return {"messages": [await model.bind_tools(client_tools(config)).ainvoke(state["messages"], config)]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([price]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", route_after_model, ["tools", END])
    builder.add_conditional_edges("tools", route_after_tools, ["agent", END])
    graph = builder.compile(checkpointer=InMemorySaver())

    async def one(name: str) -> list[tuple[str, str]]:
        done = await graph.ainvoke(said(HumanMessage(name)), request(name, {**COLOR, "name": name}))
        return transcript(done["messages"])

    names = [f"tool_{n}" for n in range(20)]
    assert await asyncio.gather(*map(one, names)) == [[("human", name), ("ai", "")] for name in names]


async def test_context_reaches_the_model() -> None:
    model = strict_model(["Good evening.", "Hello."])
    graph = build(model)
    context = [{"description": "Local time", "value": "20:15"}, {"description": "Page", "value": "checkout"}]
    await graph.ainvoke(HELLO, request("a", context=context))
    await graph.ainvoke(HELLO, request("b"))
    assert [m.type for m in model.calls[0]] == ["system", "human"]
    assert all(word in model.calls[0][0].text for word in ("Local time", "20:15", "Page", "checkout"))
    assert [m.type for m in model.calls[1]] == ["human"]


class Talk(TypedDict):
    talk: Annotated[list[AnyMessage], add_messages]


def test_other_names_and_a_synchronous_graph() -> None:
    model = strict_model([calls(("price", {"item": "tea"}, "s1")), calls(("pick_color", {}, "c1"))])
    routes = tool_routes("work", "think", messages_key="talk", server_tools=[price])

    @tool("price")
    def sync_price(item: str) -> str:
        """Price."""
        return f"{item} costs 5"

    def think(state: Talk) -> dict[str, Any]:
        return {"talk": [model.bind_tools(client_tools()).invoke(state["talk"])]}

    builder = StateGraph(Talk)
    builder.add_node("think", think)
    builder.add_node("work", ToolNode([sync_price], messages_key="talk"))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", routes.after_model, ["work", END])
    builder.add_conditional_edges("work", routes.after_tools, ["think", END])
    done = builder.compile().invoke({"talk": [HumanMessage("hi")]}, request("t", COLOR))
    assert transcript(done["talk"][1:]) == [("ai", ""), ("tool s1", "tea costs 5"), ("ai", "")]
    assert model.call_tools == [["pick_color"]] * 2


async def test_streamed_chunks_hold_no_client_answer() -> None:
    model = strict_model([calls(("pick_color", {}, "c1"), ("price", {"item": "tea"}, "s1"))])
    updates = [chunk async for chunk in build(model).astream(HELLO, request("t", COLOR), stream_mode="updates")]
    assert [list(update) for update in updates] == [["agent"], ["tools"]]
    messages: list[BaseMessage] = updates[1]["tools"]["messages"]
    assert [m.tool_call_id for m in messages if isinstance(m, ToolMessage)] == ["s1"]
    assert isinstance(updates[0]["agent"]["messages"][0], AIMessage)
