"""The cost of a run beyond the bare loop: memory does not grow, bytes and time do not grow with the thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.conftest import Judge
from tests.support.graphs import Graph, chat
from tests.support.memory import LOOPS, forgetful, growth, peak
from tests.support.timing import Timed, cost_ratio, drained
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import ScriptedChatModel, parse_sse, record, run_input

SOURCES = pytest.mark.parametrize("source", ["events", "callbacks"])


async def test_memory_does_not_grow_with_the_tokens() -> None:
    """Under 70 bytes per token, which is less than an object; tests/bench has the long run.

    The model pauses, as models do: what one says without a pause waits in a queue for the reader.
    """
    words = [f"word {number} " for number in range(2_000)]
    graph = chat(ScriptedChatModel(script=lambda messages: words, pause=1e-9), checkpointer=None)
    await peak(chat(ScriptedChatModel(script=lambda messages: ["warm", "up"]), checkpointer=None), "events")

    held = {loop: await peak(graph, loop) for loop in LOOPS}

    assert max(held["events"], held["callbacks"]) - held["bare"] < 140_000


async def test_memory_does_not_grow_with_the_runs() -> None:
    left = {loop: await growth(forgetful(), loop, 40) for loop in LOOPS}

    assert max(left["events"], left["callbacks"]) - left["bare"] < 12_000


# ---------------------------------------------------------------- a long thread

LENGTH = 3_000


class CountingSaver(InMemorySaver):
    """Counts how often the thread is read (`aget_tuple` calls `get_tuple` too)."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def get_tuple(self, config: RunnableConfig) -> Any:
        self.reads += 1
        return super().get_tuple(config)


def history() -> list[BaseMessage]:
    """600 kB of conversation."""
    text = "a sentence of about forty characters, and " * 5
    kinds = (HumanMessage, AIMessage)
    return [kinds[number % 2](f"{number} {text}", id=f"m{number}") for number in range(LENGTH)]


def asked(thread: str, messages: Sequence[BaseMessage], **fields: Any) -> Any:
    """The client's request: it holds the whole thread, and asks one more question."""
    held = [{"id": m.id, "role": "user" if m.type == "human" else "assistant", "content": m.content} for m in messages]
    return run_input([*held, {"id": "new", "role": "user", "content": "and?"}], thread_id=thread, **fields)


async def long_threads(saver: InMemorySaver, count: int) -> tuple[Graph, list[BaseMessage]]:
    """Threads ``t0``, ``t1``, ... with the same history."""
    graph = chat(ScriptedChatModel(script=lambda messages: ["A short ", "answer."]), checkpointer=saver)
    messages = history()
    for number in range(count):
        await graph.aupdate_state({"configurable": {"thread_id": f"t{number}"}}, {"messages": messages}, as_node="chat")
    return graph, messages


@SOURCES
async def test_a_long_thread_is_read_once_and_not_sent(judge: Judge, source: Any) -> None:
    saver = CountingSaver()
    graph, messages = await long_threads(saver, 1)
    request = asked("t0", messages)
    saver.reads = 0

    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))
    frames = [frame async for frame in adapter.stream_sse(request)]

    assert saver.reads == 1
    assert sum(map(len, frames)) < 20_000
    events = parse_sse(b"".join(frames).decode())
    assert not [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    judge([events])
    state = await graph.aget_state({"configurable": {"thread_id": "t0"}})
    assert [m.id for m in state.values["messages"][:-2]] == [m.id for m in messages]


def asking(saver: InMemorySaver) -> Graph:
    """A tool's call and result, by a node of the graph's own, then an answer; it asks first when the user says so."""

    def work(state: MessagesState) -> dict[str, Any]:
        said = state["messages"][-1]
        if said.content == "ask":
            interrupt("sure?")
        number = len(state["messages"])
        call = {"name": "look", "args": {}, "id": f"c{number}"}
        return {
            "messages": [
                AIMessage("", id=f"a{number}", tool_calls=[call]),
                ToolMessage("seen", tool_call_id=call["id"], id=f"t{number}"),
                AIMessage("Done.", id=f"b{number}"),
            ]
        }

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize(
    ("before", "held", "new", "fields"),
    [
        pytest.param(["go"], True, "more", {}, id="a new message behind results of tools"),
        pytest.param(["go"], True, None, {}, id="a page that has all and says nothing"),
        pytest.param(["go"], False, None, {}, id="a page that opens the thread"),
        pytest.param(["go", "ask"], True, None, {}, id="a page that opens at a question"),
        pytest.param(["go", "ask"], True, None, {"resume": True}, id="an answer"),
        pytest.param(["go"], True, None, {"resume": True}, id="an answer to no question"),
    ],
)
async def test_a_request_reads_its_thread_once(
    judge: Judge, before: list[str], held: bool, new: str | None, fields: dict[str, Any]
) -> None:
    saver = CountingSaver()
    adapter = AGUIAdapter(asking(saver))
    messages: list[Any] = []
    runs = []
    for number, text in enumerate(before):
        messages.append({"id": f"u{number}", "role": "user", "content": text})
        runs.append(await record(adapter, run_input(messages, thread_id="t", run_id=f"r{number}")))
        messages = judge(runs).messages
    if fields:
        questions = runs[-1]["events"][-1].get("outcome", {}).get("interrupts") or [{"id": "none"}]
        fields = {"resume": [{"interruptId": questions[0]["id"], "status": "resolved", "payload": "yes"}]}
    sent = [*(messages if held else ()), *([{"id": "new", "role": "user", "content": new}] if new else ())]
    saver.reads = 0

    run = await record(adapter, run_input(sent, thread_id="t", run_id="last", **fields))

    assert saver.reads == 1
    assert run["events"][-1]["type"] == "RUN_FINISHED"
    shown = judge([*runs, run] if held else [run]).messages
    state = await adapter.source.graph.aget_state({"configurable": {"thread_id": "t"}})  # type: ignore[attr-defined]
    assert [m["id"] for m in shown] == [m.id for m in state.values["messages"]]


@SOURCES
async def test_a_long_thread_costs_little_more_than_the_bare_loop(source: Any) -> None:
    """Parsing the request is the server's work and not part of it."""
    rounds, tries = 5, 3
    graph, messages = await long_threads(InMemorySaver(), 2 * rounds * tries)
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))

    async def ours(number: int) -> float:
        return await drained(adapter.stream_sse(asked(f"t{2 * number}", messages)))

    async def bare(number: int) -> float:
        given = {"messages": [HumanMessage("and?", id="new")]}
        config: RunnableConfig = {"configurable": {"thread_id": f"t{2 * number + 1}"}}
        modes = ["updates", "values", "custom"]
        return await drained(graph.astream_events(given, config, version="v2", stream_mode=modes, subgraphs=True))

    assert await cost_ratio(ours, bare, most=1.5, rounds=rounds, tries=tries) < 1.5


SHAPES: dict[str, Callable[[list[dict[str, Any]], list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "in sync": lambda held, new: [*held, new[0]],
    "an empty client": lambda held, new: [new[0]],
    "an edit of the first message": lambda held, new: [{**held[0], "content": "edited"}, *held[1:], new[0]],
    "an edit of the last message": lambda held, new: [*held[:-2], {**held[-2], "content": "edited"}],
    "the middle lost": lambda held, new: [*held[: len(held) // 4], *held[len(held) // 2 :], new[0]],
    "as many new messages": lambda held, new: [*held, *new],
    "in reverse": lambda held, new: [*held[::-1], new[0]],
    "ids of its own": lambda held, new: [*({**m, "id": f"x{m['id']}"} for m in held), new[0]],
    "everything twice": lambda held, new: [*held, *held, new[0]],
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_cost_of_a_turn_grows_no_faster_than_its_thread(shape: str) -> None:
    """Whatever a request says of the thread. Processor time; four times the messages may take eight times as long."""
    graph, messages = await long_threads(InMemorySaver(), 0)
    adapter = AGUIAdapter(graph)
    held = [{"id": m.id, "role": "user" if m.type == "human" else "assistant", "content": m.content} for m in messages]
    new = [{"id": f"new{number}", "role": "user", "content": "and?"} for number in range(len(held))]

    def turn(length: int) -> Timed:
        async def timed(number: int) -> float:
            thread = f"{length} {number}"
            config: RunnableConfig = {"configurable": {"thread_id": thread}}
            await graph.aupdate_state(config, {"messages": messages[:length]}, as_node="chat")
            request = run_input(SHAPES[shape](held[:length], new[:length]), thread_id=thread)
            return await drained(adapter.stream_sse(request))

        return timed

    assert await cost_ratio(turn(LENGTH), turn(LENGTH // 4), most=8) < 8


@SOURCES
async def test_a_long_thread_that_the_client_lacks_is_sent_at_the_start(judge: Judge, source: Any) -> None:
    """A reloaded page: whole and in order before the graph runs, and as the run's last word again."""
    graph, _ = await long_threads(InMemorySaver(), 1)
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))

    events = parse_sse(b"".join([frame async for frame in adapter.stream_sse(asked("t0", []))]).decode())

    steps = [event["type"] for event in events].index("STEP_STARTED")
    snapshots = [(n, len(event["messages"])) for n, event in enumerate(events) if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [(n < steps, length) for n, length in snapshots if length > 1] == [(True, LENGTH + 1), (False, LENGTH + 2)]
    assert len(judge([events]).messages) == LENGTH + 2
