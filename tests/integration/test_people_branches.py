"""People who go back to a message that did not come in alone, or on threads whose checkpoints hold no messages: all of
the state returns with them."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.support.graphs import Graph, in_a_row
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from tests.support.timing import drained
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.client_tools import client_tools
from yai_nexus_agentkit.testing import ScriptedChatModel, run_input, tool_calls_part

pytestmark = EACH_PEER

SHOW = {"name": "show", "description": "Show it.", "parameters": {"type": "object", "properties": {}}}


class State(MessagesState):
    turns: Annotated[int, operator.add]


class Memory(MessagesState):
    remembered: Annotated[list[str], operator.add]


class Remembering:
    """A graph that counts, and whose subgraph remembers by itself what was said; it may call a tool of the client's."""

    def __init__(self, saver: BaseCheckpointSaver[Any] | None = None) -> None:
        self.remembered: list[str] = []
        self.model = strict_model(self._answer, ids="all")
        inner: StateGraph[Any, Any, Any, Any] = StateGraph(Memory)
        inner.add_node("remember", self._remember)
        inner.add_edge(START, "remember")
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
        builder.add_node("agent", self._agent)
        builder.add_node("memory", inner.compile(checkpointer=True))
        builder.add_edge(START, "agent")
        builder.add_edge("agent", "memory")
        self.graph: Graph = builder.compile(checkpointer=saver or InMemorySaver())

    def _answer(self, messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if last.type == "human" and last.text.startswith("show"):
            return [tool_calls_part(("show", {}, f"call-{len(messages)}"))]
        return [f"re {last.text}"]

    async def _agent(self, state: State, config: RunnableConfig) -> dict[str, Any]:
        model = self.model.bind_tools(client_tools(config))
        return {"messages": [await model.ainvoke(state["messages"], config)], "turns": 1}

    def _remember(self, state: Memory) -> dict[str, Any]:
        last = next(m.text for m in reversed(state["messages"]) if m.type != "ai")
        self.remembered = [*state.get("remembered", []), last]
        return {"remembered": [last]}


def system(id: str, text: str = "Be nice.") -> dict[str, Any]:
    return {"id": id, "role": "system", "content": text}


def user(text: str) -> dict[str, Any]:
    return {"id": f"u-{text}", "role": "user", "content": text}


async def terminal_tool(tab: Tab) -> None:
    await tab.say("show it")
    await tab.say("second")


async def answer_and_message(tab: Tab) -> None:
    await tab.say("show it")
    await tab.send([*tab.messages, tab.result(tab.pending[0], "shown"), user("second")])


async def late_instructions(tab: Tab) -> None:
    await tab.say("first")
    await tab.send([*tab.messages, system("s"), user("second")])


async def first_instructions(tab: Tab) -> None:
    await tab.send([system("s"), user("first")])
    await tab.say("second")


async def several_messages(tab: Tab) -> None:
    await tab.say("first")
    await tab.send([*tab.messages, user("and"), system("s"), user("second")])


async def whole_history(tab: Tab) -> None:
    answer = {"id": "a", "role": "assistant", "content": "re first"}
    await tab.send([system("s"), user("first"), answer, user("second")])


async def answered_tool(tab: Tab) -> None:
    """Two runs answer the same user message."""
    await tab.say("first")
    await tab.say("show it")
    await tab.return_results("shown")


async def said_again(tab: Tab) -> None:
    await first_instructions(tab)
    await tab.regenerate(0)
    await tab.regenerate(0)
    await tab.say("more")


async def cut_at_the_head(tab: Tab) -> None:
    """The input that came with the message removed the messages before it."""
    await tab.say("first")
    await tab.say("second")
    await tab.graph.aupdate_state(  # type: ignore[attr-defined]
        {"configurable": {"thread_id": "thread"}}, {"messages": [AIMessage("aside", id="x")]}, as_node="memory"
    )
    await tab.send()


Begin = Callable[[Tab], Awaitable[None]]
ENTRIES: dict[str, tuple[Begin, int, int, list[str]]] = {
    # how it came in, which of the user's messages, calls of the model before it, what the subgraph remembers of them
    "a terminal tool of the client's": (terminal_tool, -1, 1, ["show it"]),
    "an answer and a message": (answer_and_message, -1, 1, ["show it"]),
    "instructions with a later message": (late_instructions, -1, 1, ["first"]),
    "instructions with the first message": (first_instructions, 0, 0, []),
    "after those": (first_instructions, -1, 1, ["first"]),
    "several messages": (several_messages, -1, 1, ["first"]),
    "the first of several": (several_messages, -2, 1, ["first"]),
    "a whole history": (whole_history, -1, 0, []),
    "the first of a whole history": (whole_history, 0, 0, []),
    "a message with a tool's answer": (answered_tool, -1, 1, ["first"]),
    "said again and again": (said_again, 0, 0, []),
    "an aside": (cut_at_the_head, -1, 1, ["first"]),
}


@pytest.mark.parametrize("act", ["edit", "regenerate twice"])
@pytest.mark.parametrize("entry", ENTRIES)
async def test_all_of_the_state_returns(peer: Peer, caplog: pytest.LogCaptureFixture, entry: str, act: str) -> None:
    begin, number, before, remembered = ENTRIES[entry]
    it = Remembering()
    tab = Tab(it.graph, peer, tools=[SHOW])
    await begin(tab)
    text = [m["content"] for m in tab.messages if m["role"] == "user"][number]
    kept = tab.messages[: next(n for n, m in enumerate(tab.messages) if m.get("content") == text)]

    if act == "edit":
        text = "edited"
        await tab.edit(number, text)
    else:
        await tab.regenerate(number)
        await tab.regenerate(-1)

    assert tab.state == {"turns": before + 1}
    assert it.remembered == [*remembered, text]
    assert [m["id"] for m in tab.messages[: len(kept)]] == [m["id"] for m in kept]
    assert (len(tab.messages), tab.messages[len(kept)]["content"]) == (len(kept) + 2, text)
    assert not [r for r in caplog.records if "no checkpoint" in r.getMessage()]
    await tab.say("on")
    assert tab.state == {"turns": before + 2}


async def test_instructions_stay_as_they_are_now(peer: Peer) -> None:
    """A client sends them with every request: they are no part of what is taken back."""
    it = Remembering()
    tab = Tab(it.graph, peer)
    await tab.send([system("s", "Be nice."), user("first")])
    await tab.say("second")
    await tab.send([system("s", "Be terse."), *tab.messages[1:], user("third")])

    await tab.regenerate(1)

    assert [m.text for m in it.model.calls[-1]] == ["Be terse.", "first", "re first", "second"]
    assert tab.state == {"turns": 2}
    await tab.say("fourth")
    assert "MESSAGES_SNAPSHOT" not in tab.types
    await tab.send([system("s", "Be brief."), *tab.messages[1:4]])  # changed by the request that goes back
    assert [m.text for m in it.model.calls[-1]] == ["Be brief.", "first", "re first", "second"]
    assert tab.state == {"turns": 2}


async def test_a_message_that_came_with_an_answer(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    """No input brought it: the run that was resumed went on with it. The question is open again."""

    def ask(state: State) -> dict[str, Any]:
        return {"turns": 1, "messages": [AIMessage(f"heard {interrupt('Go?')}", id=f"t-{len(state['messages'])}")]}

    tab = Tab(in_a_row({"ask": ask}, State), peer)
    await tab.say("first")
    entries = [{"interruptId": q["id"], "status": "resolved", "payload": "yes"} for q in tab.questions]
    await tab.send([*tab.messages, user("along")], resume=entries)

    await tab.edit(1, "other")

    assert (tab.outcome, tab.state) == ("interrupt", {"turns": 0})
    assert tab.said == [("user", "first"), ("user", "other")]
    assert not [r for r in caplog.records if "no checkpoint" in r.getMessage()]


class Replaced(TypedDict):
    messages: list[AnyMessage]
    turns: Annotated[int, operator.add]


@pytest.mark.parametrize("pruned", [False, True])
async def test_a_conversation_without_a_reducer(peer: Peer, pruned: bool) -> None:
    def answer(state: Replaced) -> dict[str, Any]:
        text = " ".join(m.text for m in state["messages"] if m.type == "human")
        return {"turns": 1, "messages": [*state["messages"], AIMessage(f"re {text}", id=f"a{len(state['messages'])}")]}

    saver = InMemorySaver()
    tab = Tab(in_a_row({"answer": answer}, Replaced, checkpointer=saver), peer)
    for text in "abc":
        await tab.say(text)
    if pruned:
        prune(saver)

    await tab.edit(1, "x")

    assert [text for _, text in tab.said] == ["a", "re a", "x", "re a x"]
    assert tab.state == {"turns": 4 if pruned else 2}


def prune(saver: InMemorySaver) -> None:
    """Only the newest checkpoint is left."""
    for checkpoints in saver.storage["thread"].values():
        for id in sorted(checkpoints)[:-1]:
            del checkpoints[id]


@pytest.mark.parametrize("pruned", [False, True])
async def test_a_paused_turn_with_a_result_is_edited(peer: Peer, pruned: bool) -> None:
    """The result waits for the other tool; there is nothing of it to be removed."""

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool
    async def look(at: str) -> str:
        """Look."""
        return f"saw {at}"

    def script(messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if last.type == "human" and "pay" in last.text:
            n = len(messages)
            return [tool_calls_part(("pay", {"amount": 1}, f"p{n}"), ("look", {"at": "x"}, f"l{n}"))]
        return [f"re {last.text}"]

    saver = InMemorySaver()
    tools = [require_approval(pay), look]
    tab = Tab(create_agent(strict_model(script, ids="all"), tools, checkpointer=saver), peer)
    await tab.send([system("s"), user("pay")])
    assert ("tool", "saw x") in tab.said
    if pruned:
        prune(saver)

    await tab.edit(0, "never mind", reloaded=True)

    assert tab.said == [("system", "Be nice."), ("user", "never mind"), ("assistant", "re never mind")]
    await tab.say("on")
    assert tab.said[-1] == ("assistant", "re on")


# ---------------------------------------------------------------- checkpoints without messages


def merged(held: list[Any], writes: list[Any]) -> list[Any]:
    for write in writes:
        held = add_messages(held, write)  # type: ignore[assignment]
    return held


class Piecewise(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merged)]
    turns: Annotated[int, operator.add]


def piecewise(saver: BaseCheckpointSaver[Any]) -> Graph:
    def answer(state: Piecewise) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"turns": 1, "messages": [AIMessage(f"re {last.text}", id=f"a-{last.text}-{len(state['messages'])}")]}

    return in_a_row({"answer": answer}, Piecewise, checkpointer=saver)


@pytest.mark.parametrize("durability", ["async", "exit"])
@pytest.mark.parametrize("act", ["edit", "regenerate", "cut"])
async def test_a_conversation_in_pieces(
    peer: Peer, saver: BaseCheckpointSaver[Any], caplog: pytest.LogCaptureFixture, act: str, durability: Any
) -> None:
    tab = Tab(piecewise(saver), peer, options=AdapterOptions(durability=durability))
    await tab.send([system("s"), user("a")])
    await tab.say("b")
    await tab.say("c")
    for _ in range(2):
        if act == "edit":
            await tab.edit(1, "b")
        elif act == "regenerate":
            await tab.regenerate(1)
        else:
            tab.cut(1)
            await tab.say("b")
        assert [text for _, text in tab.said] == ["Be nice.", "a", "re a", "b", "re b"]
        assert tab.state == {"turns": 2}
    await tab.say("d")
    assert tab.state == {"turns": 3}
    assert not [r for r in caplog.records if "no checkpoint" in r.getMessage()]


async def test_a_pruned_conversation_in_pieces(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    saver = InMemorySaver()
    graph = piecewise(saver)
    config: RunnableConfig = {"configurable": {"thread_id": "thread"}}
    given = [HumanMessage("a", id="u1"), AIMessage("A", id="a1"), HumanMessage("b", id="u2"), AIMessage("B", id="a2")]
    await graph.aupdate_state(config, {"messages": given, "turns": 2}, as_node="answer")
    tab = Tab(graph, peer)
    await tab.send()

    await tab.edit(1, "x")

    assert [text for _, text in tab.said] == ["a", "A", "x", "re x"]
    assert any("no checkpoint" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("act", ["edit", "cut", "while a question is open"])
async def test_files_of_a_deep_agent(peer: Peer, act: str) -> None:
    deepagents = pytest.importorskip("deepagents")

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def script(messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if last.type != "human":
            return ["done"]
        n = len(messages)
        calls: list[Any] = [("write_file", {"file_path": f"/{last.text}.txt", "content": "x"}, f"w{n}")]
        if act.startswith("while") and last.text == "two":
            calls.append(("pay", {"amount": 1}, f"p{n}"))
        return [tool_calls_part(*calls)]

    model = ScriptedChatModel(script=script, ids="all")
    graph = deepagents.create_deep_agent(model=model, tools=[require_approval(pay)], checkpointer=InMemorySaver())
    tab = Tab(graph, peer)
    await tab.say("one")
    await tab.say("two")
    if act == "cut":
        tab.cut(1)
        await tab.say("three")
    else:
        await tab.edit(1, "three", reloaded=True)

    values = (await graph.aget_state({"configurable": {"thread_id": "thread"}})).values
    assert sorted(values["files"]) == ["/one.txt", "/three.txt"]
    await tab.say("four")
    assert [text for role, text in tab.said if role == "user"] == ["one", "three", "four"]


async def test_going_back_in_a_long_conversation_in_pieces(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    """450 checkpoints; compared with a turn that does not go back, in processor time."""
    if peer.version is None:
        return
    graph = piecewise(saver)
    adapter = AGUIAdapter(graph)

    async def run(messages: list[Any]) -> None:
        async for _ in adapter.run(run_input(messages, thread_id="t")):
            pass

    async def timed(messages: list[Any]) -> float:
        return await drained(adapter.run(run_input(messages, thread_id="t")))

    for number in range(150):
        await run([user(str(number))])
    _, messages = await held(graph, "t")
    shown: list[dict[str, Any]] = [
        {"id": m.id, "role": "user" if m.type == "human" else "assistant", "content": m.text} for m in messages
    ]
    plain = min([await timed([*shown, user(f"plain-{n}")]) for n in range(3)])
    costs = {}
    for back in (1, 10, 149):
        at = 2 * (150 - back)
        costs[back] = await timed([*shown[:at], {**shown[at], "content": f"edited {back}"}])
        state, messages = await held(graph, "t")
        assert (state["turns"], messages[-2].text) == (150 - back + 1, f"edited {back}")
        costs[-back] = await timed(shown[: at + 1])
    assert max(costs.values()) - plain < 0.15, (plain, costs)
