"""CopilotKit's routes without its Node runtime: judged by its own frontend code, and called by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from langgraph.checkpoint.memory import InMemorySaver
from starlette.applications import Starlette
from starlette.requests import Request

from tests.support.applications import KINDS, Kind, place
from tests.support.errand_words import build
from tests.support.serving import Exchange, call, post, run_body, served, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.server import ServerSettings, add_agui_routes, add_copilotkit_routes, create_app

JUDGE = Path(__file__).resolve().parent.parent / "js" / "copilotkit"
GROUPS = [
    "info", "run", "reload", "same tab", "stop", "unknown", "questions", "client tool", "failures", "single",
]  # fmt: skip
TALK = "TEXT_MESSAGE_CONTENT"
ANN, BOB = {"x-user": "ann"}, {"x-user": "bob"}


def who(request: Request) -> Identity:
    if "x-user" not in request.headers:
        raise HTTPException(401, "who are you?")
    return Identity(user=request.headers["x-user"])


def kit_of(tokens: int = 3, pause: float = 0.0, **settings: Any) -> Any:
    return create_app(AGUIAdapter(talker(tokens, pause)), settings=ServerSettings(**settings), copilotkit="/kit")


async def kit(app: Any, path: str, body: Any = None, headers: Any = None) -> Exchange:
    return await call(app, "POST", path, body, headers)


async def talking(app: Any, path: str = "/kit/agent/default/run", headers: Any = None, **more: Any) -> Exchange:
    return await post(app, run_body(**more), path, headers).until(lambda it: TALK in it.types())


# ---------------------------------------------------------------- the judge


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.errand_words:one_worker") as url:
        yield f"{url}/copilotkit"


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_its_frontend_code_is_content(server: str, group: str) -> None:
    command = ["node", "check-copilotkit.mjs", "--url", server, "--single", server, "--only", group, "--json"]
    done = subprocess.run(command, cwd=JUDGE, capture_output=True, text=True, timeout=110, check=False)
    report = json.loads(done.stdout)
    assert [check for check in report["results"] if not check["ok"]] == []
    assert report["ok"]


# ---------------------------------------------------------------- agents and applications


async def test_several_agents_have_their_own_threads_and_share_them_with_the_agui_routes() -> None:
    app = create_app({"a": AGUIAdapter(talker(2)), "b": AGUIAdapter(talker(3))}, copilotkit="/kit")
    info = (await call(app, "GET", "/kit/info")).json
    assert {name: agent["name"] for name, agent in info["agents"].items()} == {"a": "a", "b": "b"}
    assert info["agents"]["a"]["capabilities"]["transport"]["streaming"] is True
    assert (await kit(app, "/kit/agent/a/run", run_body())).text() == "w0 w1 "
    single = {"method": "agent/run", "params": {"agentId": "b"}, "body": run_body(thread="t2")}
    assert (await kit(app, "/kit", single)).text() == "w0 w1 w2 "
    assert [thread["threadId"] for thread in (await call(app, "GET", "/a/threads")).json] == ["t1"]
    assert [thread["threadId"] for thread in (await call(app, "GET", "/b/threads")).json] == ["t2"]
    assert (await kit(app, "/kit/agent/b/connect", run_body(None))).body == b"", "it is not the thread of a"


@pytest.mark.parametrize("kind", KINDS)
async def test_it_stands_in_any_application_with_its_dependencies(kind: Kind) -> None:
    app, at, prefix, own = stands = place(kind)
    service = add_agui_routes(at, AGUIAdapter(talker(2)), "/agent", name="trip", dependencies=own)
    agents = {"trip": AGUIAdapter(talker(2))}
    assert add_copilotkit_routes(at, agents, "/kit", dependencies=own, service=service) is service
    stands.complete()
    assert (await call(app, "GET", f"{prefix}/kit/info", headers=ANN)).status == 200
    assert (await kit(app, f"{prefix}/kit/agent/trip/run", run_body(), ANN)).text() == "w0 w1 "
    stop = await kit(app, f"{prefix}/kit/agent/trip/stop/t1", {}, ANN)
    assert stop.json == {"stopped": False}
    if kind != "starlette":
        for method, path in (
            ("GET", "/info"),
            ("POST", ""),
            ("POST", "/agent/trip/run"),
            ("POST", "/agent/trip/stop/t"),
        ):
            assert (await call(app, method, f"{prefix}/kit{path}", headers=BOB)).status == 403, path


def test_what_cannot_be_served_is_refused() -> None:
    agent = AGUIAdapter(talker())
    with pytest.raises(ValueError, match="is CopilotKit's path"):
        create_app({"kit": agent}, copilotkit="/kit")
    with pytest.raises(ValueError, match="give at least one"):
        add_copilotkit_routes(Starlette(), {})
    with pytest.raises(ValueError, match="must begin with '/'"):
        add_copilotkit_routes(Starlette(), agent, "kit")
    with pytest.raises(TypeError, match="dependencies are FastAPI's"):
        add_copilotkit_routes(Starlette(), agent, dependencies=[1])
    with pytest.raises(TypeError, match="neither FastAPI nor Starlette"):
        add_copilotkit_routes(object(), agent)


# ---------------------------------------------------------------- runs


async def test_a_run_goes_on_without_its_page_and_is_stopped_by_a_request() -> None:
    app = kit_of(40, 0.02)
    plain = await talking(app, "/", thread="t2")
    first = await talking(app)
    for one in (plain, first):
        one.disconnect()
        await one.end()
    page = await kit(app, "/kit/agent/default/connect", run_body(None))
    assert page.text().split() == [f"w{n}" for n in range(40)]
    assert [m["role"] for m in (await call(app, "GET", "/threads/t2/messages")).json["messages"]] == ["user"]
    again = await talking(app, run="r2", protocolVersion=None)
    assert (await kit(app, "/kit/agent/default/stop/t1", {"runId": "r1"})).json == {"stopped": False}
    assert (await kit(app, "/kit/agent/default/stop/t1", {"runId": "r2"})).json == {"stopped": True}
    end = (await again.end()).events[-1]
    assert (end["type"], end["threadId"], end["runId"], end.get("outcome")) == ("RUN_FINISHED", "t1", "r2", None)
    asked = {"method": "agent/stop", "params": {"agentId": "default", "threadId": "t1"}}
    assert (await kit(app, "/kit", asked)).json == {"stopped": False}


async def test_a_decision_of_the_page_is_not_stored_beside_the_result() -> None:
    """It resumes with the id of the run that asked, and with a tool message of its own in front."""
    app = create_app(AGUIAdapter(build(InMemorySaver())), copilotkit="/kit")
    asked = await kit(app, "/kit/agent/default/run", run_body("approve"))
    (question,) = asked.events[-1]["outcome"]["interrupts"]
    shown = [event for event in asked.events if event["type"] == "MESSAGES_SNAPSHOT"]
    history = shown[-1]["messages"] if shown else run_body("approve")["messages"]
    own = {"id": "x", "role": "tool", "toolCallId": question["toolCallId"], "content": '{"approved":true}'}
    answer = {"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}
    body = {**run_body(None), "messages": [*history, own], "resume": [answer]}
    done = await kit(app, "/kit/agent/default/run", body)
    assert done.types()[-1] == "RUN_FINISHED"
    stored = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    assert [m["content"] for m in stored if m["role"] == "tool"] == ["moved 5"]


# ---------------------------------------------------------------- security


async def test_nobody_sees_or_stops_the_run_of_somebody_else() -> None:
    app = kit_of(30, 0.02, identity=who)
    first = await talking(app, headers=ANN)
    assert (await kit(app, "/kit/agent/default/connect", run_body(None), BOB)).body == b""
    for named in ({}, {"runId": "r1"}):
        assert (await kit(app, "/kit/agent/default/stop/t1", named, BOB)).json == {"stopped": False}
        asked = {"method": "agent/stop", "params": {"agentId": "default", "threadId": "t1"}, "body": named}
        assert (await kit(app, "/kit", asked, BOB)).json == {"stopped": False}
    asked = {"method": "agent/connect", "params": {"agentId": "default"}, "body": run_body(None)}
    assert (await kit(app, "/kit", asked, BOB)).body == b""
    assert (await first.end()).text().split() == [f"w{n}" for n in range(30)]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/kit/info", None),
        ("POST", "/kit", {"method": "info"}),
        ("POST", "/kit/agent/default/run", run_body()),
        ("POST", "/kit/agent/default/connect", run_body()),
        ("POST", "/kit/agent/default/stop/t1", {}),
    ],
)
async def test_every_route_asks_who_calls(method: str, path: str, body: Any) -> None:
    answer = await call(kit_of(identity=who), method, path, body)
    assert (answer.status, answer.json["error"], answer.json["message"]) == (401, "UNAUTHORIZED", "who are you?")


async def test_agents_that_turn_the_user_away_are_not_shown() -> None:
    def private(identity: Identity) -> AGUIAdapter:
        if identity.user != "ann":
            raise PermissionError
        return AGUIAdapter(talker(1))

    settings = ServerSettings(identity=who)
    app = create_app({"open": AGUIAdapter(talker(1)), "private": private}, settings=settings, copilotkit="/kit")
    assert list((await call(app, "GET", "/kit/info", headers=ANN)).json["agents"]) == ["open", "private"]
    assert list((await call(app, "GET", "/kit/info", headers=BOB)).json["agents"]) == ["open"]
    assert (await kit(app, "/kit/agent/private/run", run_body(), BOB)).status == 403


async def test_a_page_of_another_origin_cannot_stop_a_run() -> None:
    app = kit_of(30, 0.02)
    first = await talking(app)
    foreign = {"origin": "https://evil.example", "host": "app.example"}
    assert (await call(app, "POST", "/kit/agent/default/stop/t1", b"", foreign)).status == 403
    assert (await first.end()).types()[-1] == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        ("/kit", {"method": "agent/fly"}, 400, "INVALID_REQUEST"),
        ("/kit", [], 400, "INVALID_REQUEST"),
        ("/kit", {"method": "agent/run", "params": {"agentId": ["x"]}}, 404, "AGENT_NOT_FOUND"),
        ("/kit", {"method": "agent/run", "params": {"agentId": "default"}}, 422, "INVALID_INPUT"),
        ("/kit", {"method": "agent/stop", "params": {"agentId": "default"}}, 422, "INVALID_INPUT"),
        ("/kit/agent/no/run", run_body(), 404, "AGENT_NOT_FOUND"),
        ("/kit/agent/default/run", {"messages": "x"}, 422, "INVALID_INPUT"),
        (f"/kit/agent/default/stop/{'t' * 300}", {}, 404, "THREAD_NOT_FOUND"),
    ],
)
async def test_refusals_have_the_shape_that_its_client_shows(path: str, body: Any, status: int, error: str) -> None:
    answer = await kit(kit_of(), path, body)
    assert (answer.status, answer.json["error"]) == (status, error)
    assert set(answer.json) == {"error", "message", "traceId"}
