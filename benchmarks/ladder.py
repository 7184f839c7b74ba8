"""Driver. Where a case's time goes: the adapter's parts, added one after the other to the bare loop."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from langchain_core.runnables import RunnableConfig

from benchmarks.registry import AgentCase, Scene
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes, SideHandler
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.source import SourceRun
from yai_nexus_agentkit.transport.agui_sse import SSEEncoder

__all__ = ["ladder"]

Rung = Callable[[Scene], Awaitable[int]]


async def _bare(scene: Scene) -> int:
    """Native events are read and dropped."""
    return await _observed(scene, [])


async def _handler(scene: Scene) -> int:
    """The adapter's handler gets LangChain's callbacks."""
    return await _observed(scene, [SideHandler(RunNotes(complete=True))])


async def _prepared(scene: Scene) -> int:
    """The request is understood: the thread is read and compared."""
    prepared = await _source(scene)
    return await _count(prepared.events())


async def _translated(scene: Scene) -> int:
    """Native events become AG-UI events."""
    prepared = await _source(scene)
    translator = prepared.translator
    translator.start()
    async with aclosing(prepared.events()) as natives:
        async for native in natives:
            translator.feed(native)
    translator.finish()
    return 0


async def _encoded(scene: Scene) -> int:
    """These become server-sent events."""
    prepared, encode = await _source(scene), SSEEncoder().encode
    translator = prepared.translator
    events = translator.start()
    async with aclosing(prepared.events()) as natives:
        async for native in natives:
            for event in translator.feed(native):
                encode(event)
    for event in [*events, *translator.finish()]:
        encode(event)
    return 0


async def _whole(scene: Scene) -> int:
    """All that in the adapter's loop, with hooks, errors and cancellation: ``AGUIAdapter.stream_sse``."""
    return await _count(AGUIAdapter(scene.graph).stream_sse(scene.turns[0].request))


_RUNGS: dict[str, Rung] = {
    "bare loop": _bare,
    "+ handler": _handler,
    "+ prepare": _prepared,
    "+ translate": _translated,
    "+ encode": _encoded,
    "+ drive": _whole,
}


def ladder(case: AgentCase, *, repeats: int, size: int | None = None) -> str:
    """A table: CPU time with each part, as a multiple of the bare loop, and the part's own per native event.

    Differences of two times are noisier than the times.
    """
    least = dict.fromkeys(_RUNGS, float("inf"))
    natives = 1
    for round_ in range(repeats + 1):
        for name, rung in (_RUNGS if round_ % 2 else dict(reversed(_RUNGS.items()))).items():
            scene = case.scene(size)
            gc.collect()
            began = time.process_time()
            count = asyncio.run(_awaited(rung(scene)))
            if round_ > 0:
                least[name] = min(least[name], time.process_time() - began)
            natives = count if rung is _bare else natives
    lines = [f"{case.title}: {natives:,} native events, least of {repeats} rounds"]
    before = least["bare loop"]
    for name, seconds in least.items():
        own = (seconds - before) / natives * 1e6
        ratio = seconds / least["bare loop"]
        lines.append(f"{name:<12} {seconds * 1e3:>9.2f} ms  {ratio:.3f}  {own:>+9.2f} µs per event")
        before = seconds
    return "\n".join(lines)


async def _awaited(rung: Awaitable[int]) -> int:
    return await rung


async def _source(scene: Scene) -> SourceRun:
    run = RunContext(scene.turns[0].request, declared=True)
    return await AGUIAdapter(scene.graph).source.prepare(run)


async def _observed(scene: Scene, handlers: list[Any]) -> int:
    turn = scene.turns[0]
    config: RunnableConfig = {"configurable": {"thread_id": turn.request.thread_id}, "callbacks": handlers}
    stream: Any = scene.graph.astream_events(
        turn.graph_input, config, version="v2", stream_mode=["updates", "values", "custom"], subgraphs=True
    )
    return await _count(stream)


async def _count(stream: AsyncGenerator[Any, None]) -> int:
    async with aclosing(stream) as items:
        return len([None async for _ in items])
