"""Edge. The chat page in an application."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from yai_nexus_agentkit.page.files import STATIC
from yai_nexus_agentkit.page.mount import config_of, page_routes
from yai_nexus_agentkit.server.adding import add_routes_of, checked_path, router_of
from yai_nexus_agentkit.server.caller import identified
from yai_nexus_agentkit.server.settings import ServerSettings

__all__ = ["add_page"]

_logger = logging.getLogger(__name__)

DEFAULTS = ServerSettings()


def add_page(
    app: Any,
    agents: str | Mapping[str, str],
    path: str = "/chat",
    *,
    title: str = "Agent",
    examples: Sequence[str] | Mapping[str, Sequence[str]] = (),
    inspector: str | None = None,
    dependencies: Sequence[Any] = (),
    settings: ServerSettings = DEFAULTS,
    files: str | PathLike[str] = STATIC,
) -> None:
    """Show the chat page at `path` of a FastAPI or Starlette application, or of a FastAPI ``APIRouter``.

    `agents`: the path that `add_agui_routes` got, or that of each of several by a name to show. `title`: the page's.
    `examples`: messages that a new conversation offers, of all agents or by their names. `inspector`: the path of an
    inspector to link to. `dependencies`: FastAPI's, for all files of the page. `settings`: those of the agents; with
    ``disconnect_by_request`` the page's runs go on while it is reloaded, and by ``identity`` the page knows when
    somebody else has signed in. `files`: the folder of your own build.
    Other methods than GET, and all other paths, stay with the application, which can be behind any prefix.

    Raises FileNotFoundError if the page is not built, TypeError for other applications, and for dependencies without
    FastAPI.
    """
    path, router = checked_path(path, settings), router_of(app)
    named = {"agent": agents} if isinstance(agents, str) else agents
    query = "disconnect=continue" if settings.disconnect_by_request else ""
    if not query and settings.disconnect == "cancel":
        _logger.warning(
            "a reload of the page at %r ends its runs; to avoid that, give add_page and the agents' routes"
            " settings=ServerSettings(disconnect_by_request=True)",
            path or "/",
        )
    offered = examples if isinstance(examples, Mapping) else dict.fromkeys(named, examples)
    config = config_of(named, path, title=title, examples=offered, inspector=inspector, query=query)
    before = len(router.routes)

    async def configured(request: Request) -> Mapping[str, object]:
        user = await _user(request, settings)
        return config if user == "" else {**config, "user": user}

    add_routes_of(app, page_routes(configured, path, folder=Path(files)), dependencies)
    # They come first: an agent's routes refuse the methods that they lack.
    router.routes[:] = [*router.routes[before:], *router.routes[:before]]


async def _user(request: Request, settings: ServerSettings) -> str | None:
    """A hash of who is signed in; "" if all are one user, None if the application refuses the sender.

    The page needs no more than that: what one person wrote in it is not for another.
    """
    try:
        user = (await identified(request, settings)).user
    except (HTTPException, PermissionError):
        return None
    except Exception:  # a resolver may expect what only requests of agents have
        _logger.warning("the identity resolver failed for the configuration of the page", exc_info=True)
        return None
    return hashlib.sha256(json.dumps(user).encode()).hexdigest()[:32] if user else ""
