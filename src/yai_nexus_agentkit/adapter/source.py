"""The seam between the adapter and an agent framework: who streams, and who translates.

A `Source` knows how to start a run of its framework and what its native events mean. It does not know HTTP, wire
formats, hooks or time limits; `AGUIAdapter` drives it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from yai_nexus_agentkit.adapter.run_context import RunContext

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent

__all__ = ["Source", "SourceRun", "Translator"]

_logger = logging.getLogger(__name__)


class Translator(Protocol):
    """Native events in, AG-UI events out. A state machine without I/O; one per run."""

    def start(self) -> list[BaseEvent]:
        """``RUN_STARTED`` and what the client must know before the run begins. The driver has sent its own
        ``RUN_STARTED`` by then, and leaves this one out."""

    def feed(self, native: Any, /) -> list[BaseEvent]:
        """The events that tell one native event; none for most kinds. Raises `EventTranslationError` if it cannot be
        told.

        Nobody may change an event that was returned. Only with `RunContext.reuse_events` it may be returned again, with
        another delta and alone.
        """

    def finish(self) -> list[BaseEvent]:
        """The native stream ended by itself: close what is open, and end the run."""

    def fail(self, message: str, code: str, /) -> list[BaseEvent]:
        """The run failed: close what is open, and end it with ``RUN_ERROR``."""

    def cancel(self, message: str, /) -> list[BaseEvent]:
        """The run was stopped on purpose: close what is open, and end it as cancelled."""


class SourceRun(Protocol):
    """One prepared run."""

    @property
    def translator(self) -> Translator: ...

    def oldest_tool(self) -> float | None:
        """When the longest running tool of the agent began (``time.monotonic``); None if none runs."""

    def events(self) -> AsyncGenerator[Any, None]:
        """The native events, in order. Closing the generator cancels the agent and leaves no task behind."""


@runtime_checkable
class Source(Protocol):
    """An agent framework's native stream. One object serves any number of concurrent runs."""

    async def prepare(self, run: RunContext, /) -> SourceRun:
        """Read what the thread holds and decide what this request means. Raises `RunInputError` or `ResumeError`;
        nothing ran then."""
