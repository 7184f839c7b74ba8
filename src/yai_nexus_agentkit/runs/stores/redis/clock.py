"""The clock of Redis, which all workers share: their own may differ."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NOW", "seconds"]

NOW = "local t = redis.call('TIME') local now = t[1] .. string.format('.%06d', t[2])\n"
"""The beginning of a script that needs the time: `now` is text, to the microsecond."""


def seconds(time: Sequence[int]) -> float:
    """The answer to ``TIME`` as seconds since the epoch."""
    whole, micros = time
    return whole + micros / 1_000_000
