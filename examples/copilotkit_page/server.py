"""The page, and the agent behind it, in one application: ``uvicorn --factory examples.copilotkit_page.server:app``."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.staticfiles import StaticFiles

from examples.copilotkit_page.agent import graph
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import create_app


def app() -> Starlette:
    """``/`` is the page, ``/copilotkit`` what it talks to, ``/default`` the same agent for other AG-UI clients."""
    served = create_app({"default": AGUIAdapter(graph({}))}, copilotkit="/copilotkit")
    built = os.environ.get("PAGE", Path(__file__).parent / "dist")
    served.mount("/", StaticFiles(directory=built, html=True))
    return served
