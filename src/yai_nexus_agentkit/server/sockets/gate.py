"""Edge. Between a run and one connection's view of it: questions pass to the connections that are asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from ag_ui.core import BaseEvent, CustomEvent

from yai_nexus_agentkit.errors import AGUIAdapterError
from yai_nexus_agentkit.runs.routing import ASKED, elsewhere, is_question
from yai_nexus_agentkit.server.view import View

__all__ = ["Gate"]

_logger = logging.getLogger(__name__)
_KNOWN_WITHIN = 5.0
"""Seconds that the board may take to say who is asked."""


class Gate:
    """A viewer that holds the end of a run with questions back until it is known who is asked."""

    def __init__(
        self, view: View, asked: Callable[[], Awaitable[tuple[bool, str]]], *, shown: bool, apart: bool
    ) -> None:
        """`asked`: whether this connection is asked, else the device that is. `shown`: others see what is asked.
        `apart`: questions may be events of their own, before the terminal one."""
        self._view, self._asked, self._shown = view, asked, shown
        if not apart:
            self.put = view.put  # type: ignore[method-assign]  # no step more for every token
        self._held: list[BaseEvent] = []
        """Questions that are events of their own, and the terminal event."""
        self._deciding: asyncio.Task[None] | None = None

    def put(self, event: BaseEvent) -> None:
        """Take an event. Raises `EncodingError`."""
        if type(event) is CustomEvent and event.name == ASKED:
            self._held.append(event)
        else:
            self._view.put(event)

    def end(self, event: BaseEvent) -> None:
        """Take the terminal event. Raises `EncodingError`."""
        if self._held or is_question(event):
            self._held.append(event)
        else:
            self._view.end(event)

    def complete(self) -> None:
        """Nothing follows."""
        if self._held and self._deciding is None:
            self._deciding = asyncio.get_running_loop().create_task(self._decide(), name="agui-gate")
        elif not self._held:
            self._view.complete()

    def lose(self, closing: Sequence[BaseEvent], error: AGUIAdapterError) -> None:
        """This view ends with an error."""
        self._view.lose(closing, error)

    def drop(self) -> None:
        """Break the connection."""
        self._view.drop()

    async def _decide(self) -> None:
        try:
            async with asyncio.timeout(_KNOWN_WITHIN):
                here, device = await self._asked()
            shown = self._held if here else elsewhere(self._held[-1], device, shown=self._shown)
            for event in shown[:-1]:
                self._view.put(event)
            self._view.end(shown[-1])
        except AGUIAdapterError as error:  # it cannot be encoded
            self._view.lose((), error)
        except Exception:
            _logger.exception("it could not be decided which connection is asked")
            self._view.drop()
        self._view.complete()
