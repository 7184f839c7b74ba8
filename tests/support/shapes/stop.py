"""Questions, failures, retries, caches."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.errors import NodeError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, TimeoutPolicy, interrupt

from tests.support.shapes.base import (
    ASK,
    NUMBER,
    Case,
    Numbers,
    model,
    remembering,
    row,
    saying,
    shape,
    talker,
)
from tests.support.shapes.work import tool_loop
from yai_nexus_agentkit.testing import tool_call_parts

# ---------------------------------------------------------------------------------------------------------- interrupts


@shape()
def questions() -> Any:
    async def ask(state: Any) -> Any:
        return {"messages": [AIMessage(f"{interrupt('first?')} {interrupt('second?')}", id="both")]}

    return Case(remembering(talker("before"), ask=ask), [ASK, Command(resume="a"), Command(resume="b")])


@shape()
def question_in_a_tool() -> Any:
    @tool
    def careful(x: int) -> str:
        """Asks."""
        return str(interrupt({"really": x}))

    graph = tool_loop([careful], tool_call_parts("careful", {"x": 1}, "c1"), ["done"], checkpointer=InMemorySaver())
    return Case(graph, [ASK, Command(resume="yes")])


@shape("split")
def question_in_a_subgraph() -> Any:
    async def ask(state: Any) -> Any:
        return {"messages": [AIMessage(str(interrupt("sure?")), id="sure")]}

    return Case(remembering(sub=row(talker("x"), ask=ask)), [ASK, Command(resume="yes")])


@shape()
def breakpoints() -> Any:
    options = {"checkpointer": InMemorySaver(), "interrupt_before": ["n1"]}
    return Case(row(talker("x"), talker("y"), compiled=options), [ASK, None])


# ------------------------------------------------------------------------------------------- failures, retries, caches


@shape()
def model_dies() -> Any:
    scripted = model(["Hel", ValueError("gone")])

    async def chat(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    return Case(remembering(chat=chat))


@shape()
def model_dies_in_a_thread() -> Any:
    scripted = model(["Hel", ValueError("gone")])
    return row(chat=lambda state: {"messages": [scripted.invoke(state["messages"])]})


@shape("split")
def subgraph_fails() -> Any:
    async def fail(state: Any) -> Any:
        raise KeyError("inside")

    return row(sub=row(talker("x"), fail=fail))


@shape()
def too_many_steps() -> Any:
    return Case(row(talker("x"), talker("y")), config={"recursion_limit": 1})


@shape()
def no_thread_id() -> Any:
    return Case(remembering(talker("x")), config={"configurable": None})


@shape()
def nothing_given() -> Any:
    return Case(remembering(talker("x")), [None])


@shape()
def wrong_update() -> Any:
    return row(bad=lambda state: 7)


@shape()
def node_retry() -> Any:
    scripted = model(["Hel", ConnectionError("once")], ["Hel", "lo"])

    async def chat(state: Any) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", chat, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    builder.add_edge(START, "chat")
    return builder.compile()


@shape()
def model_retry_and_fallback() -> Any:
    retrying = model(["Hel", ConnectionError("once")], ["Hel", "lo"])
    failing = model(["Hel", ValueError("gone")]).with_fallbacks([saying("other")])

    async def chat(state: Any) -> Any:
        await retrying.with_retry(wait_exponential_jitter=False).ainvoke("x")
        return {"messages": [await failing.ainvoke(state["messages"])]}

    return row(chat=chat)


@shape()
def error_handler() -> Any:
    async def fail(state: Any) -> Any:
        await saying("Hel").ainvoke("x")
        raise ValueError("no")

    async def handle(state: Any, error: NodeError) -> Any:
        return {"messages": [AIMessage("sorry", id="sorry")]}

    builder = StateGraph(MessagesState)
    builder.add_node("fail", fail, error_handler=handle)
    builder.add_edge(START, "fail")
    return builder.compile()


@shape()
def step_timeout() -> Any:
    async def hang(state: Any) -> Any:
        await saying("Hel").ainvoke("x")
        await asyncio.sleep(5)

    graph = row(hang=hang)
    graph.step_timeout = 0.1
    return graph


@shape("split")
def idle_timeout_that_progress_holds_off() -> Any:
    async def talk(state: Any) -> Any:
        for _ in range(4):
            await asyncio.sleep(0.15)
            get_stream_writer()("still here")
        return {"number": 2}

    builder = StateGraph(Numbers)
    builder.add_node("talk", row(talk, state=Numbers), timeout=TimeoutPolicy(idle_timeout=0.5))
    builder.add_edge(START, "talk")
    return Case(builder.compile(), [NUMBER])


@shape()
def cached_node() -> Any:
    async def double(state: Any) -> Any:
        return {"done": [2 * state["number"]]}

    builder = StateGraph(Numbers)
    builder.add_node("double", double, cache_policy=CachePolicy(key_func=lambda state: str(state["number"])))
    builder.add_edge(START, "double")
    return Case(builder.compile(cache=InMemoryCache()), [NUMBER, NUMBER])
