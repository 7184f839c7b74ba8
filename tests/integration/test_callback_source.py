"""The callback source yields the same events as v2, in the same order, from every kind of graph."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, adispatch_custom_event
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from pydantic import BaseModel

from tests.support.native_events import EXTRA, by_callbacks, by_v2, likeness, observe
from tests.support.shapes import SHAPES, model, remembering, row, saying, talker
from tests.support.shapes.base import ASK, NUMBER, Numbers
from tests.support.shapes.work import add, tool_loop
from yai_nexus_agentkit.adapter.langgraph.native.callback_stream import callback_events
from yai_nexus_agentkit.adapter.langgraph.native.chunk_tap import ORIGIN, ChunkOrigin
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.orchestration.events import EventEmitter
from yai_nexus_agentkit.testing import tool_call_parts

Events = list[dict[str, Any]]
ALIKE = {"exact": ["exact"], "split": ["exact", "split"], "runs": ["exact", "split", "runs"]}


def start(agent: Any, given: Any = None, config: Any = None, **how: Any) -> AsyncGenerator[dict[str, Any], None]:
    config = {"configurable": {"thread_id": "t"}} if config is None else config
    how = {"notes": RunNotes(complete=True), "extra": EXTRA, **how}
    return callback_events(agent, ASK if given is None else given, config, **how)


async def collect(agent: Any, given: Any = None, config: Any = None, **how: Any) -> Events:
    return [event async for event in start(agent, given, config, **how)]


def kinds(events: Events, *names: str) -> list[str]:
    return [event["event"] for event in events if not names or event["name"] in names]


# ------------------------------------------------------------------------------------------------------- against v2


@pytest.mark.parametrize("origin", [ORIGIN, None], ids=["origin", "iterated"])
@pytest.mark.parametrize("name", SHAPES)
async def test_the_same_events_as_v2(name: str, origin: ChunkOrigin | None) -> None:
    shape = SHAPES[name]
    expected = await observe(shape.build(), by_v2)
    got = await observe(shape.build(), by_callbacks, origin=origin)
    assert all(likeness(one, other) in ALIKE[shape.level] for one, other in zip(expected, got, strict=True)), [
        likeness(one, other) for one, other in zip(expected, got, strict=True)
    ]
    assert all(seen.events or seen.error for seen in got)


async def test_the_comparison_sees_a_lost_event() -> None:
    [one] = await observe(SHAPES["chat_ainvoke"].build(), by_v2)
    assert "lengths" in likeness(one, one._replace(events=[e for e in one.events if e[1] != "on_chat_model_end"]))
    assert "differ" in likeness(one, one._replace(events=one.events[:-3] + one.events[-2:]))
    assert likeness(one, one._replace(error="ValueError")).startswith("raised")


# ---------------------------------------------------------------------------------------------- more than v2 has


async def test_failures_come_innermost_first_when_they_happen() -> None:
    failing = model(["Hel", ValueError("gone")]).with_fallbacks([saying("other")])

    async def chat(state: Any) -> Any:
        return {"messages": [await failing.ainvoke(state["messages"])]}

    sent = kinds(await collect(row(chat=chat)), "ScriptedChatModel")
    assert sent.index("on_llm_error") == 2, sent  # before the other model starts
    assert sent[3] == "on_chat_model_start"


async def test_failed_retrievers_and_chains_are_reported() -> None:
    class Shelf(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
            raise LookupError(query)

    async def look(state: Any) -> Any:
        await Shelf().ainvoke("x")

    events: Events = []
    with pytest.raises(LookupError) as raised:
        async for event in start(row(look=look)):
            events.append(event)
    failed = [event for event in events if event["event"].endswith("_error")]
    assert [(e["event"], e["name"]) for e in failed] == [
        ("on_retriever_error", "Shelf"),
        ("on_chain_error", "look"),
        ("on_chain_error", "LangGraph"),
    ]
    assert {id(event["data"]["error"]) for event in failed} == {id(raised.value)}
    assert failed[0]["data"]["input"] == {"query": "x"}


async def test_a_question_is_no_failure() -> None:
    graph = remembering(ask=lambda state: interrupt("sure?"))
    assert "on_chain_error" not in kinds(await collect(graph))


# ------------------------------------------------------------------------------------------------- the exact order


async def test_what_nodes_emit_stands_where_they_emit_it() -> None:
    """v2 has payloads of the stream writer some events late; every way to emit is exact here, in subgraphs too."""

    async def node(state: Any) -> Any:
        get_stream_writer()("writer 1")
        EventEmitter().emit("emitter 1")
        async for chunk in saying("a ", "b").astream("x"):
            get_stream_writer()(f"after {chunk.content}")
        await adispatch_custom_event("dispatched", None)
        get_stream_writer()("writer 2")
        return {"number": 2}

    def blocking(state: Any) -> Any:
        get_stream_writer()("writer 1")
        EventEmitter().emit("emitter 1")
        for chunk in saying("a ", "b").stream("x"):
            get_stream_writer()(f"after {chunk.content}")
        EventEmitter().emit("dispatched")
        get_stream_writer()("writer 2")
        return {"number": 3}

    sent: list[str] = []
    graph = row(async_=row(node, state=Numbers), sync=row(blocking, state=Numbers), state=Numbers)
    async for event in start(graph, NUMBER):
        chunk = event["data"].get("chunk") if isinstance(event["data"], dict) else None
        if event["event"] == "on_custom_event":
            payload = event["data"]
            sent.append(payload["name"] if payload else event["name"])
        elif event["event"] == "on_chat_model_stream":
            sent.append(f"token {event['data']['chunk'].content}")
        elif isinstance(chunk, tuple) and chunk[1] == "custom":
            sent.append(chunk[2])
            assert [part.split(":")[0] for part in chunk[0]] in (["async_"], ["sync"])
    once = ["writer 1", "emitter 1", "token a ", "after a ", "token b", "after b", "token ", "after "]
    assert sent == 2 * [*once, "dispatched", "writer 2"]


async def test_a_subgraphs_chunks_come_between_its_nodes() -> None:
    events = await collect(row(sub=row(one=talker("x"), two=talker("y"))))
    sent = [
        f"{event['data']['chunk'][1]} {[part.split(':')[0] for part in event['data']['chunk'][0]]}"
        if event["event"] == "on_chain_stream" and event["name"] == "LangGraph"
        else f"{event['event']} {event['name']}"
        for event in events
        if (event["name"] in ("LangGraph", "one", "two") and "input" in event["data"]) or "chunk" in event["data"]
    ]
    assert [line for line in sent if "model" not in line and "on_chain_stream" not in line] == [
        "on_chain_start LangGraph",
        "values []",
        "on_chain_start LangGraph",
        "values ['sub']",
        "on_chain_start one",
        "on_chain_end one",
        "updates ['sub']",
        "values ['sub']",
        "on_chain_start two",
        "on_chain_end two",
        "updates ['sub']",
        "values ['sub']",
        "on_chain_end LangGraph",
        "updates []",
        "values []",
    ]


# -------------------------------------------------------------------------------------- one handler for everything


async def test_the_handler_writes_the_notes_and_sets_message_ids() -> None:
    notes = RunNotes(complete=True)
    ids: list[tuple[str | None, bool]] = []
    graph = tool_loop([add], tool_call_parts("add", {"a": 1, "b": 2}, "c1"), ["done"])
    async for event in start(graph, notes=notes):
        if event["event"] == "on_tool_start":
            ids.append((notes.calls.get(event["run_id"]), False))
        elif event["event"] == "on_tool_end":
            ids.append((event["data"]["output"].id, event["data"]["output"].id == f"tool-{event['run_id']}"))
        elif event["event"] == "on_chain_end" and event["name"] == "LangGraph":
            [stored] = [m for m in event["data"]["output"]["messages"] if isinstance(m, ToolMessage)]
            ids.append((stored.id, stored.id == ids[-1][0]))
    assert [ids[0], ids[1][1], ids[2][1]] == [("c1", False), True, True]


async def test_structured_calls_and_failures_are_noted() -> None:
    class Answer(BaseModel):
        n: int

    notes = RunNotes(complete=True)
    structured = model(tool_call_parts("Answer", {"n": 1}, "c1")).with_structured_output(Answer)

    async def think(state: Any) -> Any:
        await structured.ainvoke("x")
        raise ValueError("after all")

    models, nodes = [], []
    with pytest.raises(ValueError, match="after all"):
        async for event in start(row(think=think), notes=notes):
            if event["event"] == "on_chat_model_start":
                models.append(event["run_id"])
            elif event["name"] == "think":
                nodes.append(event["run_id"])
    assert [run in notes.structured for run in models] == [True]
    assert str(notes.errors[nodes[0]]) == "after all"


# --------------------------------------------------------------------------------------------- the run's surroundings


async def test_the_graphs_store_and_context_reach_its_nodes() -> None:
    store = InMemoryStore()
    store.put(("user",), "name", {"value": "Ada"})
    seen: list[Any] = []

    async def node(state: Any, runtime: Runtime[Any]) -> Any:
        found = await runtime.store.aget(("user",), "name") if runtime.store else None
        seen.append((found and found.value["value"], runtime.context))

    inner = row(node)
    graph = StateGraph(MessagesState, context_schema=dict).add_node("a", node).add_node("b", inner)
    compiled = graph.add_edge(START, "a").add_edge("a", "b").compile(store=store)
    await collect(compiled, extra={**EXTRA, "context": {"tenant": 7}})
    assert seen == 2 * [("Ada", {"tenant": 7})]


async def test_the_graphs_own_recursion_limit_stays() -> None:
    def count(state: Any) -> Any:
        return {"number": state["number"] + 1}

    builder = StateGraph(Numbers).add_node("count", count).add_edge(START, "count")
    builder.add_conditional_edges("count", lambda state: "count" if state["number"] < 40 else "__end__")
    graph = builder.compile()
    assert (await collect(graph, NUMBER))[-1]["data"]["output"]["number"] == 40
    with pytest.raises(GraphRecursionError, match="limit of 5 "):
        await collect(graph.with_config(recursion_limit=5), NUMBER)
    with pytest.raises(GraphRecursionError, match="limit of 7 "):
        await collect(graph.with_config(recursion_limit=5), NUMBER, {"recursion_limit": 7})


class Listener(BaseCallbackHandler):
    run_inline = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, *, parent_run_id: Any = None, **kwargs: Any) -> None:
        self.heard.append("nested" if parent_run_id else "root")


@pytest.mark.parametrize("plain", [False, True], ids=["graph", "model"])
async def test_callbacks_of_a_surrounding_run_are_inherited(plain: bool) -> None:
    outside, inside = Listener(), Listener()
    agent = saying("x") if plain else row(chat=talker("x"))
    given: Any = "hi" if plain else ASK
    extra: dict[str, Any] = {} if plain else EXTRA
    parents: list[list[str]] = []

    async def around(_: Any, config: RunnableConfig) -> None:
        parents.append((await collect(agent, given, {}, extra=extra))[0]["parent_ids"])
        await collect(agent, given, {"callbacks": config["callbacks"]}, extra=extra)

    await RunnableLambda(around).ainvoke(None, {"callbacks": [outside]})
    await collect(agent, given, {"callbacks": [inside]}, extra=extra)
    assert outside.heard == ["nested", "nested"]
    assert len(parents[0]) == 1
    assert inside.heard == ["root" if plain else "nested"]


async def test_inside_another_graph_the_outer_stream_stays_whole() -> None:
    sent: list[Events] = []

    async def outer(state: Any) -> Any:
        sent.append(await collect(row(inner=talker("x")), ASK, {}))
        return {"number": 2}

    seen: Any = [event async for event in row(outer, state=Numbers).astream_events(NUMBER, version="v2", **EXTRA)]
    assert kinds(sent[0], "ScriptedChatModel") == kinds(seen, "ScriptedChatModel") != []
    by_namespace = [e["data"]["chunk"][0] for e in seen if e["event"] == "on_chain_stream" and e["name"] == "LangGraph"]
    assert any(by_namespace), "the inner graph's chunks reach the outer stream"


async def test_a_custom_run_id_name_tags_and_metadata() -> None:
    from uuid import uuid4

    run_id = uuid4()
    config = {"run_id": run_id, "run_name": "mine", "tags": ["a"], "metadata": {"b": 1}, "configurable": {"model": "m"}}
    first, *_, last = await collect(row(chat=talker("x")), config=config)
    for event in (first, last):
        assert (event["run_id"], event["name"], event["tags"]) == (str(run_id), "mine", ["a"])
        assert event["metadata"].items() >= {"b": 1, "model": "m"}.items()
    assert config["configurable"] == {"model": "m"}, "the caller's configuration is not changed"


async def test_a_thread_keeps_the_same_checkpoints() -> None:
    kept = []
    for way in (by_v2, by_callbacks):
        case = SHAPES["question_in_a_tool"].build()
        await observe(case, way)
        states = [state async for state in case.agent.aget_state_history({"configurable": {"thread_id": "t"}})]
        kept.append([(s.next, s.metadata, len(s.values.get("messages", ())), sorted(s.config)) for s in states])
    assert kept[0] == kept[1]
    assert len(kept[0]) > 3


# ------------------------------------------------------------------------------------------ where the keys mean nothing


@pytest.mark.parametrize(
    "keys", [("stream", "__pregel_runtime"), ("__pregel_stream", "runtime"), ("stream", "runtime")]
)
async def test_the_trial_fails_where_langgraph_does_not_heed_the_keys(keys: tuple[str, str]) -> None:
    assert not await ChunkOrigin(*keys).works()
    assert await ChunkOrigin().works()


async def test_without_the_keys_chunks_are_iterated_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    useless = ChunkOrigin("stream", "runtime")
    shape = SHAPES["three_levels"]
    [expected] = await observe(shape.build(), by_v2)
    with caplog.at_level(logging.WARNING):
        runs = await asyncio.gather(*(observe(shape.build(), by_callbacks, origin=useless) for _ in range(3)))
        await observe(shape.build(), by_callbacks, origin=useless)
    assert [likeness(expected, got) for [got] in runs] == 3 * ["split"]
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "this version of LangGraph does not hand out chunks where they are made"
    ]


async def test_the_trial_is_no_part_of_a_surrounding_run() -> None:
    outside = Listener()
    started: list[str] = []
    outside.on_chain_start = lambda *args, name=None, **kwargs: started.append(name)  # type: ignore[method-assign]
    await RunnableLambda(lambda _: None).ainvoke(None, {"callbacks": [outside]})
    before = len(started)

    async def around(_: Any) -> None:
        await ChunkOrigin().works()

    await RunnableLambda(around, name="around").ainvoke(None, {"callbacks": [outside]})
    assert started[before:] == ["around"]


@pytest.mark.parametrize("extra", [{"stream_mode": "updates"}, {"stream_mode": ["messages"], "subgraphs": True}, {}])
async def test_other_stream_modes_are_iterated(extra: dict[str, Any]) -> None:
    graph = remembering(chat=talker("x"))
    config: Any = {"configurable": {"thread_id": "a"}}
    expected: Any = [e async for e in graph.astream_events(ASK, config, version="v2", **extra)]
    got = await collect(graph, ASK, {"configurable": {"thread_id": "b"}}, extra=extra)
    assert sorted(kinds(got)) == sorted(kinds(expected))


@pytest.mark.parametrize("config", [{}, {"configurable": {}}, {"tags": ["x"]}])
async def test_a_missing_thread_id_is_refused_as_langgraph_refuses_it(config: Any) -> None:
    with pytest.raises(ValueError, match="Checkpointer requires one or more"):
        await collect(remembering(chat=talker("x")), ASK, config)
    bound = remembering(chat=talker("x")).with_config(configurable={"thread_id": "t"})
    assert len(await collect(bound, {"messages": [HumanMessage("hi")]}, config)) > 5
