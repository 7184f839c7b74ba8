"""Driver. Measures contenders on a case: interleaved, in one process, CPU time and wall time, events, bytes, memory.

CPU time decides. A busy machine stretches wall time by whatever else runs on it; CPU time only suffers from shared
caches. The loops here never wait for anything, so that both are the same on a machine that has nothing else to do.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.contenders import BARE, Contender, Stream
from benchmarks.registry import AgentCase, FunctionCase, Scene, Turn

__all__ = ["Figures", "Result", "Sample", "measure", "measure_function", "run_scene"]


_LEAST_ROUNDS = 3


@dataclass(slots=True)
class Sample:
    """One run of one scene by one contender."""

    cpu: float
    """Seconds, threads included."""
    wall: float
    events: int
    """Native events of the bare loop, AG-UI events of all others."""
    size: int
    """Bytes on the wire; 0 for the bare loop."""
    copies: int | None
    """How often the scene's marker is on the wire."""


@dataclass(slots=True)
class Figures:
    """A contender's samples of a case."""

    name: str
    samples: list[Sample] = field(default_factory=list)
    peak: int = 0
    """Peak of traced memory, bytes, of a run of its own."""

    @property
    def least(self) -> float:
        """CPU seconds of the fastest run: what the code costs when nobody disturbs it."""
        return min(sample.cpu for sample in self.samples)

    @property
    def median(self) -> float:
        """CPU seconds of the middle run."""
        return statistics.median(sample.cpu for sample in self.samples)


@dataclass(slots=True)
class Result:
    """A case, measured. The first of the figures are the base of all ratios."""

    name: str
    title: str
    figures: list[Figures]

    @property
    def base(self) -> Figures:
        """The bare loop's, or the reference's."""
        return self.figures[0]

    def ratio(self, figures: Figures) -> float:
        """Least CPU time as a multiple of the base's."""
        return figures.least / self.base.least

    def ratio_of_medians(self, figures: Figures) -> float:
        """Median CPU time as a multiple of the base's."""
        return figures.median / self.base.median

    def microseconds(self, figures: Figures) -> float:
        """Cost of a native event beyond the base: (T - T_base) / N."""
        return (figures.least - self.base.least) / self.base.samples[0].events * 1e6


def measure(
    case: AgentCase,
    contenders: Sequence[Contender],
    *,
    repeats: int,
    seconds: float = float("inf"),
    size: int | None = None,
    memory: bool = True,
) -> Result:
    """Every contender, `repeats` times in turn, after one round that warms up caches and is dropped.

    `seconds`: no new round begins after this time, but there are three at least.
    """
    taking_part = (BARE, *(one for one in contenders if one is not BARE))
    result = Result(case.name, case.title, [Figures(one.name) for one in taking_part])
    pairs = list(zip(taking_part, result.figures, strict=True))
    until = time.monotonic() + seconds
    for round_ in range(repeats + 1):
        if round_ > _LEAST_ROUNDS and time.monotonic() > until:
            break
        for contender, figures in pairs if round_ % 2 else pairs[::-1]:
            sample = asyncio.run(run_scene(contender, case.scene(size)))
            if round_ > 0:
                figures.samples.append(sample)
    if memory:
        for contender, figures in zip(taking_part, result.figures, strict=True):
            figures.peak = asyncio.run(_peak(contender, case.scene(size)))
    return result


def measure_function(case: FunctionCase, *, repeats: int) -> Result:
    """The function of ours and its reference, in turn."""
    pair = case.make()
    result = Result(case.name, case.title, [Figures("reference"), Figures("adapter")])
    for _ in range(repeats):
        for figures, function in zip(result.figures, (pair.reference, pair.ours), strict=True):
            gc.collect()
            cpu, wall = time.process_time(), time.perf_counter()
            function()
            figures.samples.append(Sample(time.process_time() - cpu, time.perf_counter() - wall, 1, 0, None))
    for figures, function in zip(result.figures, (pair.reference, pair.ours), strict=True):
        gc.collect()
        tracemalloc.start()
        function()
        figures.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return result


_ENDS = (b'"RUN_FINISHED"', b'"type":"finish"')
"""Marks of a whole run, on AG-UI's wire and on the AI SDK's."""


async def run_scene(contender: Contender, scene: Scene) -> Sample:
    """All turns of a scene at once, timed. Cyclic garbage of earlier runs, and a client's work, are not part of it."""
    stream = _ready(contender, scene)
    cpu, wall = time.process_time(), time.perf_counter()
    if len(scene.turns) == 1:
        outputs = [await _read(stream, scene.turns[0])]
    else:
        outputs = await asyncio.gather(*(_read(stream, turn) for turn in scene.turns))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if contender is BARE:
        return Sample(cpu, wall, sum(map(len, outputs)), 0, None)
    return _counted(cpu, wall, [b"".join(output) for output in outputs], scene.marker)


def _ready(contender: Contender, scene: Scene) -> Stream:
    assert all(turn.body for turn in scene.turns)  # clients write these, not the server
    stream = contender.open(scene.graph)
    gc.collect()
    return stream


async def _read(stream: Stream, turn: Turn) -> list[bytes]:
    """The items of a turn. Native events are counted and dropped, as the adapter drops them."""
    return [item if isinstance(item, bytes) else b"" async for item in stream(turn)]


def _counted(cpu: float, wall: float, bodies: list[bytes], marker: str | None) -> Sample:
    for body in bodies:
        if not any(end in body[-4_000:] or end in body for end in _ENDS):
            raise RuntimeError(f"a run did not finish: {body[-300:]!r}")
    events = sum(body.count(b"\n\n") for body in bodies)
    copies = None if marker is None else sum(body.count(marker.encode()) for body in bodies)
    return Sample(cpu, wall, events, sum(map(len, bodies)), copies)


async def _peak(contender: Contender, scene: Scene) -> int:
    stream = _ready(contender, scene)
    tracemalloc.start()
    try:
        await asyncio.gather(*(_drop(stream, turn) for turn in scene.turns))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def _drop(stream: Stream, turn: Turn) -> None:
    async for _ in stream(turn):
        pass
