"""Edge. The package's log while a command runs, as single lines on standard error."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

from yai_nexus_agentkit.cli.failures import place
from yai_nexus_agentkit.errors import AGUIAdapterError

__all__ = ["warnings_shown"]


class _OneLine(logging.Handler):
    """The place of an exception, since ``RUN_ERROR`` has its text; of any other record the text."""

    def __init__(self, level: int, *, tracebacks: bool) -> None:
        super().__init__(logging.DEBUG if tracebacks else level)
        self._tracebacks = tracebacks

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        text = self.format(record) if self._tracebacks or error is None else _location(error)
        sys.stderr.write(f"{text}\n")


def _location(error: BaseException) -> str:
    if isinstance(error, AGUIAdapterError) and error.__cause__ is not None:
        error = error.__cause__  # what a hook raised
    return f"{type(error).__name__} at {place(error) or 'an unknown place'}; use --traceback for the full traceback"


@contextlib.contextmanager
def warnings_shown(*, tracebacks: bool, level: int = logging.WARNING) -> Iterator[None]:
    """Show log records from `level` on; with `tracebacks` all of them, in full."""
    logger = logging.getLogger("yai_nexus_agentkit")
    handler = _OneLine(level, tracebacks=tracebacks)
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
