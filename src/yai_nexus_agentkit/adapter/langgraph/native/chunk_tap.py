"""A graph's chunks (state, updates, what nodes write) taken where the graph makes them.

``astream(subgraphs=True)`` hands a subgraph's chunk and a node's custom payload to a queue and a waiting task, so they
arrive some turns of the loop after the callbacks around them, at a place that LangGraph does not define. Two entries of
``configurable`` that LangGraph itself uses between a graph and its subgraphs name a function for every chunk, and a
stream writer; with them a chunk arrives at the moment it is made.

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

__all__ = ["ORIGIN", "Chunk", "ChunkOrigin"]

_logger = logging.getLogger(__name__)

Chunk: TypeAlias = tuple[tuple[str, ...], str, Any]
"""(namespace of the graph, stream mode, payload)."""

_MODES = ("custom", "updates", "values")
"""Modes whose chunks pass there; ``messages`` and ``tools`` come from handlers of their own."""

_Graph: TypeAlias = Pregel[Any, Any, Any, Any]


class ChunkOrigin:
    """The two keys, and whether the installed LangGraph heeds them. One for all runs."""

    def __init__(self, stream_key: str = "__pregel_stream", runtime_key: str = "__pregel_runtime") -> None:
        self._stream_key, self._runtime_key = stream_key, runtime_key
        self._tried: list[bool] = []
        """The outcome of the trial, once there is one."""

    async def works(self) -> bool:
        """Whether chunks come this way. Tried by the first caller (some milliseconds); if not, it logs a warning."""
        if not self._tried:
            # In a context of its own: callbacks and tracing of a surrounding run are none of the trial's business.
            works = await asyncio.get_running_loop().create_task(self._try(), context=Context())
            if not self._tried and not works:
                _logger.warning(
                    "this version of LangGraph does not hand out chunks where they are made; the callback source reads"
                    " them from astream, where those of subgraphs and stream writers come somewhat later"
                )
            self._tried.append(works)
        return self._tried[0]

    def prepare(
        self, graph: _Graph, config: RunnableConfig, on_chunk: Callable[[Chunk], None], arguments: Mapping[str, Any]
    ) -> tuple[RunnableConfig, dict[str, Any]] | None:
        """Configuration and ``astream`` arguments of a run whose chunks go to `on_chunk`, from any thread.

        `arguments` are those of the run without it. None where chunks must be iterated: other stream modes, a graph
        that runs inside another graph (whose stream must keep its place), and a checkpointer without any
        ``configurable`` (LangGraph only refuses that one by its proper error if it stays empty).
        """
        modes = arguments.get("stream_mode")
        if not arguments.get("subgraphs") or not isinstance(modes, list) or not set(_MODES).issuperset(modes):
            return None
        configurable = config.get("configurable") or {}
        around = (var_child_runnable_config.get() or {}).get("configurable") or {}
        if not {self._stream_key, self._runtime_key}.isdisjoint([*around, *configurable]):
            return None
        # The graph's own only counts where none is given, and ours must not count as given.
        configurable = configurable or (graph.config or {}).get("configurable") or {}
        if not configurable and graph.checkpointer not in (None, False):
            return None

        def write(payload: Any) -> None:
            namespace = get_config()["configurable"]["checkpoint_ns"].split("|")[:-1]
            on_chunk((tuple(namespace), "custom", payload))

        added = {
            self._stream_key: StreamProtocol(on_chunk, set(modes)),
            # LangGraph takes the store from a runtime that it finds, and not from the graph.
            self._runtime_key: Runtime(store=graph.store, stream_writer=write),
        }
        # With `subgraphs` LangGraph would put a stream of its own in the place of ours.
        rest = {**arguments, "stream_mode": "updates", "subgraphs": False}
        return {**config, "configurable": {**configurable, **added}}, rest

    async def _try(self) -> bool:
        """Run a small graph with a subgraph both ways; True if both bring the same chunks."""
        from langsmith import tracing_context

        inner = StateGraph(_Count).add_node("step", _step).add_edge(START, "step").add_edge("step", END).compile()
        builder = StateGraph(_Count).add_node("inner", inner).add_node("step", _step)
        graph: _Graph = builder.add_edge(START, "inner").add_edge("inner", "step").add_edge("step", END).compile()
        arguments: dict[str, Any] = {"stream_mode": list(_MODES), "subgraphs": True}
        taken: list[Chunk] = []
        with tracing_context(enabled=False):
            documented = [chunk async for chunk in graph.astream({"count": 0}, **arguments)]
            try:
                prepared = self.prepare(graph, {}, taken.append, arguments)
                if prepared is None:
                    return False
                config, rest = prepared
                async for _ in graph.astream({"count": 0}, config, **rest):
                    pass
            except Exception:
                _logger.debug("the trial run failed", exc_info=True)
                return False
        return _comparable(taken) == _comparable(documented)


ORIGIN = ChunkOrigin()
"""With LangGraph's own keys; remembers the trial for the process."""


class _Count(TypedDict):
    count: int


async def _step(state: _Count) -> _Count:
    get_stream_writer()(state["count"])
    return {"count": state["count"] + 1}


def _comparable(chunks: list[Any]) -> list[str]:
    """Chunks without the task ids in their namespaces, in any order."""
    return sorted(repr((*(part.split(":")[0] for part in ns), mode, payload)) for ns, mode, payload in chunks)
