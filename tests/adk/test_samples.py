"""Agents like ADK's samples, at the official clients: what a client ends with is what the session holds."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from fastapi.openapi.models import OAuth2, OAuthFlowAuthorizationCode, OAuthFlows
from google.adk.agents import Agent, BaseAgent, ParallelAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.artifacts import InMemoryArtifactService
from google.adk.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from google.adk.code_executors import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.events import Event, RequestInput
from google.adk.tools import FunctionTool, ToolContext
from google.adk.workflow import Workflow
from google.genai import types

from tests.adk.playing import (
    WIPED,
    Talk,
    artist,
    calling,
    cleaner,
    expenses,
    get_weather,
    helpdesk,
    model,
    of,
    pipeline,
    refining,
    research,
    text_of,
    weather,
    wipe,
)
from tests.conftest import Judge
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.testing import collect, run_input

Shown = list[tuple[str, Any]]
SAMPLES: dict[str, tuple[Callable[[], Any], Shown, dict[str, Any], list[str]]] = {
    # the agent, the messages that a client ends with (role, text), its state, the steps
    "tools": (
        weather,
        [
            ("reasoning", "Two cities. "),
            ("assistant", "Let me look. "),
            ("tool", '{"city":"Paris","degrees":21}'),
            ("tool", '{"city":"Rome","degrees":21}'),
            ("assistant", "Both 21."),
        ],
        {"last_city": "Rome"},
        ["weather"],
    ),
    "sequential": (
        pipeline,
        [("assistant", "A draft"), ("assistant", "Good draft")],
        {"draft": "A draft", "review": "Good draft"},
        ["writer", "reviewer"],
    ),
    "parallel": (
        research,
        [("assistant", "red one two"), ("assistant", "blue one two")],
        {"red": "red one two", "blue": "blue one two"},
        ["red", "blue"],
    ),
    "loop": (
        refining,
        [
            ("assistant", "One."),
            ("assistant", "More."),
            ("assistant", "Two."),
            ("assistant", "Fine. "),
            ("tool", '{"status":"done"}'),
        ],
        {},
        ["author", "critic", "author", "critic"],
    ),
    "transfer": (
        helpdesk,
        [
            ("assistant", "I transfer you. "),
            ("tool", '{"result":null}'),
            ("assistant", "Your bill. "),
        ],
        {},
        ["helpdesk", "billing"],
    ),
    "long running": (
        expenses,
        [("assistant", None), ("assistant", "Waiting for approval.")],
        {},
        ["expenses"],
    ),
    "artifact": (artist, [("assistant", None), ("tool", '{"version":0}'), ("assistant", "A cat.")], {}, ["artist"]),
}


@pytest.mark.parametrize("version", ["1.0", None])
@pytest.mark.parametrize("name", SAMPLES)
async def test_a_sample_is_shown_whole(judge: Judge, name: str, version: str | None) -> None:
    build, messages, state, steps = SAMPLES[name]
    talk = Talk(AGUIAdapter(build()), judge, protocol_version=version)

    events = await talk.say("go")

    shown = [(m["role"], m.get("content")) for m in talk.messages if m["role"] != "user"]
    assert sorted(shown, key=str) == sorted(messages, key=str) if name == "parallel" else shown == messages
    assert talk.state == state
    assert [event["stepName"] for event in of(events, "STEP_STARTED")] == steps
    assert events[-1]["type"] == "RUN_FINISHED"
    assert sum(event["type"] == "MESSAGES_SNAPSHOT" for event in events) == 0


async def stored(talk: Talk) -> list[tuple[str, str, Any]]:
    threads = talk.adapter.source.thread_store()
    assert threads is not None
    held = await threads.messages("t", None)  # type: ignore[arg-type]
    return [(m.id, m.role, m.content) for m in held]


@pytest.mark.parametrize("name", SAMPLES)
async def test_the_stored_thread_is_what_was_streamed(judge: Judge, name: str) -> None:
    talk = Talk(AGUIAdapter(SAMPLES[name][0]()), judge)
    await talk.say("go")

    held = await stored(talk)
    assert sorted(held, key=str) == sorted(((m["id"], m["role"], m.get("content")) for m in talk.messages), key=str)


def numbered(*tools: str) -> list[types.Part]:
    """Calls as local models number them, anew in each answer."""
    calls = (types.FunctionCall(id=f"call_{n}", name=tool, args={"city": "Rome"}) for n, tool in enumerate(tools))
    return [types.Part(function_call=call) for call in calls]


class Unmodelled(BaseAgent):
    """Makes calls without ids, all turns from the same parts, and speaks for the user."""

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        call = types.FunctionCall(name="find", args={})
        response = types.FunctionResponse(name="find", response={"n": 1})
        for author, part in [
            (self.name, types.Part(function_call=call)),
            ("user", types.Part(text="Found?")),
            (self.name, types.Part(function_response=response)),
            (self.name, types.Part(text="One.")),
        ]:
            yield Event(author=author, invocation_id=ctx.invocation_id, content=types.Content(parts=[part]))


AGAIN = ["get_weather", "get_weather"]
ALIKE: dict[str, tuple[Callable[[], Any], int]] = {
    # the agent, its calls in two turns
    "ids that recur": (
        lambda: Agent(
            name="root", model=model(numbered(*AGAIN), ["One."], numbered(*AGAIN), ["Two."]), tools=[get_weather]
        ),
        4,
    ),
    "one id in an answer": (
        lambda: Agent(
            name="root",
            model=model([*numbered(*AGAIN[:1]), *numbered(*AGAIN[:1])], ["One."], ["Two."]),
            tools=[get_weather],
        ),
        2,
    ),
    "one id in parallel agents": (
        lambda: ParallelAgent(
            name="root",
            sub_agents=[
                Agent(name=name, model=model(numbered(*AGAIN[:1]), ["One."], ["Two."]), tools=[get_weather])
                for name in ("red", "blue")
            ],
        ),
        2,
    ),
    "no ids": (lambda: Unmodelled(name="root"), 2),
}


@pytest.mark.parametrize("name", ALIKE)
async def test_each_call_has_an_id_and_a_result_of_its_own(judge: Judge, name: str) -> None:
    build, count = ALIKE[name]
    talk = Talk(AGUIAdapter(build()), judge)
    for text in ("go", "again"):
        await talk.say(text)
    calls = [call["id"] for message in talk.messages for call in message.get("toolCalls") or ()]
    assert len(set(calls)) == count
    assert sorted(m["toolCallId"] for m in talk.messages if m["role"] == "tool") == sorted(calls)
    held = await stored(talk)
    assert sorted(held, key=str) == sorted(((m["id"], m["role"], m.get("content")) for m in talk.messages), key=str)


async def test_calls_and_usage(judge: Judge) -> None:
    events = await Talk(AGUIAdapter(weather()), judge).say("go")

    starts = of(events, "TOOL_CALL_START")
    assert [start["toolCallName"] for start in starts] == ["get_weather"] * 2
    assert [event["delta"] for event in of(events, "TOOL_CALL_ARGS")] == ['{"city":"Paris"}', '{"city":"Rome"}']
    results = of(events, "TOOL_CALL_RESULT")
    assert [event["toolCallId"] for event in results] == [start["toolCallId"] for start in starts]
    usage = {"model": "scripted", "inputTokens": 14, "outputTokens": 6, "totalTokens": 20}
    assert events[-1]["usage"] == [usage]


@pytest.mark.parametrize(
    "chunks",
    [["Let me compute.\n```python\nprint(6 * 7)\n```\n"], ["Let me ", "compute.\n```python\nprint(6 * 7)\n", "```\n"]],
)
async def test_executed_code_is_a_call(judge: Judge, chunks: list[str]) -> None:
    class Computer(BaseCodeExecutor):
        def execute_code(self, invocation_context: Any, code_execution_input: Any) -> CodeExecutionResult:
            return CodeExecutionResult(stdout="42\n")

    agent = Agent(name="root", model=model(chunks, ["It is 42."]), code_executor=Computer())
    talk = Talk(AGUIAdapter(agent), judge)
    events = await talk.say("6 times 7")

    [call] = of(events, "TOOL_CALL_START")
    assert call["toolCallName"] == "execute_code"
    assert "print(6 * 7)" in of(events, "TOOL_CALL_ARGS")[0]["delta"]
    [result] = of(events, "TOOL_CALL_RESULT")
    assert (result["toolCallId"], "42" in result["content"]) == (call["toolCallId"], True)
    assert text_of(events).count("compute") == 1
    assert text_of(events).endswith("It is 42.")
    assert await stored(talk) == [(m["id"], m["role"], m.get("content")) for m in talk.messages]


async def test_a_second_turn_goes_on_with_the_specialist(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(helpdesk()), judge)
    await talk.say("my bill")
    events = await talk.say("and now?")
    assert text_of(events) == "Still billing."


async def test_a_long_running_call_is_pending_until_it_is_answered(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(expenses()), judge)
    events = await talk.say("100 euros")
    call = of(events, "TOOL_CALL_START")[0]["toolCallId"]
    assert not of(events, "TOOL_CALL_RESULT")
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call]}

    events = await talk.results({call: '{"status": "approved"}'})

    assert text_of(events) == "It was approved."
    assert "outcome" not in events[-1]


async def test_an_artifact_is_a_file(judge: Judge) -> None:
    events = await Talk(AGUIAdapter(artist()), judge).say("a cat")
    [file] = of(events, "CUSTOM")
    assert (file["name"], file["value"]) == (
        "artifact",
        {"filename": "cat.png", "version": 0, "mimeType": "image/png", "data": "iVBORw=="},
    )


@pytest.mark.parametrize("kind", ["text", "large", "broken"])
async def test_other_artifacts(judge: Judge, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(InMemoryArtifactService):
        async def load_artifact(self, **given: Any) -> Any:
            raise ConnectionError("the storage is away")

    data = types.Blob(data=b"x" * 5_000_000, mime_type="application/zip")
    part = types.Part(inline_data=data) if kind == "large" else types.Part(text="Grüße")

    async def save(tool_context: ToolContext) -> str:
        """Save a file."""
        await tool_context.save_artifact("a/b.txt", part)
        return "saved"

    agent = Agent(name="root", model=model([calling("save")], ["Done."]), tools=[save])
    service = Broken() if kind == "broken" else InMemoryArtifactService()
    events = await Talk(AGUIAdapter(AdkSource(agent, artifact_service=service)), judge).say()
    values = [event["value"] for event in of(events, "CUSTOM")]
    name = {"filename": "a/b.txt", "version": 0}
    wanted: dict[str, list[Any]] = {
        "text": [{**name, "mimeType": "text/plain", "data": "R3LDvMOfZQ=="}],
        "large": [{**name, "mimeType": "application/zip"}],
        "broken": [],
    }
    assert values == wanted[kind]
    assert ("cannot be read" in caplog.text) is (kind == "broken")
    assert text_of(events) == "Done."


@pytest.mark.parametrize("payload", [{"approved": True}, {"confirmed": True}, True])
async def test_a_confirmed_tool_runs(judge: Judge, payload: Any) -> None:
    WIPED.clear()
    talk = Talk(AGUIAdapter(cleaner()), judge)
    events = await talk.say("wipe")
    [asked] = talk.asked
    call = of(events, "TOOL_CALL_START")[0]
    assert (asked["toolCallId"], asked["reason"]) == (call["toolCallId"], "tool_call")
    assert len(of(events, "TOOL_CALL_START")) == 1
    assert not of(events, "TOOL_CALL_RESULT")
    assert not WIPED

    again = await talk.send(talk.messages)  # nothing new: it is asked again
    assert again[-1]["outcome"]["type"] == "interrupt"
    events = await talk.answer(payload)

    assert WIPED == ["/x"]
    assert text_of(events) == "Done."
    assert [e["content"] for e in of(events, "TOOL_CALL_RESULT")] == ['{"wiped":"/x"}']


@pytest.mark.parametrize("payload", [None, {"approved": False}, {"approved": "true"}, {}, "yes", 1])
async def test_anything_but_true_denies(judge: Judge, payload: Any) -> None:
    WIPED.clear()
    talk = Talk(AGUIAdapter(cleaner(["Then not."])), judge)
    await talk.say("wipe")
    events = await talk.answer(payload)

    assert not WIPED
    assert text_of(events) == "Then not."
    assert "rejected" in of(events, "TOOL_CALL_RESULT")[0]["content"]


async def test_an_unknown_answer_consumes_nothing(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(cleaner()), judge)
    await talk.say("wipe")
    wrong = [{"interruptId": "other", "status": "resolved", "payload": True}]
    refused = await collect(talk.adapter, run_input(talk.messages, thread_id="t", resume=wrong))
    assert (refused[-1]["type"], refused[-1]["code"]) == ("RUN_ERROR", "INVALID_RESUME")

    assert text_of(await talk.answer(True)) == "Done."


async def test_a_confirmation_may_come_as_a_result_of_the_call(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(cleaner(), options=AdapterOptions(interrupts="custom")), judge)
    events = await talk.say("wipe")
    call = of(events, "TOOL_CALL_START")[0]["toolCallId"]
    assert events[-1]["outcome"]["type"] == "success"
    [event] = of(events, "CUSTOM")
    assert event["name"] == "on_interrupt"

    made = {"id": "r1", "role": "tool", "toolCallId": call, "content": '{"approved": true}'}
    events = await collect(talk.adapter, run_input([*talk.messages, made], thread_id="t"))
    assert text_of(events) == "Done."


# ---------------------------------------------------------------- workflows, tasks, apps that resume


async def test_a_workflow_asks_for_input(judge: Judge) -> None:
    def ask(node_input: Any) -> Any:
        return RequestInput(message="How many?", response_schema={"type": "integer"}, interrupt_id="q1")

    def say(node_input: Any) -> Event:
        text = f"You said {node_input}."
        return Event(content=types.Content(role="model", parts=[types.Part(text=text)]))

    talk = Talk(AGUIAdapter(Workflow(name="flow", edges=[("START", ask, say)])), judge)
    await talk.say("go")
    [asked] = talk.asked
    assert (asked["id"], asked["reason"], asked["message"]) == ("q1", "input_required", "How many?")
    assert asked["responseSchema"] == {"type": "integer"}

    wrong = [{"interruptId": "q1", "status": "resolved", "payload": "three"}]
    refused = await collect(talk.adapter, run_input(talk.messages, thread_id="t", resume=wrong))
    assert refused[-1]["code"] == "INVALID_RESUME"
    assert text_of(await talk.answer(3)) == "You said 3."


async def test_a_delegated_task_is_a_subagent(judge: Judge) -> None:
    done = ["Working. ", calling("finish_task", result="fine")]
    helper = Agent(name="helper", mode="task", description="helps", model=model(done))
    lead = ["I delegate. ", calling("helper", request="do it")]
    root = Agent(name="lead", model=model(lead, ["All done."]), sub_agents=[helper])
    events = await Talk(AGUIAdapter(root), judge).say("go")

    [started] = of(events, "SUBAGENT_STARTED")
    call = of(events, "TOOL_CALL_START")[0]["toolCallId"]
    assert (started["name"], started["parentToolCallId"]) == ("helper", call)
    kinds = [event["type"] for event in events]
    assert kinds.index("SUBAGENT_FINISHED") < kinds.index("TOOL_CALL_RESULT", kinds.index("SUBAGENT_FINISHED"))
    results = {event["toolCallId"]: event["content"] for event in of(events, "TOOL_CALL_RESULT")}
    assert "fine" in results[call]


def painter() -> Agent:
    """Has a workflow as a tool, which asks."""

    def ask(ctx: Any = None) -> Any:
        yield RequestInput(message="Which colour?")

    def paint(node_input: Any) -> str:
        return f"painted {node_input}"

    workflow = Workflow(name="painting", description="Paints.", edges=[("START", ask, paint)])
    return Agent(name="root", model=model([calling("painting", request="go")], ["Done."]), tools=[workflow])


def delegating() -> Agent:
    """Delegates to an agent whose tool needs confirmation."""
    work = [calling("wipe", path="/x")], [calling("finish_task", result="fine")]
    tools = [FunctionTool(wipe, require_confirmation=True)]
    helper = Agent(name="helper", mode="task", description="helps", model=model(*work), tools=tools)
    return Agent(name="root", model=model([calling("helper", request="do it")], ["Done."]), sub_agents=[helper])


@pytest.mark.parametrize("build", [painter, delegating])
async def test_a_call_inside_of_which_somebody_is_asked_waits(judge: Judge, build: Callable[[], Agent]) -> None:
    talk = Talk(AGUIAdapter(build()), judge)
    events = await talk.say("go")
    assert of(events, "TOOL_CALL_RESULT") == []
    [host] = [event["toolCallId"] for event in of(events, "TOOL_CALL_START") if "subagentRunId" not in event]

    events = await talk.answer({"approved": True})

    assert [event["toolCallId"] for event in of(events, "TOOL_CALL_RESULT")].count(host) == 1
    assert talk.messages[-1]["content"] == "Done."


@pytest.mark.parametrize("resumable", [False, True])
async def test_an_app_that_resumes_asks_and_waits_alike(judge: Judge, resumable: bool) -> None:
    tools = [get_weather, FunctionTool(wipe, require_confirmation=True)]
    llm = model(
        [calling("pick"), calling("get_weather", city="Rome")], ["Picked."], [calling("wipe", path="/y")], ["Wiped."]
    )
    config = ResumabilityConfig(is_resumable=resumable)
    app = App(name="resuming", root_agent=Agent(name="root", model=llm, tools=tools), resumability_config=config)
    talk = Talk(AGUIAdapter(app), judge, tools=[{"name": "pick", "description": "Pick.", "parameters": {}}])

    events = await talk.say("pick")
    [call] = events[-1]["outcome"]["pendingToolCallIds"]
    assert text_of(await talk.results({call: "3"})) == "Picked."
    await talk.say("wipe")
    assert text_of(await talk.answer({"approved": True})) == "Wiped."


def mailing() -> Agent:
    """Reads mail with a token that the user's login gives."""
    flows = OAuthFlows(
        authorizationCode=OAuthFlowAuthorizationCode(
            authorizationUrl="https://login.example/auth", tokenUrl="https://login.example/token", scopes={"read": ""}
        )
    )
    config = AuthConfig(
        auth_scheme=OAuth2(flows=flows),
        raw_auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(client_id="me", client_secret="hunter2")
        ),
    )

    def mail(tool_context: ToolContext) -> dict[str, str]:
        """Read the mail."""
        given = tool_context.get_auth_response(config)
        if given is None or given.oauth2 is None:
            tool_context.request_credential(config)
            return {"status": "waiting"}
        return {"token": str(given.oauth2.access_token)}

    return Agent(name="root", model=model([calling("mail")], ["Read."]), tools=[mail])


async def test_credentials_are_asked_for_without_secrets(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(mailing()), judge)
    events = await talk.say("mail")
    [asked] = talk.asked
    assert (asked["reason"], asked["message"]) == ("adk:credential", "mail needs credentials.")
    assert asked["metadata"]["adk"]["value"]["authUri"].startswith("https://login.example/auth?")
    assert "hunter2" not in str(events)

    events = await talk.answer(None)
    assert text_of(events) == "Read."
    assert ["did not give" in m["content"] for m in talk.messages if m["role"] == "tool"] == [True]


async def test_a_tool_gets_the_credentials(judge: Judge) -> None:
    talk = Talk(AGUIAdapter(mailing()), judge)
    await talk.say("mail")
    events = await talk.answer({"authType": "oauth2", "oauth2": {"accessToken": "the token"}})
    assert [event["content"] for event in of(events, "TOOL_CALL_RESULT")] == ['{"token":"the token"}']
    assert text_of(events) == "Read."
