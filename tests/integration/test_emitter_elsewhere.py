"""The emitter under every driver but our adapter: `astream_events`, `astream`, `stream`, `invoke`, no run at all.

Each place of a graph from which one may emit is run under each driver. Ids show what is lost or doubled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import Runnable

from tests.support.emitting import PLACES, Place, assert_all_arrived, envelopes, events

# -- drivers -----------------------------------------------------------------------------------------------------------


async def by_events(graph: Runnable[Any, Any]) -> list[Any]:
    return await events(graph)


async def by_events_with_chunks(graph: Runnable[Any, Any]) -> list[Any]:
    return await events(graph, stream_mode=["updates", "values", "custom"], subgraphs=True)


async def by_astream(graph: Runnable[Any, Any]) -> list[Any]:
    modes = ["custom", "updates"]
    return [chunk async for chunk in graph.astream({"number": 1}, stream_mode=modes, subgraphs=True)]


async def by_astream_with_messages(graph: Runnable[Any, Any]) -> list[Any]:
    modes = ["messages", "tools", "custom"]  # both put a streaming handler of LangGraph's into the callbacks
    return [chunk async for chunk in graph.astream({"number": 1}, stream_mode=modes, subgraphs=True)]


STREAMS = [by_events, by_events_with_chunks, by_astream, by_astream_with_messages]


# -- places ------------------------------------------------------------------------------------------------------------

places = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())


def names_of(items: list[Any]) -> list[str]:
    seen = envelopes(items)
    assert len({envelope["id"] for envelope in seen}) == len(seen)
    return [envelope["name"] for envelope in seen]


@places
@pytest.mark.parametrize("driver", STREAMS)
async def test_every_place_reaches_every_stream_once(place: Place, driver: Callable[..., Any]) -> None:
    assert_all_arrived(place, names_of(await driver(place.graph())))


@pytest.mark.parametrize("place", [place for place in PLACES.values() if place.synchronous])
def test_synchronous_streams_get_them_too(place: Place) -> None:
    items = list(place.graph().stream({"number": 1}, stream_mode=["custom"], subgraphs=True))  # type: ignore[attr-defined]
    assert_all_arrived(place, names_of(items))


@places
async def test_without_a_stream_the_graph_runs_as_if_nothing_were_emitted(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    graph = place.graph()
    result = await graph.ainvoke({"number": 1})
    assert envelopes([result]) == []
    assert result is not None
    if place.synchronous:
        assert graph.invoke({"number": 1}) == result
    assert caplog.records == []
