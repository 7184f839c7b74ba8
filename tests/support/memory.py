"""Driver. What the adapter's loop holds beyond the bare one, in bytes of Python objects."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import Runnable

from tests.support.graphs import Graph, chat
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import run_input

__all__ = ["LOOPS", "Loop", "forgetful", "growth", "peak"]

Loop = Literal["bare", "events", "callbacks"]
LOOPS: tuple[Loop, ...] = ("bare", "events", "callbacks")

_V2: Mapping[str, Any] = {"version": "v2", "stream_mode": ["updates", "values", "custom"], "subgraphs": True}


def forgetful() -> Graph:
    """A graph that keeps nothing of its runs, nor does its model."""
    answers = (AIMessage("Hello there.") for _ in itertools.count())
    return chat(GenericFakeChatModel(messages=answers), checkpointer=None)


def _loop(graph: Runnable[Any, Any], loop: Loop) -> Callable[[], AsyncGenerator[Any, None]]:
    """Starts a run: `astream_events` alone, or the whole way to SSE bytes by one of the sources."""
    if loop == "bare":
        return lambda: graph.astream_events({"messages": [HumanMessage("hi")]}, **_V2)
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=loop))
    return lambda: adapter.stream_sse(run_input("hi"))


async def _consume(start: Callable[[], AsyncGenerator[Any, None]]) -> None:
    async with aclosing(start()) as items:
        async for _ in items:
            pass


async def peak(graph: Runnable[Any, Any], loop: Loop) -> int:
    """The most that one run held at any time."""
    start = _loop(graph, loop)
    gc.collect()
    tracemalloc.start()
    try:
        await _consume(start)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def growth(graph: Runnable[Any, Any], loop: Loop, runs: int) -> int:
    """The memory that `runs` runs, one after the other, leave behind; the first tenth warms up."""
    start = _loop(graph, loop)
    for _ in range(runs // 10 + 1):
        await _consume(start)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(runs):
            await _consume(start)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
