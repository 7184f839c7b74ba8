"""Edge. Errors and warnings of the command line, each in one line; of an error in the user's code also its place."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path

__all__ = ["PROGRAM", "CommandError", "place", "summary", "warn"]

PROGRAM = "yai-nexus-agentkit"

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


def warn(message: str) -> None:
    """Write a warning to standard error."""
    sys.stderr.write(f"{PROGRAM}: warning: {message}\n")


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
