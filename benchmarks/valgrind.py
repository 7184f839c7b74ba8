"""Edge. Counts the instructions of a block of Python code in a process that runs under ``valgrind --tool=callgrind``.

The process switches callgrind on and off through ``vgdb``, valgrind's own remote control: only the block is counted,
and everything else (imports, recording) keeps a tolerable speed. The few instructions of the switching itself are the
same for every block, so that they cancel out in differences.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

__all__ = ["counted", "counts"]

_QUIET = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
_LEAST_WAIT = "--max-invoke-ms=1"
"""How long vgdb waits before it interrupts the process, which itself waits for vgdb."""


@contextmanager
def counted(label: str) -> Iterator[None]:
    """Count what the block executes; `counts` finds it under the label. Cyclic garbage is left alone meanwhile."""
    gc.collect()
    gc.disable()
    _control("instrumentation", "on")
    try:
        yield
    finally:
        _control("instrumentation", "off")
        _control("dump", label)  # Counts begin at zero again.
        gc.enable()


def counts(folder: Path) -> dict[str, int]:
    """Instructions by label, from the files that callgrind wrote into this folder. Of one label the least."""
    found: dict[str, int] = {}
    for file in folder.iterdir():
        text = file.read_text(errors="replace")
        label = re.search(r"^desc: Trigger: dump (.+)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
        if label and total:
            found[label[1]] = min(found.get(label[1], int(total[1])), int(total[1]))
    return found


def _control(*command: str) -> None:
    """Send a command to the valgrind that this process runs under."""
    program = which("vgdb")
    if program is None:
        raise RuntimeError("valgrind's remote control vgdb is not installed")
    arguments = [program, f"--pid={os.getpid()}", _LEAST_WAIT, *command]
    _, status = os.waitpid(os.posix_spawn(program, arguments, os.environ, file_actions=_QUIET), 0)
    if status:
        raise RuntimeError(
            f"vgdb {' '.join(command)} failed: is ptrace allowed here, and does valgrind run this process?"
        )
