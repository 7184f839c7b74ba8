"""The page, and the agent behind it, in one application: ``uvicorn --factory examples.ai_sdk_page.server:app``."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.staticfiles import StaticFiles

from examples.ai_sdk_page.agent import graph
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app


def app() -> Starlette:
    """``/`` is the page, ``/api/chat/desk`` what it talks to, ``/desk`` the same agent for AG-UI clients."""
    served = create_app({"desk": AGUIAdapter(graph({}))}, ai_sdk="/api/chat")
    built = os.environ.get("PAGE", Path(__file__).parent / "dist")
    served.mount("/", StaticFiles(directory=built, html=True))
    return served
