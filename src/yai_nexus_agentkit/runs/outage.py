"""A failure that repeats, in the log."""

from __future__ import annotations

import logging
import time

__all__ = ["Outage"]

_OVER = 60.0
"""Seconds without a failure after which the next one is a new outage."""


class Outage:
    """Something that is tried again and again. Its first failure is logged with a traceback; then one line says that
    it works again."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        """`what`: what does not work, for the log."""
        self._logger, self._what = logger, what
        self._kind: type[Exception] | None = None
        """Of the last failure; None while it works."""
        self._last = 0.0

    def failed(self, error: Exception) -> None:
        """An attempt failed."""
        now = time.monotonic()
        if type(error) is not self._kind or now - self._last > _OVER:
            self._logger.error("%s; trying again", self._what, exc_info=error)
        self._kind, self._last = type(error), now

    def over(self) -> None:
        """An attempt did not fail."""
        if self._kind is not None:
            self._kind = None
            self._logger.warning("it works again, after: %s", self._what)
