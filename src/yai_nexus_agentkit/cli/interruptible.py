"""Edge. The event loop of a command that a person may interrupt."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from yai_nexus_agentkit.cli.failures import CommandError, summary

__all__ = ["ctrl_c_heard", "run_interruptible"]

T = TypeVar("T")
_PATIENCE = 1.0
"""Seconds in which code that does not await gets to end after Ctrl-C."""


def run_interruptible(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, where Ctrl-C is heard. Raises `KeyboardInterrupt` after the end of `main`, and `CommandError` if
    the agent ends the program."""
    try:
        return asyncio.run(_heard(main))
    except SystemExit as error:
        raise CommandError(f"the agent ended the program: {summary(error)}") from error


async def _heard(main: Coroutine[Any, Any, T]) -> T:
    with ctrl_c_heard():
        return await main


@contextlib.contextmanager
def ctrl_c_heard() -> Iterator[None]:
    """Ctrl-C ends the running task at once, or after a second if something keeps the loop waiting.

    Python calls a handler between two instructions of the main thread. A signal that comes just before that thread
    begins to wait, or in another thread, does not end the wait; and asyncio's handler asks the loop to cancel its main
    task, which code that does not await, such as a long import, does not hear. So a thread watches: each signal wakes
    the loop, and SIGINT is repeated until the loop goes on. The second one raises `KeyboardInterrupt`.
    """
    if sys.platform == "win32":  # its loop is woken by itself
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    given = (reader, asyncio.get_running_loop(), signal.getsignal(signal.SIGINT))
    threading.Thread(target=_watch, args=given, daemon=True).start()
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()  # the thread ends


def _watch(reader: socket.socket, loop: asyncio.AbstractEventLoop, handler: Any) -> None:
    """`handler`: of SIGINT. It is repeated for this one only: in a chat, another one stops the answer."""
    with reader, contextlib.suppress(RuntimeError):  # the loop is closed
        while numbers := reader.recv(4096):
            heard = threading.Event()
            loop.call_soon_threadsafe(heard.set)
            while not heard.wait(_PATIENCE) and not loop.is_closed():
                if signal.SIGINT in numbers and signal.getsignal(signal.SIGINT) is handler:
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
