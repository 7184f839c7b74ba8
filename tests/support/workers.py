"""A worker of a service: ``python -m tests.support.workers PORT FOLDER STORE``. SQLite in the folder has its threads.

`STORE` is the address of the store that the workers share; empty for SQLite in the folder. LEASE: seconds. AI: the
version of the AI SDK's pages.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.support.errand_words import build
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, create_app

__all__ = ["Worker", "workers"]

_MODULE = "tests.support.workers"


class Worker:
    """A worker in a process of its own. `arguments`: further ones of its module."""

    def __init__(
        self, folder: Path, store: str, arguments: Sequence[str] = (), module: str = _MODULE, **environment: str
    ) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", module, str(port), str(folder), store, *arguments]
        self.host = self.url.removeprefix("http://")
        self.process = subprocess.Popen(command, env={**os.environ, **environment})

    def wait(self) -> None:
        for _ in range(400):
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError("the worker does not answer")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def workers(folder: Path, store: str, count: int = 2, **more: Any) -> Iterator[list[Worker]]:
    """Workers that share the threads of `folder` and the store, until the end of the block."""
    with ExitStack() as stack:
        started = [Worker(folder, store, **more) for _ in range(count)]
        for one in started:
            stack.callback(one.kill)
        for one in started:
            one.wait()
        yield started


async def serve(port: int, folder: Path, store: str) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        settings = ServerSettings(
            disconnect="continue",
            store=store or f"sqlite:{folder / 'runs.db'}",
            lease=float(os.environ.get("LEASE", "2")),
            hosts=["127.0.0.1"],
            ai_sdk_version=int(os.environ.get("AI", "6")),  # type: ignore[arg-type]
        )
        app = create_app(AGUIAdapter(build(saver)), settings=settings, copilotkit="/copilotkit", ai_sdk="/api/chat")
        config = uvicorn.Config(app, port=port, log_level="warning", timeout_graceful_shutdown=3)
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))
