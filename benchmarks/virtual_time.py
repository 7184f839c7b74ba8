"""Driver. An event loop whose clock is its own: a turn of the loop takes two milliseconds, however much is done in it,
or until the next timer.

What waits for a timer behaves the same however slow the machine is, so that instructions can be counted.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")

_TURN = 0.002
"""Seconds: about what a turn takes in which each of a hundred runs gets a token."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` on such a loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


class _Selector(selectors.DefaultSelector):
    now = 0.0
    """Seconds."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += max(timeout or 0.0, _TURN)
        return super().select(0 if timeout is not None else None)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now
