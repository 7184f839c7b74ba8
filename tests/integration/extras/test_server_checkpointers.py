"""The server on real checkpointers: SQLite in a file, PostgreSQL over its own protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from tests.support.postgres import pool
from tests.support.serving import asker, call, post, run_body, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app


async def snapshot(app: Any, thread: str = "t1") -> Any:
    return (await call(app, "GET", f"/threads/{thread}/state")).json["snapshot"]


async def test_a_conversation_survives_a_restart(saver: Any, judge: Any) -> None:
    first, second = run_body("one", run="r1"), run_body("two", run="r2")
    runs = [{"events": (await call(create_app(AGUIAdapter(talker(2, checkpointer=saver))), "POST", "/", first)).events,
             "input": first}]  # fmt: skip
    held = judge(runs).messages
    second["messages"] = [*held, *second["messages"]]
    restarted = create_app(AGUIAdapter(talker(2, checkpointer=saver)))
    runs.append({"events": (await call(restarted, "POST", "/", second)).events, "input": second})
    verdict = judge(runs)
    assert [m["content"] for m in verdict.messages] == ["one", "w0 w1 ", "two", "w0 w1 "]
    assert verdict.state["count"] == 2
    assert (await call(restarted, "GET", "/threads/t1/messages")).json["messages"] == verdict.messages
    assert (await call(restarted, "GET", "/ready")).json == {"status": "ready"}


async def test_capabilities_say_that_state_persists(saver: Any) -> None:
    app = create_app(AGUIAdapter(talker(checkpointer=saver)))
    assert (await call(app, "GET", "/capabilities")).json["state"]["persistentState"] is True


@pytest.mark.parametrize("fails", range(6))
async def test_a_patch_that_the_storage_cuts_off_leaves_the_thread_as_it_was(saver: Any, fails: int) -> None:
    """`fails`: the write of the patch that fails; the next ones succeed."""
    app = create_app(AGUIAdapter(asker(saver)))
    await call(app, "POST", "/", run_body(run="r1"))
    answer = [{"interruptId": await question(app), "status": "resolved", "payload": "yes"}]
    await call(app, "POST", "/", run_body(run="r2", resume=answer))
    before = [(await call(app, "GET", f"/threads/t1/{what}")).json for what in ("state", "messages")]
    done = 0

    def cut_off(write: Any) -> Any:
        async def writing(*args: Any, **kwargs: Any) -> Any:
            nonlocal done
            done += 1
            if done == fails + 1:
                raise ConnectionError("the storage is gone")
            return await write(*args, **kwargs)

        return writing

    saver.aput, saver.aput_writes = cut_off(saver.aput), cut_off(saver.aput_writes)
    operations = [{"op": "add", "path": "/notes", "value": {"a": 1}}, {"op": "remove", "path": "/count"}]
    patched = await call(app, "PATCH", "/threads/t1/state", operations)
    if done <= fails:
        assert patched.status == 200
        return
    assert (patched.status, patched.error) == (500, "INTERNAL_ERROR")
    assert [(await call(app, "GET", f"/threads/t1/{what}")).json for what in ("state", "messages")] == before
    assert (await call(app, "PATCH", "/threads/t1/state", operations)).status == 200
    assert await snapshot(app) == {"notes": {"a": 1}}
    assert (await call(app, "POST", "/", run_body("more", run="r3"))).events[-1]["outcome"]["type"] == "interrupt"


async def question(app: Any, thread: str = "t1") -> str:
    """The id of the thread's open question: a request without answers gets it again."""
    asked = (await call(app, "POST", "/", run_body(None, thread=thread, run="again"))).events[-1]
    return str(asked["outcome"]["interrupts"][0]["id"])


async def test_patches_and_removals_are_stored(saver: Any) -> None:
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver)))
    await call(app, "POST", "/", run_body())
    operations = [
        {"op": "add", "path": "/count", "value": 10},
        {"op": "remove", "path": "/notes/a"},
    ]
    assert (await call(app, "PATCH", "/threads/t1/state", operations)).status == 200
    assert await snapshot(app) == {"count": 10, "notes": {"b": [1, 2]}}
    assert (await call(app, "PATCH", "/threads/t1/state", [{"op": "remove", "path": "/notes"}])).status == 200
    assert await snapshot(create_app(AGUIAdapter(talker(1, checkpointer=saver)))) == {"count": 10}
    run = await call(app, "POST", "/", run_body("again", run="r2"))
    assert run.types()[-1] == "RUN_FINISHED"
    assert await snapshot(app) == {"count": 11, "notes": {"a": 1, "b": [1, 2]}}
    messages = (await call(app, "GET", "/threads/t1/messages")).json["messages"]
    assert [m["content"] for m in messages] == ["hello", "w0 ", "again", "w0 "]


async def test_a_question_is_answered_after_a_restart(saver: Any) -> None:
    asked = await call(create_app(AGUIAdapter(asker(saver))), "POST", "/", run_body())
    question = asked.events[-1]["outcome"]["interrupts"][0]["id"]
    app = create_app(AGUIAdapter(asker(saver)))
    refused = await call(app, "PATCH", "/threads/t1/state", [{"op": "add", "path": "/count", "value": 1}])
    assert (refused.status, refused.error) == (409, "THREAD_PAUSED")
    resume = [{"interruptId": question, "status": "resolved", "payload": "yes"}]
    done = await call(app, "POST", "/", run_body(run="r2", resume=resume))
    assert done.types()[-1] == "RUN_FINISHED"
    assert (await call(app, "GET", "/threads/t1/messages")).json["messages"][-1]["content"] == "you said yes"


async def test_a_deleted_thread_leaves_nothing(saver: Any) -> None:
    app = create_app(AGUIAdapter(talker(1, checkpointer=saver)))
    await call(app, "POST", "/", run_body())
    await call(app, "POST", "/", run_body(thread="t2"))
    assert (await call(app, "DELETE", "/threads/t1")).status == 200
    assert (await call(app, "GET", "/threads/t1/state")).status == 404
    assert (await snapshot(app, "t2"))["count"] == 1
    assert len({t.config["configurable"]["thread_id"] async for t in saver.alist(None)}) == 1


async def test_twenty_threads_at_once_and_a_client_that_goes_away(saver: Any) -> None:
    app = create_app(AGUIAdapter(talker(20, 0.005, checkpointer=saver)))
    exchanges = [post(app, run_body(thread=f"t{n}")) for n in range(20)]
    await exchanges[0].until(lambda it: b"TEXT_MESSAGE_CONTENT" in it.body, 30)
    exchanges[0].disconnect()
    await asyncio.gather(*(exchange.end() for exchange in exchanges))
    assert {exchange.types()[-1] for exchange in exchanges[1:]} == {"RUN_FINISHED"}
    again = await call(app, "POST", "/", run_body("again", thread="t0", run="r2"))
    assert again.types()[-1] == "RUN_FINISHED"


async def test_a_database_that_is_gone_is_not_ready_and_reveals_nothing(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with pool(database) as connections:
        checkpointer = AsyncPostgresSaver(connections)
        await checkpointer.setup()
    app = create_app(AGUIAdapter(talker(1, checkpointer=checkpointer)))
    assert (await call(app, "GET", "/ready")).status == 503
    state = await call(app, "GET", "/threads/t1/state")
    assert (state.status, state.error) == (500, "INTERNAL_ERROR")
    assert state.json["detail"]["error_description"].startswith("internal error (id ")
    run = await call(app, "POST", "/", run_body())
    assert (run.events[-1]["type"], run.events[-1]["code"]) == ("RUN_ERROR", "AGENT_ERROR")
    assert "pool" not in run.events[-1]["message"]
