"""ADK's live mode over a real server and real web sockets: a thread, a model and a queue for each connection."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import Agent
from google.adk.models import LlmResponse
from google.adk.sessions import DatabaseSessionService, InMemorySessionService
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types
from starlette.applications import Starlette
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.adk.speaking import AGAIN, DONE, HELLO, WIPED, Speaker, call, chunk, sound, talking, whole, wipe
from tests.support.sockets import listening, tab
from yai_nexus_agentkit import AGUIAdapter, RunContext, Source
from yai_nexus_agentkit.orchestration.events import EventEmitter
from yai_nexus_agentkit.server import Identity, ServerSettings, add_live_routes, create_app
from yai_nexus_agentkit.testing import assert_conformant


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return (events[-1].get("outcome") or {}).get("interrupts", [])  # type: ignore[no-any-return]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def text(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


def answer(asked: list[dict[str, Any]], approved: bool) -> dict[str, Any]:
    return {
        "resume": [{"interruptId": q["id"], "status": "resolved", "payload": {"approved": approved}} for q in asked]
    }


async def gone(speaker: Speaker) -> None:
    """The model is disconnected."""
    async with asyncio.timeout(10):
        while speaker.open:
            await asyncio.sleep(0.01)


async def test_turns_of_one_conversation() -> None:
    speaker = Speaker.of(HELLO, AGAIN)
    async with talking(speaker) as host:
        async with tab(host, "/live") as one:
            first = await one.played("hi")
            assert_conformant(first)
            assert kinds(first) == [
                "RUN_STARTED",
                "STATE_SNAPSHOT",
                "STEP_STARTED",
                "TEXT_MESSAGE_START",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_CONTENT",
                "TEXT_MESSAGE_END",
                "STEP_FINISHED",
                "RUN_FINISHED",
            ]
            assert text(first) == "Hello."
            assert text(await one.played("more")) == "Again."
            assert (speaker.open, len(speaker.requests)) == (1, 1)
            assert [content.parts[0].text for content in speaker.heard] == ["hi", "more"]
            shown = await one.whole(await one.ask("connect", None))
            said = next(e["messages"] for e in shown if e["type"] == "MESSAGES_SNAPSHOT")
            assert [m["content"] for m in said] == ["hi", "Hello.", "more", "Again."]
            nothing = await one.played(None)  # the client says nothing, and holds nothing
            assert kinds(nothing) == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
            own = (await one.frame("connected"))["connectionId"]
        await gone(speaker)
        async with httpx.AsyncClient(base_url=f"http://{host}") as http:
            [listed] = (await http.get("/threads")).json()
            assert listed["threadId"] == f"session__{own}", "the list has the name by which it can be opened"
            kept = (await http.get(f"/threads/session__{own}/messages")).json()
        assert [m["content"] for m in kept["messages"]] == ["hi", "Hello.", "more", "Again."]


async def test_connections_are_apart() -> None:
    speaker = Speaker.of(HELLO, AGAIN, HELLO)
    async with talking(speaker) as host, tab(host, "/live") as a, tab(host, "/live") as b:
        assert text(await a.played("hi")) == "Hello."
        assert text(await b.played("hi")) == "Again."
        assert (speaker.open, speaker.history) == (2, [])
        await a.close()
        async with asyncio.timeout(10):
            while speaker.open > 1:
                await asyncio.sleep(0.01)
        assert text(await b.played("more")) == "Hello."


@pytest.mark.parametrize("approved", [True, False])
async def test_a_tool_waits_for_the_connection_that_asked(approved: bool) -> None:
    speaker = Speaker.of([call("wipe", path="/x")], [chunk("Done."), whole("Done."), DONE])
    async with talking(speaker, FunctionTool(wipe, require_confirmation=True)) as host:
        async with tab(host, "/live") as a, tab(host, "/live") as b:
            events = await a.played("wipe it")
            assert_conformant(events)
            (question,) = interrupts(events)
            assert (question["reason"], question["message"]) == ("tool_call", 'Allow wipe {"path":"/x"}?')
            stolen = await b.played(None, **answer([question], True))
            assert (stolen[-1]["type"], stolen[-1]["code"], WIPED) == ("RUN_ERROR", "INVALID_RESUME", [])
            again = await a.played("quick")
            assert interrupts(again) == [question], "nothing is said while it waits"
            done = await a.played(None, **answer([question], approved))
            assert ([*WIPED], text(done)) == (["/x"] * approved, "Done.")
            result = next(e for e in done if e["type"] == "TOOL_CALL_RESULT")
            assert ("wiped" in result["content"]) is approved
            assert "RUN_FINISHED" not in kinds(await a.played(None, **answer([question], True)))
            assert len(WIPED) == approved


@pytest.mark.parametrize("stored", [False, True])
async def test_a_session_that_somebody_else_changes(stored: bool, tmp_path: Path) -> None:
    address = f"sqlite+aiosqlite:///{tmp_path}/s.db"
    service = DatabaseSessionService(db_url=address) if stored else InMemorySessionService()
    speaker = Speaker.of(HELLO, [call("wipe", path="/x")], AGAIN, HELLO, AGAIN)
    tool = FunctionTool(wipe, require_confirmation=True)
    async with talking(speaker, tool, session_service=service) as host, tab(host, "/live") as one:
        thread = f"/threads/session__{(await one.frame('connected'))['connectionId']}"
        assert text(await one.played("hi", state={"a": 1})) == "Hello."
        asked = interrupts(await one.played("wipe it", state={"a": 1}))
        assert text(await one.played(None, **answer(asked, True), state={"a": 1})) == "Again."
        async with httpx.AsyncClient(base_url=f"http://{host}") as http:
            patch = [{"op": "add", "path": "/b", "value": 2}]
            assert (await http.patch(f"{thread}/state", json=patch)).status_code == 200
            changed = await one.played("more", state={"a": 2})
            assert (text(changed), len(speaker.requests)) == ("Hello.", 2)
            assert (await http.get(f"{thread}/state")).json()["snapshot"] == {"a": 2, "b": 2}
            assert (await http.delete(thread)).status_code == 200
            assert text(await one.played("and then?")) == "Again."
            assert (await http.get(f"{thread}/state")).json()["snapshot"] == {}
    if stored:
        await service.close()


async def test_two_connections_wait_at_once() -> None:
    speaker = Speaker.of([call("wipe", path="/a")], [call("wipe", path="/b")], HELLO, AGAIN)
    async with talking(speaker, FunctionTool(wipe, require_confirmation=True)) as host:
        async with tab(host, "/live") as a, tab(host, "/live") as b:
            for_a, for_b = interrupts(await a.played("wipe a")), interrupts(await b.played("wipe b"))
            assert for_a[0]["id"] not in json.dumps(b.frames)
            assert for_b[0]["id"] not in json.dumps(a.frames)
            assert text(await b.played(None, **answer(for_b, False))) == "Hello."
            assert WIPED == []
            assert text(await a.played(None, **answer(for_a, True))) == "Again."
            assert WIPED == ["/a"]


async def test_a_reconnect_is_a_new_session() -> None:
    speaker = Speaker.of([call("wipe", path="/a")], HELLO)
    async with talking(speaker, FunctionTool(wipe, require_confirmation=True)) as host:
        async with tab(host, "/live") as one:
            before = (await one.frame("connected"))["connectionId"]
            asked = interrupts(await one.played("wipe"))
        async with tab(host, f"/live?previous={before}") as again:
            assert kinds(await again.played(None, **answer(asked, True)))[-1] == "RUN_ERROR"
            assert await again.whole(await again.ask("connect", None)) == []
            assert text(await again.played("hi")) == "Hello."
        assert (WIPED, speaker.history) == ([], [])


async def test_a_second_run_while_one_goes_on_is_refused() -> None:
    speaker = Speaker.of([chunk("One"), 0.5, whole("One."), DONE], AGAIN)
    async with talking(speaker) as host, tab(host, "/live") as one:
        running = await one.ask("run", "go")
        await one.until(lambda: "TEXT_MESSAGE_CONTENT" in one.types(running))
        second = await one.ask("run", "more")
        await one.until(lambda: one.is_over(second))
        assert one.of(second)[-1]["error"]["error"] == "THREAD_BUSY"
        assert text(await one.whole(running)) == "One."


async def test_an_agent_for_each_user() -> None:
    def made(identity: Identity) -> AGUIAdapter:
        agents.append(identity.user)
        return AGUIAdapter(Agent(name="own", model=Speaker.of(HELLO, AGAIN)))

    agents: list[str] = []
    settings = ServerSettings(identity=lambda request: Identity(user=request.headers.get("x-user", "")))
    app = Starlette()
    add_live_routes(app, made, "/talk", settings=settings)
    async with listening(app) as host, tab(host, "/talk", {"x-user": "anna"}) as one:
        assert text(await one.played("hi")) == "Hello."
        assert text(await one.played("more")) == "Again."
        assert agents == ["anna"]


def test_agents_without_a_live_mode_are_refused() -> None:
    with pytest.raises(TypeError, match="custom agents have no live mode"):
        create_app(AGUIAdapter(Plain()), live="/live")


class Plain(Source):
    async def prepare(self, run: RunContext) -> Any:
        raise AssertionError


async def test_an_answer_that_does_not_come_is_a_denial() -> None:
    speaker = Speaker.of([call("wipe", path="/x")], AGAIN)
    tool = FunctionTool(wipe, require_confirmation=True)
    async with talking(speaker, tool, answer_within=0.2) as host, tab(host, "/live") as one:
        asked = interrupts(await one.played("wipe it"))
        await asyncio.sleep(0.4)
        late = await one.played(None, **answer(asked, True))
        assert (kinds(late)[-1], WIPED) == ("RUN_ERROR", [])
        assert text(await one.played(None)) == "Again."


async def test_a_tool_that_asks_by_itself() -> None:
    def send(to: str, tool_context: ToolContext) -> dict[str, str]:
        """Send it."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Send it?")
            return {"error": "wait"}
        return {"sent": str(tool_context.tool_confirmation.confirmed)}

    speaker = Speaker.of([call("send", to="a")], AGAIN)
    async with talking(speaker, send) as host, tab(host, "/live") as one:
        asked = interrupts(await one.played("send"))
        assert asked[0]["message"] == "Send it?"
        done = await one.played(None, **answer(asked, True))
        assert [e["content"] for e in done if e["type"] == "TOOL_CALL_RESULT"] == ['{"sent":"True"}']


async def test_the_clients_tools() -> None:
    speaker = Speaker.of([call("locate", city="Rome")], AGAIN)
    tools = [
        {"name": "locate", "description": "where", "parameters": {}},
        {"name": "wipe", "description": "", "parameters": {}},
    ]
    async with talking(speaker, wipe) as host, tab(host, "/live") as one:
        events = await one.played("where?", tools=tools)
        assert_conformant(events)
        (pending,) = events[-1]["outcome"]["pendingToolCallIds"]
        body = {"messages": [{"id": "r1", "role": "tool", "toolCallId": pending, "content": '{"at": 41}'}]}
        done = await one.played(None, **body)
        assert text(done) == "Again."
        assert speaker.heard[-1].parts[0].function_response.response == {"at": 41}
        (request,) = speaker.requests
        assert [d.name for tool in request.config.tools for d in tool.function_declarations] == ["wipe", "locate"]


@pytest.mark.parametrize("leaves", ["cancel", "close"])
async def test_the_model_is_disconnected(leaves: str) -> None:
    speaker = Speaker.of([chunk("One"), 60.0, DONE], AGAIN)
    async with talking(speaker) as host, tab(host, "/live") as one:
        running = await one.ask("run", "go")
        await one.until(lambda: "TEXT_MESSAGE_CONTENT" in one.types(running))
        if leaves == "close":
            await one.close()
            await gone(speaker)
            return
        await one.send(type="cancel", requestId=running)
        assert_conformant(await one.whole(running))
        await gone(speaker)
        assert text(await one.played("again")) == "Again."
        assert [content.parts[0].text for content in speaker.history[0]] == ["go"]


async def test_tools_emit_and_save_and_change_the_state() -> None:
    async def draw(tool_context: ToolContext) -> dict[str, int]:
        """Draw a picture."""
        EventEmitter(tool_context).progress("draw", 0.5)
        tool_context.state["drawn"] = 1
        picture = types.Part(inline_data=types.Blob(data=b"cat", mime_type="image/png"))
        return {"version": await tool_context.save_artifact("cat.png", picture)}

    async with talking(Speaker.of([call("draw")], AGAIN), draw) as host, tab(host, "/live") as one:
        events = await one.played("draw", state={"color": "red"})
        assert_conformant(events)
        assert [e["activityType"] for e in events if e["type"] == "ACTIVITY_SNAPSHOT"] == ["progress"]
        assert [e["value"]["filename"] for e in events if e["type"] == "CUSTOM"] == ["cat.png"]
        states = [e.get("delta") or e.get("snapshot") for e in events if e["type"].startswith("STATE")]
        assert states == [{"color": "red"}, [{"op": "add", "path": "/drawn", "value": 1}]]


async def test_a_transfer() -> None:
    speaker = Speaker.of([call("transfer_to_agent", agent_name="billing")], [])
    other = Speaker.of(HELLO, AGAIN, answers_history=True)
    billing = Agent(name="billing", description="bills", model=other)
    agent = Agent(name="desk", model=speaker, sub_agents=[billing])
    app = create_app(AGUIAdapter(agent), live="/live")
    async with listening(app) as host, tab(host, "/live") as one:
        events = await one.played("my bill")
        assert_conformant(events)
        assert [e["stepName"] for e in events if e["type"] == "STEP_STARTED"] == ["desk", "billing"]
        assert text(events) == "Hello."
        assert text(await one.played("more")) == "Again."
        await one.close()
        await gone(speaker)
        await gone(other)


async def test_a_connection_that_is_closed_while_a_tool_waits() -> None:
    speaker = Speaker.of([call("wipe", path="/x")])
    async with talking(speaker, FunctionTool(wipe, require_confirmation=True)) as host:
        async with tab(host, "/live") as one:
            assert interrupts(await one.played("wipe"))
        await gone(speaker)
        assert WIPED == []


async def test_audio_of_both_sides() -> None:
    heard = LlmResponse(input_transcription=types.Transcription(text="good day", finished=True), partial=False)
    piece = LlmResponse(output_transcription=types.Transcription(text="Good ", finished=False), partial=True)
    said = LlmResponse(output_transcription=types.Transcription(text="Good evening", finished=True), partial=False)
    turn = [heard, sound(b"\x01\x02"), piece, LlmResponse(interrupted=True), said, DONE]
    speaker = Speaker.of(turn, turn)
    data = base64.b64encode(b"\x00" * 320).decode()
    async with talking(speaker, live_audio=True) as host:
        async with tab(host, "/live?abilities=audio") as one, tab(host, "/live") as deaf:
            await one.send(type="audio", mimeType="audio/pcm;rate=16000", data=data)
            refused = await one.frame("error")
            assert (refused["status"], refused["error"]["error"]) == (409, "NOT_STARTED")
            listening_run = await one.ask("run", None)
            await one.until(lambda: "STATE_SNAPSHOT" in one.types(listening_run))
            async with asyncio.timeout(10):
                while not speaker.open:
                    await asyncio.sleep(0.01)
            await one.send(type="audio", mimeType="audio/pcm;rate=16000", data=data)
            await one.send(type="audio")
            events = await one.whole(listening_run)
            assert_conformant(events)
            custom = [(e["name"], e["value"]) for e in events if e["type"] == "CUSTOM"]
            assert custom == [
                ("input_transcription", {"text": "good day", "finished": True}),
                ("audio", {"mimeType": "audio/pcm;rate=24000", "data": "AQI="}),
                ("interrupted", {}),
            ]
            assert text(events) == "Good evening"
            assert speaker.audio[0].data == b"\x00" * 320
            shown = await one.whole(await one.ask("connect", None))
            messages = next(e["messages"] for e in shown if e["type"] == "MESSAGES_SNAPSHOT")
            assert [(m["role"], m["content"]) for m in messages] == [
                ("user", "good day"),
                ("assistant", "Good evening"),
            ]

            names = [e["name"] for e in await deaf.played("hi") if e["type"] == "CUSTOM"]
            assert names == ["input_transcription", "interrupted"]
            await deaf.send(type="audio", mimeType="audio/pcm", data=data)
            assert (await deaf.frame("error"))["error"]["error"] == "NO_AUDIO"


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "audio", "mimeType": "audio/pcm", "data": "%%"},
        {"type": "audio", "mimeType": 3, "data": ""},
        {"type": "audio", "mimeType": "text/plain", "data": "AAAA"},
        {"type": "nonsense", "requestId": "q"},
        {"type": "run", "requestId": "q", "input": {"threadId": 3}},
        {"type": "run", "requestId": "q"},
        [],
    ],
)
async def test_frames_that_are_not_understood(frame: Any) -> None:
    speaker = Speaker.of(HELLO)
    async with talking(speaker, live_audio=True) as host, tab(host, "/live?abilities=audio") as one:
        await one.socket.send(json.dumps(frame))
        assert (await one.frame("error"))["status"] == 422
        assert text(await one.played("hi")) == "Hello."


async def test_a_model_that_is_behind_gets_no_more_audio() -> None:
    speaker = Speaker.of(deaf=True)
    data = base64.b64encode(bytes(300_000)).decode()
    async with talking(speaker, live_audio=True) as host, tab(host, "/live?abilities=audio") as one:
        await one.ask("run", None)
        async with asyncio.timeout(10):
            while not speaker.open:
                await asyncio.sleep(0.01)
        for _ in range(8):
            await one.send(type="audio", mimeType="audio/pcm", data=data)
        refused = await one.frame("error")
        assert (refused["status"], refused["error"]["error"]) == (429, "OVERLOADED")
        assert len(speaker.audio) == 1


async def test_what_nobody_reads_stays_with_the_model() -> None:
    many = [chunk(f"{n} ") for n in range(2000)]
    speaker = Speaker.of([whole("One."), DONE, *many, whole("".join(f"{n} " for n in range(2000))), DONE], AGAIN)
    async with talking(speaker) as host, tab(host, "/live") as one:
        assert text(await one.played("go")) == "One."
        await asyncio.sleep(0.2)
        assert speaker.given < 300
        assert text(await one.played("more")).split() == [str(n) for n in range(2000)]


async def test_what_came_between_two_turns_is_shown_by_the_next() -> None:
    speaker = Speaker.of([whole("One."), DONE, call("wipe", path="/x")], AGAIN)
    async with talking(speaker, wipe) as host, tab(host, "/live") as one:
        first = await one.played("go")
        async with asyncio.timeout(10):
            while len(speaker.heard) < 2:
                await asyncio.sleep(0.01)
        between = await one.played(None)
        assert [e["type"] for e in between if e["type"].startswith("TOOL_CALL")] == [
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
        ]
        assert (text(first), text(between)) == ("One.", "Again.")


async def test_a_model_that_fails() -> None:
    speaker = Speaker.of([chunk("One"), RuntimeError("gone")], AGAIN)
    async with talking(speaker) as host, tab(host, "/live") as one:
        events = await one.played("go")
        assert_conformant(events)
        assert (kinds(events)[-1], events[-1]["code"]) == ("RUN_ERROR", "AGENT_ERROR")
        await gone(speaker)
        assert text(await one.played("again")) == "Again."


async def test_a_model_that_fails_between_two_turns(caplog: pytest.LogCaptureFixture) -> None:
    speaker = Speaker.of([whole("One."), DONE, RuntimeError("gone")], AGAIN)
    async with talking(speaker) as host, tab(host, "/live") as one:
        assert text(await one.played("go")) == "One."
        await gone(speaker)
        assert text(await one.played("again")) == "Again."
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["gone"]


async def test_limits_of_sockets() -> None:
    async with talking(Speaker.of(HELLO), sockets={"max_sockets_per_user": 1}) as host, tab(host, "/live"):
        async with tab(host, "/live", ready=False) as second:
            assert (await second.closed())[0] == 4429
    async with talking(Speaker.of(HELLO)) as host:
        with pytest.raises(InvalidStatus):
            await connect(f"ws://{host}/live", additional_headers={"origin": "http://elsewhere.example"})
