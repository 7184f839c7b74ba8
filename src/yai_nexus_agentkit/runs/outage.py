"""Failures that repeat, and connections that are lost, in the log."""

from __future__ import annotations

import asyncio
import logging
import time

from yai_nexus_agentkit.errors import own_text

__all__ = ["Outage", "log_failure"]

_OVER = 60.0
"""Seconds without a failure after which the next one is a new outage."""
_SETTLED = 5.0
"""Seconds after which an attempt that did not fail works, where success shows no sign."""
_AWAY = frozenset({"ConnectionError", "TimeoutError", "OperationalError", "OSError", "ReadOnlySqlTransaction"})
"""Names of exceptions that mean a lost connection, or one to a server that does not serve. Each store's client has its
own."""


def _is_away(error: Exception) -> bool:
    return any(kind.__name__ in _AWAY for kind in type(error).__mro__)


def log_failure(logger: logging.Logger, text: str, error: Exception) -> None:
    """Log an error: with its traceback, or in one line if a connection was lost."""
    if _is_away(error):
        logger.error("%s: %s", text, own_text(error))
    else:
        logger.error("%s", text, exc_info=error)


class Outage:
    """Something that is tried again and again. Its first failure is logged; then one line says that it works again."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        """`what`: what does not work, for the log."""
        self._logger, self._what = logger, what
        self._kind: object = None
        """Of the last failure; None while it works."""
        self._last = 0.0
        self._settling: asyncio.TimerHandle | None = None

    def trying(self) -> None:
        """An attempt begins that gives no sign while it works, such as waiting for news."""
        if self._kind is not None:
            self._settling = asyncio.get_running_loop().call_later(_SETTLED, self.over)

    def failed(self, error: Exception) -> None:
        """An attempt failed."""
        self._settle()
        now, kind = time.monotonic(), "away" if _is_away(error) else type(error)
        if kind != self._kind or now - self._last > _OVER:
            log_failure(self._logger, f"{self._what}, trying again", error)
        self._kind, self._last = kind, now

    def over(self) -> None:
        """An attempt did not fail."""
        if self._kind is not None:
            self._kind = None
            self._settle()
            self._logger.warning("it works again, after: %s", self._what)

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
