"""Refusals before the stream, and who reaches which thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from starlette.exceptions import HTTPException

from tests.support.serving import JSON, Exchange, call, post, run_body, talker
from yai_nexus_agentkit import AGUIAdapter, Hooks
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware
from yai_nexus_agentkit.server import Identity, ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel


@pytest.fixture
def app() -> Any:
    return create_app(AGUIAdapter(talker(2)), settings=ServerSettings(max_body=20_000))


async def send(app: Any, body: bytes | Sequence[bytes], **headers: str) -> Exchange:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await Exchange(app, "POST", "/", body, {**JSON, **named}).end()


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    ("body", "status", "error", "says"),
    [
        (b"", 400, "INVALID_JSON", "empty"),
        (b"{", 400, "INVALID_JSON", "not JSON"),
        (b'{"threadId": "\xff"}', 400, "INVALID_JSON", "byte 14"),
        (b'{"threadId": "a", "threadId": "b"}', 400, "INVALID_JSON", "'threadId' occurs twice"),
        (b'{"state": {"n": NaN}}', 400, "INVALID_JSON", "NaN"),
        (b"[" * 101 + b"]" * 101, 400, "INVALID_JSON", "deeper than 100"),
        (b'{"a":' * 9_000 + b"1" + b"}" * 9_000, 413, "BODY_TOO_LARGE", "20000"),
        (b"[" * 9_000 + b"]" * 9_000, 400, "INVALID_JSON", "deeper than 100"),
        (b"[]", 422, "INVALID_INPUT", "not a JSON object"),
        (b'"text"', 422, "INVALID_INPUT", "not a JSON object"),
    ],
)
async def test_a_bad_body_is_refused_with_the_reason(app: Any, body: bytes, status: int, error: str, says: str) -> None:
    answer = await send(app, body)
    assert (answer.status, answer.error) == (status, error)
    assert says in answer.json["detail"]["error_description"]
    assert answer.headers["content-type"] == "application/json"


async def test_nesting_up_to_the_limit_is_accepted(app: Any) -> None:
    deep = json.loads("[" * 98 + "]" * 98)
    assert (await call(app, "POST", "/", run_body(state={"deep": deep}))).status == 200
    deeper = json.loads("[" * 99 + "]" * 99)
    assert (await call(app, "POST", "/", run_body(state={"deep": deeper}))).status == 400


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"threadId": 5}, "/threadId"),
        ({"messages": "no"}, "/messages"),
        ({"messages": [{"id": "1", "role": "user", "content": 7}]}, "/messages/0/content"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "/messages/0/id"),
        ({"tools": [{"name": 1}]}, "/tools/0/name"),
    ],
)
async def test_a_wrong_field_is_refused_saying_where(app: Any, change: dict[str, Any], path: str) -> None:
    answer = await call(app, "POST", "/", run_body(**change))
    assert (answer.status, answer.error) == (422, "INVALID_INPUT")
    assert answer.json["detail"]["path"] == path


@pytest.mark.parametrize(
    ("body", "path", "faults"),
    [
        ({}, "/threadId", "Field required; /runId: Field required; /messages: Field required"),
        (
            {"threadId": 1, "messages": [{"role": "user"}], "tools": [{}]},
            "/messages/0/id",
            (
                "Field required; /messages/0/content: Field required; /tools/0/name: Field required; "
                "/tools/0/description: Field required; "
                "/threadId: Input should be a valid string; /runId: Field required"
            ),
        ),
    ],
)
async def test_a_refusal_names_all_that_is_missing(app: Any, body: dict[str, Any], path: str, faults: str) -> None:
    answer = await call(app, "POST", "/", body)
    assert (answer.status, answer.error) == (422, "INVALID_INPUT")
    detail = answer.json["detail"]
    assert (detail["path"], detail["error_description"]) == (path, faults)


async def test_a_refusal_of_many_faults_is_short(app: Any) -> None:
    message = {"id": "a", "role": "assistant", "toolCalls": [{}] * 50}
    answer = await call(app, "POST", "/", run_body(messages=[message]))
    assert answer.json["detail"]["error_description"].count("Field required") == 10


async def test_what_clients_send_beside_the_protocol_is_cleaned_not_refused(app: Any) -> None:
    body = run_body(unknown={"x": 1}, tools=None, context=None, state=None)
    body["messages"] += [
        {"id": "x1", "role": "narrator", "content": "once"},
        {"id": "x2", "role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "hi"}], "name": None},
    ]
    assert (await call(app, "POST", "/", body)).status == 200


async def test_a_body_in_pieces_is_one_body_and_its_size_is_limited(app: Any) -> None:
    body = json.dumps(run_body()).encode()
    assert (await send(app, [body[:10], body[10:40], body[40:]])).status == 200
    endless = await send(app, [b"x" * 8_000] * 4)
    assert (endless.status, endless.error) == (413, "BODY_TOO_LARGE")
    sent = await send(app, b"", content_length="20001")
    assert (sent.status, sent.error) == (413, "BODY_TOO_LARGE")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=UTF-8", 200),
        ("Application/JSON;charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json; charset=latin-1", 415),
        ("", 415),
    ],
)
async def test_only_json_in_utf_8_is_accepted(app: Any, kind: str, status: int) -> None:
    answer = await send(app, json.dumps(run_body()).encode(), content_type=kind)
    assert answer.status == status


async def test_a_compressed_body_is_refused(app: Any) -> None:
    assert (await send(app, b"\x1f\x8b", content_encoding="gzip")).status == 415


async def test_a_byte_order_mark_and_half_an_emoji_are_accepted(app: Any) -> None:
    body = json.dumps(run_body("half ?")).replace("?", "\\ud83d").encode()
    assert (await send(app, b"\xef\xbb\xbf" + body)).status == 200


async def test_large_bodies_are_parsed_beside_the_loop() -> None:
    app = create_app(AGUIAdapter(talker(1)))
    body = run_body()
    body["messages"] = [{"id": f"m{n}", "role": "user", "content": "x" * 1000} for n in range(400)]
    assert (await call(app, "POST", "/", body)).status == 200
    broken = json.dumps(body).encode()[:-1]
    assert (await send(app, broken)).status == 400


# ---------------------------------------------------------------- routes


async def test_several_agents_have_their_own_paths_and_threads() -> None:
    app = create_app({"one": AGUIAdapter(talker(1)), "two": AGUIAdapter(talker(2))})
    assert (await call(app, "POST", "/one", run_body())).text() == "w0 "
    assert (await call(app, "POST", "/two/", run_body())).text() == "w0 w1 "
    assert len((await call(app, "GET", "/one/threads")).json) == 1
    missing = await call(app, "POST", "/three", run_body())
    assert (missing.status, missing.error) == (404, "NOT_FOUND")
    wrong = await call(app, "PUT", "/one", run_body())
    assert (wrong.status, wrong.error) == (405, "METHOD_NOT_ALLOWED")


def test_names_that_cannot_stand_in_a_path_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be an agent's name"):
        create_app({"a/b": AGUIAdapter(talker())})
    with pytest.raises(TypeError, match="AGUIAdapter"):
        create_app(5)  # type: ignore[arg-type]


async def test_health_and_readiness() -> None:
    app = create_app(AGUIAdapter(talker()))
    assert (await call(app, "GET", "/health")).json == {"status": "ok"}
    assert (await call(app, "GET", "/ready")).json == {"status": "ready"}


async def test_a_checkpointer_that_cannot_be_reached_is_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    class Unreachable(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise ConnectionError("no route to swordfish")

    app = create_app(AGUIAdapter(talker(checkpointer=Unreachable())))
    answer = await call(app, "GET", "/ready")
    assert (answer.status, answer.error) == (503, "NOT_READY")
    assert b"swordfish" not in answer.body
    assert (await call(app, "GET", "/health")).status == 200


async def test_capabilities_are_those_of_the_graph() -> None:
    stored = (await call(create_app(AGUIAdapter(talker())), "GET", "/capabilities")).json
    assert stored["transport"] == {
        "streaming": True,
        "websocket": True,
        "httpBinary": False,
        "pushNotifications": False,
        "resumable": False,
    }
    assert stored["state"] == {"snapshots": True, "deltas": True, "memory": True, "persistentState": False}
    assert stored["humanInTheLoop"] == {"supported": True, "interrupts": True}
    forgetful = (await call(create_app(AGUIAdapter(talker(memory=False))), "GET", "/capabilities")).json
    assert forgetful["state"]["memory"] is False
    assert forgetful["humanInTheLoop"] == {"supported": False, "interrupts": False}
    assert ("custom" in stored, forgetful["custom"]) == (False, {"threads": False})


async def test_tools_approvals_and_the_client_s_tools_are_declared() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    agent = create_agent(
        ScriptedChatModel(script=[]),
        [require_approval(add)],
        middleware=[ClientToolsMiddleware()],
        checkpointer=InMemorySaver(),
        name="adder",
    )
    declared = (await call(create_app(AGUIAdapter(agent)), "GET", "/capabilities")).json
    assert declared["identity"] == {"name": "adder", "type": "langgraph"}
    (only,) = declared["tools"].pop("items")
    assert (only["name"], only["description"]) == ("add", "Add two numbers.")
    assert only["parameters"]["required"] == ["a", "b"]
    assert declared["tools"] == {"supported": True, "clientProvided": True}
    assert declared["humanInTheLoop"] == {
        "supported": True,
        "interrupts": True,
        "approvals": True,
        "approveWithEdits": True,
    }
    hitl = create_agent(
        ScriptedChatModel(script=[]),
        [add],
        middleware=[HumanInTheLoopMiddleware({"add": True})],
        checkpointer=InMemorySaver(),
    )
    declared = (await call(create_app(AGUIAdapter(hitl)), "GET", "/capabilities")).json
    assert declared["humanInTheLoop"]["approvals"] is True
    assert "clientProvided" not in declared["tools"]


async def test_pages_of_allowed_origins_may_call() -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(cors=["https://app.example"]))
    asked = {
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-tenant",
    }
    answer = await call(app, "OPTIONS", "/", None, asked)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "x-tenant" in answer.headers["access-control-allow-headers"]
    assert (await call(app, "OPTIONS", "/", None, {**asked, "origin": "https://evil.example"})).status == 400
    run = await post(app, run_body(), headers={"origin": "https://app.example"}).end()
    assert run.headers["access-control-allow-origin"] == "https://app.example"


# ---------------------------------------------------------------- identity


def by_header(request: Any) -> Identity:
    if "x-user" not in request.headers:
        raise HTTPException(401, "who are you?", headers={"www-authenticate": "Bearer"})
    return Identity(user=request.headers["x-user"])


async def test_who_is_nobody_is_turned_away_everywhere() -> None:
    app = create_app(AGUIAdapter(talker()), settings=ServerSettings(identity=by_header))
    for method, path in [
        ("POST", "/"),
        ("GET", "/threads"),
        ("GET", "/threads/t1/messages"),
        ("GET", "/threads/t1/state"),
        ("PATCH", "/threads/t1/state"),
        ("DELETE", "/threads/t1"),
        ("POST", "/threads/t1/cancel"),
        ("GET", "/capabilities"),
    ]:
        answer = await call(app, method, path, run_body() if method == "POST" else None)
        assert (answer.status, answer.error) == (401, "UNAUTHORIZED"), path
        assert answer.headers["www-authenticate"] == "Bearer"
    assert (await call(app, "GET", "/health")).status == 200


async def test_a_permission_error_is_403_and_any_other_is_hidden(caplog: pytest.LogCaptureFixture) -> None:
    async def forbid(request: Any) -> Identity:
        raise PermissionError("swordfish")

    def broken(request: Any) -> Identity:
        raise KeyError("swordfish")

    for resolver, status in ((forbid, 403), (broken, 500), (lambda request: "ann", 500)):
        app = create_app(AGUIAdapter(talker()), settings=ServerSettings(identity=resolver))
        answer = await call(app, "POST", "/", run_body())
        assert answer.status == status
        assert b"swordfish" not in answer.body


@pytest.mark.parametrize(
    ("detail", "says"),
    [
        ({"code": "nope", "why": ["x"]}, '{"code": "nope", "why": ["x"]}'),
        (["a", 1], '["a", 1]'),
        ({"since": datetime(2026, 1, 1)}, '{"since": "2026-01-01 00:00:00"}'),
        (7, "7"),
        (None, "Unauthorized"),
    ],
)
async def test_a_refusal_may_carry_any_detail(detail: Any, says: str) -> None:
    """FastAPI's ``HTTPException`` takes any data; so do headers whose values are numbers."""

    def refuse(request: Any) -> Any:
        raise HTTPException(401, detail, headers={"retry-after": 5})  # type: ignore[dict-item]

    by_resolver = create_app(AGUIAdapter(talker()), settings=ServerSettings(identity=refuse))
    for app in (by_resolver, create_app(refuse)):
        for method, path in (("POST", "/"), ("GET", "/threads/t1/state")):
            answer = await call(app, method, path, run_body() if method == "POST" else None)
            assert (answer.status, answer.error) == (401, "UNAUTHORIZED")
            assert answer.json["detail"]["error_description"] == says
            assert answer.headers["retry-after"] == "5"


async def test_a_refusal_without_a_body_has_none() -> None:
    def refuse(request: Any) -> Identity:
        raise HTTPException(304)

    answer = await call(create_app(AGUIAdapter(talker()), settings=ServerSettings(identity=refuse)), "GET", "/threads")
    assert (answer.status, answer.body) == (304, b"")


@pytest.mark.parametrize("given", [{"user": None}, {"user": 5}, {"user": b"ann"}, {"user": "ann", "thread": 5}])
async def test_an_identity_without_a_user_is_nobody(given: Any, caplog: pytest.LogCaptureFixture) -> None:
    """``Identity(user=session.get("user"))`` must not give all who have no session one user's threads."""
    app = create_app(AGUIAdapter(talker()), settings=ServerSettings(identity=lambda request: Identity(**given)))
    for method, path in (("POST", "/"), ("GET", "/threads"), ("GET", "/threads/t1/state")):
        answer = await call(app, method, path, run_body() if method == "POST" else None)
        assert (answer.status, answer.error) == (500, "INTERNAL_ERROR"), path
    assert "Identity." in caplog.text


@pytest.mark.parametrize("key", [None, 5, ""])
async def test_a_thread_key_that_is_no_text_reaches_no_thread(key: Any, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(AGUIAdapter(talker()), settings=ServerSettings(thread_key=lambda agent, user, thread: key))
    assert (await call(app, "POST", "/", run_body())).status == 500
    assert (await call(app, "GET", "/threads/t1/state")).status == 500
    assert "thread_key returned" in caplog.text


async def test_a_user_never_reaches_another_user_s_thread() -> None:
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(identity=by_header))
    ann, bob = {"x-user": "ann"}, {"x-user": "bob"}
    await call(app, "POST", "/", run_body("ann's secret", thread="t1"), ann)

    for method, path, body in [
        ("GET", "/threads/t1/messages", None),
        ("GET", "/threads/t1/state", None),
        ("PATCH", "/threads/t1/state", [{"op": "add", "path": "/count", "value": 9}]),
        ("DELETE", "/threads/t1", None),
        ("POST", "/threads/t1/cancel", None),
    ]:
        answer = await call(app, method, path, body, bob)
        assert (answer.status, answer.error) == (404, "THREAD_NOT_FOUND"), path
    assert (await call(app, "GET", "/threads", None, bob)).json == []

    run = await call(app, "POST", "/", run_body("bob here", thread="t1"), bob)
    assert run.events[-1]["threadId"] == "t1"
    assert b"ann's secret" not in run.body
    assert [m["content"] for m in (await call(app, "GET", "/threads/t1/messages", None, ann)).json["messages"]] == [
        "ann's secret",
        "w0 ",
    ]


async def test_ids_in_the_body_do_not_open_threads() -> None:
    """Not even the server's own id of another user's thread, sent as a thread id or in the configuration."""
    seen: list[str] = []

    def note(run: Any) -> Any:
        seen.append(run.request["thread_key"])
        return {"configurable": run.run_input.forwarded_props}

    settings = ServerSettings(identity=by_header)
    app = create_app(AGUIAdapter(talker(1), hooks=Hooks(config=note)), settings=settings)
    await call(app, "POST", "/", run_body("ann's secret"), {"x-user": "ann"})
    for attempt in (
        run_body("bob", thread=seen[0]),
        run_body("bob", thread="t1", forwardedProps={"thread_id": seen[0]}),
        run_body("bob", thread='["agent", "ann", "t1"]'),
    ):
        run = await call(app, "POST", "/", attempt, {"x-user": "bob"})
        assert run.types()[-1] == "RUN_FINISHED"
        assert b"ann's secret" not in run.body
    assert (await call(app, "GET", "/threads/t1/messages", None, {"x-user": "ann"})).json["messages"][0]["content"] == (
        "ann's secret"
    )


async def test_identity_gives_thread_configuration_context_and_facts() -> None:
    found: dict[str, Any] = {}

    def resolve(request: Any) -> Identity:
        return Identity(
            user="ann",
            thread="fixed",
            config={"tags": ["gold"], "configurable": {"tenant": "acme", "thread_id": "ignored"}},
            context={"locale": "de"},
            facts={"role": "admin"},
        )

    def look(run: Any) -> None:
        found.update(config=run.config, context=run.context, request=run.request)

    hooks = Hooks(before_run=look)
    app = create_app(AGUIAdapter(talker(1), hooks=hooks), settings=ServerSettings(identity=resolve))
    first = await call(app, "POST", "/", run_body(thread="a"))
    assert first.events[-1]["threadId"] == "a"
    assert found["config"]["tags"] == ["gold"]
    assert found["config"]["configurable"]["tenant"] == "acme"
    assert found["config"]["configurable"]["thread_id"] == found["request"]["thread_key"] != "ignored"
    assert found["context"] == {"locale": "de"}
    assert (found["request"]["role"], found["request"]["user"]) == ("admin", "ann")
    assert found["request"]["headers"]["content-type"] == "application/json"
    assert json.loads(json.dumps(found["request"])) == found["request"]  # hooks write it to their logs
    key = found["request"]["thread_key"]
    await call(app, "POST", "/", run_body(thread="b", run="r2"))
    assert found["request"]["thread_key"] == key


async def test_an_agent_may_be_made_for_each_user() -> None:
    async def make(identity: Identity) -> AGUIAdapter:
        return AGUIAdapter(talker(len(identity.user)))

    app = create_app(make, settings=ServerSettings(identity=by_header))
    assert (await call(app, "POST", "/", run_body(), {"x-user": "ann"})).text() == "w0 w1 w2 "
    assert (await call(app, "POST", "/", run_body(), {"x-user": "x"})).text() == "w0 "
    assert (await call(app, "GET", "/capabilities", None, {"x-user": "x"})).json["state"]["memory"] is True
    assert (await call(app, "GET", "/ready")).status == 200


async def test_the_application_s_adapter_stays_as_it_is() -> None:
    adapter = AGUIAdapter(talker(1))
    create_app(adapter, settings=ServerSettings(run_timeout=5))
    assert adapter.hooks.on_error is None
    assert adapter.options.execution_timeout is None
