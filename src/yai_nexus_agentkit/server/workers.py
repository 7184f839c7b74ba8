"""Edge. Notices that several workers were asked for."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

__all__ = ["warn_of_memory", "warn_of_workers", "workers_asked_for"]

_logger = logging.getLogger(__name__)
_FLAGS = ("--workers", "-w")
"""Of uvicorn, gunicorn, hypercorn, granian and FastAPI's command."""


def workers_asked_for(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """How many workers the command line of this process asks for, or ``WEB_CONCURRENCY``; 1 if nothing says so."""
    asked = [environment.get("WEB_CONCURRENCY", "")]
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, equals, value = argument.partition("=")
        if flag in _FLAGS:
            asked.append(value if equals else following)
        elif argument.startswith("-w") and argument[2:].isdecimal():
            asked.append(argument[2:])
    return max((int(text) for text in asked if text.isdecimal()), default=1)


def warn_of_workers(number: int) -> None:
    """Warn of workers that share no locks, if there are several."""
    if number > 1:
        _logger.warning(
            "%d workers, and each has locks of its own: two runs of one thread can overwrite each other. Set "
            "ServerSettings.store (serve --run-store), or send the requests of a user to the same worker",
            number,
        )


def warn_of_memory(agent: str) -> None:
    """Warn of an agent whose threads are in memory, on a server that shares a store with others."""
    _logger.warning(
        "agent %r has its threads in the memory of this process, but the store is shared by workers: other workers do "
        "not find them, nor does this one after a restart. Give it a checkpointer that workers share",
        agent,
    )
