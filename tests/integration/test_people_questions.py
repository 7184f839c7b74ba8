"""Questions wherever a graph can ask them: the run ends with them, and the answers go on from there."""

from __future__ import annotations

import dataclasses
import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel

from tests.support.graphs import Graph, chat_node, in_a_row, scripted, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER


class Noted(MessagesState):
    notes: Annotated[list[str], operator.add]


def asking(question: Any, **more: Any) -> Any:
    """A node that asks, and says what was answered."""

    def ask(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(f"answered {interrupt(question, **more)}", id=f"said-{len(state['messages'])}")]}

    return ask


def saying(text: str) -> Any:
    async def say(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await scripted([text], ids="all", label=text).ainvoke("x", config)]}

    return say


@tool
async def look_up(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@tool
async def ask_user(q: str) -> str:
    """Ask the user."""
    return f"they said {interrupt({'question': q})}"


# ---------------------------------------------------------------- in nodes


async def test_in_a_node(peer: Peer) -> None:
    tab = Tab(in_a_row({"before": saying("Let me ask. "), "ask": asking({"question": "Which one?"})}), peer)
    await tab.say("hi")

    [question] = tab.questions
    assert question["message"] == "Which one?"
    assert question["reason"] == "langgraph:interrupt"
    assert question["metadata"]["langgraph"] == {"value": {"question": "Which one?"}}
    assert {"toolCallId", "responseSchema", "expiresAt"}.isdisjoint(question)
    assert tab.types[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert tab.said == [("user", "hi"), ("assistant", "Let me ask. ")]

    await tab.answer("the red one")
    assert tab.outcome == "success"
    assert tab.said[-1] == ("assistant", "answered the red one")
    assert "STEP_STARTED" in tab.types


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Sure?", "Sure?"),
        ({"prompt": "Sure?", "x": 1}, "Sure?"),
        ({"name": "delete"}, "Allow delete?"),
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        (17, "17"),
        (["a", "b"], "a\nb"),
        ({"text": "x" * 2000}, "x" * 2000),
        ({"rows": ["x" * 2000]}, None),
    ],
    ids=["text", "prompt", "name", "object", "number", "list", "long text", "large object"],
)
async def test_every_question_has_a_message(peer: Peer, value: Any, message: str | None) -> None:
    tab = Tab(in_a_row({"ask": asking(value)}), peer)
    await tab.say("hi")
    [question] = tab.questions
    assert question["metadata"]["langgraph"]["value"] == value
    if message is not None:
        assert question["message"] == message
    assert 0 < len(question["message"]) <= 2000
    await tab.answer("yes")
    assert tab.said[-1] == ("assistant", "answered yes")


@dataclasses.dataclass
class Choice:
    colour: str
    amount: int = 1


async def test_a_question_may_be_any_object(peer: Peer) -> None:
    tab = Tab(in_a_row({"ask": asking(Choice("red"))}), peer)
    await tab.say("hi")
    assert tab.questions[0]["metadata"]["langgraph"]["value"] == {"colour": "red", "amount": 1}
    await tab.answer(None)
    assert tab.said[-1] == ("assistant", "answered None")


async def test_several_questions_in_one_node(peer: Peer) -> None:
    """They come one after the other: each has an id of its own."""
    asked: list[str] = []

    def ask(state: MessagesState) -> dict[str, Any]:
        asked.append("run")
        name, age = interrupt("Name?"), interrupt("Age?")
        return {"messages": [AIMessage(f"{name} is {age}", id="said")]}

    tab = Tab(in_a_row({"ask": ask}), peer)
    await tab.say("hi")
    first = tab.questions
    await tab.answer("Ann")
    second = tab.questions
    assert [q["message"] for q in (*first, *second)] == ["Name?", "Age?"]
    assert first[0]["id"] != second[0]["id"]
    await tab.answer(9)
    assert tab.said == [("user", "hi"), ("assistant", "Ann is 9")]
    assert len(asked) == 3


async def test_a_node_that_asks_in_a_loop(peer: Peer) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        number, tries = "", 0
        while not number.isdigit():
            number, tries = interrupt(f"A number? (try {tries + 1})"), tries + 1
        return {"messages": [AIMessage(f"{number} after {tries}", id="said")]}

    tab = Tab(in_a_row({"ask": ask}), peer)
    await tab.say("hi")
    ids = [tab.questions[0]["id"]]
    for given in ("x", "y"):
        await tab.answer(given)
        ids.append(tab.questions[0]["id"])
    assert len(set(ids)) == 3
    await tab.answer("7")
    assert tab.said[-1] == ("assistant", "7 after 3")


async def test_a_model_that_spoke_before_its_node_asked(peer: Peer) -> None:
    """The node runs again from its first line: what it streamed before the question was never stored."""
    model = scripted(["Draft one."], ["Draft two."], ids="all")

    async def write(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        draft = await model.ainvoke(state["messages"], config)
        verdict = interrupt({"question": "Publish?", "draft": draft.text})
        return {"messages": [draft, AIMessage(f"published: {verdict}", id="said")]}

    tab = Tab(in_a_row({"write": write}), peer)
    await tab.say("hi")
    assert tab.questions[0]["metadata"]["langgraph"]["value"]["draft"] == "Draft one."
    assert tab.said == [("user", "hi")]
    await tab.answer(True)
    assert tab.said == [("user", "hi"), ("assistant", "Draft two."), ("assistant", "published: True")]


async def test_state_is_sent_before_the_question(peer: Peer) -> None:
    def note(state: Noted) -> dict[str, Any]:
        return {"notes": ["looked"]}

    def ask(state: Noted) -> dict[str, Any]:
        return {"notes": [f"heard {interrupt('?')}"]}

    tab = Tab(in_a_row({"note": note, "ask": ask}, Noted), peer)
    await tab.say("hi")
    assert tab.events_of("STATE_SNAPSHOT")[-1]["snapshot"] == {"notes": ["looked"]}
    await tab.answer("yes")
    assert tab.state == {"notes": ["looked", "heard yes"]}


# ---------------------------------------------------------------- before and after nodes


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
async def test_static_interrupts(peer: Peer, where: str) -> None:
    nodes = {"plan": saying("The plan. "), "act": saying("Done. ")}
    tab = Tab(in_a_row(nodes, **{where: ["act" if where == "interrupt_before" else "plan"]}), peer)
    await tab.say("hi")
    [question] = tab.questions
    assert question["reason"] == "confirmation"
    assert question["id"].startswith("static:")
    assert question["message"] == ("Continue with act?" if where == "interrupt_before" else "act is next. Continue?")
    assert tab.said == [("user", "hi"), ("assistant", "The plan. ")]
    await tab.answer({"approved": True})
    assert tab.said[1:] == [("assistant", "The plan. "), ("assistant", "Done. ")]


def talking(where: str = "root", how: str = "interrupt_before") -> Graph:
    """A graph that stops before it acts: itself, in a subgraph, or in a subgraph of that."""
    stop = {how: ["act" if how == "interrupt_before" else "plan"]}
    nodes = {"plan": saying("The plan. "), "act": saying("Done. ")}
    if where == "root":
        return in_a_row(nodes, **stop)
    graph = in_a_row(nodes, checkpointer=None, **stop)
    if where == "deeper":
        graph = in_a_row({"inner": graph}, checkpointer=None)
    return in_a_row({"sub": graph, "end": saying("End. ")})


def by_command(answer: Any) -> dict[str, Any]:
    return {"forwarded_props": {"command": {"resume": answer}}}


NOS: dict[str, Any] = {
    "false": False,
    "not approved": {"approved": False},
    "approved by no yes": {"approved": "maybe"},
    "a rejection": {"type": "reject"},
    "no": "No",
}


@pytest.mark.parametrize("how", ["resume", "command", "command by id"])
@pytest.mark.parametrize("no", [*NOS, "cancelled"])
async def test_a_no_at_a_static_interrupt_ends_the_turn(peer: Peer, how: str, no: str) -> None:
    """The waiting node does not run, and the thread is free for the next message."""
    tab = Tab(talking(), peer)
    await tab.say("hi")
    [question] = tab.questions
    answer = NOS.get(no, {"status": "cancelled"})
    if how == "resume":
        await (tab.cancel() if no == "cancelled" else tab.answer(answer))
    else:
        await tab.send(**by_command(answer if how == "command" else {question["id"]: answer}), reloaded=True)
    assert tab.outcome == "success"
    assert tab.said == [("user", "hi"), ("assistant", "The plan. ")]
    await tab.send()
    assert (tab.outcome, tab.questions) == ("success", [])


@pytest.mark.parametrize("where", ["root", "sub", "deeper"])
async def test_a_no_with_a_new_message_starts_a_new_turn(peer: Peer, where: str) -> None:
    tab = Tab(tool_stops(where), peer)
    await tab.say("hi")
    [question] = tab.questions
    no = [{"interruptId": question["id"], "status": "cancelled"}]
    await tab.say("something else", resume=no)
    assert (tab.outcome, tab.questions) == ("success", [])
    assert tab.said[-2:] == [("user", "something else"), ("assistant", "Sure.")]
    assert "found moss" not in [text for _, text in tab.said]


def tool_stops(where: str) -> Graph:
    """An agent that stops before its tools, as ``create_agent(interrupt_before=["tools"])`` does."""
    calls = tool_calls_part(("look_up", {"q": "moss"}, "call-1"))

    def answer(messages: list[Any]) -> Any:
        if messages[-1].type == "tool":
            return ["Green."]
        return ["Sure."] if messages[-1].text == "something else" else ["Looking. ", calls]

    builder = tool_loop(strict_model(answer, ids="all"), [look_up]).builder
    assert isinstance(builder, StateGraph)
    saver = InMemorySaver() if where == "root" else None
    graph: Any = builder.compile(checkpointer=saver, interrupt_before=["tools"])
    if where == "root":
        return graph
    if where == "deeper":
        graph = in_a_row({"inner": graph}, checkpointer=None)
    return in_a_row({"sub": graph})


@pytest.mark.parametrize("where", ["root", "sub", "deeper"])
async def test_a_static_interrupt_before_the_tools(peer: Peer, where: str) -> None:
    tab = Tab(tool_stops(where), peer)
    await tab.say("hi")
    asked = tab.questions
    assert [q["message"] for q in asked] == ["Continue with tools?"]
    assert tab.said == [("user", "hi"), ("assistant", "Looking. ")]
    await tab.send()
    assert tab.questions == asked
    await tab.answer(True)
    assert tab.outcome == "success"
    assert [text for _, text in tab.said] == ["hi", "Looking. ", "found moss", "Green."]


@pytest.mark.parametrize("how", ["interrupt_before", "interrupt_after"])
@pytest.mark.parametrize("where", ["sub", "deeper"])
async def test_static_interrupts_of_subgraphs(peer: Peer, where: str, how: str) -> None:
    tab = Tab(talking(where, how), peer)
    await tab.say("hi")
    asked = tab.questions
    assert [q["metadata"]["langgraph"]["node"] for q in asked] == ["act"]
    assert tab.said == [("user", "hi"), ("assistant", "The plan. ")]
    for _ in range(2):
        await tab.send()
        assert tab.questions == asked
    await tab.answer(True)
    assert tab.outcome == "success"
    assert [text for _, text in tab.said] == ["hi", "The plan. ", "Done. ", "End. "]


@pytest.mark.parametrize("go_on", [True, False])
async def test_a_static_interrupt_beside_a_question(peer: Peer, go_on: bool) -> None:
    """Both are asked: an answer to the one does not let the other one's branch go on."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("ask", asking({"question": "Which?"}))
    nodes = {"plan": saying("The plan. "), "act": saying("Done. ")}
    builder.add_node("sub", in_a_row(nodes, checkpointer=None, interrupt_before=["act"]))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "sub")
    tab = Tab(builder.compile(checkpointer=InMemorySaver()), peer)
    await tab.say("hi")
    assert [q["message"] for q in tab.questions] == ["Which?", "Continue with act?"]
    await tab.send(
        resume=[{"interruptId": tab.questions[0]["id"], "status": "resolved", "payload": "a"}], reloaded=True
    )
    assert tab.outcome == "INVALID_RESUME"
    await tab.send()
    await tab.answer("a", go_on)
    assert (tab.outcome, tab.questions) == ("success", [])
    assert sorted(tab.said[1:]) == (
        [("assistant", "Done. "), ("assistant", "The plan. "), ("assistant", "answered a")] if go_on else []
    )


async def test_static_interrupts_at_every_step(peer: Peer) -> None:
    tab = Tab(in_a_row({"one": saying("1 "), "two": saying("2 "), "three": saying("3 ")}, interrupt_after="*"), peer)
    await tab.say("hi")
    stops = []
    while tab.questions:
        stops.append((tab.questions[0]["metadata"]["langgraph"]["node"], len(tab.said)))
        await tab.answer()
    assert stops == [("two", 2), ("three", 3)]
    assert [text for _, text in tab.said] == ["hi", "1 ", "2 ", "3 "]


# ---------------------------------------------------------------- in tools


async def test_in_a_tool(peer: Peer) -> None:
    model = strict_model([["Asking. ", tool_calls_part(("ask_user", {"q": "red?"}, "call-1"))], ["Good."]], ids="all")
    tab = Tab(tool_loop(model, [ask_user]), peer)
    await tab.say("hi")
    assert tab.questions[0]["message"] == "red?"
    assert [c["id"] for c in tab.pending] == ["call-1"]
    assert tab.events_of("TOOL_CALL_RESULT") == []

    await tab.answer("yes")
    [result] = tab.events_of("TOOL_CALL_RESULT")
    assert (result["toolCallId"], result["content"]) == ("call-1", "they said yes")
    assert tab.events_of("TOOL_CALL_START") == tab.events_of("TOOL_CALL_ARGS") == []
    assert [text for _, text in tab.said] == ["hi", "Asking. ", "they said yes", "Good."]


async def test_in_one_of_several_tools(peer: Peer) -> None:
    """`ToolNode` runs the finished ones again: their first results are withdrawn, the second ones have fresh ids."""
    calls = tool_calls_part(("look_up", {"q": "moss"}, "call-1"), ("ask_user", {"q": "red?"}, "call-2"))
    tab = Tab(tool_loop(strict_model([[calls], ["Good."]], ids="all"), [look_up, ask_user]), peer)
    await tab.say("hi")
    first = [event["messageId"] for event in tab.events_of("TOOL_CALL_RESULT")]
    assert [c["id"] for c in tab.pending] == ["call-1", "call-2"]

    await tab.answer("yes")
    again = {event["toolCallId"]: event for event in tab.events_of("TOOL_CALL_RESULT")}
    assert {call: event["content"] for call, event in again.items()} == {
        "call-1": "found moss",
        "call-2": "they said yes",
    }
    assert not {event["messageId"] for event in again.values()} & set(first)


async def test_in_two_tools_at_once(peer: Peer) -> None:
    """In one task LangGraph asks one question after the other."""
    calls = tool_calls_part(("ask_user", {"q": "one?"}, "call-1"), ("ask_user", {"q": "two?"}, "call-2"))
    tab = Tab(tool_loop(strict_model([[calls], ["Good."]], ids="all"), [ask_user]), peer)
    await tab.say("hi")
    while tab.questions:
        await tab.answer("yes")
    assert tab.said[-3:] == [("tool", "they said yes"), ("tool", "they said yes"), ("assistant", "Good.")]


# ---------------------------------------------------------------- in branches


def branches(names: list[str]) -> Graph:
    """One task per name, each with a question of its own; then an answer that needs them all."""

    def fan_out(state: Noted) -> list[Send]:
        return [Send("ask", {"name": name}) for name in names]

    def ask(state: dict[str, Any]) -> dict[str, Any]:
        if state["name"] == "silent":
            return {"notes": ["silent"]}
        return {"notes": [f"{state['name']}={interrupt({'question': state['name'] + '?'})}"]}

    def conclude(state: Noted) -> dict[str, Any]:
        return {"messages": [AIMessage(", ".join(state["notes"]), id=f"said-{len(state['messages'])}")]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Noted)
    builder.add_node("ask", ask)
    builder.add_node("conclude", conclude)
    builder.add_conditional_edges(START, fan_out, ["ask"])
    builder.add_edge("ask", "conclude")
    return builder.compile(checkpointer=InMemorySaver())


async def test_parallel_branches_are_answered_all_at_once(peer: Peer) -> None:
    tab = Tab(branches(["a", "b", "silent", "c"]), peer)
    await tab.say("hi")
    assert sorted(q["message"] for q in tab.questions) == ["a?", "b?", "c?"]
    assert len({q["id"] for q in tab.questions}) == 3
    await tab.answer(*(q["message"].upper() for q in tab.questions))
    assert tab.state == {"notes": ["a=A?", "b=B?", "silent", "c=C?"]}
    assert tab.said[-1] == ("assistant", "a=A?, b=B?, silent, c=C?")


async def test_answers_belong_to_questions_by_their_ids_not_by_their_order(peer: Peer) -> None:
    tab = Tab(branches(["a", "b"]), peer)
    await tab.say("hi")
    entries = [
        {"interruptId": q["id"], "status": "resolved", "payload": q["message"].upper()} for q in reversed(tab.questions)
    ]
    await tab.send(resume=entries)
    assert tab.state == {"notes": ["a=A?", "b=B?"]}


async def test_some_answered_and_some_abandoned(peer: Peer) -> None:
    tab = Tab(branches(["a", "b"]), peer)
    await tab.say("hi")
    entries: list[dict[str, Any]] = [{"interruptId": q["id"], "status": "cancelled"} for q in tab.questions]
    entries[0] = {**entries[0], "status": "resolved", "payload": "yes"}
    await tab.send(resume=entries)
    assert sorted(tab.state["notes"], key=len) == [
        f"{tab.runs[0]['events'][-1]['outcome']['interrupts'][0]['message'][0]}=yes",
        f"{tab.runs[0]['events'][-1]['outcome']['interrupts'][1]['message'][0]}={{'status': 'cancelled'}}",
    ]


async def test_a_branch_that_streams_beside_one_that_asks(peer: Peer) -> None:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("ask", asking("Go?"))
    builder.add_node("talk", saying("Meanwhile. "))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "talk")
    tab = Tab(builder.compile(checkpointer=InMemorySaver()), peer)
    await tab.say("hi")
    assert [q["message"] for q in tab.questions] == ["Go?"]
    await tab.answer("yes")
    assert sorted(tab.said[1:]) == [("assistant", "Meanwhile. "), ("assistant", "answered yes")]


# ---------------------------------------------------------------- in subgraphs


def asking_tool_loop(**compile_args: Any) -> Graph:
    model = strict_model([["Hm. ", tool_calls_part(("ask_user", {"q": "red?"}, "call-1"))], ["Sub done."]], ids="all")
    builder = tool_loop(model, [ask_user]).builder
    assert isinstance(builder, StateGraph)
    return builder.compile(**compile_args)


async def test_in_a_subgraph(peer: Peer) -> None:
    """The subgraph's messages are shown while it waits, although the thread's own list gets them only when it ends."""
    tab = Tab(in_a_row({"sub": asking_tool_loop(), "end": saying("Outer. ")}), peer)
    await tab.say("hi")
    assert [q["message"] for q in tab.questions] == ["red?"]
    assert tab.said == [("user", "hi"), ("assistant", "Hm. ")]
    await tab.answer("yes")
    assert [text for _, text in tab.said] == ["hi", "Hm. ", "they said yes", "Sub done.", "Outer. "]
    assert tab.events_of("TOOL_CALL_START") == []


async def test_in_a_subgraph_of_a_subgraph(peer: Peer) -> None:
    middle = in_a_row({"lead": saying("Middle. "), "inner": asking_tool_loop()}, checkpointer=None)
    tab = Tab(in_a_row({"first": saying("First. "), "outer": middle, "end": saying("End. ")}), peer)
    await tab.say("hi")
    assert [text for _, text in tab.said] == ["hi", "First. ", "Middle. ", "Hm. "]
    await tab.send()
    assert [text for _, text in tab.said] == ["hi", "First. ", "Middle. ", "Hm. "]
    await tab.answer("yes")
    assert [text for _, text in tab.said] == [
        "hi",
        "First. ",
        "Middle. ",
        "Hm. ",
        "they said yes",
        "Sub done.",
        "End. ",
    ]


async def test_in_a_subgraph_that_remembers(peer: Peer) -> None:
    """With ``checkpointer=True`` the subgraph keeps a memory of its own from turn to turn."""

    def ask(state: Noted) -> dict[str, Any]:
        return {"notes": [str(interrupt(f"after {len(state['notes'])} notes?"))]}

    class Inner(Noted):
        pass

    inner = in_a_row({"ask": ask}, Inner, checkpointer=True)
    model = scripted(["One."], ["Two."], ids="all")
    tab = Tab(in_a_row({"inner": inner, "chat": chat_node(model)}), peer)
    await tab.say("hi")
    assert [q["message"] for q in tab.questions] == ["after 0 notes?"]
    await tab.answer("a")
    await tab.say("again")
    assert [q["message"] for q in tab.questions] == ["after 1 notes?"]
    await tab.answer("b")
    assert [text for _, text in tab.said] == ["hi", "One.", "again", "Two."]


async def test_in_a_graph_called_by_a_node(peer: Peer) -> None:
    """The inner graph's messages before its question are shown while it waits. They are not stored and vanish."""
    inner = in_a_row({"talk": saying("Thinking. "), "ask": asking("Go?")}, checkpointer=None)

    async def call(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        found = await inner.ainvoke({"messages": [("user", "go")]}, config)
        return {"messages": [AIMessage(f"It {found['messages'][-1].content}.", id="said")]}

    tab = Tab(in_a_row({"call": call}), peer)
    await tab.say("hi", in_step=False)
    assert [q["message"] for q in tab.questions] == ["Go?"]
    await tab.answer("yes")
    assert tab.said == [("user", "hi"), ("assistant", "It answered yes.")]


async def test_branches_and_subgraphs_and_tools_at_once(peer: Peer) -> None:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("ask", asking({"question": "Node?"}))
    builder.add_node("sub", asking_tool_loop())
    builder.add_node("end", saying("End. "))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "sub")
    builder.add_edge(["ask", "sub"], "end")
    tab = Tab(builder.compile(checkpointer=InMemorySaver()), peer)
    await tab.say("hi")
    assert sorted(q["message"] for q in tab.questions) == ["Node?", "red?"]
    await tab.answer(*({"Node?": "n", "red?": "r"}[q["message"]] for q in tab.questions))
    assert tab.said[-1] == ("assistant", "End. ")
    assert {text for _, text in tab.said[1:-1]} == {"answered n", "Hm. ", "they said r", "Sub done."}


# ---------------------------------------------------------------- functional graphs


async def test_in_a_functional_graph(peer: Peer) -> None:
    ran: list[int] = []

    @task
    def double(number: int) -> int:
        ran.append(number)
        return 2 * number

    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given: dict[str, Any]) -> dict[str, Any]:
        doubled = await double(21)
        return {"result": f"{doubled} {interrupt({'question': 'Sign?'})}"}

    tab = Tab(flow, peer)
    await tab.say("hi", in_step=False)
    assert [q["message"] for q in tab.questions] == ["Sign?"]
    assert tab.said == [("user", "hi")]
    await tab.answer("Ann", in_step=False)
    assert tab.events[-1]["result"] == {"result": "42 Ann"}
    assert ran == [21]


# ---------------------------------------------------------------- schemas


class Size(BaseModel):
    width: int
    height: int = 1


@pytest.mark.parametrize(
    ("schema", "reason", "fits", "answered", "wrong"),
    [
        ({"type": "boolean"}, "confirmation", True, "True", ["perhaps", None, 1]),
        ({"type": "string", "enum": ["a", "b"]}, "input_required", "b", "b", ["c", 3]),
        (Size, "input_required", {"width": 3}, "width=3 height=1", [{"height": 3}, "x", {"width": "wide"}]),
        (Choice, "input_required", {"colour": "red"}, "Choice(colour='red', amount=1)", [{}, [], {"colour": 7}]),
    ],
    ids=["boolean", "enum", "pydantic", "dataclass"],
)
async def test_answers_fit_the_schema(
    peer: Peer, schema: Any, reason: str, fits: Any, answered: str, wrong: list[Any]
) -> None:
    tab = Tab(in_a_row({"ask": asking("?", response_schema=schema)}), peer)
    await tab.say("hi")
    [question] = tab.questions
    assert question["reason"] == reason
    assert question["responseSchema"].get("type") in ("boolean", "string", "object")
    for payload in wrong:
        await tab.answer(payload)
        assert tab.outcome == "INVALID_RESUME", payload
        await tab.send()
        assert tab.questions == [question]
    await tab.answer(fits)
    assert tab.outcome == "success"
    assert tab.said[-1] == ("assistant", f"answered {answered}")


async def test_a_question_with_a_schema_can_be_abandoned(peer: Peer) -> None:
    tab = Tab(in_a_row({"ask": asking("?", response_schema={"type": "boolean"})}), peer)
    await tab.say("hi")
    await tab.cancel()
    assert tab.outcome == "success"
    assert tab.said[-1] == ("assistant", "answered {'status': 'cancelled'}")


@pytest.mark.parametrize("schema", [Size, Choice], ids=["pydantic", "dataclass"])
async def test_a_question_whose_answer_must_be_an_object_cannot_be_abandoned(peer: Peer, schema: Any) -> None:
    """LangGraph lets only such an object through."""
    tab = Tab(in_a_row({"ask": asking("?", response_schema=schema)}), peer)
    await tab.say("hi")
    asked = tab.questions
    await tab.cancel()
    assert tab.outcome == "INVALID_RESUME"
    await tab.send()
    assert tab.questions == asked
    await tab.answer({"width": 3, "colour": "red"})
    assert tab.outcome == "success"
