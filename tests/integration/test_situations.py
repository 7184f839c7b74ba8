"""Rare parts of LangGraph and LangChain, and rare combinations of usual ones: each client ends with the thread."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import push_message
from langgraph.graph.ui import push_ui_message, ui_message_reducer
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, Overwrite, Send, interrupt

from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.playing import Player, Turn
from tests.support.two_sources import answer
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts

agents = pytest.importorskip("langchain.agents")
middleware = pytest.importorskip("langchain.agents.middleware")


def says(script: Callable[[list[Any]], Any]) -> ScriptedChatModel:
    return ScriptedChatModel(script=script)


def calls_once(name: str, **args: Any) -> ScriptedChatModel:
    """Calls the tool in each turn, then says what it returned."""
    numbers = itertools.count()

    def script(messages: list[Any]) -> Any:
        if messages[-1].type == "tool":
            return ["It said ", messages[-1].text]
        return tool_call_parts(name, args, f"{name}-{next(numbers)}")

    return says(script)


def agent(model: Any, *tools: BaseTool, **fields: Any) -> Graph:
    made: Graph = agents.create_agent(model, list(tools), **{"checkpointer": InMemorySaver(), **fields})
    return made


def fanned(work: Any, state: type = MessagesState, number: int = 3) -> Graph:
    builder = StateGraph(state)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, lambda s: [Send("work", {"n": n}) for n in range(number)], ["work"])
    return builder.compile(checkpointer=InMemorySaver())


# ---------------------------------------------------------------- graphs


def pushed() -> Graph:
    """The node shows a message before it ends."""

    async def node(state: Any) -> Any:
        push_message(AIMessage("Wait. ", id=f"pushed-{len(state['messages'])}"))
        return {"messages": [await scripted(["Said."]).ainvoke("x")]}

    return in_a_row({"node": node}, checkpointer=InMemorySaver())


class Rendered(MessagesState):
    ui: Annotated[list[Any], ui_message_reducer]


def rendered() -> Graph:
    async def node(state: Any) -> Any:
        message = AIMessage("Sun.", id=f"said-{len(state['messages'])}")
        push_ui_message("weather", {"city": "Oslo"}, id=f"ui-{len(state['messages'])}", message=message)
        return {"messages": [message]}

    return in_a_row({"node": node}, Rendered, checkpointer=InMemorySaver())


def overwritten() -> Graph:
    async def node(state: Any) -> Any:
        said = await scripted([f"Of {len(state['messages'])}."]).ainvoke("x")
        return {"messages": Overwrite([state["messages"][-1], said])}

    return in_a_row({"node": node}, checkpointer=InMemorySaver())


class Passing(MessagesState):
    untracked: Annotated[str, UntrackedValue]
    ephemeral: Annotated[str, EphemeralValue]


def passing() -> Graph:
    async def write(state: Any) -> Any:
        return {"untracked": "u", "ephemeral": "e"}

    async def read(state: Any) -> Any:
        return {"messages": [await scripted([f"{state.get('untracked')}{state.get('ephemeral')}"]).ainvoke("x")]}

    return in_a_row({"write": write, "read": read}, Passing, checkpointer=InMemorySaver())


def asked_by_each() -> Graph:
    async def work(given: Any) -> Any:
        return {"messages": [AIMessage(f"{given['n']} {interrupt(given)}", id=f"work-{given['n']}")]}

    return fanned(work)


def asked_in_tools_at_once() -> Graph:
    @tool
    def sure(who: str) -> str:
        """Ask."""
        return f"{who} {interrupt(who)}"

    builder = StateGraph(MessagesState)
    for who in ("ann", "bob"):
        builder.add_node(who, agent(calls_once("sure", who=who), sure, name=who, checkpointer=None))
        builder.add_edge(START, who)
    return builder.compile(checkpointer=InMemorySaver())


def handed_to_and_fro() -> Graph:
    numbers = itertools.count()

    def handing(to: str) -> BaseTool:
        @tool(f"to_{to}")
        def hand(call_id: Annotated[str, InjectedToolCallId], state: Annotated[Any, InjectedState]) -> Command[Any]:
            """Hand over."""
            update = {"messages": [state["messages"][-1], ToolMessage(f"to {to}", tool_call_id=call_id)]}
            return Command(graph=Command.PARENT, goto=to, update=update)

        return hand

    def script(own: str, other: str) -> Callable[[list[Any]], Any]:
        def said(messages: list[Any]) -> Any:
            if sum(message.type == "tool" for message in messages) % 3 == 2:
                return [f"{own} ends."]
            return [f"{own} passes. ", *tool_call_parts(f"to_{other}", {}, f"h{next(numbers)}")]

        return said

    builder = StateGraph(MessagesState)
    for own, other in (("ann", "bob"), ("bob", "ann")):
        builder.add_node(own, agent(says(script(own, other)), handing(other), name=own, checkpointer=None))
    builder.add_edge(START, "ann")
    return builder.compile(checkpointer=InMemorySaver())


class Got(MessagesState):
    got: Annotated[list[int], operator.add]


def sent_by_a_tool() -> Graph:
    @tool
    def spread(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Spread."""
        done = ToolMessage("spread", tool_call_id=call_id)
        return Command(goto=[Send("leaf", {"n": n}) for n in range(3)], update={"messages": [done]})

    async def leaf(given: Any) -> Any:
        return {"messages": [await scripted([f"leaf {given['n']}"]).ainvoke("x")], "got": [given["n"]]}

    builder = StateGraph(Got)

    async def start(state: Any) -> Any:
        return {"messages": [await scripted(tool_call_parts("spread", {}, "s1")).ainvoke("x")]}

    builder.add_node("start", start)
    builder.add_node("tools", ToolNode([spread]))
    builder.add_node("leaf", leaf)
    builder.add_edge(START, "start")
    builder.add_edge("start", "tools")
    return builder.compile(checkpointer=InMemorySaver())


# ---------------------------------------------------------------- middleware


def failing(times: int) -> BaseTool:
    left = itertools.chain([True] * times, itertools.repeat(False))

    @tool
    async def flaky(x: int) -> str:
        """Fail at first."""
        get_stream_writer()({"at": x})
        if next(left):
            raise ConnectionError("once")
        return "word " * 50

    return flaky


def tried_again() -> Graph:
    again = middleware.ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    return agent(calls_once("flaky", x=1), failing(1), middleware=[again])


def streamed_again() -> Graph:
    script = [["Half ", ValueError("gone")], ["Whole."]]
    again = middleware.ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    return agent(ScriptedChatModel(script=script), middleware=[again])


def results_cleared() -> Graph:
    edit = middleware.ClearToolUsesEdit(trigger=50, keep=0)
    return agent(calls_once("flaky", x=1), failing(0), middleware=[middleware.ContextEditingMiddleware(edits=[edit])])


def emulated() -> Graph:
    other = says(lambda messages: ["emu", "lated"])
    return agent(calls_once("flaky", x=1), failing(0), middleware=[middleware.LLMToolEmulator(model=other)])


YES = answer("yes")
SITUATIONS: Mapping[str, tuple[Callable[[], Graph], tuple[Turn, ...], Mapping[str, Any], str]] = {
    "a pushed message": (pushed, ("hi", "more"), {}, "Said."),
    "pushed UI": (rendered, ("hi", "more"), {}, "Sun."),
    "an overwritten conversation": (overwritten, ("hi", "more"), {}, "Of 3."),
    "values that are not kept": (passing, ("hi", "more"), {"in_step": False}, "ue"),
    "a question of each parallel task": (asked_by_each, ("hi", YES), {"ordered": False}, "2 yes"),
    "questions in tools of agents at once": (
        asked_in_tools_at_once, ("hi", YES), {"same": False, "in_step": False}, "It said bob yes",
    ),
    "agents that hand over to and fro": (handed_to_and_fro, ("hi", "more"), {}, "ann ends."),
    "tasks that a tool starts": (sent_by_a_tool, ("hi",), {"ordered": False}, "leaf 2"),
    "a tool that is tried again": (tried_again, ("hi", "more"), {}, f"It said {'word ' * 50}"),
    "a model that streams again": (streamed_again, ("hi",), {}, "Whole."),
    "results that are cleared": (results_cleared, ("hi", "more"), {}, "It said [cleared]"),
    "a tool that a model plays": (emulated, ("hi", "more"), {}, "It said emulated"),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
async def test_every_client_ends_with_the_thread(play: Player, name: str) -> None:
    build, turns, options, last = SITUATIONS[name]
    played = await play(build, *turns, **options)
    assert played.messages[-1]["content"] == last
    assert len({message["id"] for message in played.messages}) == len(played.messages)
