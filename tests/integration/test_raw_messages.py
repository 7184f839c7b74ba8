"""Conversations that no ``add_messages`` keeps: plain lists and ``operator.add``, whose nodes write messages, dicts,
tuples and strings. The client shows all that the thread holds, over several turns."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.conftest import Judge
from tests.support.graphs import scripted
from tests.support.two_sources import answer, hear
from tests.support.verifier import ClientRun
from yai_nexus_agentkit.testing import WireEvent

both_sources = pytest.mark.parametrize("source", ["events", "callbacks"])


class Plain(TypedDict, total=False):
    messages: list[Any]
    note: str


class Added(TypedDict, total=False):
    messages: Annotated[list[Any], operator.add]
    note: str


WRITTEN: dict[str, tuple[Callable[[int], Any], str]] = {
    # what the node writes in a turn, and the role that it has
    "message": (lambda turn: AIMessage(f"answer {turn}", id=f"answer-{turn}"), "assistant"),
    "message without id": (lambda turn: AIMessage(f"answer {turn}"), "assistant"),
    "dict": (lambda turn: {"role": "assistant", "content": f"answer {turn}"}, "assistant"),
    "the same dict each time": (lambda turn: {"role": "assistant", "content": "answer"}, "assistant"),
    "tuple": (lambda turn: ("ai", f"answer {turn}"), "assistant"),
    "text": (lambda turn: f"answer {turn}", "user"),
    "system": (lambda turn: {"role": "system", "content": f"answer {turn}"}, "system"),
}


def node_graph(state: type, write: Callable[[int], Any]) -> Any:
    def node(values: dict[str, Any]) -> dict[str, Any]:
        turn = sum(isinstance(m, HumanMessage) for m in values["messages"])
        return {"messages": [write(turn)] if state is Added else [*values["messages"], write(turn)]}

    return StateGraph(state).add_node("n", node).add_edge(START, "n").compile(checkpointer=InMemorySaver())


def types(events: list[WireEvent], *wanted: str) -> list[str]:
    return [event["type"] for event in events if event["type"].startswith(wanted)]


@both_sources
@pytest.mark.parametrize("state", [Plain, Added])
@pytest.mark.parametrize(("write", "role"), WRITTEN.values(), ids=WRITTEN.keys())
async def test_what_nodes_write_is_shown_and_stays(
    judge: Judge, source: Any, state: type, write: Callable[[int], Any], role: str
) -> None:
    graphs: list[Any] = []

    def build() -> Any:
        graphs.append(node_graph(state, write))
        return graphs[-1]

    heard = await hear(build, source, judge, "q0", "q1", "q2")

    said = [(m["role"], m["content"]) for m in heard.views[-1]["messages"]]
    texts = ["answer" if write(1) == write(2) else f"answer {turn}" for turn in (1, 2, 3)]
    assert said == [pair for turn in range(3) for pair in (("user", f"q{turn}"), (role, texts[turn]))]
    assert len({m["id"] for m in heard.views[-1]["messages"]}) == 6
    stored = (await graphs[0].aget_state({"configurable": {"thread_id": "t"}})).values["messages"]
    assert len(stored) == 6
    assert type(stored[1]) in (type(write(1)), list)  # a saver makes lists of tuples
    if role == "assistant":  # streamed, nothing sent twice
        assert [types(run["events"], "TEXT_MESSAGE_START", "MESSAGES") for run in heard.runs] == [
            ["TEXT_MESSAGE_START"]
        ] * 3


@both_sources
@pytest.mark.parametrize("state", [Plain, Added])
async def test_an_answer_that_was_streamed_and_is_stored_as_a_dict(judge: Judge, source: Any, state: type) -> None:
    def build() -> Any:
        model = scripted(["Hel", "lo."], ["Bye."])

        async def node(values: dict[str, Any]) -> dict[str, Any]:
            said = await model.ainvoke("q")
            written = {"role": "assistant", "content": said.text}
            return {"messages": [written] if state is Added else [*values["messages"], written]}

        return StateGraph(state).add_node("n", node).add_edge(START, "n").compile(checkpointer=InMemorySaver())

    heard = await hear(build, source, judge, "hi", "again")

    assert [[m["content"] for m in view["messages"]] for view in heard.views] == [
        ["hi", "Hello."],
        ["hi", "Hello.", "again", "Bye."],
    ]


@both_sources
@pytest.mark.parametrize("state", [Plain, Added])
async def test_calls_and_results_as_dicts(judge: Judge, source: Any, state: type) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Rome"}'}}

    def build() -> Any:
        def writing(*messages: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
            return lambda values: {"messages": [*([] if state is Added else values["messages"]), *messages]}

        builder = StateGraph(state)
        builder.add_node("ask", writing({"role": "assistant", "content": "", "tool_calls": [call]}))
        builder.add_node("look", writing({"role": "tool", "content": "sunny", "tool_call_id": "c1"}))
        builder.add_node("say", writing(("ai", "It is sunny.")))
        builder.add_edge(START, "ask").add_edge("ask", "look").add_edge("look", "say").add_edge("say", END)
        return builder.compile(checkpointer=InMemorySaver())

    heard = await hear(build, source, judge, "weather?")

    assert types(heard.events, "TOOL_CALL", "TEXT_MESSAGE_CONTENT", "MESSAGES") == [
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_CONTENT",
    ]
    assert [(m["role"], m.get("content")) for m in heard.views[-1]["messages"]][2:] == [
        ("tool", "sunny"),
        ("assistant", "It is sunny."),
    ]


@both_sources
@pytest.mark.parametrize("write", [lambda turn: object(), lambda turn: {"text": "no message"}, lambda turn: 5])
async def test_what_is_no_conversation_wipes_none(judge: Judge, source: Any, write: Any) -> None:
    def build() -> Any:
        model = scripted(["Hello."], ["Again."])

        async def node(values: Plain) -> Plain:
            await model.ainvoke("q")
            return {"messages": [write(1)], "note": "written"}

        return StateGraph(Plain).add_node("n", node).add_edge(START, "n").compile()

    heard = await hear(build, source, judge, "hi", "and?")

    assert types(heard.events, "MESSAGES", "RUN_ERROR") == []
    assert [m["content"] for m in heard.views[-1]["messages"]] == ["hi", "Hello.", "and?", "Again."]
    assert heard.views[-1]["state"] == {"note": "written"}


@both_sources
async def test_a_conversation_that_is_none_at_all(judge: Judge, source: Any) -> None:
    class Odd(TypedDict, total=False):
        messages: Any

    def build() -> Any:
        model = scripted(["Hello."])

        async def node(values: Odd) -> Odd:
            return {"messages": (await model.ainvoke("q")).text}

        return StateGraph(Odd).add_node("n", node).add_edge(START, "n").compile()

    heard = await hear(build, source, judge, "hi")

    assert [m["content"] for m in heard.views[-1]["messages"]] == ["hi", "Hello."]


@both_sources
async def test_what_a_graph_takes_away_is_taken_away(judge: Judge, source: Any) -> None:
    """A node that keeps the last two messages of its plain list, and puts a summary before them."""

    def build() -> Any:
        def node(values: Plain) -> Plain:
            said = [*values["messages"], {"role": "assistant", "content": "ok"}]
            return {"messages": [SystemMessage("summary"), *said[-2:]] if len(said) > 3 else said}

        return StateGraph(Plain).add_node("n", node).add_edge(START, "n").compile(checkpointer=InMemorySaver())

    heard = await hear(build, source, judge, "q0", "q1")

    assert [m["content"] for m in heard.views[-1]["messages"]] == ["summary", "q1", "ok"]


@both_sources
@pytest.mark.parametrize("state", [Plain, Added])
async def test_going_back(judge: Judge, source: Any, state: type) -> None:
    """The user repeats the second question: what was before it stays."""
    graph = node_graph(state, lambda turn: {"role": "assistant", "content": f"answer {turn}"})
    heard = await hear(
        lambda: graph, source, judge, "q0", "q1", lambda view: {"message": view["messages"][:3], "run_id": "again"}
    )

    assert [m["content"] for m in heard.views[-1]["messages"]] == ["q0", "answer 1", "q1", "answer 2"]
    stored = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"]
    assert [getattr(m, "content", None) or m["content"] for m in stored] == ["q0", "answer 1", "q1", "answer 2"]


@both_sources
@pytest.mark.parametrize("state", [Plain, Added])
async def test_a_question_between(judge: Judge, source: Any, state: type) -> None:
    def build() -> Any:
        def write(values: dict[str, Any], text: str) -> dict[str, Any]:
            written = {"role": "assistant", "content": text}
            return {"messages": [written] if state is Added else [*values["messages"], written]}

        builder = StateGraph(state)
        builder.add_node("a", lambda values: write(values, "Let me ask."))
        builder.add_node("b", lambda values: write(values, interrupt("Sure?")))
        builder.add_edge(START, "a").add_edge("a", "b")
        return builder.compile(checkpointer=InMemorySaver())

    heard = await hear(build, source, judge, "hi", answer("yes"))

    assert [m["content"] for m in heard.views[-1]["messages"]] == ["hi", "Let me ask.", "yes"]

    def says_too(view: ClientRun) -> dict[str, Any]:
        said = [*view["messages"], {"id": "u1", "role": "user", "content": "and hurry"}]
        return {**answer("yes")(view), "message": said}

    heard = await hear(build, source, judge, "hi", says_too)

    assert [m["content"] for m in heard.views[-1]["messages"]] == ["hi", "Let me ask.", "and hurry", "yes"]


@both_sources
async def test_messages_of_a_class_that_the_saver_does_not_know(judge: Judge, source: Any) -> None:
    """They come back from it as dicts, of which ``add_messages`` makes messages with the next write."""

    class Own(AIMessage):
        mood: str = "fine"

    graph: Any = None

    def build() -> Any:
        nonlocal graph

        def write(values: MessagesState) -> dict[str, Any]:
            number = len(values["messages"])
            return {"messages": [Own(f"answer {number}", id=f"own-{number}")]}

        builder = StateGraph(MessagesState).add_node("a", write)
        builder.add_node("b", lambda values: {"messages": [AIMessage(interrupt("Sure?"), id=f"b{len(values)}")]})
        builder.add_edge(START, "a").add_conditional_edges("a", lambda s: "b" if len(s["messages"]) > 3 else END)
        graph = builder.compile(checkpointer=InMemorySaver())
        return graph

    heard = await hear(build, source, judge, "hi", "and?", answer("yes"), reload)

    said = ["hi", "answer 1", "and?", "answer 3", "yes"]
    assert [m["content"] for m in heard.views[2]["messages"]] == said
    assert [m["content"] for m in heard.views[3]["messages"]] == said


def reload(view: ClientRun) -> dict[str, Any]:
    """A page that opens the thread, and holds nothing of it."""
    return {"message": [], "state": {}}
