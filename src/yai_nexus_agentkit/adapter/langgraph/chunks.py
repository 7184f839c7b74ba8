"""Driver. A graph's chunks (state, updates, what nodes write) taken where the graph emits them.

``astream(subgraphs=True)`` hands a subgraph's chunk and a node's custom payload to a queue and a waiting task, so they
arrive some turns of the loop after the callbacks around them, at a place that LangGraph does not define. Two entries of
``configurable`` that LangGraph itself uses between a graph and its subgraphs name a function for every chunk, and a
stream writer; with them a chunk is told at the moment it is made.

Both keys are private. So the first run of a process compares what they bring on a small graph with what the documented
way brings; where that differs, runs iterate ``astream`` instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.config import get_config, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel
from langgraph.pregel.protocol import StreamProtocol
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

__all__ = ["Chunk", "chunks_at_origin", "origin_config", "origin_works"]

_logger = logging.getLogger(__name__)

Chunk: TypeAlias = tuple[tuple[str, ...], str, Any]
"""(namespace of the graph, stream mode, payload)."""

STREAM_KEY = "__pregel_stream"
RUNTIME_KEY = "__pregel_runtime"
_MODES = frozenset({"updates", "values", "custom"})
"""Modes whose chunks pass there; ``messages`` and ``tools`` come from handlers of their own."""

Graph: TypeAlias = Pregel[Any, Any, Any, Any]


async def chunks_at_origin() -> bool:
    """Whether the installed LangGraph brings chunks to `origin_config`'s function. Tried once per process; where it does
    not, the first caller logs a warning."""
    global _works
    if _works is None:
        works = await origin_works()
        if _works is None and not works:
            _logger.warning(
                "this version of LangGraph does not hand out chunks where they are made; the callback source reads them"
                " from astream, where those of subgraphs and stream writers come somewhat later"
            )
        _works = works
    return _works


_works: bool | None = None
"""The outcome of the first try in this process."""


def origin_config(
    graph: Graph,
    config: RunnableConfig,
    on_chunk: Callable[[Chunk], None],
    extra: Mapping[str, Any],
    *,
    keys: tuple[str, str] = (STREAM_KEY, RUNTIME_KEY),
) -> tuple[RunnableConfig, dict[str, Any]] | None:
    """Configuration and ``astream`` arguments of a run whose chunks go to `on_chunk`, from any thread.

    `extra` are the arguments that the run would have otherwise. None where chunks must be iterated: other stream modes,
    a graph that runs inside another graph (whose stream must keep its place), and a checkpointer without any
    ``configurable`` (LangGraph's own refusal only comes if that is empty).
    """
    modes = extra.get("stream_mode")
    configurable = config.get("configurable") or {}
    if not extra.get("subgraphs") or not isinstance(modes, list) or not _MODES.issuperset(modes):
        return None
    around = (var_child_runnable_config.get() or {}).get("configurable") or {}
    if not {*around, *configurable}.isdisjoint(keys):
        return None
    own = (graph.config or {}).get("configurable")
    if not configurable and not own and graph.checkpointer not in (None, False):
        return None

    def write(payload: Any) -> None:
        namespace = get_config()["configurable"]["checkpoint_ns"].split("|")[:-1]
        on_chunk((tuple(namespace), "custom", payload))

    stream_key, runtime_key = keys
    added = {
        stream_key: StreamProtocol(on_chunk, set(modes)),
        runtime_key: Runtime(store=graph.store, stream_writer=write),
    }
    # Without `subgraphs` LangGraph leaves the stream that it finds to the children.
    rest = {**extra, "stream_mode": "updates", "subgraphs": False}
    return {**config, "configurable": {**configurable, **added}}, rest


async def origin_works(*, keys: tuple[str, str] = (STREAM_KEY, RUNTIME_KEY)) -> bool:
    """Run a small graph with a subgraph both ways; True if both bring the same chunks. Takes some milliseconds."""
    # In a context of its own: callbacks and tracing of a surrounding run are none of its business.
    return await asyncio.get_running_loop().create_task(_compare(keys), context=Context())


class _Count(TypedDict):
    count: int


async def _step(state: _Count) -> _Count:
    get_stream_writer()(state["count"])
    return {"count": state["count"] + 1}


async def _compare(keys: tuple[str, str]) -> bool:
    from langsmith import tracing_context

    inner = StateGraph(_Count).add_node("step", _step).add_edge(START, "step").add_edge("step", END).compile()
    builder = StateGraph(_Count).add_node("inner", inner).add_node("step", _step)
    graph = builder.add_edge(START, "inner").add_edge("inner", "step").add_edge("step", END).compile()
    extra = {"stream_mode": sorted(_MODES), "subgraphs": True}
    taken: list[Chunk] = []
    with tracing_context(enabled=False):
        try:
            documented = [chunk async for chunk in graph.astream({"count": 0}, **extra)]
            prepared = origin_config(graph, {}, taken.append, extra, keys=keys)
            if prepared is None:
                return False
            config, rest = prepared
            async for _ in graph.astream({"count": 0}, config, **rest):
                pass
        except Exception:
            _logger.debug("the trial run failed", exc_info=True)
            return False
    return _comparable(taken) == _comparable(documented)


def _comparable(chunks: list[Any]) -> list[str]:
    """Chunks without the task ids in their namespaces, in any order."""
    return sorted(repr((*(part.split(":")[0] for part in ns), mode, payload)) for ns, mode, payload in chunks)
