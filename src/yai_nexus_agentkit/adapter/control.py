"""Driver. Ending a run from outside: on request, or by a time limit of the options.

Both cancel the task that waits for the agent, and only while it waits: the agent is gone before the run's last events
are made. A cancellation by anybody else passes through.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.errors import AGUIAdapterError, Code, RunTimeoutError

__all__ = ["RunControl", "Stopped", "Watch"]

T = TypeVar("T")


class Stopped(Exception):
    """The run was stopped: because of `error`, or on purpose if that is None."""

    def __init__(self, error: AGUIAdapterError | None) -> None:
        super().__init__("the run was stopped")
        self.error = error


class RunControl:
    """Stops one run. Pass it to ``AGUIAdapter.run(control=...)``; use it from the same event loop."""

    def __init__(self) -> None:
        self._stop: Stopped | None = None
        self._waiting: asyncio.Task[object] | None = None
        """The task that awaits the agent, or awaited it last if `_agent` gives its events."""
        self._agent: AsyncGenerator[Any, None] | None = None
        """The agent's native events. It runs exactly while somebody waits for the next one."""
        self._cancelled: asyncio.Task[object] | None = None
        """The task that `stop` cancelled."""
        self.asked = 0.0
        """When the agent was last asked for something (``time.monotonic``)."""

    @property
    def stopped(self) -> bool:
        """`stop` was called."""
        return self._stop is not None

    def stop(self, error: AGUIAdapterError | None = None) -> None:
        """End the run: as cancelled, or as failed with `error`. Only the first call counts, also if it comes before
        the run begins."""
        if self._stop is not None:
            return
        self._stop = Stopped(error)
        if self._waiting is not None and getattr(self._agent, "ag_running", True):
            self._cancelled = self._waiting
            self._waiting.cancel()

    def listen(self) -> None:
        """The current task begins to wait for the agent. Raises `Stopped`."""
        if self._stop is not None:
            raise self._stop
        self._waiting, self.asked = asyncio.current_task(), time.monotonic()

    def over(self) -> None:
        """Nobody waits for the agent any more."""
        self._waiting = None

    def listen_to(self, natives: AsyncGenerator[Any, None]) -> None:
        """Begin to wait for the first of the agent's native events. Before each further one `listen` is to be called;
        an error while they are awaited is for `cause`. Raises `Stopped`."""
        self._agent = natives
        self.listen()

    def cause(self, error: BaseException) -> BaseException:
        """The error that ended a wait, `Stopped` for the cancellation that `stop` made; any other error as it is."""
        self.over()
        task, self._cancelled = self._cancelled, None
        if isinstance(error, asyncio.CancelledError) and self._stop is not None and task is not None:
            return self._stop if task.uncancel() == 0 else error
        return error

    async def wait(self, step: Callable[[], Awaitable[T]]) -> T:
        """Await one step of the agent. Raises `Stopped`."""
        self.listen()
        try:
            result = await step()
        except BaseException as error:
            if (cause := self.cause(error)) is error:
                raise
            raise cause from None
        self.over()
        return result


class Watch:
    """The time limits of one run. One timer, which is set again only when it fires."""

    def __init__(self, control: RunControl, options: AdapterOptions, oldest_tool: Callable[[], float | None]) -> None:
        self._control, self._options, self._oldest_tool = control, options, oldest_tool
        self._loop = asyncio.get_running_loop()
        self._began = control.asked = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch from now on."""
        self._check()

    def end(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        now = time.monotonic()
        limits = self._limits(now)
        for at, code, message in limits:
            if at <= now:
                self._control.stop(RunTimeoutError(message, code=code))
                return
        self._timer = self._loop.call_later(min(at for at, _, _ in limits) - now, self._check)

    def _limits(self, now: float) -> list[tuple[float, Code, str]]:
        """When each limit ends, and the code and message of its error."""
        options, tool = self._options, self._oldest_tool()
        limits = (
            (options.execution_timeout, self._began, Code.EXECUTION_TIMEOUT, "the run took longer than"),
            (options.idle_timeout, self._control.asked, Code.IDLE_TIMEOUT, "the agent was silent for"),
            (options.tool_timeout, now if tool is None else tool, Code.TOOL_TIMEOUT, "a tool took longer than"),
        )
        return [(since + s, code, f"{text} {s:g} seconds") for s, since, code, text in limits if s is not None]
