"""Edge. The event loop of a command that a person may interrupt."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

__all__ = ["run_interruptible"]

T = TypeVar("T")


def run_interruptible(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, where Ctrl-C is heard at once. Raises `KeyboardInterrupt` after the end of `main`."""
    return asyncio.run(_woken(main))


async def _woken(main: Coroutine[Any, Any, T]) -> T:
    with _signals_wake(asyncio.get_running_loop()):
        return await main


@contextlib.contextmanager
def _signals_wake(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Each signal ends the loop's wait for events. Python calls a handler between two instructions of the main thread,
    and a signal that comes just before that thread begins to wait, or in another thread, does not end the wait."""
    if sys.platform == "win32":  # its loop does that by itself
        yield
        return
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        loop.add_reader(reader, reader.recv, 4096)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reader)
