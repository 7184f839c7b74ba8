"""Edge. The event loop of a command that a person may interrupt."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from yai_nexus_agentkit.cli.failures import CommandError, summary

__all__ = ["run_interruptible"]

T = TypeVar("T")
_PATIENCE = 1.0
"""Seconds in which code that does not await gets to end after Ctrl-C."""


def run_interruptible(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, where Ctrl-C is heard at once. Raises `KeyboardInterrupt` after the end of `main`, and
    `CommandError` if the agent ends the program."""
    try:
        return asyncio.run(_woken(main))
    except SystemExit as error:
        raise CommandError(f"the agent ended the program: {summary(error)}") from error


async def _woken(main: Coroutine[Any, Any, T]) -> T:
    with _signals_wake(asyncio.get_running_loop()), _ctrl_c_insists(asyncio.get_running_loop()):
        return await main


@contextlib.contextmanager
def _ctrl_c_insists(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """The first Ctrl-C asks the loop to end `main`, and the second one raises `KeyboardInterrupt`. Code that keeps the
    loop waiting, such as a long import, hears only that: it gets the second one after a second."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or sys.platform == "win32":
        yield
        return

    def insist(heard: threading.Event) -> None:
        if not heard.wait(_PATIENCE):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def handle(number: int, frame: FrameType | None) -> None:
        heard = threading.Event()
        loop.call_soon_threadsafe(heard.set)
        threading.Thread(target=insist, args=(heard,), daemon=True).start()
        before(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
