"""Edge. ADK logs an exception of a run by itself, and does it again at the root. The run is reported with its exception
anyway: what ADK logged of that one is dropped, everything else it logs stays."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["logged_once"]

_LOGGERS = (
    "google_adk.google.adk.live._live_llm_flow",
    "google_adk.google.adk.runners",
    "google_adk.google.adk.workflow._node_runner",
)
_held: ContextVar[list[logging.LogRecord] | None] = ContextVar("agentkit_held", default=None)
"""Exceptions that ADK logged in this run."""


def _hold(record: logging.LogRecord) -> bool:
    """Whether the record is logged at once: it is not an exception, or not of a run of ours."""
    held = _held.get()
    if held is None or not record.exc_info:
        return True
    held.append(record)
    return False


for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(_hold)


@contextmanager
def logged_once() -> Iterator[None]:
    """The block runs an agent, and who runs the block logs what it raises."""
    held: list[logging.LogRecord] = []
    token = _held.set(held)
    raised: BaseException | None = None
    try:
        yield
    except BaseException as error:
        raised = error
        raise
    finally:
        _held.reset(token)
        known = set(map(id, _chain(raised)))
        for record in held:
            if record.exc_info and id(record.exc_info[1]) not in known:
                logging.getLogger(record.name).handle(record)


def _chain(error: BaseException | None) -> list[BaseException]:
    """An exception, and those that led to it."""
    found: list[BaseException] = []
    todo = [error]
    while todo:
        one = todo.pop()
        if one is not None and one not in found:
            found.append(one)
            todo += [one.__cause__, one.__context__]
    return found
