"""A worker of a service: ``python -m tests.adk.worker PORT FOLDER RESUMABLE DIES``. SQLite in the folder has its
sessions and runs. One that DIES hangs behind its tool."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import uvicorn
from google.adk.agents import Agent
from google.adk.apps import App, ResumabilityConfig
from google.adk.sessions import DatabaseSessionService

from tests.adk.playing import HANGS, calling, model
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.adapter.adk import AdkSource
from yai_nexus_agentkit.server import ServerSettings, create_app


def agent(folder: Path, *, dies: bool) -> Agent:
    def count(what: str) -> str:
        """Count."""
        with (folder / "counted").open("a") as file:
            file.write(f"{what}\n")
        return "counted"

    answers: list[Any] = [["Wait. ", calling("count", what="a")], HANGS] if dies else [["Done."], ["Next."]]
    return Agent(name="root", model=model(*answers), tools=[count])


async def serve(port: int, folder: Path, *, resumable: bool, dies: bool) -> None:
    service = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{folder}/sessions.db")
    app = App(
        name="app",
        root_agent=agent(folder, dies=dies),
        resumability_config=ResumabilityConfig(is_resumable=resumable),
    )
    settings = ServerSettings(
        disconnect="continue", store=f"sqlite:{folder / 'runs.db'}", lease=1.0, hosts=["127.0.0.1"]
    )
    served = create_app(AGUIAdapter(AdkSource(app, session_service=service)), settings=settings)
    await uvicorn.Server(uvicorn.Config(served, port=port, log_level="warning")).serve()


if __name__ == "__main__":
    given = sys.argv
    asyncio.run(serve(int(given[1]), Path(given[2]), resumable=given[3] == "True", dies=given[4] == "True"))
