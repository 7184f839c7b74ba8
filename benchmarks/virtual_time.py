"""Driver. An event loop whose clock is its own: it stands still while code runs, and jumps to the next timer.

What waits for a timer behaves the same however slow the machine is, so that instructions can be counted.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` on such a loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


class _Selector(selectors.DefaultSelector):
    waited = 0.0
    """Seconds that the loop would have waited so far."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.waited += timeout or 0.0
        return super().select(0 if timeout is not None else None)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.waited
