"""Stored threads of all kinds of graphs, outside of runs."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AnyMessage
from langgraph.channels import Topic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel

from tests.support.graphs import in_a_row
from yai_nexus_agentkit import AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.errors import StatePatchError, ThreadNotFoundError, ThreadPausedError
from yai_nexus_agentkit.testing import collect, run_input

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def outside(adapter: AGUIAdapter, **fields: Any) -> RunContext:
    return RunContext(run_input=run_input("", **fields), declared=True, hooks=adapter.hooks)


class Thread:
    """One thread of a graph that has run."""

    def __init__(self, graph: Any, hooks: Hooks | None = None) -> None:
        self.graph, self.adapter = graph, AGUIAdapter(graph, hooks=hooks or Hooks())
        self.store: Any = self.adapter.threads()
        self.run_context = outside(self.adapter)

    async def run(self, text: str = "hi", **fields: Any) -> list[Any]:
        return await collect(self.adapter, run_input(text, thread_id="t", **fields))

    async def patch(self, *operations: Any, as_node: str | None = None) -> None:
        await self.store.patch_state("t", operations, self.run_context, as_node=as_node)

    async def state(self) -> Any:
        return (await self.store.state("t", self.run_context)).snapshot

    async def due(self) -> tuple[str, ...]:
        return tuple((await self.graph.aget_state(CONFIG)).next)


class Listed(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    total: Annotated[int, operator.add]
    name: str


def counting() -> Any:
    builder = StateGraph(Listed)
    builder.add_node("work", lambda state: {"log": ["worked"], "total": 1})
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=InMemorySaver())


async def test_reducers_are_passed_by() -> None:
    thread = Thread(counting())
    await thread.run()
    await thread.patch(
        {"op": "replace", "path": "/log", "value": ["mine"]}, {"op": "add", "path": "/total", "value": 5}
    )
    assert await thread.state() == {"log": ["mine"], "total": 5}
    await thread.run("again")
    assert await thread.state() == {"log": ["mine", "worked"], "total": 6}


async def test_a_channel_that_can_only_grow() -> None:
    class Growing(TypedDict, total=False):
        topics: Annotated[list[str], Topic(str, accumulate=True)]

    builder = StateGraph(Growing).add_node("work", lambda state: {"topics": ["x"]}).add_edge(START, "work")
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run()
    await thread.patch({"op": "add", "path": "/topics/-", "value": "mine"})
    assert await thread.state() == {"topics": ["x", "mine"]}
    with pytest.raises(StatePatchError, match="can only be added to"):
        await thread.patch({"op": "remove", "path": "/topics/0"})
    await thread.patch({"op": "remove", "path": "/topics"})
    assert await thread.state() == {}


async def test_a_removed_channel_is_empty_and_its_reducer_starts_anew() -> None:
    thread = Thread(counting())
    await thread.run(state={"name": "x"})
    await thread.patch({"op": "remove", "path": "/log"}, {"op": "replace", "path": "/name", "value": "y"})
    assert await thread.state() == {"total": 1, "name": "y"}
    await thread.run("again")
    assert await thread.state() == {"log": ["worked"], "total": 2, "name": "y"}


async def test_moving_and_copying_between_keys() -> None:
    thread = Thread(counting())
    await thread.run(state={"name": "x"})
    await thread.patch({"op": "copy", "from": "/log/0", "path": "/name"})
    assert (await thread.state())["name"] == "worked"


async def test_an_empty_patch_and_one_that_changes_nothing_store_nothing() -> None:
    thread = Thread(counting())
    await thread.run()
    before = (await thread.graph.aget_state(CONFIG)).config
    await thread.patch()
    await thread.patch({"op": "test", "path": "/total", "value": 1}, {"op": "replace", "path": "/total", "value": 1})
    assert (await thread.graph.aget_state(CONFIG)).config == before


async def test_nothing_is_due_after_a_patch_and_no_node_ran() -> None:
    ran: list[str] = []

    def route(state: Listed) -> str:
        ran.append("routed")
        return "b" if state.get("name") == "b" else "a"

    builder = StateGraph(Listed)
    builder.add_node("a", lambda state: ran.append("a"))
    builder.add_node("b", lambda state: ran.append("b"))
    builder.add_conditional_edges(START, route, ["a", "b"])
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run()
    assert ran == ["routed", "a"]
    await thread.patch({"op": "add", "path": "/name", "value": "b"})
    assert "b" not in ran
    assert await thread.due() == ()
    await thread.run("again")
    assert ran[-2:] == ["routed", "b"]


async def test_what_follows_the_named_node_becomes_due() -> None:
    builder = StateGraph(Listed)
    builder.add_node("first", lambda state: {"name": "first"})
    builder.add_node("second", lambda state: {"name": "second"})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run()
    await thread.patch({"op": "replace", "path": "/name", "value": "again"}, as_node="first")
    assert await thread.due() == ("second",)
    with pytest.raises(StatePatchError, match="no node 'third'"):
        await thread.patch({"op": "replace", "path": "/name", "value": "x"}, as_node="third")


class Form(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    age: int = 0


async def test_values_that_the_graph_s_schema_refuses_change_nothing() -> None:
    builder = StateGraph(Form)
    builder.add_node("work", lambda state: {"age": state.age + 1})
    builder.add_edge(START, "work")
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run()
    await thread.patch({"op": "replace", "path": "/age", "value": 41})
    await thread.run("again")
    assert await thread.state() == {"age": 42}
    stored = await thread.store.messages("t", thread.run_context)
    assert [message.content for message in stored.messages] == ["hi", "again"]


class Private(TypedDict, total=False):
    shown: int
    hidden: int


class Shown(TypedDict, total=False):
    shown: int


class Asked(TypedDict, total=False):
    question: str


async def test_only_public_input_can_be_patched() -> None:
    class Whole(Private, Asked, total=False):
        pass

    builder = StateGraph(Whole, input_schema=Asked, output_schema=Shown)
    builder.add_node("work", lambda state: {"shown": 1, "hidden": 2})
    builder.add_edge(START, "work")
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run(state={"question": "?"})
    assert await thread.state() == {"shown": 1}
    for key in ("shown", "hidden", "question", "messages", "nothing"):
        with pytest.raises(StatePatchError) as refused:
            await thread.patch({"op": "add", "path": f"/{key}", "value": 9})
        assert refused.value.path == f"/{key}"
        assert not refused.value.conflict
    with pytest.raises(StatePatchError) as refused:
        await thread.patch({"op": "remove", "path": "/hidden"})
    assert refused.value.conflict, "what is not shown does not exist for the client"


@pytest.mark.parametrize("where", ["before", "after"])
async def test_a_thread_at_a_breakpoint_is_paused(where: str) -> None:
    builder = StateGraph(Listed)
    builder.add_node("one", lambda state: {"name": "one"})
    builder.add_node("two", lambda state: {"name": "two"})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    options: Any = {"interrupt_before": ["two"]} if where == "before" else {"interrupt_after": ["one"]}
    thread = Thread(builder.compile(checkpointer=InMemorySaver(), **options))
    events = await thread.run()
    assert events[-1]["outcome"]["type"] == "interrupt"
    assert await thread.store.paused("t")
    with pytest.raises(ThreadPausedError):
        await thread.patch({"op": "add", "path": "/name", "value": "x"})


async def test_a_thread_that_failed_can_be_patched() -> None:
    def work(state: Listed) -> Any:
        if state.get("name") != "good":
            raise ValueError("bad name")
        return {"log": ["worked"]}

    thread = Thread(in_a_row({"work": work}, Listed))
    assert (await thread.run(state={"name": "bad"}))[-1]["type"] == "RUN_ERROR"
    assert not await thread.store.paused("t")
    await thread.patch({"op": "replace", "path": "/name", "value": "good"})
    assert await thread.due() == ()
    assert (await thread.run("again", state={}))[-1]["type"] == "RUN_FINISHED"


async def test_a_graph_whose_state_is_its_messages() -> None:
    builder = StateGraph(Annotated[list[AnyMessage], add_messages])  # type: ignore[type-var]
    builder.add_node("work", lambda messages: [("ai", "hello")])
    builder.add_edge(START, "work")
    thread = Thread(builder.compile(checkpointer=InMemorySaver()))
    await thread.run()
    stored = await thread.store.messages("t", thread.run_context)
    assert [message.content for message in stored.messages] == ["hi", "hello"]
    assert await thread.state() == {}
    with pytest.raises(StatePatchError):
        await thread.patch({"op": "add", "path": "/x", "value": 1})


async def test_a_functional_graph_has_no_state_to_patch() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    async def work(given: Any) -> dict[str, Any]:
        return {"done": True}

    thread = Thread(work)
    await thread.run()
    assert await thread.store.exists("t")
    with pytest.raises(StatePatchError):
        await thread.patch({"op": "add", "path": "/done", "value": False})


async def test_unknown_threads() -> None:
    thread = Thread(counting())
    await thread.store.ready()
    assert not await thread.store.exists("t")
    assert not await thread.store.paused("t")
    assert not await thread.store.waits("t")
    for refused in (
        thread.store.messages("t", thread.run_context),
        thread.state(),
        thread.patch(),
        thread.store.delete("t"),
    ):
        with pytest.raises(ThreadNotFoundError):
            await refused


async def test_graphs_without_a_checkpointer_and_plain_runnables_have_no_threads() -> None:
    from langchain_core.runnables import RunnableLambda

    builder = StateGraph(MessagesState)
    builder.add_node("work", lambda state: {})
    builder.add_edge(START, "work")
    for agent in (builder.compile(), RunnableLambda(lambda x: x)):
        assert AGUIAdapter(agent).threads() is None
