"""Edge. One client's view of a run: events go in as they come, bytes go out to a sink.

Two tasks share this. That of the request writes: everything that waits when it comes round goes out as one piece. One
waits for the client to leave. A timer sends keep-alive bytes and gives up clients that take nothing. It looks at the
last write when it fires, so it costs nothing per event and never interrupts a wait for the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from ag_ui.core import BaseEvent, CustomEvent, MessagesSnapshotEvent, RunErrorEvent

from yai_nexus_agentkit.adapter.control import RunControl
from yai_nexus_agentkit.errors import AGUIAdapterError
from yai_nexus_agentkit.protocol.activities import KEPT
from yai_nexus_agentkit.protocol.older_peers import for_older_peer
from yai_nexus_agentkit.runs.kept import Kept
from yai_nexus_agentkit.server.outbox import Outbox
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.wire import Encoder

__all__ = ["LateView", "Sink", "View"]

_logger = logging.getLogger(__name__)
_GATHER = 0.005
"""Seconds between two writes, if the second one began with an idle writer: what comes meanwhile goes out as one piece.
A write costs several times as much as a token, and models send tokens in bursts."""


class Sink(Protocol):
    """The receiver of one response's bytes: an HTTP response, or one conversation on a web socket."""

    async def begin(self) -> None:
        """Send what comes before the bytes, status and headers, unless it was sent."""

    async def write(self, body: bytes, *, last: bool) -> None:
        """Send bytes; with `last` the response is complete. Returns when the connection has room for more."""

    async def gone(self) -> None:
        """Returns when the client has left."""


class View:
    """One client's view of a run. Memory is bounded: a client that reads too slowly is reported to `overflow`."""

    def __init__(
        self,
        encoder: Encoder,
        sink: Sink,
        settings: ServerSettings,
        overflow: Callable[[View], None],
    ) -> None:
        self.outbox = Outbox(encoder)
        self._encoder, self._sink, self._settings, self._overflow = encoder, sink, settings, overflow
        self._loop = asyncio.get_running_loop()
        self._idle: asyncio.Future[None] | None = None
        """The writer waits for this while there is nothing to write."""
        self._end: bytes | None = None
        """The terminal event, from when it is known."""
        self._complete = False
        """No further event will come."""
        self._since = self._loop.time()
        """When the current write began, or the last one ended."""
        self._give_up: Callable[[], object] | None = None
        """Ends the current write, and the response."""
        self._timer: asyncio.TimerHandle | None = None

    def put(self, event: BaseEvent) -> None:
        """Take an event. Raises `EncodingError` if it, or a delta before it, cannot be encoded."""
        outbox = self.outbox
        waited = outbox.waiting
        outbox.put(event)
        if self._idle is not None:
            self._wake()
        elif outbox.busy and waited > self._settings.max_buffer:
            self._overflow(self)

    def end(self, event: BaseEvent) -> None:
        """Take the terminal event. It is written after `complete`. Raises `EncodingError`, as `put` does."""
        self._end = self.outbox.encode(event)

    def complete(self) -> None:
        """No further event will come: the terminal event and the wire's last bytes are due."""
        if self._complete:
            return
        self.outbox.add(self._end or b"")
        try:
            self.outbox.add(self._encoder.finish())
        except Exception:
            _logger.exception("the wire failed at its last bytes")
        self._complete = True
        self._wake()

    def lose(self, closing: Sequence[BaseEvent], error: AGUIAdapterError) -> None:
        """End this view with an error, whether the run goes on or not."""
        try:
            for event in closing:
                self.outbox.add(self.outbox.encode(event))
            self.end(RunErrorEvent(message=str(error), code=error.code))
        except Exception:
            _logger.exception("the wire cannot write the end of a view")
        self.complete()

    def drop(self) -> None:
        """Break the connection, by leaving the response incomplete."""
        if self._give_up is not None:
            self._give_up()

    async def show(self, left: Callable[[View], None]) -> None:
        """Write until the run or the client's connection ends, whichever is first. `left` is called then."""
        # By the task of the request: each request of a burst is answered in its turn, not all at the burst's end.
        gone, control = self._loop.create_task(self._sink.gone(), name="agui-disconnect"), RunControl()
        gone.add_done_callback(lambda _: control.stop())
        self._give_up = control.stop
        self._beat()
        try:
            await control.wait(self._writing)
        except Exception as broken:
            _note_broken("the writer", broken)
        finally:
            self._give_up = None
            if self._timer is not None:
                self._timer.cancel()
            left(self)
            gone.cancel()
            await asyncio.wait((gone,))
            if not gone.cancelled() and (error := gone.exception()) is not None:
                _note_broken(gone.get_name(), error)

    def _wake(self) -> None:
        """Let an idle writer go on: at once, or when it may write again."""
        idle, self._idle = self._idle, None
        if idle is None:
            return
        early = 0 if self._complete else self._since + _GATHER - self._loop.time()
        if early > 0:
            self._loop.call_later(early, _go_on, idle)
        else:
            _go_on(idle)

    async def _writing(self) -> None:
        """Write what comes, until the view is complete."""
        while True:
            if not self.outbox and not self._complete:
                self._idle = self._loop.create_future()
                await self._idle
            if await self._flush():
                return

    async def _flush(self) -> bool:
        """Write what waits. True if that was the last."""
        outbox, time = self.outbox, self._loop.time
        body = outbox.take()
        last = self._complete and not outbox
        if body or last:
            self._since = time()
            outbox.busy = True
            await self._sink.write(body, last=last)
            outbox.busy = False
            self._since = time()
        return last

    def _beat(self) -> None:
        """Send keep-alive bytes after a silence; give up a client that takes nothing."""
        settings, now = self._settings, self._loop.time()
        if self.outbox.busy:
            if now - self._since >= settings.stalled and self._give_up is not None:
                _logger.info("a client took nothing for %g s: its connection is cut off", settings.stalled)
                self._give_up()
                return
            due = min(self._since + settings.stalled, now + settings.keep_alive)
        else:
            if now - self._since >= settings.keep_alive:
                self.outbox.add(self._encoder.keep_alive)
                self._wake()
                self._since = now
            due = self._since + settings.keep_alive
        self._timer = self._loop.call_later(max(due - now, 0.001), self._beat)


class LateView(View):
    """The view of a client that came later: it gets what earlier runs of the thread kept, too."""

    def __init__(
        self,
        encoder: Encoder,
        sink: Sink,
        settings: ServerSettings,
        overflow: Callable[[View], None],
        *,
        older: bool,
        kept: Kept,
    ) -> None:
        """`older`: the client knows less of AG-UI than the one who started the run."""
        super().__init__(encoder, sink, settings, overflow)
        self._older = older
        self._kept: Kept | None = kept
        self._restated: dict[str, Any] = {}
        """Values of the kept custom events that were sent by id. They may be of this very run, if it is just ending."""

    def put(self, event: BaseEvent) -> None:
        """Take an event. The first snapshot of the messages is of the time before the run."""
        kind = type(event)
        if kind is MessagesSnapshotEvent and self._kept is not None:
            kept, self._kept = self._kept, None
            for one in kept.restated(cast(MessagesSnapshotEvent, event)):
                super().put(for_older_peer(one) if self._older else one)
                if isinstance(one, CustomEvent) and one.metadata:
                    self._restated[one.metadata[KEPT]] = one.value
        elif kind is not CustomEvent or not self._was_sent(cast(CustomEvent, event)):
            super().put(for_older_peer(event) if self._older else event)

    def _was_sent(self, event: CustomEvent) -> bool:
        own = (event.metadata or {}).get(KEPT)
        return own in self._restated and self._restated[own] == event.value

    def end(self, event: BaseEvent) -> None:
        """Take the terminal event."""
        super().end(for_older_peer(event) if self._older else event)


def _go_on(idle: asyncio.Future[None]) -> None:
    if not idle.done():
        idle.set_result(None)


def _note_broken(what: str, error: BaseException) -> None:
    """A broken connection counts as a client that is gone."""
    _logger.debug("%s of a view broke: %r", what, error)
