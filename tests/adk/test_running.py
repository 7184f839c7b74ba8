"""Errors, limits, cancellation, options, hooks, and what tools and callbacks emit."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import Agent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool, FunctionTool, ToolContext, exit_loop
from google.genai import types

from tests.adk.playing import (
    HANGS,
    Talk,
    calling,
    get_weather,
    hanging,
    model,
    of,
    pipeline,
    text_of,
    thinking,
    weather,
)
from tests.conftest import Judge
from tests.support.serving import call, post, run_body
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks, Visible
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.orchestration.events import EventEmitter
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import assert_conformant, collect, run_input

# ---------------------------------------------------------------- errors


def broken() -> str:
    """Fails."""
    raise ValueError("the tool failed")


BLOCKED = LlmResponse(error_code="SAFETY", error_message="blocked", finish_reason=types.FinishReason.SAFETY)
ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "error event": (lambda: Agent(name="root", model=model(BLOCKED)), "SAFETY: blocked"),
    "exception of the model": (lambda: Agent(name="root", model=model(RuntimeError("boom"))), "boom"),
    "exception of a tool": (
        lambda: Agent(name="root", model=model(["Wait. ", calling("broken")]), tools=[broken]),
        "the tool failed",
    ),
    "exception in a sequence": (
        lambda: SequentialAgent(name="s", sub_agents=[Agent(name="root", model=model(RuntimeError("boom")))]),
        "boom",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_is_one_run_error(judge: Judge, name: str) -> None:
    build, message = ERRORS[name]
    events = await Talk(AGUIAdapter(build()), judge).say()
    assert [event["type"] for event in events].count("RUN_ERROR") == 1
    assert (events[-1]["type"], events[-1]["code"], events[-1]["message"]) == ("RUN_ERROR", "AGENT_ERROR", message)


async def test_an_error_that_the_agent_got_over_is_none(judge: Judge) -> None:
    sequence = SequentialAgent(
        name="s", sub_agents=[Agent(name="a", model=model(BLOCKED)), Agent(name="b", model=model(["Fine."]))]
    )
    events = await Talk(AGUIAdapter(sequence), judge).say()
    assert events[-1]["type"] == "RUN_FINISHED"
    assert text_of(events) == "Fine."


async def test_an_answer_that_is_cut_off_is_marked(judge: Judge) -> None:
    cut = LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="Half a")]),
        finish_reason=types.FinishReason.MAX_TOKENS,
    )
    events = await Talk(AGUIAdapter(Agent(name="root", model=model(cut))), judge).say()
    assert events[-1]["metadata"] == {"adk": {"finish_reason": "MAX_TOKENS", "incomplete": "length"}}


# ---------------------------------------------------------------- limits and the end


CLOSED: list[str] = []


async def slow() -> str:
    """Waits."""
    EventEmitter().emit("begun")
    try:
        await asyncio.sleep(30)
    finally:
        CLOSED.append("tool")
    return "late"


def waiting() -> Agent:
    CLOSED.clear()
    return Agent(name="root", model=model(["Wait. ", calling("slow")], ["Done."]), tools=[slow])


@pytest.mark.parametrize(
    ("options", "source", "code"),
    [
        ({"execution_timeout": 0.6}, {}, "EXECUTION_TIMEOUT"),
        ({"tool_timeout": 0.6}, {}, "TOOL_TIMEOUT"),
        ({"idle_timeout": 0.6}, {}, "IDLE_TIMEOUT"),
        ({}, {"execution_timeout": 0.6}, "EXECUTION_TIMEOUT"),
        ({}, {"tool_timeout": 0.6}, "TOOL_TIMEOUT"),
    ],
)
async def test_a_limit_ends_the_run_and_the_agent(options: Any, source: Any, code: str) -> None:
    adapter = AGUIAdapter(AdkSource(waiting(), **source), options=AdapterOptions(**options))
    events = await collect(adapter, "hi")
    assert_conformant(events)
    assert events[-1]["code"] == code
    assert CLOSED == ["tool"]


def test_limits_are_the_contracts() -> None:
    adapter = AGUIAdapter(weather())
    assert (adapter.options.execution_timeout, adapter.options.tool_timeout) == (600.0, 300.0)
    assert AGUIAdapter(AdkSource(weather(), tool_timeout=None)).options.tool_timeout is None
    given = AGUIAdapter(weather(), options=AdapterOptions(execution_timeout=5))
    assert given.options.execution_timeout == 5


async def test_more_runs_than_allowed_are_refused() -> None:
    adapter = AGUIAdapter(AdkSource(waiting(), max_concurrent_runs=1))
    first = adapter.run(run_input())
    async for event in first:
        if event.type == "CUSTOM":
            break
    events = await collect(adapter, "hi")
    await first.aclose()
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "OVERLOADED")
    assert CLOSED == ["tool"]


@pytest.mark.parametrize("way", ["stop", "close", "cancel"])
async def test_the_agent_is_gone_when_the_run_is(way: str) -> None:
    before = asyncio.all_tasks()
    adapter, control = AGUIAdapter(waiting()), RunControl()
    seen: list[Any] = []

    async def read() -> None:
        async for event in adapter.run(run_input(), control=control):
            seen.append(event)
            if event.type == "CUSTOM":
                if way == "stop":
                    control.stop()
                if way == "close":
                    return

    task = asyncio.create_task(read())
    if way == "cancel":
        while not any(event.type == "CUSTOM" for event in seen):
            await asyncio.sleep(0.01)
        task.cancel()
    await asyncio.wait([task])
    if way == "close":
        gc.collect()
        await asyncio.sleep(0.05)
    assert CLOSED == ["tool"]
    assert asyncio.all_tasks() <= before
    if way == "stop":
        assert seen[-1].outcome.type == "cancelled"


async def test_a_cancelled_thread_goes_on(judge: Judge) -> None:
    adapter = AGUIAdapter(Agent(name="root", model=model(["Wait. ", calling("slow")], ["Next."]), tools=[slow]))
    events = adapter.run(run_input([{"id": "u0", "role": "user", "content": "go"}], thread_id="t"))
    async for event in events:
        if event.type == "CUSTOM":
            break
    await events.aclose()
    talk = Talk(adapter, judge)
    talk.messages = [{"id": "u0", "role": "user", "content": "go"}]
    assert text_of(await talk.send([*talk.messages, {"id": "u1", "role": "user", "content": "next"}])) == "Next."


async def quick() -> str:
    """Returns."""
    return "done"


def in_a_row(*answers: Any) -> Any:
    steps = [Agent(name=f"a{n}", model=model(answer), tools=[quick]) for n, answer in enumerate(answers)]
    return SequentialAgent(name="s", sub_agents=steps)


def lasting(agent: Any) -> App:
    return App(name="app", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))


LEFT: dict[str, tuple[Callable[[], Any], bool]] = {
    # What the agent does until it ends, or hangs and is stopped; whether its turn is then unfinished.
    "an answer": (lambda: Agent(name="root", model=model("Hello.")), False),
    "no words after the tool": (
        lambda: Agent(name="root", model=model([calling("exit_loop")]), tools=[exit_loop]),
        False,
    ),
    "a failure": (lambda: Agent(name="root", model=model(BLOCKED)), True),
    "stopped before the first word": (lambda: Agent(name="root", model=model(HANGS)), True),
    "stopped after a tool": (
        lambda: Agent(name="root", model=model([calling("quick")], HANGS), tools=[quick]),
        True,
    ),
    "a question": (
        lambda: Agent(
            name="root", model=model([calling("quick")]), tools=[FunctionTool(quick, require_confirmation=True)]
        ),
        False,
    ),
    "all of a sequence": (lambda: lasting(in_a_row("One.", "Two.")), False),
    "a part of a sequence": (lambda: lasting(in_a_row("One.", HANGS)), True),
}


@pytest.mark.parametrize("name", LEFT)
async def test_who_looks_sees_whether_the_last_turn_is_unfinished(name: str) -> None:
    build, unfinished = LEFT[name]
    hanging.clear()
    app = create_app(AGUIAdapter(build()), settings=ServerSettings())
    run = post(app, run_body())
    while not run.task.done():
        await asyncio.sleep(0.01)
        if hanging:
            hanging.clear()
            await call(app, "POST", "/threads/t1/cancel")
    looked = await call(app, "POST", "/connect", run_body(run="look", protocolVersion="1.0"))
    assert looked.events[-1].get("metadata") == ({"adk": {"unfinished": True}} if unfinished else None)


async def test_runs_side_by_side_are_apart() -> None:
    def answer(request: Any) -> list[str]:
        return [f"You said {request.contents[-1].parts[-1].text}."]

    adapter = AGUIAdapter(
        AdkSource(Agent(name="root", model=model(*[answer] * 20, pause=0.001)), max_concurrent_runs=20)
    )
    runs = await asyncio.gather(*(collect(adapter, run_input(str(n), thread_id=f"t{n}")) for n in range(20)))
    assert [text_of(events) for events in runs] == [f"You said {n}." for n in range(20)]


# ---------------------------------------------------------------- options and hooks


OPTIONS: dict[str, tuple[Any, Callable[[], Any], Callable[[Any], Any], Any]] = {
    # option -> its value, the agent, what to look at, what it is
    "messages_snapshot": ("always", weather, lambda e: e[-2]["type"], "MESSAGES_SNAPSHOT"),
    "final_state_snapshot": (True, weather, lambda e: e[-2].get("snapshot"), {"last_city": "Rome"}),
    "reasoning": ("off", weather, lambda e: of(e, "REASONING_START"), []),
    "step_name": (
        lambda run: f"{run.kind} {run.name}",
        weather,
        lambda e: of(e, "STEP_STARTED")[0]["stepName"],
        "node weather",
    ),
    "visible": (Visible(nodes={"reviewer"}), pipeline, lambda e: text_of(e), "Good draft"),
    "text_chunks": (True, weather, lambda e: bool(of(e, "TEXT_MESSAGE_CHUNK")), True),
    "predict_state": ({"city": ("get_weather", "city")}, weather, lambda e: "/city" in str(of(e, "STATE_DELTA")), True),
    "raw_events": (
        True,
        weather,
        lambda e: (of(e, "TEXT_MESSAGE_CONTENT")[0].get("rawEvent") or {}).get("author"),
        "weather",
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
async def test_an_option_works(judge: Judge, name: str) -> None:
    value, build, look, found = OPTIONS[name]
    plain = await collect(AGUIAdapter(build()), "hi")
    events = await collect(AGUIAdapter(build(), options=AdapterOptions(**{name: value})), "hi")
    judge([events])
    assert look(events) == found
    assert look(plain) != found


@pytest.mark.parametrize("given", [{"durability": "exit"}, {"source": "callbacks"}, {"hold": "never"}])
def test_options_of_langgraph_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="has no effect on adk agents"):
        AGUIAdapter(weather(), options=AdapterOptions(**given))


async def test_hidden_text_is_in_the_snapshot(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(weather(), options=AdapterOptions(visible=Visible(names={"get_weather"}))), judge)
    events = await talk.say()
    assert text_of(events) == ""
    assert [m["content"] for m in talk.messages if m["role"] == "assistant"] == ["Let me look. ", "Both 21."]


async def test_hooks_redact_and_see_native_events() -> None:
    seen: list[Any] = []

    def native(event: Any, run: Any) -> list[Any]:
        seen.append(event)
        return [event]

    hooks = Hooks(
        on_native=native,
        on_state=lambda state, run: dict.fromkeys(state, "***"),
        on_messages=lambda messages, run: messages[:1],
        on_error=lambda error, run: "sorry",
    )
    adapter = AGUIAdapter(weather(), hooks=hooks, options=AdapterOptions(messages_snapshot="always"))
    events = await collect(adapter, "hi")
    assert "Rome" not in str(of(events, "STATE_DELTA", "STATE_SNAPSHOT"))
    assert len(of(events, "MESSAGES_SNAPSHOT")[0]["messages"]) == 1
    assert {event.author for event in seen} == {"weather"}


async def test_a_client_cannot_set_a_key_that_it_is_not_shown() -> None:
    hooks = Hooks(on_state=lambda state, run: {k: v for k, v in state.items() if k != "last_city"})
    adapter = AGUIAdapter(Agent(name="root", model=model(["Hi."], ["Hi."])), hooks=hooks)
    store = adapter.source.thread_store()
    assert store is not None
    await collect(adapter, run_input("hi", thread_id="t", state={"open": 1}))
    await store.change_state("t", {"last_city": "Rome"}, [])
    await collect(adapter, run_input("again", thread_id="t", state={"open": 2, "last_city": "Paris"}))
    assert await store.state("t") == {"open": 2, "last_city": "Rome"}


async def test_a_runner_and_an_app_are_agents(judge: Judge) -> None:
    class Counting(BasePlugin):
        runs = 0

        async def before_run_callback(self, *, invocation_context: Any) -> None:
            self.runs += 1

    plugin = Counting(name="counting")
    app = App(name="counted", root_agent=weather(), plugins=[plugin])
    for agent in (app, InMemoryRunner(app=App(name="counted", root_agent=weather(), plugins=[plugin]))):
        assert text_of(await Talk(AGUIAdapter(agent), judge).say()) == "Let me look. Both 21."
    assert plugin.runs == 2


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(TypeError, match="an agent of google-adk is an agent, a workflow, an App or a Runner"):
        AGUIAdapter(types.Part(text="x") and BasePlugin(name="x"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="session_service must be given"):
        AdkSource(weather(), use_in_memory_services=False)
    with pytest.raises(ValueError, match="a runner has its own services: leave out memory_service"):
        AdkSource(InMemoryRunner(agent=weather()), memory_service=object())


async def test_metadata_of_an_answer_is_a_custom_event(judge: Judge) -> None:
    answer = LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="Hi")]), custom_metadata={"source": "cache"}
    )
    talk = Talk(AGUIAdapter(Agent(name="root", model=model(answer))), judge)
    events = await talk.say(context=[{"description": "page", "value": "home"}])
    assert [event["value"] for event in of(events, "CUSTOM")] == [{"source": "cache"}]


async def test_an_answer_cites_its_sources(judge: Judge) -> None:
    text = "Grüße: it is 25 °C."
    segment = types.Segment(start_index=len("Grüße: ".encode()), end_index=len(text.encode()), text="it is 25 °C.")
    grounding = types.GroundingMetadata(
        grounding_chunks=[types.GroundingChunk(web=types.GroundingChunkWeb(uri="https://w.example/", title="Weather"))],
        grounding_supports=[types.GroundingSupport(segment=segment, grounding_chunk_indices=[0])],
    )
    answer = LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text=text)]), grounding_metadata=grounding
    )
    talk = Talk(AGUIAdapter(Agent(name="root", model=model(answer))), judge)
    events = await talk.say()
    found = [{"url": "https://w.example/", "title": "Weather", "start_index": 7, "end_index": 19}]
    assert of(events, "TEXT_MESSAGE_END")[0]["metadata"] == {"adk": {"citations": found}}
    [activity] = of(events, "ACTIVITY_SNAPSHOT")
    assert activity["content"] == {"messageId": of(events, "TEXT_MESSAGE_START")[0]["messageId"], "citations": found}
    store = talk.adapter.source.thread_store()
    assert store is not None
    held = await store.messages("t", None)  # type: ignore[arg-type]
    assert held[-1].metadata == {"adk": {"citations": found}}


async def test_an_answer_that_a_callback_rewrote_is_corrected(judge: Judge) -> None:
    def rewritten(callback_context: Any, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return None
        return llm_response.model_copy(
            update={"content": types.Content(role="model", parts=[types.Part(text="Other.")])}
        )

    agent = Agent(name="root", model=model(["Se", "cret."]), after_model_callback=rewritten)
    talk = Talk(AGUIAdapter(agent), judge)
    await talk.say()
    assert talk.messages[-1]["content"] == "Other."


# ---------------------------------------------------------------- the emitter


async def emitting(tool_context: ToolContext) -> str:
    """Emits in every way."""
    EventEmitter().emit("ambient", 1)
    ui = EventEmitter(tool_context)
    ui.progress("load", 0.5)
    ui.tool_output("line")
    ui.state({"early": 1})
    thread = threading.Thread(target=lambda: EventEmitter(tool_context).emit("thread", 2))
    thread.start()
    thread.join()
    await asyncio.sleep(0)
    return "ok"


def plain(tool_context: ToolContext) -> str:
    """A synchronous one."""
    EventEmitter().emit("plain", 3)
    EventEmitter().tool_output("piece")
    return "ok"


async def test_tools_and_callbacks_emit(judge: Judge) -> None:
    def before(callback_context: Any) -> None:
        EventEmitter().emit("before", 0)

    llm = model([calling("emitting"), calling("plain")], ["Done."])
    agent = Agent(name="root", model=llm, tools=[emitting, plain], before_agent_callback=before)
    events = await Talk(AGUIAdapter(agent), judge).say()

    kinds = [event["type"] for event in events]
    customs = of(events, "CUSTOM")
    assert {event["name"] for event in customs} == {"before", "ambient", "thread", "plain"}
    assert kinds.index("TOOL_CALL_END") < kinds.index("ACTIVITY_SNAPSHOT") < kinds.index("TOOL_CALL_RESULT")
    outputs = [a["content"] for a in of(events, "ACTIVITY_SNAPSHOT") if a["activityType"] == "tool_output"]
    calls = [event["toolCallId"] for event in of(events, "TOOL_CALL_START")]
    assert {output["toolCallId"] for output in outputs} == set(calls)
    early = of(events, "STATE_DELTA")
    assert early[0]["delta"] == [{"op": "add", "path": "/early", "value": 1}]


async def test_outside_of_a_run_nothing_is_emitted() -> None:
    EventEmitter().emit("nothing", 1)
    tool: BaseTool | None = None
    assert tool is None


async def test_reasoning_alone_ends(judge: Judge) -> None:
    events = await Talk(
        AGUIAdapter(Agent(name="root", model=model([thinking("hm")]), tools=[get_weather])), judge
    ).say()
    assert of(events, "REASONING_END")
