"""Edge. Responses that are cut off on purpose, and what uvicorn says of them.

A client must see that a view broke while its run goes on, so the response is left incomplete: one that ended properly
would look like a whole answer. ASGI has no other way to say so, and uvicorn takes it for a fault of the application.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar

__all__ = ["cut_on_purpose"]

_logger = logging.getLogger(__name__)
_cut: ContextVar[bool] = ContextVar("agui_cut", default=False)
"""Set in the task of a request, in which uvicorn logs the end of its response."""


def cut_on_purpose() -> None:
    """The response of this request is left incomplete. Keeps uvicorn from calling that an error."""
    _cut.set(True)
    logging.getLogger("uvicorn.error").addFilter(_is_news)  # one filter, however often it is added
    _logger.debug("a response was left incomplete: its client has left, or its view broke")


def _is_news(record: logging.LogRecord) -> bool:
    return not (_cut.get() and record.getMessage().startswith("ASGI callable returned without completing response"))
