"""Threads over HTTP: list, snapshots, patches, deletion, and the janitor."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.support.serving import asker, call, living, post, run_body, talker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.runs.index import MemoryThreadIndex
from yai_nexus_agentkit.server import Identity, ServerSettings, create_app


@pytest.fixture
def app() -> Any:
    return create_app(AGUIAdapter(talker(2)), settings=ServerSettings(seed_paths=True, patch_as_node=True))


async def test_threads_are_listed_last_used_first(app: Any) -> None:
    assert (await call(app, "GET", "/threads")).json == []
    for n, thread in enumerate(["a", "b", "a"]):
        await call(app, "POST", "/", run_body(f"turn {n}", thread=thread))
    listed = (await call(app, "GET", "/threads")).json
    assert [entry["threadId"] for entry in listed] == ["a", "b"]
    assert {entry["status"] for entry in listed} == {"idle"}
    assert listed[0]["createdAt"] < listed[1]["createdAt"] < listed[0]["updatedAt"]
    assert [e["threadId"] for e in (await call(app, "GET", "/threads?limit=1")).json] == ["a"]
    older = await call(app, "GET", f"/threads?before={quote(listed[0]['updatedAt'])}")
    assert [e["threadId"] for e in older.json] == ["b"]
    for query in ("limit=0", "limit=x", "limit=1001", "before=yesterday"):
        assert (await call(app, "GET", f"/threads?{query}")).status == 422


async def test_the_list_s_shape_can_be_changed() -> None:
    settings = ServerSettings(thread_list=lambda entries: {"ids": [entry.thread.id for entry in entries]})
    app = create_app(AGUIAdapter(talker(1)), settings=settings)
    await call(app, "POST", "/", run_body(thread="a"))
    assert (await call(app, "GET", "/threads")).json == {"ids": ["a"]}


@pytest.mark.parametrize("interrupts", ["outcome", "custom", "both"])
async def test_a_paused_thread_is_listed_as_such(interrupts: Any) -> None:
    app = create_app(AGUIAdapter(asker(), options=AdapterOptions(interrupts=interrupts)))
    await call(app, "POST", "/", run_body())
    assert (await call(app, "GET", "/threads")).json[0]["status"] == "paused"


async def test_a_running_thread_is_listed_as_such() -> None:
    app = create_app(AGUIAdapter(talker(5, 0.2)))
    exchange = post(app, run_body())
    await exchange.until(lambda it: b"TEXT_MESSAGE_CONTENT" in it.body)
    assert (await call(app, "GET", "/threads")).json[0]["status"] == "running"
    exchange.disconnect()
    await exchange.end()
    assert (await call(app, "GET", "/threads")).json[0]["status"] == "idle"


async def test_messages_and_state_as_snapshots(app: Any, judge: Any) -> None:
    body = run_body()
    run = await call(app, "POST", "/", body)
    messages = (await call(app, "GET", "/threads/t1/messages")).json
    assert messages["type"] == "MESSAGES_SNAPSHOT"
    assert messages["messages"] == judge([{"events": run.events, "input": body}]).messages
    state = (await call(app, "GET", "/threads/t1/state")).json
    assert state == {"type": "STATE_SNAPSHOT", "snapshot": {"count": 1, "notes": {"a": 1, "b": [1, 2]}}}


async def test_an_unknown_thread_is_404_everywhere(app: Any) -> None:
    for method, path, body in [
        ("GET", "/threads/no/messages", None),
        ("GET", "/threads/no/state", None),
        ("PATCH", "/threads/no/state", []),
        ("DELETE", "/threads/no", None),
        ("POST", "/threads/no/cancel", None),
        ("GET", "/message_snapshot/no", None),
        ("GET", "/threads//state", None),
    ]:
        answer = await call(app, method, path, body)
        assert (answer.status, answer.error) == (404, "THREAD_NOT_FOUND"), path


async def test_a_graph_without_checkpointer_has_no_threads() -> None:
    app = create_app(AGUIAdapter(talker(memory=False)))
    assert (await call(app, "POST", "/", run_body())).types()[-1] == "RUN_FINISHED"
    assert (await call(app, "GET", "/threads/t1/state")).status == 404
    assert (await call(app, "DELETE", "/threads/t1")).status == 404


async def test_hooks_redact_what_leaves_outside_runs_too() -> None:
    hooks = Hooks(
        on_state=lambda state, run: {key: value for key, value in state.items() if key != "notes"},
        on_messages=lambda messages, run: [m for m in messages if m.role != "user"],
    )
    app = create_app(AGUIAdapter(talker(1), hooks=hooks))
    await call(app, "POST", "/", run_body())
    assert (await call(app, "GET", "/threads/t1/state")).json["snapshot"] == {"count": 1}
    assert [m["role"] for m in (await call(app, "GET", "/threads/t1/messages")).json["messages"]] == ["assistant"]
    hidden = await call(app, "PATCH", "/threads/t1/state", [{"op": "test", "path": "/notes/a", "value": 1}])
    assert (hidden.status, hidden.error) == (409, "PATCH_CONFLICT")
    over = await call(app, "PATCH", "/threads/t1/state", [{"op": "add", "path": "/notes", "value": {}}])
    assert (over.status, over.error) == (422, "INVALID_PATCH")


@pytest.mark.parametrize("made", [None, [1], {"count": 1}, "text"], ids=["None", "list", "dict", "text"])
@pytest.mark.parametrize("older", [False, True], ids=["", "older path"])
async def test_a_hook_that_returns_what_a_run_refuses_is_an_error_of_every_route(made: Any, older: bool) -> None:
    spoilt: list[bool] = []

    def hook(value: Any, run: Any) -> Any:
        return made if spoilt else value

    hooks = Hooks(on_state=hook, on_messages=hook)
    app = create_app(AGUIAdapter(talker(1), hooks=hooks), settings=ServerSettings(seed_paths=True))
    await call(app, "POST", "/", run_body())
    spoilt.append(True)
    paths = ("/message_snapshot/t1", "/state_snapshot/t1") if older else ("/threads/t1/messages", "/threads/t1/state")
    for path in paths:
        answer = await call(app, "GET", path)
        if made == {"count": 1} and "state" in path:
            assert answer.json["snapshot"] == made
        else:
            assert (answer.status, answer.error) == (500, "HOOK_ERROR")


# ---------------------------------------------------------------- patches


async def patch(app: Any, *operations: Any, query: str = "") -> Any:
    return await call(app, "PATCH", f"/threads/t1/state{query}", list(operations))


async def snapshot(app: Any) -> Any:
    return (await call(app, "GET", "/threads/t1/state")).json["snapshot"]


async def test_a_patch_changes_the_state_and_remove_removes(app: Any) -> None:
    await call(app, "POST", "/", run_body())
    answer = await patch(
        app,
        {"op": "test", "path": "/count", "value": 1},
        {"op": "replace", "path": "/count", "value": 41},
        {"op": "add", "path": "/notes/b/-", "value": 3},
        {"op": "remove", "path": "/notes/a"},
    )
    assert (answer.status, answer.json) == (200, {"status": "updated"})
    assert await snapshot(app) == {"count": 41, "notes": {"b": [1, 2, 3]}}
    await patch(app, {"op": "remove", "path": "/notes"})
    assert await snapshot(app) == {"count": 41}
    run = await call(app, "POST", "/", run_body("again", run="r2"))
    assert run.types()[-1] == "RUN_FINISHED"
    assert (await snapshot(app))["count"] == 42


async def test_the_next_run_starts_from_the_patched_state_and_runs_once(app: Any) -> None:
    await call(app, "POST", "/", run_body())
    await patch(app, {"op": "add", "path": "/count", "value": 10})
    run = await call(app, "POST", "/", run_body("again", run="r2"))
    assert [event["snapshot"]["count"] for event in run.events if event["type"] == "STATE_SNAPSHOT"] == [10]
    assert run.types().count("STEP_STARTED") == 1


@pytest.mark.parametrize(
    ("operation", "status", "error", "path"),
    [
        ({"op": "replace", "path": "/nothing", "value": 1}, 409, "PATCH_CONFLICT", "/0"),
        ({"op": "remove", "path": "/notes/zzz"}, 409, "PATCH_CONFLICT", "/0"),
        ({"op": "test", "path": "/count", "value": 2}, 409, "PATCH_CONFLICT", "/0"),
        ({"op": "add", "path": "/nothing", "value": 1}, 422, "INVALID_PATCH", "/nothing"),
        ({"op": "add", "path": "/messages", "value": []}, 422, "INVALID_PATCH", "/messages"),
        ({"op": "jump", "path": "/count"}, 422, "INVALID_PATCH", "/0"),
        ({"op": "add", "path": "/count"}, 422, "INVALID_PATCH", "/0"),
        ({"op": "move", "path": "/count"}, 422, "INVALID_PATCH", "/0"),
        ({"op": "remove", "path": "count"}, 422, "INVALID_PATCH", "/0"),
        ({"op": "remove", "path": "/~2"}, 422, "INVALID_PATCH", "/0"),
        ({"op": ["add"], "path": "/count", "value": 1}, 422, "INVALID_PATCH", "/0"),
        ("add", 422, "INVALID_PATCH", "/0"),
    ],
)
async def test_a_patch_that_cannot_be_is_refused_and_changes_nothing(
    app: Any, operation: Any, status: int, error: str, path: str
) -> None:
    await call(app, "POST", "/", run_body())
    before = await snapshot(app)
    answer = await patch(app, operation)
    assert (answer.status, answer.error, answer.json["detail"]["path"]) == (status, error, path)
    both = await patch(app, {"op": "replace", "path": "/count", "value": 7}, operation)
    assert both.status == status
    assert await snapshot(app) == before


async def test_a_patch_that_is_no_list_is_refused(app: Any) -> None:
    await call(app, "POST", "/", run_body())
    assert (await call(app, "PATCH", "/threads/t1/state", {"op": "add"})).status == 422
    assert (await call(app, "PATCH", "/threads/t1/state", b"[")).status == 415
    broken = await call(app, "PATCH", "/threads/t1/state", b"[", {"content-type": "application/json-patch+json"})
    assert (broken.status, broken.error) == (400, "INVALID_JSON")


async def test_an_update_may_be_ascribed_to_a_node(app: Any) -> None:
    await call(app, "POST", "/", run_body())
    assert (await patch(app, {"op": "add", "path": "/count", "value": 5}, query="?as_node=agent")).status == 200
    assert (await snapshot(app))["count"] == 5
    wrong = await patch(app, {"op": "add", "path": "/count", "value": 6}, query="?as_node=nobody")
    assert (wrong.status, wrong.error) == (422, "INVALID_PATCH")


async def test_a_client_does_not_decide_what_runs_next_unless_the_server_lets_it() -> None:
    app = create_app(AGUIAdapter(talker(1)))
    await call(app, "POST", "/", run_body())
    before = await snapshot(app)
    for query in ("?as_node=agent", "?as_node=nobody", "?as_node="):
        refused = await patch(app, {"op": "add", "path": "/count", "value": 5}, query=query)
        assert (refused.status, refused.error) == (422, "INVALID_PATCH")
    assert await snapshot(app) == before


async def test_a_paused_thread_cannot_be_patched_and_its_question_stays() -> None:
    app = create_app(AGUIAdapter(asker()))
    run = await call(app, "POST", "/", run_body(state={"count": 3}))
    asked = run.events[-1]["outcome"]["interrupts"][0]
    refused = await patch(app, {"op": "add", "path": "/count", "value": 1})
    assert (refused.status, refused.error) == (409, "THREAD_PAUSED")
    resume = [{"interruptId": asked["id"], "status": "resolved", "payload": "yes"}]
    resumed = await call(app, "POST", "/", run_body(run="r2", resume=resume))
    assert resumed.types()[-1] == "RUN_FINISHED"
    assert (await call(app, "GET", "/threads/t1/messages")).json["messages"][-1]["content"] == "you said yes"
    assert (await patch(app, {"op": "add", "path": "/count", "value": 1})).status == 200


async def test_a_running_thread_can_be_neither_patched_nor_deleted() -> None:
    app = create_app(AGUIAdapter(talker(3, 0.5)))
    await call(app, "POST", "/", run_body("first", thread="other"))
    exchange = post(app, run_body())
    await exchange.until(lambda it: b"TEXT_MESSAGE_CONTENT" in it.body)
    for method, path in (("PATCH", "/threads/t1/state"), ("DELETE", "/threads/t1")):
        refused = await call(app, method, path, [] if method == "PATCH" else None)
        assert (refused.status, refused.error) == (409, "THREAD_BUSY")
    assert (await call(app, "DELETE", "/threads/other")).status == 200
    await exchange.end()
    assert (await call(app, "DELETE", "/threads/t1")).json == {"status": "deleted"}


async def test_a_deleted_thread_is_gone(app: Any) -> None:
    await call(app, "POST", "/", run_body())
    assert (await call(app, "DELETE", "/threads/t1")).json == {"status": "deleted"}
    assert (await call(app, "GET", "/threads")).json == []
    assert (await call(app, "DELETE", "/threads/t1")).status == 404
    await call(app, "POST", "/", run_body("anew", run="r2"))
    assert (await snapshot(app))["count"] == 1


class Unreliable(InMemorySaver):
    """Deletes nothing while it is down."""

    down = False

    async def adelete_thread(self, thread_id: str) -> None:
        if self.down:
            raise ConnectionError("swordfish")
        await super().adelete_thread(thread_id)


async def test_a_thread_that_could_not_be_deleted_is_still_listed(caplog: pytest.LogCaptureFixture) -> None:
    saver = Unreliable()
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver)))
    await call(app, "POST", "/", run_body())
    saver.down = True
    refused = await call(app, "DELETE", "/threads/t1")
    assert (refused.status, refused.error) == (500, "INTERNAL_ERROR")
    assert await listed(app) == ["t1"]
    saver.down = False
    assert (await call(app, "DELETE", "/threads/t1")).status == 200
    assert await listed(app) == []


async def test_a_thread_that_only_the_index_knows_can_be_deleted(caplog: pytest.LogCaptureFixture) -> None:
    class Forgetting(MemoryThreadIndex):
        down = False

        async def remove(self, key: str) -> None:
            if self.down:
                raise ConnectionError("swordfish")
            await super().remove(key)

    index = Forgetting()
    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(index=index))
    await call(app, "POST", "/", run_body())
    index.down = True
    assert (await call(app, "DELETE", "/threads/t1")).status == 500
    index.down = False
    assert await listed(app) == ["t1"]
    assert (await call(app, "DELETE", "/threads/t1")).status == 404
    assert await listed(app) == []


async def test_thread_ids_may_hold_anything(app: Any) -> None:
    for thread in ("a/b", "ä ö?#%", "../../x", "messages", "x" * 256, "two\nlines"):
        await call(app, "POST", "/", run_body(thread=thread))
        named = quote(thread, safe="")
        assert (await call(app, "GET", f"/threads/{named}/messages")).status == 200, thread
        assert (await call(app, "DELETE", f"/threads/{named}")).status == 200, thread


async def test_an_id_that_is_too_long_for_a_thread_reaches_no_storage() -> None:
    asked: list[str] = []

    def key(agent: str, user: str, thread: str) -> str:
        asked.append(thread)
        return thread

    app = create_app(AGUIAdapter(talker(1)), settings=ServerSettings(seed_paths=True, max_id=5, thread_key=key))
    for method, path in [
        ("GET", "/threads/123456/messages"),
        ("GET", "/threads/123456/state"),
        ("PATCH", "/threads/123456/state"),
        ("DELETE", "/threads/123456"),
        ("POST", "/threads/123456/cancel"),
    ]:
        refused = await call(app, method, path, [] if method == "PATCH" else None)
        assert (refused.status, refused.error) == (404, "THREAD_NOT_FOUND")
    refused = await call(app, "POST", "/agents/state", {"threadId": "123456"})
    assert (refused.status, refused.json["detail"]["path"]) == (422, "/threadId")
    assert asked == []
    assert (await call(app, "POST", "/", run_body(thread="12345"))).status == 200
    assert (await call(app, "GET", "/threads/12345/state")).status == 200


async def test_the_older_paths_are_the_same_threads(app: Any) -> None:
    await call(app, "POST", "/", run_body())
    assert (await call(app, "GET", "/thread/list")).json[0]["threadId"] == "t1"
    assert (await call(app, "GET", "/message_snapshot/t1")).json["type"] == "MESSAGES_SNAPSHOT"
    assert (await call(app, "GET", "/state_snapshot/t1")).json["snapshot"]["count"] == 1
    operations = [{"op": "replace", "path": "/count", "value": 5}]
    assert (await call(app, "PATCH", "/state/t1", operations)).json == {"status": "updated"}
    sent = (await call(app, "POST", "/agents/state", {"threadId": "t1"})).json
    assert (sent["threadExists"], sent["state"]["count"], len(sent["messages"])) == (True, 5, 2)
    assert (await call(app, "POST", "/agents/state", {"threadId": "no"})).json == {
        "threadId": "no",
        "threadExists": False,
        "state": {},
        "messages": [],
    }
    assert (await call(app, "POST", "/agents/state", {})).status == 422
    assert (await call(app, "DELETE", "/thread/t1")).json == {"status": "deleted"}
    plain = create_app(AGUIAdapter(talker(1)))
    assert (await call(plain, "GET", "/thread/list")).status == 404


# ---------------------------------------------------------------- the janitor


async def listed(app: Any, user: str = "") -> list[str]:
    return [entry["threadId"] for entry in (await call(app, "GET", "/threads", None, {"x-user": user})).json]


async def eventually(app: Any, expected: list[str], user: str = "") -> None:
    async with asyncio.timeout(10):
        while await listed(app, user) != expected:
            await asyncio.sleep(0.02)


def by_header(request: Any) -> Identity:
    return Identity(user=request.headers.get("x-user", ""))


async def test_idle_threads_are_deleted_but_never_paused_ones() -> None:
    settings = ServerSettings(thread_idle=1.0, janitor_every=0.05)
    app = create_app({"talk": AGUIAdapter(talker(1)), "ask": AGUIAdapter(asker())}, settings=settings)
    async with living(app):
        await call(app, "POST", "/talk", run_body())
        await call(app, "POST", "/ask", run_body())
        assert (await call(app, "GET", "/talk/threads/t1/state")).status == 200
        async with asyncio.timeout(10):
            while (await call(app, "GET", "/talk/threads/t1/state")).status == 200:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        assert (await call(app, "GET", "/talk/threads")).json == []
        assert (await call(app, "GET", "/ask/threads")).json[0]["status"] == "paused"
        assert (await call(app, "GET", "/ask/threads/t1/state")).status == 200


async def test_each_user_keeps_the_newest_threads() -> None:
    settings = ServerSettings(thread_limit=2, janitor_every=0.05, identity=by_header)
    app = create_app(AGUIAdapter(talker(1)), settings=settings)
    async with living(app):
        for user in ("ann", "bob"):
            for thread in ("a", "b", "c") if user == "ann" else ("a", "b"):
                await call(app, "POST", "/", run_body(thread=thread), {"x-user": user})
        await eventually(app, ["c", "b"], "ann")
        await eventually(app, ["b", "a"], "bob")
        assert (await call(app, "GET", "/threads/a/state", None, {"x-user": "ann"})).status == 404


async def test_a_running_thread_survives_the_janitor() -> None:
    settings = ServerSettings(thread_idle=0.05, janitor_every=0.02)
    app = create_app(AGUIAdapter(talker(4, 0.2)), settings=settings)
    async with living(app):
        exchange = await post(app, run_body()).end()
        assert exchange.types()[-1] == "RUN_FINISHED"
        assert exchange.text() == "w0 w1 w2 w3 "
