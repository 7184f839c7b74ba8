"""A run of another worker, as this one's viewers see it: read from the run's log, once for all of them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import aclosing

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.errors import AGUIAdapterError, Code, OverloadedError
from yai_nexus_agentkit.protocol.events import row_of
from yai_nexus_agentkit.protocol.replay import Shown
from yai_nexus_agentkit.protocol.request import parse_request
from yai_nexus_agentkit.runs.feed import Feed, Viewer
from yai_nexus_agentkit.runs.log import Entry, RunHead, RunLog
from yai_nexus_agentkit.runs.outage import log_failure

__all__ = ["RemoteRun", "events_of"]

_logger = logging.getLogger(__name__)


def events_of(entry: Entry) -> list[BaseEvent]:
    """The events of an entry. Those of a type that this version does not know are left out."""
    found: list[BaseEvent] = []
    for line in entry.data.split(b"\n"):
        if line:
            model = row_of(json.loads(line)["type"]).model
            if model is not BaseEvent:
                found.append(model.model_validate_json(line))
    return found


class RemoteRun:
    """An active run on another worker, or whose worker died and that nobody took over yet."""

    def __init__(self, head: RunHead, log: RunLog, left: Callable[[RemoteRun], None], *, kept: int) -> None:
        """`left`: called when nobody watches any more. `kept`: bytes kept for later viewers."""
        self.head, self._log, self._left = head, log, left
        self.run_input = parse_request(head.request)
        self.feed = Feed(self.run_input, self.close, most=kept)
        self._caught_up = asyncio.Event()
        """The log was read; it may be empty for a moment, and no viewer can do without the first event."""
        self.task = asyncio.get_running_loop().create_task(self._follow(), name="agui-follower")

    async def join(self, viewer: Viewer, shown: Shown | None = None) -> None:
        """Show the run to a viewer. Raises as `Feed.join` does."""
        await self._caught_up.wait()
        self.feed.join(viewer, shown)

    def too_slow(self, viewer: Viewer) -> None:
        """A viewer reads too slowly. It loses its view."""
        self.feed.lose(viewer, OverloadedError("the client reads too slowly"))

    def drop(self) -> None:
        """This worker stops: break the connections of all viewers, so that they reconnect to another one."""
        self.feed.drop()
        self.close()

    def close(self) -> None:
        """Read no further."""
        self.task.cancel()
        self._left(self)

    async def ended(self) -> None:
        """Returns when the run has ended, or is forgotten."""
        await asyncio.wait((self.task,))

    async def _follow(self) -> None:
        try:
            after = 0
            for entry in await self._log.read(self.head.id):
                after = entry.seq
                self._take(entry)
            if after:
                self._caught_up.set()
            if self.feed.terminal is None:
                async with aclosing(self._log.follow(self.head.id, after)) as entries:
                    async for entry in entries:
                        self._take(entry)
                        self._caught_up.set()
        except Exception as failure:
            log_failure(_logger, f"the log of run {self.head.run_id!r} cannot be read", failure)
            self.feed.cut(_no_more(Code.STORE_UNAVAILABLE))
        finally:
            self._caught_up.set()
            self.feed.cut(_no_more(Code.CANCELLED))
            self.feed.complete()
            self._left(self)

    def _take(self, entry: Entry) -> None:
        for event in events_of(entry):
            self.feed.take(event)


def _no_more(code: Code) -> AGUIAdapterError:
    error = AGUIAdapterError("the run cannot be followed any more")
    error.code = code
    return error
