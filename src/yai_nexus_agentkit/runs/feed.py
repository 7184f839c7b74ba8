"""The events of one run on their way to any number of viewers, and what later viewers need of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from ag_ui.core import BaseEvent, MessagesSnapshotEvent, ReasoningMessage, RunAgentInput

from yai_nexus_agentkit.errors import AGUIAdapterError, EncodingError
from yai_nexus_agentkit.protocol.events import TERMINAL
from yai_nexus_agentkit.protocol.replay import Replay, Shown

__all__ = ["Feed", "Viewer"]

_logger = logging.getLogger(__name__)


class Viewer(Protocol):
    """Somebody who watches a run: one response, or one conversation on a web socket. No method waits."""

    def put(self, event: BaseEvent) -> None:
        """Take an event. Raises `EncodingError`."""

    def end(self, event: BaseEvent) -> None:
        """Take the terminal event, and show it when `complete` is called. Raises `EncodingError`."""

    def complete(self) -> None:
        """Nothing follows."""

    def lose(self, closing: Sequence[BaseEvent], error: AGUIAdapterError) -> None:
        """This view ends with an error, after the events that close what is open. The run goes on."""

    def drop(self) -> None:
        """Break the connection, so that the client reconnects to another worker."""


class Feed:
    """The events of one run. `emptied` is called when the last viewer left before the end."""

    def __init__(self, run_input: RunAgentInput, emptied: Callable[[], None], *, most: int) -> None:
        """`most`: bytes of memory that may be kept for later viewers."""
        self._emptied, self._most = emptied, most
        self._replay: Replay | None = Replay(run_input)
        """None when it became too large."""
        self._viewers: list[Viewer] = []
        self._starter: Viewer | None = None
        """Its encoder decides which events the run can send at all."""
        self._torn: str | None = None
        """The id of a thought that an earlier try of the run sent."""
        self.recorded: Callable[[BaseEvent], None] | None = None
        """Writes the events to the run's log; nobody waits for it."""
        self.terminal: BaseEvent | None = None
        self._complete = False

    @property
    def viewers(self) -> int:
        """How many watch now."""
        return len(self._viewers)

    @property
    def joinable(self) -> bool:
        """`join` works: the events from the first one on are there."""
        return self._replay is not None

    def begin(self, viewer: Viewer) -> None:
        """The viewer that started the run, before its first event."""
        self._starter = viewer
        self._viewers.append(viewer)

    def join(self, viewer: Viewer, shown: Shown | None = None) -> None:
        """A further viewer: it gets what was sent so far in short, then what comes. `shown`: as of `Replay.events`.

        Raises `EncodingError`, what `shown` raises, and ValueError if the feed is not `joinable`.
        """
        if self._replay is None:
            raise ValueError("the run has become too long to be joined")
        for event in self._replay.events(shown):
            viewer.put(event)
        if self.terminal is not None:
            viewer.end(self.terminal)
        if self._complete:
            viewer.complete()
        else:
            self._viewers.append(viewer)

    def leave(self, viewer: Viewer) -> None:
        """The viewer is gone."""
        if viewer in self._viewers:
            self._viewers.remove(viewer)
            if viewer is self._starter:
                self._starter = None
            if not self._viewers and self.terminal is None:
                self._emptied()

    def put(self, event: BaseEvent) -> None:
        """Send an event. Raises `EncodingError` if the client that started the run cannot get it."""
        if self._torn is not None and isinstance(event, MessagesSnapshotEvent):
            # Clients keep what they know of thoughts unless a snapshot holds some.
            if all(message.role != "reasoning" for message in event.messages):
                emptied = ReasoningMessage(id=self._torn, content="")
                event = event.model_copy(update={"messages": [*event.messages, emptied]})
            self._torn = None
        for viewer in tuple(self._viewers) if len(self._viewers) > 1 else self._viewers:
            try:
                viewer.put(event)
            except EncodingError as error:
                self._refused(viewer, error)
        if self.recorded is not None:
            self.recorded(event)
        if (replay := self._replay) is not None:
            replay.put(event)
            if replay.size > self._most:
                _logger.warning("a run has %d bytes of events: nobody can join it any more", replay.size)
                self._replay = None

    def end(self, terminal: BaseEvent) -> None:
        """Take the terminal event. Viewers see it when `complete` is called. Raises `EncodingError`."""
        for viewer in tuple(self._viewers):
            try:
                viewer.end(terminal)
            except EncodingError as error:
                self._refused(viewer, error)
        self.terminal = terminal

    def complete(self) -> None:
        """Let the viewers go."""
        if not self._complete:
            self._complete = True
            for viewer in self._viewers:
                viewer.complete()

    def mend(self) -> None:
        """Close what an earlier try of the run left open. Its next snapshot of the messages takes back the halves."""
        if self._replay is not None:
            self._torn = next(iter(self._replay.thoughts), None)
            for event in self._replay.closing():
                self.put(event)

    def so_far(self) -> list[BaseEvent] | None:
        """All events in a short form; None if there are too many."""
        return self._replay.sent() if self._replay is not None else None

    def lose(self, viewer: Viewer, error: AGUIAdapterError) -> None:
        """End the view of one viewer with an error."""
        if viewer in self._viewers:
            viewer.lose(self._replay.closing() if self._replay is not None else (), error)
            self.leave(viewer)

    def cut(self, error: AGUIAdapterError) -> None:
        """The run ended without a terminal event: all views end with an error."""
        if self.terminal is None:
            for viewer in tuple(self._viewers):
                self.lose(viewer, error)

    def drop(self) -> None:
        """Break the connections of all viewers."""
        viewers, self._viewers = self._viewers, []
        for viewer in viewers:
            viewer.drop()

    def take(self, event: BaseEvent) -> None:
        """Send any event of a run that is read from somewhere else."""
        if event.type in TERMINAL:
            self.end(event)
        else:
            self.put(event)

    def _refused(self, viewer: Viewer, error: EncodingError) -> None:
        """A viewer's encoder refused an event. If it is the starter's, that is the run's failure."""
        if viewer is self._starter:
            raise error
        _logger.warning("a viewer of a run cannot get an event: its view ends", exc_info=error)
        self.lose(viewer, error)
