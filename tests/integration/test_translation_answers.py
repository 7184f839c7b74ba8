"""Which message answers which call: histories that are written again, call ids that recur, tools that nodes run by
hand, results that nodes keep to themselves."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition
from langgraph.types import Command, Send

from tests.support.graphs import Graph, chat_node, in_a_row, let_others_run, scripted
from tests.support.playing import Played, Player
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    await let_others_run(200)
    return a + b


@tool
async def lookup(city: str) -> str:
    """Weather of a city."""
    return f"weather in {city}"


def adding(call_id: str = "call_0") -> ScriptedChatModel:
    """Adds the number of messages so far to 0, under an id that recurs in every answer, then says the sum."""

    def answer(messages: list[BaseMessage]) -> list[Any]:
        if isinstance(messages[-1], ToolMessage):
            return [f"It is {messages[-1].text}."]
        return [tool_calls_part(("add", {"a": len(messages), "b": 0}, call_id))]

    return ScriptedChatModel(script=answer)


def looping(nodes: dict[str, Any], first: str = "agent", **compiled: Any) -> Graph:
    """`first` → tools → `first`, until it calls nothing."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    for name, node in nodes.items():
        builder.add_node(name, node)
    builder.add_edge(START, first)
    builder.add_conditional_edges(first, tools_condition, ["tools", END])
    builder.add_edge("tools", first)
    return builder.compile(**compiled)


def rewriting_model_node() -> Graph:
    model = adding()

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [*state["messages"], await model.ainvoke(state["messages"])]}

    return looping({"agent": agent, "tools": ToolNode([add])}, checkpointer=InMemorySaver())


def rewriting_tool_node() -> Graph:
    async def tools(state: MessagesState) -> dict[str, Any]:
        [call] = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [*state["messages"], await add.ainvoke(call)]}

    return looping({"agent": chat_node(adding()), "tools": tools}, checkpointer=InMemorySaver())


def editing_node() -> Graph:
    """Old results are shortened while the new call waits, as context editing does."""

    async def agent(state: MessagesState) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"])
        old = [m for m in state["messages"] if isinstance(m, ToolMessage)] if answer.tool_calls else []
        return {"messages": [*(m.model_copy(update={"content": "[cleared]"}) for m in old), answer]}

    model = adding()
    return looping({"agent": agent, "tools": ToolNode([add])}, checkpointer=InMemorySaver())


def agent_beside_another_node() -> Graph:
    """The right one hands back the whole conversation while the left one's call is open."""
    right = in_a_row({"quiet": lambda state: {"messages": []}}, checkpointer=None)
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("left", create_agent(adding(), [add]))
    builder.add_node("right", right)
    builder.add_edge(START, "left")
    builder.add_edge(START, "right")
    return builder.compile(checkpointer=InMemorySaver())


def agent_with_a_memory_of_its_own() -> Graph:
    """The conversation is the subgraph's, and no key of the thread's state."""

    class Asked(MessagesState):
        question: str

    inner_model = adding()

    async def agent(state: Any) -> dict[str, Any]:
        return {"messages": [*state["messages"], await inner_model.ainvoke(state["messages"])]}

    inner = looping({"agent": agent, "tools": ToolNode([add])}, checkpointer=True)

    async def ask(state: Any) -> dict[str, Any]:
        given = {"messages": [("user", state["messages"][-1].text)]}
        answered = await inner.ainvoke(given)
        return {"messages": [AIMessage(answered["messages"][-1].text)]}

    return in_a_row({"ask": ask}, Asked)


@pytest.mark.parametrize(
    ("build", "results"),
    [
        (rewriting_model_node, ["1", "5", "9"]),
        (rewriting_tool_node, ["1", "5", "9"]),
        (editing_node, ["1", "5", "9"]),
        (agent_beside_another_node, ["1", "5", "9"]),
        (agent_with_a_memory_of_its_own, ["1", "5", "9"]),
    ],
)
async def test_an_old_result_never_answers_a_new_call(
    play: Player, build: Callable[[], Graph], results: list[str]
) -> None:
    played = await play(build, "one", "two", "three", ordered=False)

    assert sent(played) == [[result] for result in results]
    assert pending(played) == []


async def test_a_handoff_with_the_whole_history(play: Player) -> None:
    @tool
    def hand_over(
        state: Annotated[dict[str, Any], InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        """Hand over to Bob."""
        moved = ToolMessage("moved", tool_call_id=tool_call_id)
        return Command(goto="bob", graph=Command.PARENT, update={"messages": [*state["messages"], moved]})

    def build() -> Graph:
        alice = scripted(
            [tool_calls_part(("lookup", {"city": "Rome"}, "call_0"))], [tool_calls_part(("hand_over", {}, "call_0"))]
        )
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("alice", create_agent(alice, [hand_over, lookup]), destinations=("bob",))
        builder.add_node("bob", create_agent(scripted("I am Bob."), []))
        builder.add_edge(START, "alice")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert sent(played) == [["weather in Rome", "moved"]]


# ---------------------------------------------------------------------- tools that a node runs by hand


def by_hand(given: Any, *, where: str = "agent", keeps: bool = False) -> Callable[[], Graph]:
    """The model calls ``lookup(city="Rome")``. A node runs the tool with `given` beside that; `keeps`: instead."""

    def build() -> Graph:
        model = ScriptedChatModel(
            script=lambda messages: (
                ["Done."] if messages[-1].type != "human" else [tool_calls_part(("lookup", {"city": "Rome"}, "call_1"))]
            )
        )

        async def agent(state: MessagesState) -> dict[str, Any]:
            answer = await model.ainvoke(state["messages"])
            if where == "agent" and answer.tool_calls:
                await lookup.ainvoke(given)
            return {"messages": [answer]}

        async def tools(state: MessagesState) -> Any:
            if where == "tools":
                await lookup.ainvoke(given)
            return {"messages": []} if keeps else await ToolNode([lookup]).ainvoke(state)

        async def after(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke([*state["messages"], AIMessage("")])]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        for name, node in {"agent": agent, "tools": tools, "after": after}.items():
            builder.add_node(name, node)
        builder.add_edge(START, "agent")
        builder.add_edge("agent", "tools")
        builder.add_edge("tools", "after")
        return builder.compile(checkpointer=InMemorySaver())

    return build


BOTH = ["weather in Oslo", "weather in Rome"]


@pytest.mark.parametrize(
    ("build", "results"),
    [
        pytest.param(by_hand({"city": "Oslo"}), BOTH, id="other, in the model's node"),
        pytest.param(by_hand({"city": "Oslo"}, where="tools"), BOTH, id="other, beside the call"),
        pytest.param(by_hand("Oslo", where="tools"), BOTH, id="other, as bare text"),
        pytest.param(by_hand({"city": "Rome"}, where="tools", keeps=True), ["weather in Rome"], id="the same"),
        pytest.param(by_hand("Rome", where="tools", keeps=True), ["weather in Rome"], id="the same, as bare text"),
    ],
)
async def test_a_tool_run_by_hand_answers_the_models_call_only_with_its_arguments(
    play: Player, build: Callable[[], Graph], results: list[str]
) -> None:
    played = await play(build, ordered=False)

    assert sent(played) == [results]
    answers = {e["toolCallId"]: e["content"] for e in played.events if e["type"] == "TOOL_CALL_RESULT"}
    assert answers["call_1"] == "weather in Rome"
    assert len(answers) == len([e for e in played.events if e["type"] == "TOOL_CALL_START"])


# ---------------------------------------------------------------------- results that a node keeps


class Kept(MessagesState):
    kept: Annotated[list[str], operator.add]


async def keeps_the_message(call: Any) -> dict[str, Any]:
    return {"kept": [(await add.ainvoke(call)).content]}


async def keeps_nothing(call: Any) -> None:
    await add.ainvoke(call)


async def rewrites(call: Any) -> dict[str, Any]:
    result = await add.ainvoke(call)
    return {"messages": [ToolMessage(f"{result.content}!", tool_call_id=call["id"])]}


@pytest.mark.parametrize(
    ("node", "results"), [(keeps_the_message, ["3", "7"]), (keeps_nothing, ["3", "7"]), (rewrites, ["3!", "7!"])]
)
async def test_one_node_run_per_call(play: Player, node: Any, results: list[str]) -> None:
    def build() -> Graph:
        calls = ("add", {"a": 1, "b": 2}, "call_1"), ("add", {"a": 3, "b": 4}, "call_2")
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Kept)
        builder.add_node("agent", chat_node(scripted([tool_calls_part(*calls)])))
        builder.add_node("run", node)
        builder.add_edge(START, "agent")
        builder.add_conditional_edges(
            "agent", lambda state: [Send("run", call) for call in state["messages"][-1].tool_calls], ["run"]
        )
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, in_step=node is rewrites)  # the other threads have no results

    assert sent(played) == [results]
    assert pending(played) == []


def sent(played: Played) -> list[list[str]]:
    """The results that each run sent, in order."""
    return [[e["content"] for e in run["events"] if e["type"] == "TOOL_CALL_RESULT"] for run in played.runs]


def pending(played: Played) -> list[str]:
    """The calls that the last run's end leaves to the client."""
    ids: list[str] = (played.events[-1].get("outcome") or {}).get("pendingToolCallIds", [])
    return ids


async def test_a_subagent_uses_an_id_before_the_agent_around_it_does(play: Player) -> None:
    """Neither a snapshot nor the next turn gives the agent's call the id that the client knows the subagent's by."""

    def build() -> Graph:
        inner = scripted([tool_calls_part(("lookup", {"city": "Rome"}, "call_0"))], "Sunny.")
        helper = create_agent(inner, [lookup])

        @tool
        async def research(city: str) -> str:
            """Ask the helper."""
            found = await helper.ainvoke({"messages": [("user", city)]})
            return str(found["messages"][-1].text)

        outer = scripted(
            [tool_calls_part(("research", {"city": "Rome"}, "first"))],
            [tool_calls_part(("lookup", {"city": "Oslo"}, "call_0"))],
            "Done.",
            [tool_calls_part(("lookup", {"city": "Bonn"}, "call_0"))],
            "Again.",
        )
        return create_agent(outer, [research, lookup], checkpointer=InMemorySaver())

    played = await play(build, "one", "two")

    calls = [call["id"] for message in played.messages for call in message.get("toolCalls", ())]
    answers = {m["toolCallId"]: m["content"] for m in played.messages if m["role"] == "tool"}
    assert len(calls) == len(set(calls)) == 4
    assert sorted(answers) == sorted(calls)
    assert sorted(answers.values()) == ["Sunny.", "weather in Bonn", "weather in Oslo", "weather in Rome"]
