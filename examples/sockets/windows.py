"""A page without a library that speaks over a web socket: ``uvicorn --factory examples.sockets.windows:app``."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import FileResponse
from starlette.routing import Route

from examples.ai_sdk_page.agent import graph
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, create_app


def app() -> Starlette:
    """``/page`` in two windows is one conversation. The window that asked is asked."""
    served = create_app(AGUIAdapter(graph({})), settings=ServerSettings(disconnect="continue"))
    page = Path(__file__).with_name("windows.html")
    served.router.routes.insert(0, Route("/page", lambda request: FileResponse(page)))
    return served
