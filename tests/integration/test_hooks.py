# ruff: noqa: E501
"""Where an application steps into a run, and what happens when it raises there."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from ag_ui.core import BaseEvent, CustomEvent, EventType, RunAgentInput, RunErrorEvent, RunFinishedEvent
from inline_snapshot import snapshot
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import MessagesState

from tests.conftest import Judge
from tests.support.graphs import Graph, chat, in_a_row, scripted, tool_loop
from tests.support.lines import named
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.errors import AGUIAdapterError, RunInputError
from yai_nexus_agentkit.testing import Run, reasoning_part, run_input, tool_call_parts, wire


class Secretive(MessagesState):
    public: str
    secret: str
    count: int


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def working() -> Graph:
    """Reasoning, text, a call and its result, state, an answer."""
    first = [reasoning_part("Hm."), "Let me ", "add.", *tool_call_parts("add", {"a": 1, "b": 2}, "call_1")]

    async def count(state: Any) -> dict[str, Any]:
        return {"count": 1, "secret": "x", "public": "y"}

    loop = tool_loop(scripted(first, ["It is ", "3."]), [add]).copy({"checkpointer": None})
    return in_a_row({"loop": loop, "count": count}, Secretive)


def request(**fields: Any) -> RunAgentInput:
    user = {"id": "user-1", "role": "user", "content": "hi"}
    return run_input([user], **{"thread_id": "thread", "run_id": "run-1", **fields})


async def run(
    graph: Graph, hooks: Hooks, options: AdapterOptions | None = None, *, given: Any = None, **kwargs: Any
) -> Run:
    asked, adapter = given or request(), AGUIAdapter(graph, hooks=hooks, options=options or AdapterOptions())
    events = [wire(event) async for event in adapter.run(asked, **kwargs)]
    return {"events": events, "input": wire(asked.model_dump_json(by_alias=True))}


def types(run: Run) -> list[str]:
    return [event["type"] for event in run["events"]]


# ---------------------------------------------------------------- before the run


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_before_run_may_change_the_request(judge: Judge, way: str) -> None:
    model = scripted("Yes.")

    def polite(run: Any) -> RunAgentInput:
        said = run.run_input.messages[-1]
        return run.run_input.model_copy(
            update={"messages": [said.model_copy(update={"content": "please: " + said.content})]}
        )

    async def apolite(run: Any) -> RunAgentInput:
        await asyncio.sleep(0)
        return polite(run)

    done = await run(chat(model), Hooks(before_run=polite if way == "sync" else apolite))

    assert model.calls[0][-1].content == "please: hi"
    judge([done["events"]])


async def test_before_run_may_refuse(judge: Judge) -> None:
    model = scripted("Never.")

    def refuse(run: Any) -> None:
        raise RunInputError(f"not for {run.request['user']}", path="/messages")

    done = await run(chat(model), Hooks(before_run=refuse), request={"user": "eve"})

    assert named(done["events"]) == snapshot(
        [
            [
                'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
                'RUN_ERROR message="/messages: not for eve" code=INVALID_INPUT',
            ]
        ]
    )
    assert model.calls == []
    judge([done])


async def test_the_configuration_comes_from_the_server() -> None:
    """`forwardedProps` go nowhere unless the hook takes them there; what the caller of run() gives wins."""
    seen: list[RunnableConfig] = []

    async def look(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.append(config)
        return {}

    forwarded = {
        "configurable": {"thread_id": "stolen", "admin": True},
        "recursion_limit": 1,
        "model": "big",
        "tags": ["t"],
    }
    given = request(forwarded_props=forwarded)
    graph = in_a_row({"look": look})

    await run(graph, Hooks(), given=given)
    [plain] = seen
    assert "stolen" not in json.dumps(plain, default=str)
    assert "admin" not in plain["configurable"]
    assert plain["configurable"]["thread_id"] == "thread"

    def configure(run: Any) -> RunnableConfig:
        props = run.run_input.forwarded_props
        return {
            "configurable": {"model": props["model"], "who": "hook"},
            "tags": ["hook"],
            "metadata": {"a": 1, "b": 1},
        }

    config: RunnableConfig = {"configurable": {"who": "caller"}, "tags": ["caller"], "metadata": {"b": 2}}
    await run(graph, Hooks(config=configure), given=given, config=config)
    mapped = seen[-1]
    assert {k: mapped["configurable"][k] for k in ("model", "who", "thread_id")} == {
        "model": "big",
        "who": "caller",
        "thread_id": "thread",
    }
    assert {"hook", "caller"} <= set(mapped["tags"])
    assert (mapped["metadata"]["a"], mapped["metadata"]["b"]) == (1, 2)


async def test_the_hook_may_choose_another_thread() -> None:
    """Who owns a thread is the server's business: here each user gets threads of his own."""
    graph = chat(scripted("One.", "Two."))
    hooks = Hooks(
        config=lambda run: {"configurable": {"thread_id": f"{run.request['user']}/{run.run_input.thread_id}"}}
    )

    for user in ("ann", "bob"):
        await run(graph, hooks, request={"user": user})

    for user, answer in (("ann", "One."), ("bob", "Two.")):
        state = await graph.aget_state({"configurable": {"thread_id": f"{user}/thread"}})
        assert [m.content for m in state.values["messages"]] == ["hi", answer]


# ---------------------------------------------------------------- events on their way


async def test_native_events_may_be_dropped_and_added(judge: Judge) -> None:
    def without_text(native: Any, run: Any) -> Iterable[Any]:
        if native["event"] == "on_chat_model_stream":
            return ()
        if native["event"] == "on_chain_start" and not native["parent_ids"]:
            return (native, {**native, "event": "on_custom_event", "name": "begun", "data": 1})
        return (native,)

    done = await run(chat(scripted(["Hello ", "there."])), Hooks(on_native=without_text))

    deltas = [event["delta"] for event in done["events"] if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert deltas == ["Hello there."]  # sent whole, when the model is done
    judge([done["events"]])


async def test_events_may_be_dropped_changed_and_added(judge: Judge) -> None:
    def hook(event: BaseEvent, run: Any) -> Iterable[BaseEvent]:
        match event.type:
            case EventType.TEXT_MESSAGE_CONTENT:
                return (event.model_copy(update={"delta": event.delta.upper()}),)
            case EventType.TOOL_CALL_START | EventType.STEP_STARTED | EventType.REASONING_START:
                return ()
            case EventType.RUN_FINISHED:
                return (CustomEvent(name="bye", value=run.run_input.run_id), event)
            case EventType.RUN_STARTED:
                return (event, CustomEvent(name="hello", value=None))
            case _:
                return (event,)

    done = await run(working(), Hooks(on_event=hook))

    assert named(done["events"]) == snapshot(
        [
            [
                'RUN_STARTED threadId=thread runId=run-1 protocolVersion="1.0"',
                "CUSTOM name=hello value=null",
                "STATE_SNAPSHOT snapshot=()",
                "REASONING_MESSAGE_START messageId=lc_run--#1-reasoning-0 role=reasoning metadata=(langgraph=(form=thinking)) + Hm. END",
                'TEXT_MESSAGE_START messageId=lc_run--#1 role=assistant + "LET ME " + ADD. END',
                'TEXT_MESSAGE_START messageId=lc_run--#2 role=assistant + "IT IS " + "3." END',
                'STATE_DELTA delta=[(op=add path="/public" value=y) (op=add path="/secret" value=x) (op=add path="/count" value=1)]',
                "CUSTOM name=bye value=run-1",
                "RUN_FINISHED threadId=thread runId=run-1",
            ]
        ]
    )
    judge([done["events"]])


async def test_the_beginning_and_the_end_cannot_be_dropped(judge: Judge) -> None:
    done = await run(working(), Hooks(on_event=lambda event, run: ()))

    assert types(done) == ["RUN_STARTED", "RUN_FINISHED"]
    judge([done])


async def test_on_native_that_raises(judge: Judge) -> None:
    def raising(native: Any, run: Any) -> Iterable[Any]:
        if native["event"] == "on_tool_start":
            raise KeyError("native")
        return (native,)

    done = await run(working(), Hooks(on_native=raising))

    assert done["events"][-1] == snapshot(
        {"type": "RUN_ERROR", "message": "the on_native hook raised KeyError: 'native'", "code": "HOOK_ERROR"}
    )
    judge([done["events"]])


# ---------------------------------------------------------------- state and messages on their way


async def test_state_may_be_redacted(judge: Judge) -> None:
    """At the beginning, in deltas, in snapshots; and the client that sends it back changes nothing."""

    def redact(state: dict[str, Any], run: Any) -> dict[str, Any]:
        return {key: "***" if key == "public" else value for key, value in state.items() if key != "secret"}

    graph = working()
    done = await run(graph, Hooks(on_state=redact))
    assert [event for event in done["events"] if event["type"].startswith("STATE")] == snapshot(
        [
            {"type": "STATE_SNAPSHOT", "snapshot": {}},
            {
                "type": "STATE_DELTA",
                "delta": [
                    {"op": "add", "path": "/public", "value": "***"},
                    {"op": "add", "path": "/count", "value": 1},
                ],
            },
        ]
    )
    assert judge([done["events"]]).state == {"count": 1, "public": "***"}


async def test_messages_of_snapshots_may_be_redacted(judge: Judge) -> None:
    def redact(messages: list[Any], run: Any) -> list[Any]:
        return [m for m in messages if "secret" not in str(m.content)]

    graph = in_a_row({"say": lambda s: {"messages": [AIMessage("a secret", id="1"), AIMessage("Fine.", id="2")]}})
    await graph.ainvoke({"messages": [HumanMessage("hello", id="user-0")]}, {"configurable": {"thread_id": "thread"}})
    given = request()

    done = await run(chat(scripted("Yes."), checkpointer=graph.checkpointer), Hooks(on_messages=redact), given=given)

    assert "secret" not in json.dumps(done["events"])
    assert [m["id"] for m in judge([done]).messages][:3] == ["user-0", "2", "user-1"]


@pytest.mark.parametrize(
    "text",
    [lambda error, run: "Something went wrong.", lambda error, run: None, lambda error, run: 1 / 0],
    ids=["text", "default", "raises"],
)
async def test_the_clients_text_of_a_failure(judge: Judge, text: Callable[..., str | None]) -> None:
    done = await run(chat(scripted(["Half ", RuntimeError("password=1234")])), Hooks(on_error=text))

    expected = snapshot(
        {
            "text": {"type": "RUN_ERROR", "message": "Something went wrong.", "code": "AGENT_ERROR"},
            "default": {"type": "RUN_ERROR", "message": "password=1234", "code": "AGENT_ERROR"},
            "raises": {"type": "RUN_ERROR", "message": "internal error", "code": "AGENT_ERROR"},
        }
    )
    messages = {"Something went wrong.": "text", "password=1234": "default"}
    assert done["events"][-1] == expected[messages.get(done["events"][-1]["message"], "raises")]
    judge([done["events"]])


OUTCOMES: dict[str, Any] = {
    "success": lambda: chat(scripted("Yes.")),
    "error": lambda: chat(scripted([RuntimeError("no")])),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_after_run_knows_how_it_ended(outcome: str) -> None:
    ended: list[Any] = []

    async def after(run: Any) -> None:
        await asyncio.sleep(0)
        ended.append((run.outcome, run.run_input.run_id, run.request["user"]))

    await run(OUTCOMES[outcome](), Hooks(after_run=after), request={"user": "ann"})

    assert ended == [(outcome, "run-1", "ann")]


async def test_after_run_of_an_abandoned_run() -> None:
    ended: list[Any] = []
    stream = AGUIAdapter(working(), hooks=Hooks(after_run=lambda run: ended.append(run.outcome))).run(request())

    async for event in stream:
        if event.type == EventType.TEXT_MESSAGE_CONTENT:
            break
    await stream.aclose()

    assert ended == ["abandoned"]


async def test_after_run_that_raises_harms_nobody(judge: Judge, caplog: pytest.LogCaptureFixture) -> None:
    def after(run: Any) -> None:
        raise AGUIAdapterError("too late")

    done = await run(chat(scripted("Yes.")), Hooks(after_run=after))

    assert types(done)[-1] == "RUN_FINISHED"
    assert "the after_run hook raised" in caplog.text
    judge([done])


async def test_the_record_holds_what_was_asked_and_what_was_sent() -> None:
    kept: list[Any] = []

    done = await run(working(), Hooks(record=lambda item, run: kept.append(item)))

    asked, *sent = kept
    assert asked.run_id == "run-1"
    assert [event.type for event in sent] == types(done)


async def test_the_record_of_a_failed_run_has_its_end() -> None:
    kept: list[Any] = []

    await run(chat(scripted(["Half ", RuntimeError("no")])), Hooks(record=lambda item, run: kept.append(item)))

    assert [event.type for event in kept[-3:]] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]


@pytest.mark.parametrize("hook", ["before_run", "config"])
async def test_hooks_before_the_run_that_raise(judge: Judge, caplog: pytest.LogCaptureFixture, hook: str) -> None:
    def raising(run: Any) -> Any:
        raise KeyError("early")

    with caplog.at_level(logging.WARNING):
        done = await run(chat(scripted("Never.")), Hooks(**{hook: raising}))

    assert types(done) == ["RUN_STARTED", "RUN_ERROR"]
    assert done["events"][-1]["code"] == "HOOK_ERROR"
    judge([done])


@pytest.mark.parametrize("hook", ["on_event", "record"])
async def test_a_hook_that_raises_at_any_event(judge: Judge, hook: str) -> None:
    """The run ends with HOOK_ERROR wherever it happens, and the stream is conformant."""
    whole = len((await run(working(), Hooks()))["events"])
    runs = []
    for stop in range(whole):
        counter = itertools.count()

        def raising(event: Any, run: Any, counter: Iterator[int] = counter, stop: int = stop) -> Any:
            if not isinstance(event, RunAgentInput) and next(counter) >= stop:
                raise KeyError("hook")
            return (event,)

        done = await run(working(), Hooks(**{hook: raising}), given=request(thread_id=f"thread-{stop}"))
        assert types(done)[-1] == "RUN_ERROR"
        assert done["events"][-1]["code"] == "HOOK_ERROR"
        runs.append(done)
    for done in runs:
        judge([done["events"]], ignore=["AGUI204"])


async def test_a_redacted_state_that_comes_back(judge: Judge) -> None:
    """The client holds a substitute for the value; sending it back is no change."""

    def redact(state: dict[str, Any], run: Any) -> dict[str, Any]:
        return {key: "***" if key == "public" else value for key, value in state.items() if key != "secret"}

    graph = in_a_row(
        {
            "count": lambda state: {
                "count": state.get("count", 0) + 1,
                **({} if state.get("public") else {"public": "y", "secret": "x"}),
            }
        },
        Secretive,
    )
    first = await run(graph, Hooks(on_state=redact))
    view = judge([first["events"]])
    assert view.state == {"count": 1, "public": "***"}
    again = request(run_id="run-2", state=view.state)
    again.messages.append(again.messages[0].model_copy(update={"id": "user-2"}))
    await run(graph, Hooks(on_state=redact), given=again)

    values = (await graph.aget_state({"configurable": {"thread_id": "thread"}})).values
    assert {key: values[key] for key in ("count", "public", "secret")} == {"count": 2, "public": "y", "secret": "x"}


async def test_dropped_openers_of_a_run_that_fails(judge: Judge) -> None:
    hidden = (EventType.TEXT_MESSAGE_START, EventType.STEP_STARTED)
    seen: list[str] = []

    def hook(event: BaseEvent, run: Any) -> Iterable[BaseEvent]:
        seen.append(event.type)
        return () if event.type in hidden else (event,)

    done = await run(chat(scripted(["Half ", RuntimeError("down")])), Hooks(on_event=hook))

    assert types(done) == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]
    assert seen[-1] == "RUN_ERROR"
    judge([done["events"]])


async def test_every_event_may_be_doubled_by_a_custom_one(judge: Judge) -> None:
    done = await run(working(), Hooks(on_event=lambda event, run: (event, CustomEvent(name="copy", value=event.type))))

    assert types(done)[-1] == "RUN_FINISHED"
    judge([done])


@pytest.mark.parametrize("hook", ["on_state", "on_messages"])
async def test_redaction_that_raises_sends_nothing(judge: Judge, hook: str) -> None:
    def raising(value: Any, run: Any) -> Any:
        raise KeyError("redaction")

    written = {"on_state": {"secret": "TOP"}, "on_messages": {"messages": [HumanMessage("TOP", id="h")]}}
    graph = in_a_row({"say": lambda state: written[hook]}, Secretive)
    done = await run(graph, Hooks(**{hook: raising}))

    assert done["events"][-1]["type"] == "RUN_ERROR"
    assert done["events"][-1]["code"] == "HOOK_ERROR"
    assert "TOP" not in json.dumps(done["events"])
    judge([done["events"]])


# ---------------------------------------------------------------- what hooks return


def broken(state: Any) -> dict[str, Any]:
    raise RuntimeError("down")


async def coroutine(*given: Any) -> bool:
    return True


WRONG: dict[str, tuple[Any, str]] = {
    # hook and case: what it returns, and how the error goes on
    "before_run: a mapping": ({}, "a RunAgentInput or None, not an object of type dict"),
    "config: a text": ("x", "a mapping or None, not an object of type str"),
    "on_native: nothing": (None, "an iterable of native events, not None"),
    "on_native: an event": ({"event": "x"}, "an iterable of native events, not an object of type dict"),
    "on_event: nothing": (None, "an iterable of AG-UI events, not None"),
    "on_event: an event": (
        CustomEvent(name="n", value=1),
        "an iterable of AG-UI events, not an object of type CustomEvent",
    ),
    "on_event: texts": (["x"], "an iterable of AG-UI events, not a list with str"),
    "on_event: nothings": ([None], "an iterable of AG-UI events, not a list with NoneType"),
    "on_state: nothing": (None, "a dict, not None"),
    "on_state: pairs": ([("k", 1)], "a dict, not a list with tuple"),
    "on_messages: nothing": (None, "a list of AG-UI messages, not None"),
    "on_messages: mappings": ([{"id": "m"}], "a list of AG-UI messages, not a list with dict"),
}


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("case", WRONG)
async def test_a_hook_that_returns_what_it_must_not(judge: Judge, case: str, source: Any) -> None:
    hook, (value, wanted) = case.split(":")[0], WRONG[case]
    adapter = AGUIAdapter(
        in_a_row({"say": lambda state: {"messages": [HumanMessage("TOP", id="h")]}}),
        options=AdapterOptions(messages_snapshot="always", source=source),
        hooks=Hooks(**{hook: lambda *given: value}),
    )

    events = [wire(event) async for event in adapter.run(request())]
    frames = [frame async for frame in adapter.stream_sse(request(thread_id="other"))]

    assert events[-1] == {"type": "RUN_ERROR", "message": f"the {hook} hook must return {wanted}", "code": "HOOK_ERROR"}
    assert b'"code":"HOOK_ERROR"' in frames[-1]
    judge([events])


@pytest.mark.parametrize("hook", ["on_native", "on_event", "on_state", "on_messages", "record"])
async def test_a_coroutine_function_where_none_is_awaited(judge: Judge, hook: str) -> None:
    graph = in_a_row({"say": lambda state: {"messages": [HumanMessage("hi")]}})
    adapter = AGUIAdapter(graph, options=AdapterOptions(messages_snapshot="always"), hooks=Hooks(**{hook: coroutine}))

    events = [wire(event) async for event in adapter.run(request())]

    assert events[-1]["code"] == "HOOK_ERROR"
    assert events[-1]["message"].endswith("not a coroutine: it is called without await")
    judge([events])


async def test_native_events_of_the_hooks_making_are_events() -> None:
    done = await run(working(), Hooks(on_native=lambda native, run: [native, None]))

    assert done["events"][-1]["message"] == "the on_native hook made a NoneType, not an event"


@pytest.mark.parametrize("ending", [RunErrorEvent(message="x"), RunFinishedEvent(thread_id="thread", run_id="run-1")])
async def test_an_event_hook_cannot_end_the_run(judge: Judge, ending: BaseEvent) -> None:
    def hook(event: BaseEvent, run: Any) -> Iterable[BaseEvent]:
        return (event, ending) if event.type == "TOOL_CALL_START" else (event,)

    done = await run(working(), Hooks(on_event=hook))

    assert done["events"][-1]["message"] == "the on_event hook must not begin or end the run"
    judge([done["events"]], ignore=["AGUI204"])


@pytest.mark.parametrize("good", [2, 3])
async def test_redaction_that_fails_late_loses_nothing_else(judge: Judge, good: int) -> None:
    """The other events of the same native event are sent, so that everything that is open is closed."""
    counter = itertools.count()

    def redact(state: dict[str, Any], run: Any) -> Any:
        return state if next(counter) < good else None

    graph = in_a_row({name: lambda state: {"count": (state.get("count") or 0) + 1} for name in "abc"}, Secretive)
    done = await run(graph, Hooks(on_state=redact))

    assert done["events"][-1]["code"] == "HOOK_ERROR"
    kinds = types(done)
    assert kinds.count("STEP_STARTED") == kinds.count("STEP_FINISHED") == good - 1
    assert kinds.count("STATE_DELTA") == good - 2
    judge([done["events"]])


async def test_the_clients_text_is_a_text(judge: Judge) -> None:
    done = await run(in_a_row({"fail": broken}), Hooks(on_error=lambda error, run: 42))  # type: ignore[arg-type, return-value]

    assert done["events"][-1] == {"type": "RUN_ERROR", "message": "internal error", "code": "AGENT_ERROR"}
    judge([done["events"]])


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "visible raises": (lambda run: run.nothing, "raised AttributeError: 'NativeRun' object has no attribute 'nothing'"),
    "visible forgets": (lambda run: None, "must return True or False, not None"),
    "visible is async": (coroutine, "must return True or False, not a coroutine: it is called without await"),
    "step_name raises": (
        lambda run: run.nothing,
        "raised AttributeError: 'NativeRun' object has no attribute 'nothing'",
    ),
    "step_name counts": (lambda run: 1, "must return a str or None, not an object of type int"),
}


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("case", FUNCTIONS)
async def test_functions_that_decide_what_is_shown(judge: Judge, case: str, source: Any) -> None:
    """One that fails shows nothing, and the run does not pass for a success."""
    name, (function, problem) = case.split()[0], FUNCTIONS[case]
    model = scripted("secret")
    options = AdapterOptions(source=source, **{name: function})

    events = [wire(event) async for event in AGUIAdapter(chat(model), options=options).run(request())]

    assert events[-1] == {"type": "RUN_ERROR", "message": f"the {name} hook {problem}", "code": "HOOK_ERROR"}
    assert "secret" not in json.dumps(events)
    judge([events])


@pytest.mark.parametrize("kind", ["model", "tool", "node"])
async def test_a_choice_that_fails_late_leaves_nothing_open(judge: Judge, kind: str) -> None:
    seen = itertools.count()

    def visible(run: Any) -> bool:
        if run.kind == kind and next(seen):
            raise KeyError(run.name)
        return True

    adapter = AGUIAdapter(working(), options=AdapterOptions(visible=visible))
    done = [wire(event) async for event in adapter.run(request())]

    expected = "HOOK_ERROR" if next(seen) > 1 else None
    assert done[-1].get("code") == expected
    judge([done])


# ---------------------------------------------------------------- failures, the end


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_a_failure_is_logged_once_with_its_place(caplog: pytest.LogCaptureFixture, source: Any) -> None:
    def raising(event: Any, run: Any) -> Any:
        raise KeyError("hook")

    failing_model = chat(scripted([ConnectionError("no network")]))
    for graph, hooks, place in (
        (in_a_row({"fail": broken}), Hooks(), "in broken"),
        (in_a_row({"fail": broken}), Hooks(on_error=lambda error, run: "Sorry."), "in broken"),
        (in_a_row({"fail": broken}), Hooks(on_event=raising), "in raising"),
        (failing_model, Hooks(), "in _ainvoke"),
    ):
        caplog.clear()
        done = await run(graph, hooks, AdapterOptions(source=source))

        [logged] = [record for record in caplog.records if record.exc_info]
        file = "support/graphs.py" if graph is failing_model else "integration/test_hooks.py"
        assert re.match(rf"error in run run-1 at tests/{file}:\d+, {place}; the client", logged.getMessage())
        assert repr(done["events"][-1]["message"]) in logged.getMessage()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("a word"), "a word"),
        (ValueError(), "ValueError"),
        (KeyError("items"), "KeyError: 'items'"),
        (IndexError("list index out of range"), "list index out of range"),
        (Unspeakable(), "Unspeakable"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
async def test_the_text_of_an_exception(error: Exception, text: str) -> None:
    def fail(state: Any) -> Any:
        raise error

    done = await run(in_a_row({"fail": fail}), Hooks())
    assert done["events"][-1]["message"] == text


async def test_a_failure_that_is_reported_twice_has_one_text(caplog: pytest.LogCaptureFixture) -> None:
    """A subagent's exception that ends the run too."""
    texts = itertools.count()
    inner = in_a_row({"fail": broken}, checkpointer=None)

    @tool
    async def delegate() -> str:
        """Delegate."""
        return str(await inner.ainvoke({"messages": []}))

    graph = tool_loop(scripted(tool_call_parts("delegate", {}, "call_1")), [delegate], handle_tool_errors=False)
    done = await run(graph, Hooks(on_error=lambda error, run: f"error {next(texts)}"))

    got = {event["type"]: event["message"] for event in done["events"] if "message" in event}
    assert got == {"SUBAGENT_ERROR": "error 0", "RUN_ERROR": "error 0"}
    assert len([record for record in caplog.records if record.exc_info]) == 1


async def test_what_is_no_surprise_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(run: Any) -> None:
        raise RunInputError("no")

    await run(in_a_row({"fail": broken}), Hooks(before_run=refuse))

    assert [record for record in caplog.records if record.exc_info] == []
