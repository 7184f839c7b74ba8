"""Timing without the collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
