"""Another agent framework behind the same adapter: whatever is not LangGraph's own works for it, or is refused."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from ag_ui.core import BaseEvent, Interrupt, Message, RunAgentInput

from tests.conftest import Judge
from tests.support.command_line import project_in
from tests.support.desk import LANGGRAPH_ONLY, Desk, OutOfPaper, Turn
from tests.support.serving import call, run_body
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks, RunContext, Visible
from yai_nexus_agentkit.adapter.source import OPTIONAL
from yai_nexus_agentkit.orchestration.envelope import custom_envelope, state_envelope, state_patch_envelope
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import assert_conformant, collect, run_input

Script = Sequence[tuple[Any, ...]]
Events = list[dict[str, Any]]
SCHEMA = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
QUESTION = Interrupt(id="q1", reason="confirmation", message="Print it?", response_schema=SCHEMA)

EVERYTHING: Script = [
    ("step", "plan"),
    ("think", "Paper? "),
    ("say", "Let me look. "),
    ("call", "c1", "look_up", {"word": "paper"}),
    ("result", "c1", "white"),
    ("done",),
    ("enter", "helper"),
    ("say", "I help."),
    ("leave",),
    ("state", {"seen": ["paper"], "_private": "never"}),
    ("emit", "", custom_envelope("chart", [1, 2], None)),
    ("emit", "desk.note", {"own": True}),
    ("say", "It is "),
    ("say", "white."),
    ("spend", 3, 4),
]


def playing(script: Script) -> Desk:
    """An agent that does the same in every turn."""

    async def agent(turn: Turn) -> AsyncGenerator[Any, None]:
        for native in script:
            yield native

    return Desk(agent)


async def asking(turn: Turn) -> AsyncGenerator[Any, None]:
    if turn.answers:
        yield ("say", f"You said {json.dumps(turn.answers['q1'])}.")
    else:
        yield ("say", "One moment. ")
        yield ("state", {"waits": True})
        yield ("ask", QUESTION)


async def played(adapter: AGUIAdapter, text: str = "hi", **fields: Any) -> Events:
    return await collect(adapter, run_input(text, **fields))


def of(events: Events, kind: str) -> Events:
    return [event for event in events if event["type"] == kind]


def text_of(events: Events) -> str:
    return "".join(event["delta"] for event in of(events, "TEXT_MESSAGE_CONTENT"))


# ---------------------------------------------------------------- a whole thread


@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_turn_with_everything_is_conformant_and_shown(judge: Judge, version: str | None) -> None:
    events = await played(AGUIAdapter(playing(EVERYTHING)), protocol_version=version)

    view = judge([events])
    assert view.state == {"seen": ["paper"]}
    shown = [(m["role"], m.get("content"), len(m.get("toolCalls", ()))) for m in view.messages if m["role"] != "user"]
    assert [entry for entry in shown if entry[0] != "reasoning"] == [
        ("assistant", "Let me look. ", 1),
        ("tool", "white", 0),
        ("assistant", "I help.", 0),
        ("assistant", "It is white.", 0),
    ]
    assert of(events, "CUSTOM") == [{"type": "CUSTOM", "name": "chart", "value": [1, 2]}]
    assert events[-1]["usage"] == [{"model": "pencil", "inputTokens": 3, "outputTokens": 4}]
    assert bool(of(events, "SUBAGENT_STARTED")) == (version is not None)


async def test_a_question_is_asked_restated_and_answered(judge: Judge) -> None:
    adapter = AGUIAdapter(Desk(asking))
    first = await played(adapter, thread_id="t")
    again = await collect(adapter, run_input([], thread_id="t", state={"waits": True}))
    resume = [{"interruptId": "q1", "status": "resolved", "payload": {"approved": True}}]
    last = await collect(adapter, run_input([], thread_id="t", resume=resume))

    assert [run[-1]["outcome"]["interrupts"][0]["id"] for run in (first, again)] == ["q1", "q1"]
    assert text_of(again) == ""
    assert text_of(last) == 'You said {"approved": true}.'
    assert judge([first, last]).messages[-1]["content"] == 'You said {"approved": true}.'


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"interruptId": "q2", "status": "cancelled"}, "these interrupts are not open: q2; open are: q1"),
        (
            {"interruptId": "q1", "status": "resolved", "payload": {"approved": "yes"}},
            "the answer to interrupt q1 does not fit its schema: approved: 'yes' is not of type 'boolean'",
        ),
    ],
)
async def test_an_answer_that_does_not_fit_consumes_nothing(entry: Mapping[str, Any], said: str) -> None:
    adapter = AGUIAdapter(Desk(asking))
    await played(adapter, thread_id="t")

    refused = await collect(adapter, run_input([], thread_id="t", resume=[entry]))

    assert [event["type"] for event in refused] == ["RUN_STARTED", "RUN_ERROR"]
    assert (refused[-1]["code"], refused[-1]["message"]) == ("INVALID_RESUME", said)
    given = [{"interruptId": "q1", "status": "cancelled"}]
    assert text_of(await collect(adapter, run_input([], thread_id="t", resume=given))) == "You said null."


@pytest.mark.parametrize(
    ("error", "code"), [(OutOfPaper("no paper"), "RECURSION_LIMIT"), (RuntimeError("broken"), "AGENT_ERROR")]
)
async def test_an_error_of_the_framework(judge: Judge, error: Exception, code: str) -> None:
    async def agent(turn: Turn) -> AsyncGenerator[Any, None]:
        yield ("say", "Half a")
        yield ("state", {"pages": 1})
        raise error

    events = await played(AGUIAdapter(Desk(agent)))

    judge([events])
    assert (events[-1]["code"], events[-1]["message"]) == (code, str(error))
    assert events[-2] == {"type": "STATE_SNAPSHOT", "snapshot": {"pages": 1}}


# ---------------------------------------------------------------- options


def seconds(script: Script) -> Desk:
    """The same, and then silence."""

    async def agent(turn: Turn) -> AsyncGenerator[Any, None]:
        for native in script:
            yield native
        await asyncio.sleep(60)

    return Desk(agent)


DRAFT: Script = [
    ("state", {"draft": "old"}),
    ("call", "c1", "write", {"text": "A long text that is written bit by bit, for the page to show."}),
    ("result", "c1", "done"),
]
ASKED: Script = [("state", {"n": 1}), ("ask", QUESTION)]
CALL: Script = [("call", "c1", "wait", {})]


def code(events: Events) -> Any:
    return events[-1].get("code")


OPTIONS: dict[str, tuple[Any, Desk, Callable[[Events], Any], Any]] = {
    # option -> (its value, the agent, what to look at, what it is)
    "custom_events": (
        "all",
        playing(EVERYTHING),
        lambda e: [c["name"] for c in of(e, "CUSTOM")],
        ["chart", "desk.note"],
    ),
    "messages_snapshot": ("always", playing(EVERYTHING), lambda e: e[-2]["type"], "MESSAGES_SNAPSHOT"),
    "final_state_snapshot": (True, playing(EVERYTHING), lambda e: e[-2].get("snapshot"), {"seen": ["paper"]}),
    "reasoning": ("off", playing(EVERYTHING), lambda e: [x for x in e if x["type"].startswith("REASONING")], []),
    "interrupts": ("custom", playing(ASKED), lambda e: [c["value"] for c in of(e, "CUSTOM")], ["Print it?"]),
    "subagents": ("never", playing(EVERYTHING), lambda e: of(e, "SUBAGENT_STARTED"), []),
    "step_name": (
        lambda run: f"{run.kind} {run.name}",
        playing(EVERYTHING),
        lambda e: [s["stepName"] for s in of(e, "STEP_STARTED")],
        ["node plan"],
    ),
    "visible": (
        Visible(names={"look_up"}),
        playing(EVERYTHING),
        lambda e: (text_of(e), len(of(e, "TOOL_CALL_START"))),
        ("", 1),
    ),
    "text_chunks": (True, playing(EVERYTHING), lambda e: bool(of(e, "TEXT_MESSAGE_CHUNK")), True),
    "predict_state": (
        {"draft": ("write", "text")},
        playing(DRAFT),
        lambda e: len(of(e, "STATE_DELTA")),
        4,  # the state, two guesses, and the state again
    ),
    "raw_events": (
        True,
        playing(EVERYTHING),
        lambda e: of(e, "TEXT_MESSAGE_CONTENT")[0].get("rawEvent"),
        ["say", "Let me look. "],
    ),
    "execution_timeout": (0.05, seconds(EVERYTHING), code, "EXECUTION_TIMEOUT"),
    "idle_timeout": (0.05, seconds(EVERYTHING), code, "IDLE_TIMEOUT"),
    "tool_timeout": (0.05, seconds(CALL), code, "TOOL_TIMEOUT"),
}


@pytest.mark.parametrize("name", OPTIONS)
async def test_an_option_works(judge: Judge, name: str) -> None:
    value, desk, look, found = OPTIONS[name]
    plain = await played(AGUIAdapter(desk)) if not name.endswith("timeout") else []
    events = await played(AGUIAdapter(desk, options=AdapterOptions(**{name: value})))

    judge([events])
    assert look(events) == found
    assert not plain or look(plain) != found


async def test_predicted_calls_are_announced() -> None:
    predicted = AdapterOptions(predict_state={"draft": ("write", "text")}, predict_state_event=True)
    events = await played(AGUIAdapter(playing(DRAFT), options=predicted))
    fields = [{"state_key": "draft", "tool": "write", "tool_argument": "text"}]
    assert of(events, "CUSTOM") == [{"type": "CUSTOM", "name": "PredictState", "value": fields}]


def no_config(run: RunContext) -> Any:
    return {"configurable": {"model": "pencil"}}


SET: dict[str, Any] = {
    "chain_spans": "all",
    "config": no_config,
    "custom_events": "all",
    "durability": "exit",
    "functional_input": "messages",
    "hold": "answer",
    "marked_messages": "user",
    "messages_snapshot": "never",
    "source": "callbacks",
    "step_name": lambda run: "a step",
    "tool_timeout": 1.0,
    "visible": Visible(names=()),
}


def test_what_a_source_may_leave_out_is_known() -> None:
    assert SET.keys() == OPTIONAL
    options = {field.name for field in fields(AdapterOptions)}
    assert options == {*OPTIONS, *LANGGRAPH_ONLY, "predict_state_event"}
    assert options | {field.name for field in fields(Hooks)} >= OPTIONAL


@pytest.mark.parametrize("name", sorted(OPTIONAL))
def test_what_a_source_does_not_honour_is_refused_where_it_is_written(name: str) -> None:
    desk = Desk(asking, honours=frozenset())
    group = "Hooks" if name == "config" else "AdapterOptions"
    given: Any = (
        {"hooks": Hooks(config=no_config)} if group == "Hooks" else {"options": AdapterOptions(**{name: SET[name]})}
    )
    refused = pytest.raises(ValueError, match=f"{group}.{name} has no effect on desk agents: leave it out")
    with refused:
        AGUIAdapter(desk, **given)
    adapter = AGUIAdapter(desk)
    with refused:
        adapter.replace(**given)
    AGUIAdapter(Desk(asking, honours=frozenset({name})), **given)


# ---------------------------------------------------------------- hooks


async def test_every_hook_is_called() -> None:
    seen: dict[str, Any] = {}

    def before_run(run: RunContext) -> RunAgentInput:
        return run.run_input.model_copy(update={"state": {"given": "by a hook"}})

    def on_native(native: Any, run: RunContext) -> Sequence[Any]:
        return () if native[0] == "think" else (native,)

    def on_event(event: BaseEvent, run: RunContext) -> Sequence[BaseEvent]:
        return () if event.type == "STEP_STARTED" else (event,)

    def record(thing: Any, run: RunContext) -> None:
        seen.setdefault("record", []).append(thing)

    def after_run(run: RunContext) -> None:
        seen["outcome"] = run.outcome

    async def agent(turn: Turn) -> AsyncGenerator[Any, None]:
        seen["config"] = turn.config
        for native in EVERYTHING:
            yield native
        raise RuntimeError("a secret")

    hooks = Hooks(
        before_run=before_run,
        config=no_config,
        on_native=on_native,
        translate=lambda native, run: None,
        on_event=on_event,
        on_state=lambda state, run: {key.upper(): value for key, value in state.items()},
        on_messages=lambda messages, run: messages[:1],
        on_error=lambda error, run: "sorry",
        on_timeout=lambda error, run: (),
        after_run=after_run,
        record=record,
    )
    assert {name for field in fields(Hooks) if getattr(hooks, name := field.name) is None} == set()
    adapter = AGUIAdapter(Desk(agent), hooks=hooks)
    events = await collect(adapter, run_input("hi", thread_id="t"), config={"configurable": {"user": "u1"}})

    assert_conformant(events)
    assert seen["config"] == {"configurable": {"model": "pencil", "user": "u1"}}
    assert seen["outcome"] == "error"
    assert [type(thing).__name__ for thing in seen["record"][:2]] == ["RunAgentInput", "RunStartedEvent"]
    assert len(seen["record"]) == len(events) + 1
    assert not [event for event in events if event["type"].startswith(("STEP", "REASONING"))]
    assert events[1] == {"type": "STATE_SNAPSHOT", "snapshot": {"GIVEN": "by a hook"}}
    assert events[-1]["message"] == "sorry"


# ---------------------------------------------------------------- redaction

SECRET = "hunter2"


def masked(messages: list[Message], run: RunContext) -> list[Message]:
    """In place, as a hook may."""
    for message in messages:
        message.content = str(message.content).replace(SECRET, "***")
    return messages


REDACTING = Hooks(
    on_state=lambda state, run: {k: v for k, v in state.items() if SECRET not in json.dumps(v)}, on_messages=masked
)
LEAKY: Script = [
    ("state", {"password": SECRET, "open": 1}),
    ("emit", "", state_envelope({"early": SECRET, "open": 2})),
    ("emit", "", state_patch_envelope([{"op": "add", "path": "/patched", "value": {"deep": SECRET}}])),
    ("state", {"password": f"{SECRET}!", "open": 3}),
    ("result", "c0", SECRET),
]
"""``c0`` is a call that nobody made: its result is in the thread, and not streamed."""


async def leaky(turn: Turn) -> AsyncGenerator[Any, None]:
    for native in LEAKY:
        yield native
    if turn.text == "ask":
        yield ("ask", QUESTION)
    if turn.text == "fail":
        raise RuntimeError("broken")


@pytest.mark.parametrize("text", ["go", "ask", "fail"])
@pytest.mark.parametrize("way", ["auto", "always"])
async def test_nothing_leaks(judge: Judge, text: str, way: Any) -> None:
    desk = Desk(leaky)
    options = AdapterOptions(messages_snapshot=way, final_state_snapshot=way == "always")
    adapter = AGUIAdapter(desk, options=options, hooks=REDACTING)
    events = await played(adapter, text, thread_id="t", state={"password": SECRET})
    more = await played(adapter, text, thread_id="t")
    judge([events])

    assert SECRET not in json.dumps([events, more])
    assert of(events, "STATE_SNAPSHOT")[0]["snapshot"] == {}
    assert bool(of(events, "MESSAGES_SNAPSHOT")) == (text == "ask" or (text == "go" and way == "always"))
    stored = desk.threads["t"]
    assert stored.state["password"] == f"{SECRET}!"
    assert any(message.content == SECRET for message in stored.messages)  # what the hook changed were copies


async def test_a_predicted_value_does_not_leak() -> None:
    script: Script = [("call", "c1", "write", {"secret": f"{SECRET}, and long enough to be shown", "n": "1" * 40})]
    options = AdapterOptions(
        predict_state={"secret": ("write", "secret"), "n": ("write", "n")}, visible=lambda run: True
    )
    events = await played(AGUIAdapter(playing(script), options=options, hooks=REDACTING))
    sent = json.dumps([event for event in events if event["type"].startswith("STATE")])
    assert SECRET not in sent
    assert "1111" in sent


async def test_a_hook_that_fails_sends_nothing() -> None:
    def failing(value: Any, run: RunContext) -> Any:
        raise RuntimeError("no")

    for hooks in (Hooks(on_state=failing), Hooks(on_messages=failing)):
        adapter = AGUIAdapter(playing(EVERYTHING), options=AdapterOptions(messages_snapshot="always"), hooks=hooks)
        events = await played(adapter)
        assert_conformant(events)
        assert code(events) == "HOOK_ERROR"
        hidden = "STATE" if hooks.on_state else "MESSAGES"
        assert not [event for event in events if event["type"].startswith(hidden)]


# ---------------------------------------------------------------- stored threads, over HTTP


async def test_the_server_and_its_threads(judge: Judge) -> None:
    desk = Desk(leaky)
    app = create_app(AGUIAdapter(desk, hooks=REDACTING))
    ran = await call(app, "POST", "/", run_body("go", thread="t"))
    judge([ran.events])
    assert list(desk.threads) != ["t"]  # the server's own key, by user

    state = await call(app, "GET", "/threads/t/state")
    messages = await call(app, "GET", "/threads/t/messages")
    both = await call(app, "POST", "/agents/state", {"threadId": "t"})
    assert SECRET.encode() not in ran.body + state.body + messages.body + both.body
    assert state.json["snapshot"] == {"open": 3}
    assert [m["content"] for m in messages.json["messages"]] == ["go", "***"]

    patched = await call(app, "PATCH", "/threads/t/state", [{"op": "replace", "path": "/open", "value": 9}])
    hidden = await call(app, "PATCH", "/threads/t/state", [{"op": "add", "path": "/password", "value": "mine"}])
    assert (patched.status, hidden.status) == (200, 422)
    [stored] = desk.threads.values()
    assert (stored.state["open"], stored.state["password"]) == (9, f"{SECRET}!")
    assert (await call(app, "GET", "/capabilities")).json["identity"] == {"type": "desk"}
    assert (await call(app, "DELETE", "/threads/t")).status == 200
    assert desk.threads == {}


async def test_a_paused_thread_is_not_patched() -> None:
    app = create_app(AGUIAdapter(Desk(asking)))
    await call(app, "POST", "/", run_body("go", thread="t"))
    refused = await call(app, "PATCH", "/threads/t/state", [{"op": "add", "path": "/n", "value": 1}])
    assert refused.status == 409


async def test_what_the_client_sends_back_as_it_was_shown_is_no_change() -> None:
    desk = Desk(leaky)
    adapter = AGUIAdapter(desk, hooks=REDACTING)
    await played(adapter, "go", thread_id="t")
    await played(adapter, "go", thread_id="t", state={"open": 3, "password": "mine", "new": 1})
    state = desk.threads["t"].state
    assert (state["password"], state["new"]) == (f"{SECRET}!", 1)


# ---------------------------------------------------------------- the command line

MODULE = """
    from tests.support.desk import Desk
    from yai_nexus_agentkit.server import Identity

    async def agent(turn):
        yield ("think", "Hm. ")
        yield ("say", f"You said {turn.text}.")
        yield ("state", {"said": turn.text})

    desk = Desk(agent)

    def who(request):
        return Identity(user="somebody")
"""


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with project_in(tmp_path, capsys, monkeypatch) as project:
        project.write("my_desk.py", MODULE)
        assert "You said hello." in project.run("my_desk:desk", "hello").out
        checked = project.verify("my_desk:desk", "hello")
        assert checked.code == 0, checked.out + checked.err
        refused = project.run("my_desk:desk", "hello", "--source", "callbacks")
        assert (refused.code, refused.err) == (
            2,
            "yai-nexus-agentkit: AdapterOptions.source has no effect on desk agents: leave it out\n",
        )


def test_the_command_line_needs_no_other_framework(tmp_path: Path) -> None:
    """``run``, and the application of ``serve``: where no other one can be imported."""
    (tmp_path / "my_desk.py").write_text(dedent(MODULE))
    code = """
        import asyncio, sys
        sys.path[:0] = [".", sys.argv[1]]
        sys.modules |= dict.fromkeys(["langchain", "langchain_core", "langgraph"])
        from yai_nexus_agentkit.cli import main, parse
        from yai_nexus_agentkit.cli.serving import application

        async def serve():
            given = parse(["serve", "my_desk:desk", "--identity", "my_desk:who"])[1]
            async with application(given, "127.0.0.1", first=True):
                return 0

        sys.exit(main(["run", "my_desk:desk", "hello"]) or asyncio.run(serve()))
    """
    command = [sys.executable, "-c", dedent(code), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "You said hello." in done.stdout
