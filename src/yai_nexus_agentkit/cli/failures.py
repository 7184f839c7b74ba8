"""Edge. Errors, warnings and log records of a command: each is one line on standard error. For an error in the user's
code the line has its place."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from yai_nexus_agentkit.errors import AGUIAdapterError

__all__ = ["LOG_FORMAT", "PROGRAM", "CommandError", "place", "report", "summary", "warn", "warnings_shown"]

PROGRAM = "yai-nexus-agentkit"
LOG_FORMAT = "%(levelname)s: %(message)s"
"""Warnings of the command line look the same. Log lines of a server have the time and the process in front."""

_OURS = str(Path(__file__).resolve().parent.parent)
_LIBRARIES = tuple(
    str(Path(folder).resolve())
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (folder := sysconfig.get_path(name))
)


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
    where = place(error)
    return f"{named} ({where})" if where else named


def place(error: BaseException) -> str | None:
    """``my_agent.py:12, in build``: the innermost line of the user's own code; without one, of any code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    frames = [frame for frame in frames if not _within(frame.filename, (_OURS,))]
    own = [frame for frame in frames if not _within(frame.filename, _LIBRARIES)]
    if not (own or frames):
        return None
    frame = (own or frames)[-1]
    name = "" if frame.name == "<module>" else f", in {frame.name}"
    return f"{_shown(frame.filename)}:{frame.lineno}{name}"


def _within(filename: str, folders: tuple[str, ...]) -> bool:
    path = os.path.realpath(filename)
    return any(path.startswith(folder + os.sep) for folder in folders)


def _shown(filename: str) -> str:
    relative = os.path.relpath(filename)
    return filename if relative.startswith("..") else relative


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
