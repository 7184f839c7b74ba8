"""Values that PostgreSQL's JSON has no place for: NUL, halves of emojis, NaN, infinity. A thread goes on with them.

Its checkpointer keeps text and numbers of the state's top level as JSON, and everything else as bytes.
"""

from __future__ import annotations

import json
import math
import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.postgres import pool
from tests.support.serving import Exchange, call, run_body
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.server import create_app

NUL, HALF = "a\0b", "a\ud83db"
NAN, INF = math.nan, math.inf


class State(MessagesState, total=False):
    text: str
    number: float
    total: Annotated[float, operator.add]
    nested: dict[str, Any]
    words: Annotated[list[str], operator.add]


class Writer:
    """A graph whose one node writes `update` in its first run, and counts its runs in ``total``."""

    def __init__(self, saver: Any, source: Any, update: dict[str, Any], *, sync: bool, inner: bool = False) -> None:
        def once(state: State) -> dict[str, Any]:
            first = state["messages"][-1].content == "hello"
            return {"messages": [AIMessage("done")], "total": 1.0, **(update if first else {})}

        async def aonce(state: State) -> dict[str, Any]:
            return once(state)

        graph = StateGraph(State).add_node("write", once if sync else aonce).add_edge(START, "write")
        if inner:
            graph = StateGraph(State).add_node("inner", graph.compile()).add_edge(START, "inner")
        self.app = create_app(AGUIAdapter(graph.compile(checkpointer=saver), options=AdapterOptions(source=source)))

    async def run(self, text: str, run: str, **more: Any) -> Exchange:
        done = await call(self.app, "POST", "/", run_body(text, run=run, **more))
        assert done.types()[-1] == "RUN_FINISHED", done.events[-1]
        return done

    async def goes_on(self) -> Any:
        """A next message, a patch, and both snapshots; the state."""
        held = (await call(self.app, "GET", "/threads/t1/messages")).json["messages"]
        body = run_body("more", run="next")
        await self.run("more", "next", messages=[*held, *body["messages"]])
        patch = [{"op": "add", "path": "/words", "value": ["patched"]}]
        assert (await call(self.app, "PATCH", "/threads/t1/state", patch)).status == 200
        await self.run("again", "last")
        return (await call(self.app, "GET", "/threads/t1/state")).json["snapshot"]


@pytest.fixture(params=["events", "callbacks"])
def source(request: pytest.FixtureRequest) -> Any:
    return request.param


WRITTEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"text": NUL}, {"text": "ab"}),
    ({"text": HALF}, {"text": "a\ufffdb"}),
    ({"number": NAN}, {"number": None}),
    ({"number": -INF, "text": NUL}, {"number": None, "text": "ab"}),
    ({"total": NAN}, {"total": 2.0}),
    ({"total": INF}, {"total": 2.0}),
    ({"nested": {"t": NUL, "n": [NAN, -INF]}}, {"nested": {"t": NUL, "n": [None, None]}}),
    ({"words": [NUL]}, {"words": ["patched"]}),
    ({"messages": [AIMessage(NUL)]}, {}),
    ({"messages": [AIMessage("", tool_calls=[{"name": "f", "args": {"a": NUL}, "id": "c1"}])]}, {}),
    ({"messages": [AIMessage("x", additional_kwargs={"agui": {"metadata": {"n": NUL}}})]}, {}),
    ({"messages": [AIMessage("x", id="m\0")]}, {}),
    ({"messages": [AIMessage("x", name="n\0", response_metadata={"score": NAN})]}, {}),
]


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize(("update", "after"), WRITTEN, ids=lambda value: None)
async def test_what_nodes_write(
    saver: Any, source: Any, sync: bool, update: dict[str, Any], after: dict[str, Any]
) -> None:
    graph = Writer(saver, source, update, sync=sync)
    await graph.run("hello", "r1")
    state = await graph.goes_on()
    if "postgres" in type(saver).__module__:
        assert {key: state.get(key) for key in after} == after


@pytest.mark.parametrize(("update", "after"), [WRITTEN[0], WRITTEN[2], ({"total": INF}, {})], ids=lambda value: None)
async def test_what_subgraphs_write(saver: Any, source: Any, update: dict[str, Any], after: dict[str, Any]) -> None:
    graph = Writer(saver, source, update, sync=False, inner=True)
    await graph.run("hello", "r1")
    state = await graph.goes_on()
    if "postgres" in type(saver).__module__:
        assert {key: state.get(key) for key in after} == after


@pytest.mark.parametrize("number", [NAN, INF])
async def test_a_number_that_is_none_leaves_the_one_before(saver: Any, source: Any, number: float) -> None:
    graph = Writer(saver, source, {"number": number}, sync=True)
    await graph.run("set", "r0", state={"number": 7.5})
    await graph.run("hello", "r1", state={"number": 7.5})
    if "postgres" in type(saver).__module__:
        assert (await graph.goes_on())["number"] == 7.5


SENT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"state": {"text": NUL}}, {"text": "ab"}),
    ({"state": {"text": "\0"}}, {"text": ""}),
    ({"state": {"nested": {"t": NUL}}}, {"nested": {"t": NUL}}),
    ({"state": {"words": [NUL]}}, {}),
    ({"state": {NUL: 1}}, {}),
    ({"messages": [{"id": "u1", "role": "user", "content": NUL}]}, {}),
    ({"messages": [{"id": NUL, "role": "user", "content": "x"}]}, {}),
    ({"messages": [{"id": "u1", "role": "user", "content": "x", "metadata": {"n": NUL}}]}, {}),
    ({"messages": [{"id": "u1", "role": "user", "content": [{"type": "text", "text": NUL}]}]}, {}),
    ({"runId": NUL}, {}),
    ({"threadId": NUL}, {}),
    ({"context": [{"description": NUL, "value": NUL}]}, {}),
    ({"forwardedProps": {"n": NUL}}, {}),
    ({"tools": [{"name": "f\0", "description": NUL, "parameters": {"n": NUL}}]}, {}),
]


@pytest.mark.parametrize(("sent", "after"), SENT, ids=lambda value: None)
async def test_what_clients_send(saver: Any, source: Any, sent: dict[str, Any], after: dict[str, Any]) -> None:
    graph = Writer(saver, source, {}, sync=True)
    body = {"thread": "t1", **sent}
    thread = body.pop("threadId", body.pop("thread"))
    await graph.run("set", "r0", **{**sent, "threadId": thread})
    await graph.run("set again", "r1", **{**sent, "threadId": thread})
    if thread == "t1":
        state = await graph.goes_on()
        assert {key: state.get(key) for key in after} == after


async def test_a_message_whose_id_holds_nul_is_edited(saver: Any, source: Any) -> None:
    graph = Writer(saver, source, {}, sync=True)
    message = {"id": NUL, "role": "user", "content": "one"}
    await graph.run("", "r1", messages=[message])
    await graph.run("", "r2", messages=[message, {"id": "u2", "role": "user", "content": "two"}])
    await graph.run("", "r3", messages=[{**message, "content": "edited"}])
    held = (await call(graph.app, "GET", "/threads/t1/messages")).json["messages"]
    assert [m["content"] for m in held] == ["edited", "done"]


@pytest.mark.parametrize("answer", [NUL, {"t": NUL}, [NUL]])
async def test_what_is_asked_and_answered(saver: Any, source: Any, answer: Any) -> None:
    def ask(state: State) -> dict[str, Any]:
        got = interrupt({"question": NUL, "score": NAN})
        return {"text": got if isinstance(got, str) else json.dumps(got), "number": INF}

    graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=saver)
    app = create_app(AGUIAdapter(graph, options=AdapterOptions(source=source)))
    for turn in ("one", "two"):
        asked = (await call(app, "POST", "/", run_body(turn, run=turn))).events[-1]
        [question] = asked["outcome"]["interrupts"]
        resume = [{"interruptId": question["id"], "status": "resolved", "payload": answer}]
        done = await call(app, "POST", "/", run_body(turn, run=turn + " answered", resume=resume))
        assert done.types()[-1] == "RUN_FINISHED", done.events[-1]
    assert (await call(app, "GET", "/threads/t1/state")).status == 200


@pytest.mark.parametrize("value", [NUL, NAN, INF, {"n": NAN, "t": NUL}])
async def test_what_functions_return(saver: Any, source: Any, value: Any) -> None:
    @entrypoint(checkpointer=saver)
    async def work(given: Any, *, previous: Any = None) -> Any:
        return value

    app = create_app(AGUIAdapter(work, options=AdapterOptions(source=source)))
    for run in ("r1", "r2"):
        done = await call(app, "POST", "/", run_body(run=run))
        assert done.types()[-1] == "RUN_FINISHED", done.events[-1]


async def test_a_thread_that_such_a_value_stopped_before_goes_on(saver: Any, source: Any) -> None:
    """Values that plain LangGraph could not store wait beside the checkpoint."""

    def write(state: State) -> dict[str, Any]:
        return {"text": NUL, "number": NAN} if len(state["messages"]) == 1 else {}

    def fail(state: State) -> dict[str, Any]:
        if len(state["messages"]) == 1:
            raise ValueError("no")
        return {}

    builder = StateGraph(State).add_node("write", write).add_node("fail", fail)
    graph = builder.add_edge(START, "write").add_edge(START, "fail").compile(checkpointer=saver)
    app = create_app(AGUIAdapter(graph, options=AdapterOptions(source=source)))
    assert (await call(app, "POST", "/", run_body())).types()[-1] == "RUN_ERROR"
    again = run_body("more", run="r2")
    body = {**again, "messages": [*run_body()["messages"], *again["messages"]]}
    assert (await call(app, "POST", "/", body)).types()[-1] == "RUN_FINISHED"
    assert (await call(app, "GET", "/threads/t1/state")).status == 200


async def test_a_page_edits_a_message_of_a_thread_with_such_values(saver: Any, source: Any) -> None:
    graph = Writer(saver, source, {"text": NUL, "number": INF}, sync=True)
    await graph.run("hello", "r1")
    first = (await call(graph.app, "GET", "/threads/t1/messages")).json["messages"][0]
    await graph.run("", "r2", messages=[{**first, "content": "edited"}])
    await graph.goes_on()


@pytest.mark.parametrize("durable", [None, "sync", "exit"])
async def test_graphs_that_nodes_call_store_their_own(database: str, source: Any, durable: Any) -> None:
    """A tool with a memory of its own, which calls its graph with `invoke`: the sync methods of the checkpointer."""

    def write(state: State) -> dict[str, Any]:
        return {"text": NUL, "number": NAN, "total": INF}

    inner = StateGraph(State).add_node("write", write).add_edge(START, "write").compile(checkpointer=True)

    def outer(state: State) -> dict[str, Any]:
        found = inner.invoke({"messages": [HumanMessage("x")]})
        return {"text": found["text"], "messages": [AIMessage("done")]}

    with PostgresSaver.from_conn_string(database) as saver:
        saver.setup()
        async with pool(database) as connections:
            builder = StateGraph(State).add_node("outer", outer).add_edge(START, "outer")
            graph = builder.compile(checkpointer=Both(saver, AsyncPostgresSaver(connections)))
            app = create_app(AGUIAdapter(graph, options=AdapterOptions(source=source, durability=durable)))
            thread = f"{source}-{durable}"
            for run in ("r1", "r2"):
                done = await call(app, "POST", "/", run_body(run=run, thread=thread))
                assert done.types()[-1] == "RUN_FINISHED", done.events[-1]
            assert (await call(app, "GET", f"/threads/{thread}/state")).json["snapshot"]["text"] == "ab"


class Both(AsyncPostgresSaver):
    """Sync methods that work in any thread, beside the async ones."""

    def __init__(self, sync: PostgresSaver, other: AsyncPostgresSaver) -> None:
        super().__init__(other.conn)
        self.get_tuple, self.put, self.put_writes = sync.get_tuple, sync.put, sync.put_writes  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"op": "add", "path": "/text", "value": NUL}, 422),
        ({"op": "replace", "path": "/nested", "value": {"t": [NUL]}}, 422),
        ({"op": "add", "path": "/nested/x", "value": "\0"}, 422),
        ({"op": "add", "path": "/nested/x\0", "value": 1}, 422),
        ({"op": "test", "path": "/text", "value": NUL}, 422),
        ({"op": "add", "path": "/text", "value": r"a\u0000b"}, 200),
        ({"op": "add", "path": "/text", "value": "\\\\u0000"}, 200),
    ],
)
async def test_a_patch_with_nul(saver: Any, operation: dict[str, Any], status: int) -> None:
    graph = Writer(saver, "events", {"text": "x", "nested": {}}, sync=True)
    await graph.run("hello", "r1")
    answer = await call(graph.app, "PATCH", "/threads/t1/state", [operation])
    assert answer.status == status
    if status == 422:
        detail = answer.json["detail"]
        assert (detail["error"], detail["path"]) == ("INVALID_PATCH", "/0")
    await graph.goes_on()
