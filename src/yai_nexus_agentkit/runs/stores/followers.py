"""The readers of logs, and the news that they wait for. One subscription to the store serves a whole process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from yai_nexus_agentkit.runs.background import listening, meanwhile
from yai_nexus_agentkit.runs.log import Entry
from yai_nexus_agentkit.runs.outage import Outage

__all__ = ["EVERY_RUN", "Followers", "News"]

_logger = logging.getLogger(__name__)

EVERY_RUN = "*"
"""Stands for all runs in a piece of news."""
_LOOK_AGAIN = 5.0
"""Seconds after which followers look without news: the subscription may have been cut in between."""


class News(Protocol):
    """A store's news of new entries, for its processes."""

    async def watch(self, run: str) -> None:
        """Somebody follows this run from now on. Never raises."""

    async def unwatch(self, run: str) -> None:
        """Nobody follows it any more. Never raises."""

    def listen(self) -> AsyncGenerator[tuple[str, Entry | None], None]:
        """A run (or `EVERY_RUN`), and its new entry; None: there may be some, to be read. It is called while somebody
        follows, and again when it fails."""


class Followers:
    """The runs that this process follows."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._waiting: dict[str, set[asyncio.Queue[Entry | None]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def follow(
        self,
        run: str,
        after: int,
        read: Callable[[str, int], Awaitable[list[Entry]]],
        kept: Callable[[str], Awaitable[bool]],
    ) -> AsyncGenerator[Entry, None]:
        """The entries of a run beyond `after`, by `read`, until the last one, or until the run is not `kept`."""
        heard = await self._join(run)
        try:
            entry: Entry | None = None
            while True:
                if entry is None:
                    entries = await read(run, after)
                    if not entries and not await kept(run):
                        return
                elif entry.seq == after + 1:
                    entries = [entry]
                else:  # it is known already, or some were missed
                    entries = [] if entry.seq <= after else await read(run, after)
                for new in entries:
                    after = new.seq
                    yield new
                    if new.last:
                        return
                entry = await heard.get()
                while entry is None and not heard.empty():  # one look answers them all
                    entry = heard.get_nowait()
        finally:
            await self._leave(run, heard)

    async def _join(self, run: str) -> asyncio.Queue[Entry | None]:
        heard: asyncio.Queue[Entry | None] = asyncio.Queue()
        first = run not in self._waiting
        self._waiting.setdefault(run, set()).add(heard)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._relay(), name="agui-log-news")
        if first:
            await self._news.watch(run)
        return heard

    async def _leave(self, run: str, heard: asyncio.Queue[Entry | None]) -> None:
        self._waiting[run].discard(heard)
        if self._waiting[run]:
            return
        del self._waiting[run]
        await self._news.unwatch(run)
        if not self._waiting and self._task is not None:
            idle, self._task = self._task, None
            idle.cancel()
            await asyncio.wait((idle,))

    async def _relay(self) -> None:
        async with meanwhile(self._look_again(), name="agui-log-look"):
            await listening(Outage(_logger, "the news of runs are cut off"), self._news.listen, self._wake)

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_AGAIN)
            await self._wake((EVERY_RUN, None))

    async def _wake(self, news: tuple[str, Entry | None]) -> None:
        run, entry = news
        for one in list(self._waiting) if run == EVERY_RUN else (run,):
            for heard in self._waiting.get(one, ()):
                heard.put_nowait(entry)
