"""Pure. What goes wrong in a user's code, in one line: which error, and at which line of which file."""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path

__all__ = ["CommandError", "place", "summary"]

_OURS = str(Path(__file__).resolve().parent.parent)
_LIBRARIES = tuple(
    str(Path(folder).resolve())
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (folder := sysconfig.get_path(name))
)


class CommandError(Exception):
    """A command cannot do what it was asked to. The text is one line for the user; a cause is chained."""

    def __init__(self, message: str, *, exit_code: int = 2) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code


def summary(error: BaseException) -> str:
    """``ValueError: no key (my_agent.py:12, in build)``, in one line."""
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    where = place(error)
    return f"{named} ({where})" if where else named


def place(error: BaseException) -> str | None:
    """``my_agent.py:12, in build``: the innermost line of the user's own code, or, if none is involved, of any code."""
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
