"""Edge. The processes of ``serve --workers``. They share one listening socket; one that dies is replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from yai_nexus_agentkit.cli.failures import warn

__all__ = ["Announce", "Serve", "supervise"]

Announce = Callable[[], None]
"""Called by a worker when its agents are loaded."""
Serve = Callable[[socket.socket, Announce | None], int]
"""Serves until the process is interrupted, and returns an exit code. The second argument is None for all but the first
worker. Can be pickled."""

_PAUSE = 1.0
"""Seconds before a worker that died is replaced: one that cannot start must not keep the machine busy."""


def supervise(serve: Serve, number: int, listening: socket.socket) -> int:
    """Run so many workers until this process is interrupted or terminated. Returns the exit code.

    The others start when the first one has loaded its agents, so that a mistake is reported once.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    workers: list[SpawnProcess] = []
    try:
        loaded, announce = multiprocessing.get_context("spawn").Pipe(duplex=False)
        workers.append(_started(serve, listening, announce))
        announce.close()
        try:
            loaded.recv()
        except EOFError:  # it died before
            workers[0].join()
            return workers[0].exitcode or 1
        workers += [_started(serve, listening) for _ in range(number - 1)]
        while True:
            wait([worker.sentinel for worker in workers])
            for place, worker in enumerate(workers):
                if not worker.is_alive():
                    warn(f"worker {worker.pid} ended with {worker.exitcode}; another one takes its place")
                    time.sleep(_PAUSE)
                    workers[place] = _started(serve, listening)
    finally:
        _end(workers)


def _started(serve: Serve, listening: socket.socket, announce: Connection | None = None) -> SpawnProcess:
    worker = multiprocessing.get_context("spawn").Process(target=_work, args=(serve, listening, announce))
    worker.start()
    return worker


def _work(serve: Serve, listening: socket.socket, announce: Connection | None) -> None:
    """The main function of a worker."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    try:
        code = serve(listening, None if announce is None else lambda: announce.send(True))
    except KeyboardInterrupt:
        code = 0
    sys.exit(code)


def _follow_parent() -> None:
    """End this process when its parent is gone, however that died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end(workers: list[SpawnProcess]) -> None:
    """Terminate the workers and wait for them. A second Ctrl-C reaches them, too, and shortens the wait."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        while worker.is_alive():
            with suppress(KeyboardInterrupt):
                worker.join()
