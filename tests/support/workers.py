"""A worker of a service: ``python -m tests.support.workers PORT FOLDER STORE``. SQLite in the folder has its threads.

`STORE` is the address of the store that the workers share; empty for SQLite in the folder. LEASE: seconds.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import uvicorn
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.support.errand_words import build
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, create_app


async def serve(port: int, folder: Path, store: str) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        settings = ServerSettings(
            disconnect="continue",
            store=store or f"sqlite:{folder / 'runs.db'}",
            lease=float(os.environ.get("LEASE", "2")),
            hosts=["127.0.0.1"],
        )
        app = create_app(AGUIAdapter(build(saver)), settings=settings)
        config = uvicorn.Config(app, port=port, log_level="warning", timeout_graceful_shutdown=3)
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))
