"""Which process wrote a checkpoint. Several that write one thread, each with locks of its own, lose messages."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

__all__ = ["WORKER_KEY", "note_writer", "worker_mark"]

_logger = logging.getLogger(__name__)
WORKER_KEY = "agui_worker"
"""Key in the metadata of a run's checkpoints: the mark of the process, where its locks are its own."""


def worker_mark() -> str:
    """The mark of this process: when it was first asked for, and something random."""
    return _mark(os.getpid())


@functools.cache
def _mark(process: int) -> str:
    return f"{datetime.now(UTC).isoformat()} {uuid4().hex[:12]}"


def note_writer(run: Mapping[str, Any], checkpoint: Mapping[str, Any], written: str) -> None:
    """Warn, once, if another process wrote a checkpoint since this one began. `run`, `checkpoint`: the metadata of the
    run and of the checkpoint that it starts from, which was `written` at this time (ISO 8601)."""
    own, other = run.get(WORKER_KEY), checkpoint.get(WORKER_KEY)
    if own and other and own != other and written > own:
        _warn(own)


@functools.cache
def _warn(own: str) -> None:
    _logger.warning(
        "another process wrote a thread since this one began, and each has locks of its own: two runs of one thread "
        "can overwrite each other. Set ServerSettings.store (serve --run-store), or send the requests of a user to the "
        "same process"
    )
