"""CPU time as evidence. Whatever else the machine does adds to a figure, so the least of several counts."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator
from contextlib import contextmanager
from statistics import median

Timed = Callable[[int], Awaitable[float]]
"""Does a piece of work in the round with this number, and returns the CPU seconds that it took."""


@contextmanager
def quiet_heap() -> Iterator[None]:
    """The garbage collector rests: a full collection of what thousands of tests left takes half a second, and hits
    whatever is being timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def drained(events: AsyncIterable[object]) -> float:
    """CPU seconds that it takes to read all of `events`."""
    with quiet_heap():
        began = time.process_time()
        async for _ in events:
            pass
        return time.process_time() - began


async def cost_ratio(ours: Timed, base: Timed, *, most: float, rounds: int = 1, tries: int = 3) -> float:
    """How often `ours` costs what `base` costs. Both are done in turns, `rounds` times; one lucky round of `base` says
    nothing, so the smaller of two ratios counts: of the least figures, and of the medians. While it is above `most`,
    it is measured again, up to `tries` times in all."""
    ratios: list[float] = []
    while len(ratios) < tries and not (ratios and ratios[-1] <= most):
        first = len(ratios) * rounds
        took = [(await ours(number), await base(number)) for number in range(first, first + rounds)]
        ratios.append(
            min(middle([mine for mine, _ in took]) / middle([their for _, their in took]) for middle in (min, median))
        )
    return min(ratios)
