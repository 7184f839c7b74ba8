"""Who waits for news of which run. One subscription to the store serves all of a process's viewers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.runs.log import Entry

__all__ = ["EVERY_RUN", "Followers"]

_logger = logging.getLogger(__name__)

EVERY_RUN = "*"
"""Stands for all runs in a piece of news."""
_LOOK_AGAIN = 5.0
"""Seconds after which a follower looks without news: the subscription may have been cut in between."""
_RETRY = 1.0
"""Seconds between two attempts to subscribe."""


class Followers:
    """The runs that this process follows.

    `news` yields the ids of runs that have new entries, separated by commas, or `EVERY_RUN`. It is called while
    somebody follows, and again when it fails.
    """

    def __init__(self, news: Callable[[], AsyncGenerator[str, None]]) -> None:
        self._news = news
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None

    async def follow(
        self,
        run: str,
        after: int,
        read: Callable[[str, int], Awaitable[list[Entry]]],
        kept: Callable[[str], Awaitable[bool]],
    ) -> AsyncGenerator[Entry, None]:
        """The entries of a run beyond `after`, by `read`, until the last one, or until the run is not `kept`."""
        news = asyncio.Event()
        self._waiting.setdefault(run, set()).add(news)
        self._listen()
        try:
            while True:
                news.clear()
                entries = await read(run, after)
                for entry in entries:
                    after = entry.seq
                    yield entry
                    if entry.last:
                        return
                if entries:
                    continue
                if not await kept(run):
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), _LOOK_AGAIN)
        finally:
            self._waiting[run].discard(news)
            if not self._waiting[run]:
                del self._waiting[run]
            if not self._waiting and self._task is not None:
                idle, self._task = self._task, None
                idle.cancel()
                await asyncio.wait((idle,))

    def _listen(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._relay(), name="agui-log-news")

    async def _relay(self) -> None:
        while not being_cancelled():
            try:
                self._wake(EVERY_RUN)  # whatever came while nobody listened
                async with contextlib.aclosing(self._news()) as news:
                    async for runs in news:
                        self._wake(runs)
            except Exception:
                _logger.warning("the news of runs are cut off; trying again", exc_info=True)
                await asyncio.sleep(_RETRY)

    def _wake(self, runs: str) -> None:
        for run in list(self._waiting) if runs == EVERY_RUN else runs.split(","):
            for news in self._waiting.get(run, ()):
                news.set()
