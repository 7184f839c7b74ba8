"""Edge. Errors, warnings and log records of a command: each is one line on standard error. For an error in the user's
code the line has its place."""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from collections.abc import Iterator

from yai_nexus_agentkit.adapter.error_places import raised_at
from yai_nexus_agentkit.errors import AGUIAdapterError

__all__ = ["LOG_FORMAT", "PROGRAM", "CommandError", "report", "summary", "warn", "warnings_shown"]

PROGRAM = "yai-nexus-agentkit"
LOG_FORMAT = "%(levelname)s: %(message)s"
"""Warnings of the command line look the same. Log lines of a server have the time and the process in front."""


class CommandError(Exception):
    """A command cannot do its work. The text is one line for the user; the cause is chained."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def report(error: CommandError, *, tracebacks: bool, more: str = "") -> None:
    """Write an error; with `tracebacks` also the traceback of its cause."""
    if tracebacks:
        traceback.print_exception(error.__cause__ or error)
    sys.stderr.write(f"{PROGRAM}: {error}{more}\n")


def warn(message: str) -> None:
    """Write a warning to standard error."""
    sys.stderr.write(f"WARNING: {message}\n")


def summary(error: BaseException) -> str:
    """``ValueError: no key (my_agent.py:12, in build)``, in one line."""
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    where = raised_at(error)
    return f"{named} ({where})" if where else named


# ---------------------------------------------------------------- the log


class _OneLine(logging.Handler):
    """The place of an exception, since ``RUN_ERROR`` has its text; of any other record the text."""

    def __init__(self, level: int, *, tracebacks: bool) -> None:
        super().__init__(logging.DEBUG if tracebacks else level)
        self.setFormatter(logging.Formatter(LOG_FORMAT))
        self._tracebacks = tracebacks

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        brief = None if self._tracebacks else error
        text = self.format(record) if brief is None else f"{record.levelname}: {_location(brief)}"
        sys.stderr.write(f"{text}\n")


def _location(error: BaseException) -> str:
    if isinstance(error, AGUIAdapterError) and error.__cause__ is not None:
        error = error.__cause__  # what a hook raised
    return f"{type(error).__name__} at {raised_at(error) or 'an unknown place'}; use --traceback for the full traceback"


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
