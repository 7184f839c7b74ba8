"""Nodes that run the model's calls by hand and ask about them, as graphs for LangChain's Agent Inbox do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.graphs import Graph, in_a_row, scripted
from tests.support.people import EACH_PEER, Peer, Tab
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@tool
def send(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


TOOLS = {"look": look, "send": send}
FORMS: dict[str, Callable[[str, str], Any]] = {
    "message": lambda text, call: ToolMessage(text, tool_call_id=call),
    "dict": lambda text, call: {"role": "tool", "content": text, "tool_call_id": call},
    "dict with an id": lambda text, call: {"role": "tool", "content": text, "tool_call_id": call, "id": f"r-{text}"},
}
ANSWERS: dict[str, tuple[Any, str]] = {
    "accept": ({"type": "accept", "args": None}, "R: sent to ann"),
    "edit": ({"type": "edit", "args": {"action": "send", "args": {"to": "bob"}}}, "R: sent to bob"),
    "response": ({"type": "response", "args": "Not now."}, "R: Not now."),
}


@dataclass(frozen=True)
class Inbox:
    """An agent whose node `handle` runs the tools, and asks before it sends."""

    form: str = "dict"
    runs_tools: bool = True
    """With `invoke`, which LangChain reports; else as functions."""
    sync: bool = False
    goes_on: bool = True
    """The model speaks again behind the results."""
    asks: bool = True

    def handled(self, call: dict[str, Any], ai: AIMessage) -> list[Any]:
        args, updated = call["args"], []
        if call["name"] == "send" and self.asks:
            request = {"action": call["name"], "args": args}
            [answer] = interrupt([{"action_request": request, "config": {}, "description": "Send this?"}])
            if answer["type"] == "response":
                return [FORMS[self.form](f"R: {answer['args']}", call["id"])]
            if answer["type"] == "edit":
                args = answer["args"]["args"]
                calls = [{**one, "args": args} if one["id"] == call["id"] else one for one in ai.tool_calls]
                updated = [ai.model_copy(update={"tool_calls": calls})]
        found = TOOLS[call["name"]].invoke(args) if self.runs_tools else TOOLS[call["name"]].func(**args)
        return [*updated, FORMS[self.form](f"R: {found}", call["id"])]

    def build(self) -> StateGraph[Any, Any, Any, Any]:
        """Ids of calls recur in every turn."""
        calls = tool_calls_part(("look", {"q": "x"}, "c1"), ("send", {"to": "ann"}, "c2"))
        model = scripted(*[["Hm. ", calls], "Done."][: 2 if self.goes_on else 1] * 3)

        async def ask(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"], config)]}

        def ask_sync(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [model.invoke(state["messages"], config)]}

        def handle(state: MessagesState) -> dict[str, Any]:
            last: Any = state["messages"][-1]
            return {"messages": [written for call in last.tool_calls for written in self.handled(call, last)]}

        async def handle_async(state: MessagesState) -> dict[str, Any]:
            return handle(state)

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("ask", ask_sync if self.sync else ask)
        builder.add_node("handle", handle if self.sync else handle_async)
        builder.add_edge(START, "ask")
        builder.add_conditional_edges("ask", lambda s: "handle" if s["messages"][-1].tool_calls else END)
        builder.add_edge("handle", "ask" if self.goes_on else END)
        return builder


def inside(builder: StateGraph[Any, Any, Any, Any], depth: int, saver: Any) -> Graph:
    for _ in range(depth):
        outer: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        outer.add_node("agent", builder.compile())
        outer.add_edge(START, "agent")
        builder = outer
    return builder.compile(checkpointer=saver)


def order(tab: Tab) -> list[str]:
    """The calls, results and texts of the last run, in order."""
    found: list[str] = []
    for event in tab.events:
        match event["type"]:
            case "TOOL_CALL_START":
                found.append(f"call {event['toolCallId']}")
            case "TOOL_CALL_RESULT":
                found.append(event["content"])
            case "TEXT_MESSAGE_CONTENT":
                found.append(event["delta"])
    return found


@pytest.mark.parametrize("given", ANSWERS)
@pytest.mark.parametrize(("runs_tools", "sync"), [(True, True), (False, False)], ids=["sync tools", "async functions"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_an_answered_call_has_its_result_before_the_model_goes_on(
    peer: Peer, depth: int, form: str, runs_tools: bool, sync: bool, given: str
) -> None:
    agent = Inbox(form, runs_tools, sync)
    tab = Tab(inside(agent.build(), depth, InMemorySaver()), peer)
    answer, result = ANSWERS[given]
    await tab.say("hi")
    assert tab.questions[0]["message"] == "Send this?"
    await tab.answer([answer])
    assert order(tab) == ["R: found x", result, "Done."]


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("form", FORMS)
async def test_the_same_ids_in_the_next_turn(peer: Peer, form: str, depth: int) -> None:
    tab = Tab(inside(Inbox(form).build(), depth, InMemorySaver()), peer)
    for _ in range(1 if form == "dict with an id" else 2):  # which would replace the first turn's result
        await tab.say("hi")
        await tab.answer([ANSWERS["edit"][0]])
        assert order(tab) == ["R: found x", "R: sent to bob", "Done."]


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("form", FORMS)
async def test_results_at_the_end_of_the_graph(peer: Peer, form: str, depth: int) -> None:
    tab = Tab(inside(Inbox(form, goes_on=False).build(), depth, InMemorySaver()), peer)
    await tab.say("hi")
    await tab.answer([ANSWERS["accept"][0]])
    assert order(tab) == ["R: found x", "R: sent to ann"]


@pytest.mark.parametrize("saver", [True, False], ids=["saver", "no saver"])
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("form", FORMS)
async def test_without_a_question(peer: Peer, form: str, depth: int, saver: bool) -> None:
    graph = inside(Inbox(form, asks=False).build(), depth, InMemorySaver() if saver else None)
    tab = Tab(graph, peer)
    await tab.say("hi", in_step=saver)
    assert order(tab) == ["Hm. ", "call c1", "call c2", "R: found x", "R: sent to ann", "Done."]
    assert [m["content"] for m in tab.messages if m["role"] == "tool"] == ["R: found x", "R: sent to ann"]


@pytest.mark.parametrize("form", ["message", "dict"])
async def test_two_agents_side_by_side_with_the_same_ids(peer: Peer, form: str) -> None:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    for name in ("one", "two"):
        builder.add_node(name, Inbox(form).build().compile())
        builder.add_edge(START, name)
    tab = Tab(builder.compile(checkpointer=InMemorySaver()), peer)
    await tab.say("hi")
    await tab.answer([ANSWERS["accept"][0]], [ANSWERS["edit"][0]])
    results = [m["content"] for m in tab.messages if m["role"] == "tool"]
    assert sorted(results) == ["R: found x", "R: found x", "R: sent to ann", "R: sent to bob"]


REVIEW = {"action_request": {"action": "send", "args": {"to": "ann"}}, "config": {"allow_accept": True}}
WORDS: dict[str, tuple[Any, str]] = {
    "one with a description": ({**REVIEW, "description": "Send it?"}, "Send it?"),
    "one without": (REVIEW, 'send {"to":"ann"}'),
    "a list of them": ([{**REVIEW, "description": "Send it?"}, REVIEW], 'Send it?\nsend {"to":"ann"}'),
    "a list of texts": (["Which city?", "When?"], "Which city?\nWhen?"),
    "a list of questions": ([{"question": "Which city?"}, "When?"], "Which city?\nWhen?"),
    "a list that says nothing": ([{"a": 1}, "When?"], '[{"a":1},"When?"]'),
    "an empty list": ([], "[]"),
    "a tuple": (("Which city?", "When?"), "Which city?\nWhen?"),
}


@pytest.mark.parametrize("kind", WORDS)
async def test_questions_in_words(peer: Peer, kind: str) -> None:
    value, words = WORDS[kind]
    tab = Tab(in_a_row({"ask": lambda state: interrupt(value) and None}), peer)
    await tab.say("hi")
    assert tab.questions[0]["message"] == words


@pytest.mark.parametrize("depth", [0, 1])
async def test_a_review_names_its_call(peer: Peer, depth: int) -> None:
    tab = Tab(inside(Inbox().build(), depth, InMemorySaver()), peer)
    await tab.say("hi")
    assert tab.questions[0]["metadata"]["langgraph"]["toolCallIds"] == ["c2"]
