"""Edge. Where an exception was raised, as a person looks for it: the line of the user's code, not that of a library."""

from __future__ import annotations

import os
import sysconfig
import traceback
from functools import cache
from pathlib import Path

__all__ = ["raised_at"]


def raised_at(error: BaseException) -> str | None:
    """``my_agent.py:12, in build``: the innermost line of the user's own code; without one, of any code but ours."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}:{error.lineno}"
    ours, libraries = _folders()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    frames = [frame for frame in frames if not _within(frame.filename, ours)]
    own = [frame for frame in frames if not _within(frame.filename, libraries)]
    if not (own or frames):
        return None
    frame = (own or frames)[-1]
    name = "" if frame.name == "<module>" else f", in {frame.name}"
    return f"{_shown(frame.filename)}:{frame.lineno}{name}"


@cache
def _folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of this package, and of Python and the installed packages."""
    found = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    libraries = tuple(str(Path(folder).resolve()) for folder in found if folder)
    return (str(Path(__file__).resolve().parent.parent),), libraries


def _within(filename: str, folders: tuple[str, ...]) -> bool:
    path = os.path.realpath(filename)
    return any(path.startswith(folder + os.sep) for folder in folders)


def _shown(filename: str) -> str:
    try:
        relative = os.path.relpath(filename)
    except (OSError, ValueError):  # on another drive, or the working directory is gone
        return filename
    return filename if relative.startswith("..") else relative
