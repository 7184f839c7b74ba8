"""How a graph moves: fan-out, loops, jumps, retries, handlers, time limits of nodes, caches, fallbacks."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import RunnableConfig
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send

from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from tests.support.playing import Player
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, collect, run_input


class Count(MessagesState):
    count: Annotated[int, operator.add]


class Found(MessagesState):
    found: Annotated[list[str], operator.add]


def graph_of(state: type = MessagesState, **nodes: Any) -> StateGraph[Any, Any, Any, Any]:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(state)
    for name, node in nodes.items():
        builder.add_node(name, node)
    return builder


def in_turn(order: Sequence[int]) -> Callable[[int], Any]:
    """``async with turn(n):`` of branches that run at once: each waits for the one before it in `order`."""
    done = {n: asyncio.Event() for n in order}

    @asynccontextmanager
    async def turn(n: int) -> AsyncIterator[None]:
        if before := order[: order.index(n)]:
            await done[before[-1]].wait()
        yield
        done[n].set()

    return turn


def fanned_out(order: Sequence[int], *, store: bool) -> Graph:
    """One node, sent to once per topic; the branches answer one after the other, in `order`."""
    turn, topics = in_turn(order), ("cats", "dogs", "eels")
    model = ScriptedChatModel(script=lambda messages: [f"{messages[-1].content} ", "done."])

    async def research(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        async with turn(state["n"]):
            answer = await model.ainvoke(state["topic"], config)
        return {"found": [state["topic"]], "messages": [answer] if store else []}

    def fan_out(state: Found) -> list[Send]:
        return [Send("research", {"topic": topics[n], "n": n}) for n in range(len(order))]

    builder = graph_of(Found, research=research)
    builder.add_conditional_edges(START, fan_out, ["research"])
    return builder.compile(checkpointer=InMemorySaver())


async def test_one_node_sent_to_three_times(play: Player) -> None:
    """Three runs of one node at once: each has a step of its own name. What they said is not stored, and goes away."""
    played = await play(lambda: fanned_out([0, 1, 2], store=False), ordered=False)

    assert played.stream == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(found=[])",
            "STEP_STARTED stepName=research",
            "STEP_STARTED stepName=research#2",
            "STEP_STARTED stepName=research#3",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "cats " + done. END',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "dogs "',
            "STEP_FINISHED stepName=research",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=done. END",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "eels "',
            "STEP_FINISHED stepName=research#2",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#3 delta=done. END",
            "STEP_FINISHED stepName=research#3",
            'STATE_DELTA delta=[(op=add path="/found" value=[cats dogs eels])]',
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
        ]
    )
    assert played.state == {"found": ["cats", "dogs", "eels"]}


async def test_a_fan_out_whose_branches_answer_in_the_order_of_the_thread(play: Player) -> None:
    played = await play(lambda: fanned_out([0, 1], store=True), ordered=False)

    assert played.stream == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(found=[])",
            "STEP_STARTED stepName=research",
            "STEP_STARTED stepName=research#2",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "cats " + done. END',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "dogs "',
            "STEP_FINISHED stepName=research",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=done. END",
            "STEP_FINISHED stepName=research#2",
            'STATE_DELTA delta=[(op=add path="/found" value=[cats dogs])]',
        ]
    )


async def test_a_fan_out_that_answers_in_another_order_than_it_was_sent(play: Player) -> None:
    played = await play(lambda: fanned_out([1, 0], store=True), ordered=False)

    assert played.stream == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(found=[])",
            "STEP_STARTED stepName=research",
            "STEP_STARTED stepName=research#2",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "dogs " + done. END',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "cats "',
            "STEP_FINISHED stepName=research#2",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=done. END",
            "STEP_FINISHED stepName=research",
            'STATE_DELTA delta=[(op=add path="/found" value=[cats dogs])]',
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#2 content="cats done."',
            '  assistant id=lc_run--#1 content="dogs done."',
        ]
    )


async def test_a_node_that_loops_to_itself(play: Player) -> None:
    def build() -> Graph:
        model = scripted("One.", "Two.", "Three.")

        async def say(state: Count, config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"], config)], "count": 1}

        builder = graph_of(Count, say=say)
        builder.add_edge(START, "say")
        builder.add_conditional_edges("say", lambda state: "say" if state["count"] < 3 else END, ["say", END])
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(count=0)",
            "STEP_STARTED stepName=say",
            "TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + One. END",
            "STEP_FINISHED stepName=say",
            'STATE_DELTA delta=[(op=add path="/count" value=1)]',
            "STEP_STARTED stepName=say",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Two. END",
            "STEP_FINISHED stepName=say",
            'STATE_DELTA delta=[(op=add path="/count" value=2)]',
            "STEP_STARTED stepName=say",
            "TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + Three. END",
            "STEP_FINISHED stepName=say",
            'STATE_DELTA delta=[(op=add path="/count" value=3)]',
        ]
    )
    assert played.state == {"count": 3}


async def test_two_nodes_that_take_turns(play: Player) -> None:
    def build() -> Graph:
        ask, answer = scripted("Why?", "And then?"), scripted("Because.", "Nothing.")
        builder = graph_of(ask=chat_node(ask), answer=chat_node(answer))
        builder.add_edge(START, "ask")
        builder.add_edge("ask", "answer")
        builder.add_conditional_edges(
            "answer", lambda state: "ask" if len(state["messages"]) < 5 else END, ["ask", END]
        )
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=ask",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Why?" END',
            "STEP_FINISHED stepName=ask",
            "STEP_STARTED stepName=answer",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Because. END",
            "STEP_FINISHED stepName=answer",
            "STEP_STARTED stepName=ask",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "And then?" END',
            "STEP_FINISHED stepName=ask",
            "STEP_STARTED stepName=answer",
            "TEXT_MESSAGE_START messageId=lc_run--#4 role=assistant + Nothing. END",
            "STEP_FINISHED stepName=answer",
        ]
    )


async def test_commands_that_say_where_to_go(play: Player) -> None:
    def build() -> Graph:
        async def triage(state: Count) -> Command[Any]:
            return Command(goto="expert", update={"count": 1})

        async def expert(state: Count, config: RunnableConfig) -> Command[Any]:
            answer = await scripted("I know.").ainvoke(state["messages"], config)
            return Command(goto=["log", "thank"], update={"messages": [answer], "count": 1})

        async def log(state: Count) -> Command[Any]:
            return Command(update={"count": 10})

        async def thank(state: Count) -> Command[Any]:
            return Command(goto=END, update={"messages": [AIMessage("Thanks.", id="thanks")]})

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Count)
        builder.add_node("triage", triage, destinations=("expert",))
        builder.add_node("expert", expert, destinations=("log", "thank"))
        builder.add_node("log", log)
        builder.add_node("thank", thank)
        builder.add_edge(START, "triage")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STATE_SNAPSHOT snapshot=(count=0)",
            "STEP_STARTED stepName=triage FINISHED",
            'STATE_DELTA delta=[(op=add path="/count" value=1)]',
            "STEP_STARTED stepName=expert",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "I know." END',
            "STEP_FINISHED stepName=expert",
            'STATE_DELTA delta=[(op=add path="/count" value=2)]',
            "STEP_STARTED stepName=log",
            "STEP_STARTED stepName=thank",
            "TEXT_MESSAGE_START messageId=thanks role=assistant + Thanks. END",
            "STEP_FINISHED stepName=log",
            "STEP_FINISHED stepName=thank",
            'STATE_DELTA delta=[(op=add path="/count" value=12)]',
        ]
    )
    assert played.state == {"count": 12}


async def test_commands_that_send(play: Player) -> None:
    def build() -> Graph:
        async def split(state: Found) -> Command[Any]:
            return Command(goto=[Send("look", {"at": place}) for place in ("here", "there")])

        async def look(state: dict[str, Any]) -> dict[str, Any]:
            return {"found": [state["at"]]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Found)
        builder.add_node("split", split, destinations=("look",))
        builder.add_node("look", look)
        builder.add_edge(START, "split")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert played.state == {"found": ["here", "there"]}
    assert sorted(line for line in played.stream if "stepName=look" in line and "FINISHED" in line) == snapshot(
        ["STEP_FINISHED stepName=look", "STEP_FINISHED stepName=look#2"]
    )


async def test_a_retry_on_the_second_turn(play: Player) -> None:
    """With a checkpointer, on the second turn: what the failed attempt said goes away, the thread before it stays."""

    def build() -> Graph:
        model = scripted("Hello.", ["Half ", ConnectionError("lost")], ["Whole ", "answer."])
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("chat", chat_node(model), retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
        builder.add_edge(START, "chat")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, "hi", "and?")

    assert played.streams[1] == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Half " END',
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "Whole " + answer. END',
            "STEP_FINISHED stepName=chat",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#1 content=Hello.",
            '  user id=user-2 content="and?"',
            '  assistant id=lc_run--#3 content="Whole answer."',
        ]
    )


async def test_a_retry_of_one_branch_beside_another(play: Player) -> None:
    def build() -> Graph:
        begun, repeated = asyncio.Event(), asyncio.Event()
        shaky = scripted(["Half ", ConnectionError("lost")], ["Left ", "answer."])
        steady = scripted(["Right ", "goes on."])

        async def left(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            await begun.wait()
            answer = await shaky.ainvoke(state["messages"], config)
            repeated.set()
            return {"messages": [answer]}

        async def right(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            parts = []
            async for part in steady.astream(state["messages"], config):
                parts.append(part)
                begun.set()
                await repeated.wait()
            return {"messages": [add_ai_message_chunks(*parts)]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("left", left, retry_policy=RetryPolicy(initial_interval=0.01, jitter=False))
        builder.add_node("right", right)
        builder.add_edge(START, "left")
        builder.add_edge(START, "right")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert [message["content"] for message in played.messages] == ["hi", "Left answer.", "Right goes on."]
    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=left",
            "STEP_STARTED stepName=right",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Right "',
            'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "Half " END',
            "STEP_FINISHED stepName=left",
            "STEP_STARTED stepName=left",
            'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "Left " + answer. END',
            'TEXT_MESSAGE_CONTENT messageId=lc_run--#1 delta="goes on." END',
            "STEP_FINISHED stepName=left",
            "STEP_FINISHED stepName=right",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=lc_run--#3 content="Left answer."',
            '  assistant id=lc_run--#1 content="Right goes on."',
        ]
    )


async def test_a_node_that_runs_out_of_time(play: Player) -> None:
    def build() -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("chat", chat_node(scripted(["Half ", 5.0, "never"])), timeout=0.1)
        builder.add_edge(START, "chat")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, same=False)  # the error's text says how long it took

    *sent, ended = played.stream
    assert sent == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
            "STEP_FINISHED stepName=chat",
        ]
    )
    assert ended.startswith("RUN_ERROR message=\"Node 'chat' exceeded its run timeout of 0.100s")
    assert ended.endswith("code=AGENT_ERROR")


async def test_a_node_that_runs_out_of_time_and_is_tried_again(play: Player) -> None:
    def build() -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node(
            "chat",
            chat_node(scripted(["Half ", 5.0, "never"], "Whole.")),
            timeout=0.1,
            retry_policy=RetryPolicy(initial_interval=0.01, jitter=False),
        )
        builder.add_edge(START, "chat")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=chat",
            "TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + Whole. END",
            "STEP_FINISHED stepName=chat",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            "  assistant id=lc_run--#2 content=Whole.",
        ]
    )


async def test_a_node_answered_from_its_cache(play: Player) -> None:
    """The cache gives the message of the first run, id and all: in the same thread it changes nothing."""

    def build() -> Graph:
        async def clock(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [await scripted(["It is ", "noon."]).ainvoke("time?", config)], "count": 1}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(Count)
        builder.add_node("clock", clock, cache_policy=CachePolicy(key_func=lambda state: b"same"))
        builder.add_node("end", chat_node(ScriptedChatModel(script=lambda messages: [f"{len(messages)} messages."])))
        builder.add_edge(START, "clock")
        builder.add_edge("clock", "end")
        return builder.compile(checkpointer=InMemorySaver(), cache=InMemoryCache())

    played = await play(build, "time?", "and now?")

    assert played.streams == snapshot(
        [
            [
                "STATE_SNAPSHOT snapshot=(count=0)",
                "STEP_STARTED stepName=clock",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "It is " + noon. END',
                "STEP_FINISHED stepName=clock",
                'STATE_DELTA delta=[(op=add path="/count" value=1)]',
                "STEP_STARTED stepName=end",
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "2 messages." END',
                "STEP_FINISHED stepName=end",
            ],
            [
                "STATE_SNAPSHOT snapshot=(count=1)",
                'STATE_DELTA delta=[(op=add path="/count" value=2)]',
                "STEP_STARTED stepName=end",
                'TEXT_MESSAGE_START messageId=lc_run--#3 role=assistant + "4 messages." END',
                "STEP_FINISHED stepName=end",
            ],
        ]
    )
    assert played.state == {"count": 2}


async def test_a_node_answered_from_the_cache_of_another_thread(play: Player) -> None:
    """No node runs: the stored answer streams, and there is no step to show."""

    def build() -> Graph:
        def clock(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
            return {"messages": [scripted(["It is ", "noon."]).invoke("time?", config)]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("clock", clock, cache_policy=CachePolicy(key_func=lambda state: b"same"))
        builder.add_edge(START, "clock")
        graph = builder.compile(checkpointer=InMemorySaver(), cache=InMemoryCache())
        graph.invoke({"messages": [("user", "time?")]}, {"configurable": {"thread_id": "other"}})
        return graph

    played = await play(build)

    assert played.stream == snapshot(['TEXT_MESSAGE_START messageId=lc_run--#1-0 role=assistant + "It is noon." END'])


async def test_a_deferred_node(play: Player) -> None:
    """It runs when all others have, whatever the length of their ways."""

    def build() -> Graph:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("short", chat_node(scripted("Short.")))
        builder.add_node("long", lambda state: {})
        builder.add_node("longer", lambda state: {})
        builder.add_node("last", chat_node(scripted("Last.")), defer=True)
        for edge in ((START, "short"), (START, "long"), ("long", "longer"), ("short", "last"), ("longer", "last")):
            builder.add_edge(*edge)
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build, ordered=False)

    sent = played.only("STEP_STARTED", "TEXT_MESSAGE_CONTENT")
    assert sent[3:] == snapshot(
        [
            "STEP_STARTED stepName=longer",
            "STEP_STARTED stepName=last",
            "TEXT_MESSAGE_CONTENT messageId=lc_run--#2 delta=Last.",
        ]
    )


async def test_a_graph_that_does_nothing(play: Player) -> None:
    played = await play(lambda: in_a_row({"nothing": lambda state: None}), "hi", "still?")

    assert played.streams[1] == snapshot(["STEP_STARTED stepName=nothing FINISHED"])


async def test_an_error_handler_of_a_node(play: Player) -> None:
    def build() -> Graph:
        async def apologise(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage("Sorry, that did not work.", id="sorry")]}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        builder.add_node("chat", chat_node(scripted(["Half ", RuntimeError("down")])), error_handler=apologise)
        builder.add_edge(START, "chat")
        return builder.compile(checkpointer=InMemorySaver())

    played = await play(build)

    assert played.stream == snapshot(
        [
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "Half " END',
            "STEP_FINISHED stepName=chat",
            "STEP_STARTED stepName=chat",
            'TEXT_MESSAGE_START messageId=sorry role=assistant + "Sorry, that did not work." END',
            "STEP_FINISHED stepName=chat",
            "MESSAGES_SNAPSHOT",
            "  user id=user-1 content=hi",
            '  assistant id=sorry content="Sorry, that did not work."',
        ]
    )


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_a_conversation_posted_to_a_new_thread_is_not_said_again(source: Any) -> None:
    """START passes it on where a condition follows, as a node passes on what it wrote."""
    builder = graph_of(agent=lambda state: {"messages": [AIMessage("two", id="a2")]})
    builder.add_conditional_edges(START, lambda state: "agent", ["agent"])
    adapter = AGUIAdapter(builder.compile(checkpointer=InMemorySaver()), options=AdapterOptions(source=source))
    said = [("user", "hi"), ("assistant", "one"), ("user", "more")]
    posted = [{"id": f"m{n}", "role": role, "content": text} for n, (role, text) in enumerate(said)]
    events = await collect(adapter, run_input(posted))
    assert [event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"] == ["a2"]
