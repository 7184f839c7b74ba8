"""An application whose loop is watched, and a storage that hangs: for requests that must not stop a server."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from tests.support.serving import asker, failing, talker
from yai_nexus_agentkit import AGUIAdapter, Hooks, RunContext
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.server import ServerSettings, create_app

__all__ = ["Heartbeat", "Hung", "on_file", "soaked", "watched"]


class Heartbeat:
    """How long the event loop was kept from its work: the CPU time that the process used between two beats.

    CPU time does not count what other processes take of a busy machine. It counts all threads: one that holds the
    interpreter's lock keeps the loop waiting, too.
    """

    def __init__(self) -> None:
        self.worst = 0.0

    async def beat(self) -> None:
        last = time.process_time()
        while True:
            await asyncio.sleep(0.002)
            now = time.process_time()
            self.worst, last = max(self.worst, now - last), now

    def read(self) -> float:
        """Seconds of the longest time without a beat since the last reading."""
        worst, self.worst = self.worst, 0.0
        return worst


class Hung(InMemorySaver):
    """A checkpointer that answers no more when `hanging` is set, and writes slowly when `slow` is. `cancelled`: the
    method whose work is cancelled by the storage itself."""

    hanging = slow = False
    cancelled = ""

    async def aget_tuple(self, config: Any) -> Any:
        if self.cancelled == "aget_tuple":
            raise asyncio.CancelledError
        while self.hanging:
            await asyncio.sleep(0.05)
        return await super().aget_tuple(config)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if self.cancelled == "aput":
            raise asyncio.CancelledError
        if self.slow:
            await asyncio.sleep(0.4)
        return await super().aput(config, checkpoint, metadata, new_versions)


def _sleepy() -> Any:
    """A sync node that cannot be stopped."""

    def sleep(state: MessagesState) -> dict[str, Any]:
        time.sleep(3)
        return {}

    return StateGraph(MessagesState).add_node("sleep", sleep).add_edge(START, "sleep").compile()


def _refuse(run: RunContext) -> None:
    raise RunInputError("read, and not run")


def watched() -> Any:
    """For a server process, which logs nothing. ``/read`` refuses every request that it could read; ``/heartbeat`` has
    the time of the longest pause since it was last asked."""
    return _watched(ServerSettings(max_body=4_000_000, body_timeout=1.0, max_bodies=12_000_000))


def soaked() -> Any:
    """The same with room for many bodies at once, for attacks that last."""
    settings = ServerSettings(
        max_body=4_000_000,
        body_timeout=2.0,
        max_bodies=48_000_000,
        max_buffer=256 * 1024,
        stalled=3.0,
        store_timeout=5.0,
    )
    return _watched(settings)


def on_file() -> Any:
    """Another worker, whose checkpointer is the SQLite file that the environment names."""
    saver = AsyncSqliteSaver.from_conn_string(os.environ["AGUI_TEST_FILE"])
    app = Starlette()

    @asynccontextmanager
    async def opened(outer: Any) -> AsyncIterator[None]:
        async with saver as opened:
            app.mount("/", create_app(AGUIAdapter(talker(1, checkpointer=opened))))
            yield

    app.router.lifespan_context = opened
    return app


def _watched(settings: ServerSettings) -> Any:
    logging.getLogger("yai_nexus_agentkit").setLevel(logging.CRITICAL)
    agents = {
        "talk": AGUIAdapter(talker(2)),
        "read": AGUIAdapter(talker(1), hooks=Hooks(before_run=_refuse)),
        "sleep": AGUIAdapter(_sleepy()),
        "long": AGUIAdapter(talker(300, 0.005)),
        "ask": AGUIAdapter(asker()),
        "fail": AGUIAdapter(failing(ValueError("no"))),
    }
    app = create_app(agents, settings=settings)
    heart = Heartbeat()

    @asynccontextmanager
    async def beating(inner: Any) -> AsyncIterator[Any]:
        async with lifespan(inner) as state:
            task = asyncio.create_task(heart.beat())
            yield state
            task.cancel()

    async def heartbeat(request: Request) -> JSONResponse:
        service = app.state.agui
        left = {"runs": service.live, "locks": len(service.holders), "received": service.capacity.received}
        left |= {"tasks": len(asyncio.all_tasks()), "files": len(os.listdir("/dev/fd"))}
        return JSONResponse({"worst": heart.read(), "memory": _memory(), "left": left})

    lifespan, app.router.lifespan_context = app.router.lifespan_context, beating
    app.add_route("/heartbeat", heartbeat)
    return app


def _memory() -> int:
    """Bytes of this process in memory."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no Linux: the most that it ever had
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
