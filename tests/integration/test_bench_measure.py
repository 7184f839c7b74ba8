"""`measure_overhead` on real graphs: a run is recorded once, replayed faithfully, and what the adapter costs shows."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable
from typing import Annotated, Any, TypedDict

import pytest
from ag_ui.core import BaseEvent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic import BaseModel

from tests.support.graphs import Graph, chat, in_a_row, scripted, tool_loop
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, EventEmitter, RunContext, Source
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.adapter.source import SourceRun, Translator
from yai_nexus_agentkit.testing import OverBudget, Overhead, collect, measure_overhead, run_input, tool_calls_part

executed: list[int] = []


@tool
def add(a: int, b: int) -> int:
    """Add."""
    executed.append(a)
    return a + b


class Notes(TypedDict):
    messages: Annotated[list[Any], add_messages]
    notes: dict[str, int]


def adding() -> Graph:
    return tool_loop(scripted([tool_calls_part(("add", {"a": 1, "b": 2}, "c1"))], ["It is ", "3."]), [add])


def asking() -> Graph:
    def ask(state: Any) -> Any:
        return {"messages": [("ai", f"you said {interrupt({'question': 'Really?'})}")]}

    return in_a_row({"ask": ask})


def busy() -> Graph:
    async def note(state: Notes) -> dict[str, Any]:
        EventEmitter().emit("noted", {"count": len(state.get("notes") or {})})
        return {"notes": {**(state.get("notes") or {}), "more": 1}}

    async def inner(state: Notes) -> dict[str, Any]:
        return {"messages": [await scripted(["in", "side"]).ainvoke(state["messages"])]}

    nested = in_a_row({"inner": inner}, Notes, checkpointer=None)
    return in_a_row({"note": note, "nested": nested}, Notes)


class Weather(BaseModel):
    """The data that the program needs."""

    degrees: int


def structured() -> Graph:
    model = scripted([tool_calls_part(("Weather", {"degrees": 20}, "c1"))])

    async def extract(state: Notes) -> dict[str, Any]:
        found = await model.with_structured_output(Weather).ainvoke(state["messages"])
        return {"notes": {"degrees": found.degrees}}

    return in_a_row({"extract": extract}, Notes)


async def measured(agent: Any, request: Any = "hi", **given: Any) -> Overhead:
    return await measure_overhead(agent, request, **{"repeats": 2, "max_overhead_us": None, **given})


# ---------------------------------------------------------------- what is replayed


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (lambda: chat(scripted(["Hel", "lo"])), AdapterOptions()),
        (lambda: chat(scripted(["Hel", "lo"]), "invoke"), AdapterOptions()),
        (adding, AdapterOptions()),
        (adding, AdapterOptions(source="callbacks")),
        (asking, AdapterOptions()),
        (structured, AdapterOptions()),
        (busy, AdapterOptions()),
        (busy, AdapterOptions(source="callbacks", subagents="always")),
        (lambda: scripted(["Hel", "lo"]), AdapterOptions()),
        (lambda: ChatPromptTemplate.from_messages([("placeholder", "{messages}")]) | scripted(["a"]), AdapterOptions()),
    ],
    ids=[
        "chat",
        "sync",
        "tools",
        "tools by callbacks",
        "question",
        "structured",
        "nested",
        "nested by callbacks",
        "model",
        "chain",
    ],
)
async def test_the_replay_sends_the_events_of_the_run(build: Any, options: AdapterOptions) -> None:
    overhead = await measured(AGUIAdapter(build(), options=options))

    events = await collect(AGUIAdapter(build(), options=options), "hi")
    assert overhead.faithful
    assert overhead.events == len(events)
    assert overhead.natives > 0


async def test_the_agent_runs_once() -> None:
    executed.clear()
    await measured(adding(), repeats=3)
    assert executed == [1]


async def test_hooks_and_options_of_an_adapter_are_measured_with_it() -> None:
    def twice(event: BaseEvent, run: RunContext) -> Iterable[BaseEvent]:
        return (event, event) if event.type == "TEXT_MESSAGE_CONTENT" else (event,)

    graph = chat(scripted(["a", "b"], ["a", "b"]))
    plain = await measured(graph)
    hooked = await measured(AGUIAdapter(graph, hooks=Hooks(on_event=twice)))
    assert hooked.events == plain.events + 2


async def test_another_framework_is_replayed_too() -> None:
    class Words(Source):
        """The native events of its only framework are words."""

        async def prepare(self, run: RunContext, /) -> Any:
            return Spoken(run)

    class Spoken(SourceRun):
        def __init__(self, run: RunContext) -> None:
            self.translator = Speaker(run)

        async def events(self) -> AsyncGenerator[str, None]:
            for word in ("one ", "two ", "three"):
                yield word

    class Speaker(Translator):
        def __init__(self, run: RunContext) -> None:
            self.reports = Reports(run)

        def feed(self, native: str, /) -> list[BaseEvent]:
            return self.reports.life.text("lane", "message", native)

    overhead = await measured(Words())
    assert (overhead.natives, overhead.events, overhead.faithful) == (3, 7, True)


# ---------------------------------------------------------------- the agent's threads


async def test_the_threads_of_the_agent_are_left_as_they_are() -> None:
    graph = chat(scripted(["first"], ["second"], ["third"]))
    thread = run_input("hi", thread_id="t", run_id="r1")
    first = await collect(AGUIAdapter(graph), thread)
    config = {"configurable": {"thread_id": "t"}}
    before = [state async for state in graph.aget_state_history(config)]
    held = [{"id": thread.messages[0].id, "role": "user", "content": "hi"}]
    held.append({"id": first[3]["messageId"], "role": "assistant", "content": "first"})

    overhead = await measured(graph, run_input([*held, {"id": "u2", "role": "user", "content": "more"}], thread_id="t"))

    assert overhead.faithful
    assert overhead.events == len(first)  # the client was in sync: the run saw the thread's history
    assert [state async for state in graph.aget_state_history(config)] == before


async def test_a_paused_thread_can_be_measured_with_the_answer_and_is_still_paused() -> None:
    graph = asking()
    asked = await collect(AGUIAdapter(graph), run_input("hi", thread_id="t"))
    question = asked[-1]["outcome"]["interrupts"][0]["id"]
    answer = [{"interruptId": question, "status": "resolved", "payload": "yes"}]
    resumed = run_input([], thread_id="t", resume=answer)

    overhead = await measured(graph, resumed)

    assert overhead.faithful
    assert (await graph.aget_state({"configurable": {"thread_id": "t"}})).interrupts
    last = (await collect(AGUIAdapter(graph), resumed))[-1]
    assert last["type"] == "RUN_FINISHED"


async def test_a_question_inside_of_a_subgraph_can_be_measured_with_the_answer() -> None:
    inner = asking().copy({"checkpointer": None})
    builder = StateGraph(Notes).add_node("inner", inner).add_edge(START, "inner")
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = await collect(AGUIAdapter(graph), run_input("hi", thread_id="t"))
    question = asked[-1]["outcome"]["interrupts"][0]["id"]
    answer = [{"interruptId": question, "status": "resolved", "payload": "yes"}]

    overhead = await measured(graph, run_input([], thread_id="t", resume=answer))

    assert overhead.faithful


# ---------------------------------------------------------------- what is measured


async def test_what_the_adapter_does_per_event_is_in_the_overhead() -> None:
    def slow(native: Any, run: RunContext) -> Iterable[Any]:
        until = time.thread_time() + 0.0005
        while time.thread_time() < until:
            pass
        return (native,)

    overhead = await measured(AGUIAdapter(chat(scripted(["a", "b", "c"])), hooks=Hooks(on_native=slow)), repeats=3)
    assert overhead.overhead_us > 500


async def test_over_the_budget_is_a_failure_with_the_figures() -> None:
    with pytest.raises(OverBudget, match=r"overhead .* allowed are 0\.001; ratio .* allowed is 1") as caught:
        await measured(chat(scripted(["hello"])), max_overhead_us=0.001, max_ratio=1.0)
    assert caught.value.overhead.repeats == 6  # measured three times before it counts


async def test_by_default_the_bound_of_clients_is_the_budget() -> None:
    def very_slow(native: Any, run: RunContext) -> Iterable[Any]:
        until = time.thread_time() + 0.006
        while time.thread_time() < until:
            pass
        return (native,)

    adapter = AGUIAdapter(chat(scripted(["hello"])), hooks=Hooks(on_native=very_slow))
    with pytest.raises(OverBudget, match="allowed are 5000"):
        await measure_overhead(adapter, repeats=1)


async def test_a_run_that_fails_is_not_measured() -> None:
    def fail(state: Any) -> Any:
        raise ValueError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        await measured(in_a_row({"fail": fail}))


async def test_a_request_that_brings_nothing_new_is_not_measured() -> None:
    graph = chat(scripted(["first"]))
    request = run_input("hi", thread_id="t")
    answer = (await collect(AGUIAdapter(graph), request))[3]["messageId"]
    held = [{"id": request.messages[0].id, "role": "user", "content": "hi"}]
    held.append({"id": answer, "role": "assistant", "content": "first"})
    with pytest.raises(RuntimeError, match="nothing new"):
        await measured(graph, run_input(held, thread_id="t"))
