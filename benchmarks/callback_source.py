"""The callback source against v2: microseconds per token, and the ratio to a bare ``astream_events`` loop.

    python -m benchmarks.callback_source [--tokens 2000] [--rounds 15]

Everything runs in one process, the ways in turns, so that what else the machine does meets all of them. `observed`
reads native events and drops them; `adapter` is the whole way to SSE bytes. CPU time repeats better than wall time on a
machine that others use as well.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.adapter.langgraph.native.callback_stream import callback_events
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.testing import ScriptedChatModel, run_input

EXTRA: dict[str, Any] = {"stream_mode": ["updates", "values", "custom"], "subgraphs": True}
Way = Callable[[Any], AsyncIterator[Any]]


def graphs(tokens: int) -> dict[str, Any]:
    """One model call of that many tokens, in different places."""
    words = [f"word{n} " for n in range(tokens)]
    model = ScriptedChatModel(script=lambda messages: list(words))

    async def chat(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def blocking(state: Any) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    def graph(node: Any) -> Any:
        return StateGraph(MessagesState).add_node("n", node).add_edge(START, "n").add_edge("n", END).compile()

    return {"async node": graph(chat), "sync node": graph(blocking), "three levels": graph(graph(graph(chat)))}


def given() -> dict[str, Any]:
    return {"messages": [HumanMessage("hi", id="u")]}


def bare(graph: Any) -> AsyncIterator[Any]:
    stream: AsyncIterator[Any] = graph.astream_events(given(), {"configurable": {}}, version="v2", **EXTRA)
    return stream


def observed(graph: Any) -> AsyncIterator[Any]:
    return callback_events(graph, given(), {"configurable": {}}, notes=RunNotes(complete=True), extra=EXTRA)


def iterated(graph: Any) -> AsyncIterator[Any]:
    notes = RunNotes(complete=True)
    return callback_events(graph, given(), {"configurable": {}}, notes=notes, extra=EXTRA, origin=None)


def adapter_callbacks(graph: Any) -> AsyncIterator[Any]:
    return AGUIAdapter(graph, options=AdapterOptions(source="callbacks")).stream_sse(run_input("hi"))


def adapter_events(graph: Any) -> AsyncIterator[Any]:
    return AGUIAdapter(graph, options=AdapterOptions(source="events")).stream_sse(run_input("hi"))


WAYS: dict[str, Way] = {
    "v2, bare": bare,
    "observed": observed,
    "observed, iterated": iterated,
    "adapter, callbacks": adapter_callbacks,
    "adapter, events": adapter_events,
}


class Spent(NamedTuple):
    wall: float
    cpu: float
    """Of all threads together."""


async def measure(way: Way, graph: Any) -> Spent:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    async for _ in way(graph):
        pass
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


async def compare(graph: Any, rounds: int) -> dict[str, list[Spent]]:
    """Seconds of each round of each way."""
    for way in WAYS.values():
        await measure(way, graph)
    spent: dict[str, list[Spent]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, way in WAYS.items():
            spent[name].append(await measure(way, graph))
    return spent


def report(spent: dict[str, list[Spent]], tokens: int) -> Iterator[str]:
    """A line per way: minimum (median) per token, and both as ratios to bare v2."""
    figures = {
        name: [(min(each) / tokens * 1e6, statistics.median(each) / tokens * 1e6) for each in zip(*rounds, strict=True)]
        for name, rounds in spent.items()
    }
    for name, clocks in figures.items():
        parts = [
            f"{low:7.1f} ({middle:6.1f})  {low / base_low:5.2f} ({middle / base_middle:4.2f})"
            for (low, middle), (base_low, base_middle) in zip(clocks, figures["v2, bare"], strict=True)
        ]
        yield f"  {name:20}" + "   ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print("µs per token, minimum (median), and the ratios to bare v2: wall time, then CPU time")
    for shape, graph in graphs(options.tokens).items():
        spent = asyncio.run(compare(graph, options.rounds))
        print(shape, *report(spent, options.tokens), sep="\n")


if __name__ == "__main__":
    main()
