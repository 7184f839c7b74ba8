"""Driver. Measures the adapter's overhead per native event on your own graph, in a test or as a gate in CI.

    async def test_the_adapter_is_cheap():
        await measure_overhead(graph, "hi", max_overhead_us=50)

The graph runs once, for real. Its native stream is recorded, then replayed in turn: alone (T_base), and through the
adapter to SSE bytes (T_adapter). Both are CPU time. The least of all repeats counts, since other work of the machine
can only add to it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.protocol.request import parse_request
from yai_nexus_agentkit.testing.recording import Make, Recording, record_natives
from yai_nexus_agentkit.testing.runs import run_input as make_run_input

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
    from yai_nexus_agentkit.adapter.source import Source
    from yai_nexus_agentkit.testing.runs import Request

__all__ = ["CLIENT_BOUND_US", "OverBudget", "Overhead", "measure_overhead", "measure_recording"]

CLIENT_BOUND_US = 5_000.0
"""Microseconds per native event that an adapter may keep an AG-UI client waiting: the default budget."""

_ATTEMPTS = 3
_LEAST_SECONDS = 0.02
"""CPU seconds that one timing should take at least; shorter runs are replayed several times in it."""


class OverBudget(AssertionError):
    """The adapter costs more than the budget allows. `overhead` has the figures."""

    def __init__(self, message: str, overhead: Overhead) -> None:
        super().__init__(message)
        self.overhead = overhead


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Figures of one measurement. Times are CPU seconds for one run."""

    natives: int
    """N: native events of the run."""
    events: int
    """AG-UI events of the run."""
    bytes: int
    """On the wire, as server-sent events."""
    t_base: float
    """Replaying the native events, and nothing else; least of all repeats."""
    t_adapter: float
    """Replaying them through the adapter to SSE bytes; least of all repeats."""
    t_graph: float
    """The recorded run, without the adapter: the graph's own CPU time. One run only."""
    repeats: int
    faithful: bool
    """The replay gave the same events as the recorded run. Not so if a graph changes objects of its earlier events, or
    stops at a static breakpoint; the figures are of the replay then."""

    @property
    def overhead_us(self) -> float:
        """Microseconds per native event: (T_adapter - T_base) / N."""
        return (self.t_adapter - self.t_base) / self.natives * 1e6

    @property
    def ratio(self) -> float:
        """CPU time of the run with the adapter as a multiple of the graph's own."""
        return 1 + (self.t_adapter - self.t_base) / self.t_graph

    def over(self, *, max_overhead_us: float | None = None, max_ratio: float | None = None) -> list[str]:
        """One line for each exceeded budget."""
        found = []
        if max_overhead_us is not None and self.overhead_us > max_overhead_us:
            found.append(f"overhead {self.overhead_us:.1f} µs per event, allowed are {max_overhead_us:g}")
        if max_ratio is not None and self.ratio > max_ratio:
            found.append(f"ratio {self.ratio:.3f}, allowed is {max_ratio:g}")
        return found

    def __str__(self) -> str:
        base, adapter, graph = (f"{seconds * 1e3:.3f} ms" for seconds in (self.t_base, self.t_adapter, self.t_graph))
        per_event = f"({adapter} - {base}) / {self.natives:,} = {self.overhead_us:.2f} µs per event"
        relative = f"({graph} + {adapter} - {base}) / {graph} = {self.ratio:.3f}"
        counts = f"{self.natives:,} native events, {self.events:,} AG-UI events, {self.bytes:,} bytes"
        lines = [
            f"overhead = (T_adapter - T_base) / N = {per_event}",
            f"ratio = (T_graph + T_adapter - T_base) / T_graph = {relative}",
            f"{counts}; CPU time, least of {self.repeats} replays in turn",
        ]
        if not self.faithful:
            lines.append("the replay did not give the same events as the recorded run")
        return "\n".join(lines)


async def measure_overhead(
    agent: Runnable[Any, Any] | Source | AGUIAdapter,
    request: Request = "hi",
    *,
    config: RunnableConfig | None = None,
    context: Any = None,
    repeats: int = 11,
    max_overhead_us: float | None = CLIENT_BOUND_US,
    max_ratio: float | None = None,
) -> Overhead:
    """Measure the adapter on an agent; an `AGUIAdapter` is measured with its options and hooks.

    `request`: the run, or the text of its only user message. `repeats`: replays, each alone and through the adapter. A
    budget that is exceeded is measured again before it counts, twice at most.

    Raises `OverBudget`, and RuntimeError if the recorded run ends with ``RUN_ERROR`` or the agent had nothing to do.
    """
    # As a model: parsing JSON is the server's work and not measured.
    given = make_run_input(request) if isinstance(request, str) else parse_request(request)
    began = time.process_time()
    recording = await record_natives(agent, given, config=config, context=context)
    recorded = time.process_time() - began
    budget = {"max_overhead_us": max_overhead_us, "max_ratio": max_ratio}
    overhead = await measure_recording(recording, recorded, repeats=repeats)
    for _ in range(_ATTEMPTS - 1):
        if overhead.over(**budget):
            overhead = await measure_recording(recording, recorded, repeats=repeats, before=overhead)
    if found := overhead.over(**budget):
        raise OverBudget("; ".join(found), overhead)
    return overhead


async def measure_recording(
    recording: Recording,
    recorded: float,
    *,
    repeats: int = 11,
    make: Make | None = None,
    before: Overhead | None = None,
) -> Overhead:
    """The overhead on a recorded run that took `recorded` CPU seconds with the adapter.

    `make`: the adapter to measure (default: one like the recorded). `before`: earlier figures, whose repeats count too.
    """
    frames = [frame async for frame in recording.frames(make)]
    types = tuple(frame.removeprefix(b'data: {"type":"').partition(b'"')[0].decode() for frame in frames)
    base, adapter = (before.t_base, before.t_adapter) if before else (float("inf"), float("inf"))
    with _steady():
        loops = 1
        for n in range(repeats + 1):
            spent = await _timed(recording.bare, loops), await _timed(lambda: recording.frames(make), loops)
            if n == 0:  # warms up, and shows how long a run takes
                loops = max(1, min(1_000, round(_LEAST_SECONDS / max(spent[1], 1e-6))))
                continue
            base, adapter = min(base, spent[0]), min(adapter, spent[1])
    return Overhead(
        natives=recording.natives,
        events=len(frames),
        bytes=sum(map(len, frames)),
        t_base=base,
        t_adapter=adapter,
        t_graph=max(recorded - (adapter - base), 1e-6),  # of a graph that did next to nothing, a microsecond
        repeats=repeats + (before.repeats if before else 0),
        faithful=types == recording.events,
    )


async def _timed(stream: Callable[[], AsyncGenerator[Any, None]], loops: int) -> float:
    """CPU seconds to read the stream once, as a mean of `loops` times."""
    began = time.thread_time()
    for _ in range(loops):
        async with aclosing(stream()) as items:
            async for _ in items:
                pass
    return (time.thread_time() - began) / loops


@contextmanager
def _steady() -> Iterator[None]:
    """Keep the recording, and everything else that lives, out of garbage collections: a real run does not have it."""
    gc.collect()
    mine = gc.get_freeze_count() == 0
    if mine:
        gc.freeze()
    try:
        yield
    finally:
        if mine:
            gc.unfreeze()
