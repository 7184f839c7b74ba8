"""Driver. The command line as a program of its own, in a real terminal with a keyboard."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["Screen", "command", "in_a_terminal"]


def command(*args: str) -> list[str]:
    """The command line, for `subprocess`."""
    return [sys.executable, "-c", "from yai_nexus_agentkit.cli import main; raise SystemExit(main())", *args]


class Screen:
    """A terminal's output, and its keyboard."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.shown = ""

    def wait_for(self, text: str, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self._descriptor], [], [], max(0, until - time.monotonic()))
            assert ready, f"waited for {text!r}, saw {self.shown!r}"
            self.shown += os.read(self._descriptor, 65536).decode().replace("\r\n", "\n")

    def wait_for_end(self) -> None:
        """Read until the program has closed the terminal."""
        with suppress(OSError):  # EIO: nobody writes any more
            while piece := os.read(self._descriptor, 65536):
                self.shown += piece.decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        self.shown = ""
        os.write(self._descriptor, text.encode())


@contextmanager
def in_a_terminal(
    folder: Path, *args: str, columns: int = 100, **environment: str
) -> Iterator[tuple[Screen, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": str(columns), "PYTHONFAULTHANDLER": "1", **environment}
    process = subprocess.Popen(command(*args), cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    screen = Screen(ours)
    try:
        yield screen, process
    except AssertionError:
        process.send_signal(signal.SIGABRT)
        screen.wait_for_end()
        print(screen.shown)  # with the stack of each thread
        raise
    finally:
        process.kill()
        process.wait()
        os.close(ours)
