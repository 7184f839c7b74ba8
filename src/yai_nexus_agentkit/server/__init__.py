"""AG-UI agents over HTTP: a whole ASGI application, or routes for an existing FastAPI or Starlette one.

Needs the ``server`` extra, and ``fastapi`` only where a FastAPI application
is given.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("starlette") is None:
    raise ImportError('yai_nexus_agentkit.server needs starlette: pip install "yai-nexus-agentkit[server]"')

from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.server.app import (
    add_agui_routes,
    add_ai_sdk_routes,
    add_copilotkit_routes,
    add_live_routes,
    add_openai_routes,
    create_app,
)
from yai_nexus_agentkit.server.fetching.fetcher import Fetcher
from yai_nexus_agentkit.server.openai_settings import OpenAISettings
from yai_nexus_agentkit.server.page import add_page
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.socket_settings import SocketSettings
from yai_nexus_agentkit.server.strict_sse import StrictSSEWire

__all__ = [
    "Fetcher",
    "Identity",
    "OpenAISettings",
    "ServerSettings",
    "SocketSettings",
    "StrictSSEWire",
    "add_agui_routes",
    "add_ai_sdk_routes",
    "add_copilotkit_routes",
    "add_live_routes",
    "add_openai_routes",
    "add_page",
    "create_app",
]
