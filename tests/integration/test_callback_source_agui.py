"""Clients see the same with both sources: every entity's events, and the same end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.runnables import Runnable
from langgraph.graph import START, StateGraph

from tests.conftest import Judge
from tests.support.shapes import SHAPES, model, remembering, row, saying, talker
from tests.support.shapes.base import Numbers
from tests.support.shapes.work import add, tool_loop, weather
from tests.support.two_sources import Turn, answer, hear, same_entities, same_outcome, same_stream
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter
from yai_nexus_agentkit.testing import (
    Part,
    ScriptedChatModel,
    collect,
    reasoning_part,
    run_input,
    text_part,
    tool_call_parts,
    tool_calls_part,
)

TURNS: dict[str, tuple[Turn, ...]] = {
    "questions": ("hi", answer("a"), answer("b")),
    "question_in_a_tool": ("hi", answer("yes")),
    "question_in_a_subgraph": ("hi", answer("yes")),
    "agent_that_asks_first": ("hi", answer({"decisions": [{"type": "approve"}]})),
    "breakpoints": ("hi", answer(None)),
    "constant_and_two_turns": ("hi", "again"),
}
TOLD = ("TEXT_MESSAGE_CONTENT", "CUSTOM")
NUMBERS = {
    "idle_timeout_that_progress_holds_off",
    "looping",
    "fan_out",
    "dispatched",
    "written",
    "lost_callbacks",
    "cached_node",
}
NO_REQUEST = {"functional", "plain_chain", "plain_parallel", "plain_lambdas", "plain_tool", "plain_failure"}
"""Shapes whose input is no conversation."""
SURVIVED = {"error_handler"}
"""A node fails and the graph goes on: here its step ends at once, in v2 when the next one begins."""


@pytest.mark.parametrize("name", sorted(SHAPES.keys() - NO_REQUEST - {"plain_llm"}))
async def test_every_shape_looks_alike_from_both_sources(name: str, judge: Judge) -> None:
    shape = SHAPES[name]
    state = {"number": 1, "done": []} if name in NUMBERS else None
    turns = TURNS.get(name, ("hi",))
    v2 = await hear(lambda: shape.build().agent, "events", judge, *turns, state=state, custom_events="all")
    ours = await hear(lambda: shape.build().agent, "callbacks", judge, *turns, state=state, custom_events="all")
    if shape.level == "exact" and name not in SURVIVED:
        same_stream(v2, ours)
    same_entities(v2, ours)
    same_outcome(v2, ours, ordered=shape.level != "runs")
    assert len(ours.events) > 4


def reasoner() -> Runnable[Any, Any]:
    think = [reasoning_part("Let me "), reasoning_part("see"), reasoning_part(signature="sig")]
    call = tool_call_parts("weather", {"city": "Oslo"}, "c1", index=1)
    return tool_loop([weather, add], [*think, *call], ["It is ", "sunny"])


def stateful() -> Runnable[Any, Any]:
    async def plan(state: Any) -> Any:
        EventEmitter().state({"number": 5})
        EventEmitter().progress("work", 0.5)
        await saying("x ", "y").ainvoke("z")
        return {"number": state["number"] + 1, "done": ["planned"]}

    def work(state: Any) -> Any:
        EventEmitter().emit("chart", {"rows": [1, 2]})
        EventEmitter().activity("a1", "card", {"n": 1})
        return {"done": ["worked"]}

    return row(plan=plan, work=work, state=Numbers)


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (reasoner, {}),
        (reasoner, {"reasoning": "off", "text_chunks": True}),
        (reasoner, {"predict_state": {"place": ("weather", "city")}}),
        (stateful, {"custom_events": "all", "final_state_snapshot": True}),
        (lambda: SHAPES["chains_in_a_node"].build().agent, {"chain_spans": "all"}),
        (lambda: SHAPES["questions"].build().agent, {"interrupts": "both"}),
        (lambda: SHAPES["three_levels"].build().agent, {"durability": "exit", "messages_snapshot": "always"}),
    ],
)
@pytest.mark.filterwarnings("ignore:`durability` has no effect")
async def test_options_work_alike(build: Any, options: dict[str, Any], judge: Judge) -> None:
    state = {"number": 1, "done": []} if build is stateful else None
    v2 = await hear(build, "events", judge, state=state, **options)
    ours = await hear(build, "callbacks", judge, state=state, **options)
    same_stream(v2, ours)
    same_outcome(v2, ours)


async def test_silent_models_stay_silent(judge: Judge) -> None:
    async def chat(state: Any) -> Any:
        await saying("secret").ainvoke("x", {"tags": ["nostream"]})
        return {"messages": [await saying("open").ainvoke("x")]}

    v2, ours = [await hear(lambda: row(chat=chat), source, judge) for source in ("events", "callbacks")]
    same_stream(v2, ours)
    assert "secret" not in str(ours.events)


async def test_a_text_model_streams_its_answer(judge: Judge) -> None:
    """v2 loses its events where any handler runs inline, ours too (langchain-core 1.8.3)."""
    heard = await hear(lambda: SHAPES["plain_llm"].build().agent, "callbacks", judge)
    assert [event["delta"] for event in heard.events if "delta" in event] == list("Human: hi")


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([text_part("a"), "b", "c"], ["a", "b", "c"]),
        (["a", text_part("b"), "c", text_part("d"), "e"], ["a", "b", "c", "d", "e"]),
        ([reasoning_part("hm"), "a", "b"], ["hm", "a", "b"]),
        ([text_part(""), text_part("a"), text_part("b"), "c"], ["a", "b", "c"]),
    ],
    ids=["blocks, text", "turns", "reasoning, text", "blocks"],
)
async def test_blocks_and_text_come_piece_by_piece(parts: list[Part], said: list[str], source: Any) -> None:
    """LangChain merges all chunks of an answer into the first one, perhaps before that is read."""
    scripted = ScriptedChatModel(script=lambda messages: parts)

    async def talk(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    events = await collect(AGUIAdapter(row(talk), options=AdapterOptions(source=source)), "hi")
    assert [event["delta"] for event in events if "delta" in event] == said


async def test_emitted_events_stand_between_the_tokens(judge: Judge) -> None:
    def blocking(state: Any) -> Any:
        emitter = EventEmitter()
        for n, chunk in enumerate(saying("a ", "b ", "c").stream("x")):
            if chunk.content:
                emitter.emit("seen", n)
        return {}

    async def node(state: Any) -> Any:
        emitter = EventEmitter()
        n = 0
        async for chunk in saying("a ", "b ", "c").astream("x"):
            if chunk.content:
                emitter.emit("seen", n)
                n += 1
        return {}

    heard = await hear(lambda: row(node, sub=row(blocking)), "callbacks", judge)
    sent = [event.get("delta", event.get("value")) for event in heard.events if event["type"] in TOLD]
    assert sent == 2 * ["a ", 0, "b ", 1, "c", 2]


async def test_a_dead_models_message_ends_when_it_dies(judge: Judge) -> None:
    failing = model(["Hel", ValueError("gone")]).with_fallbacks([saying("other", pause=0.001)])

    async def chat(state: Any) -> Any:
        return {"messages": [await failing.ainvoke(state["messages"])]}

    heard = await hear(lambda: row(chat=chat), "callbacks", judge)
    texts = [event["type"] for event in heard.events if event["type"].startswith("TEXT")]
    once = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert texts == 2 * once


async def test_parallel_branches_and_calls(judge: Judge) -> None:
    """Order between branches is nobody's; within each entity it is the same."""
    both = tool_calls_part(*((name, args, f"c{n}") for n, (name, args) in enumerate([("weather", {"city": "X"})] * 4)))

    def build() -> Runnable[Any, Any]:
        builder = StateGraph(Numbers)
        for n in range(4):
            builder.add_node(f"n{n}", row(agent=tool_loop([weather], [both], ["d"]), say=talker("a ", "b")))
            builder.add_edge(START, f"n{n}")
        return remembering(all=builder.compile(), state=Numbers)

    v2, ours = [await hear(build, source, judge) for source in ("events", "callbacks")]
    same_entities(v2, ours)
    same_outcome(v2, ours, ordered=False)


async def test_twenty_runs_of_one_adapter() -> None:
    async def chat(state: Any) -> Any:
        word = state["messages"][-1].content
        EventEmitter().emit("word", word)
        return {"messages": [await saying(word, " ", word, pause=0.001).ainvoke("x")]}

    adapter = AGUIAdapter(remembering(chat=chat), options=AdapterOptions(source="callbacks"))

    async def one(n: int) -> list[Any]:
        events = await collect(adapter, run_input(f"word{n}", thread_id=f"t{n}", run_id=f"r{n}"))
        return [event.get("delta", event.get("value")) for event in events if event["type"] in TOLD]

    assert await asyncio.gather(*map(one, range(20))) == [[f"word{n}", f"word{n}", " ", f"word{n}"] for n in range(20)]


async def test_a_closed_run_leaves_nothing_behind() -> None:
    ended: list[str] = []

    async def chat(state: Any) -> Any:
        try:
            return {"messages": [await saying(*"abcdef", pause=0.02).ainvoke("x")]}
        finally:
            ended.append("chat")

    adapter = AGUIAdapter(row(chat=chat), options=AdapterOptions(source="callbacks"))
    stream = adapter.run(run_input("hi"))
    async for event in stream:
        if event.type == "TEXT_MESSAGE_CONTENT":
            break
    await stream.aclose()
    assert ended == ["chat"]
    assert asyncio.all_tasks() == {asyncio.current_task()}
