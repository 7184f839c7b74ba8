"""Edge. The terminal: its width and colours, writing to it, and reading lines that a person types."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import textwrap

from yai_nexus_agentkit.cli.failures import CommandError, warn

__all__ = ["Terminal", "discard_output"]

_LINE = 4096
"""Bytes of the longest line that a terminal gives: it drops what is typed or pasted beyond."""


def discard_output() -> None:
    """Nothing can be written any more. Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminal:
    """Standard output, and the person at the keyboard."""

    def __init__(self) -> None:
        self._out = sys.stdout
        # A character that the terminal cannot show must not end a run.
        if hasattr(self._out, "reconfigure"):
            self._out.reconfigure(errors="replace")

    @property
    def colour(self) -> bool:
        """Use colours: by NO_COLOR and FORCE_COLOR; without them, in a terminal."""
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (self._out.isatty() and os.environ.get("TERM") != "dumb")

    @property
    def width(self) -> int:
        """Columns."""
        return shutil.get_terminal_size((100, 24)).columns

    @property
    def interactive(self) -> bool:
        """A person reads and can type."""
        return sys.stdin.isatty() and self._out.isatty()

    def wrapped(self, line: str) -> str:
        """The line with its line break. In a terminal it is wrapped between words."""
        indent = " " * (len(line) - len(line.lstrip()))
        lines = [line]
        if self._out.isatty():
            lines = textwrap.wrap(
                line, self.width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False
            )
        return "\n".join(lines) + "\n"

    def write(self, text: str) -> None:
        """Write and flush. Raises `CommandError` if the disk is full, for example."""
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output()
            raise CommandError(f"the output cannot be written: {error.strerror or error}") from error

    async def ask(self, prompt: str) -> str | None:
        """The next typed line that is not empty, without spaces around it; None at the end of the input."""
        while True:
            self.write(prompt)
            typed = sys.stdin.isatty()
            line = await self._typed() if typed else sys.stdin.readline()
            if not line:
                self.write("\n")
                return None
            if not typed:  # a terminal shows what is typed
                self.write(line if line.endswith("\n") else f"{line}\n")
            if line.strip():
                return line.strip()

    async def _typed(self) -> str:
        line = await _line_of_bytes()
        if len(line) >= _LINE:
            warn(f"a terminal takes {_LINE - 1:,} bytes in a line; the rest was dropped. Pipe longer messages in.")
        return line.decode(sys.stdin.encoding or "utf-8", "replace")


async def _line_of_bytes() -> bytes:
    """One line from the terminal. The event loop keeps running, so that the graph's connections live, and Ctrl-C ends
    the wait, which it does not for a thread that reads."""
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except NotImplementedError:  # Windows: its event loop cannot watch a terminal.
        return sys.stdin.readline().encode()
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _LINE)
