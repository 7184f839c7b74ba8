"""Edge. Adding routes to an application: FastAPI's, Starlette's, or a FastAPI ``APIRouter``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.routing import Route, Router, WebSocketRoute

from yai_nexus_agentkit.server.settings import ServerSettings

__all__ = ["add_routes_of", "add_socket", "checked_path", "no_dependencies", "required", "router_of"]


def add_routes_of(app: Any, routes: Sequence[Route], dependencies: Sequence[Any]) -> None:
    """Add routes that OpenAPI's document leaves out. `dependencies` guard all of them. Raises TypeError."""
    router = router_of(app)
    if hasattr(app, "add_api_route"):
        from yai_nexus_agentkit.server.fastapi_routes import add_undescribed

        add_undescribed(app, routes, dependencies)
    elif dependencies:
        raise no_dependencies()
    else:
        router.routes.extend(routes)


def add_socket(app: Any, socket: Any, path: str, dependencies: Sequence[Any]) -> None:
    """Add a web socket. `dependencies` guard its handshake."""
    if hasattr(app, "add_api_route"):
        from yai_nexus_agentkit.server import fastapi_routes

        fastapi_routes.add_socket(app, socket, path, dependencies)
    else:
        router_of(app).routes.append(WebSocketRoute(path, socket))


def checked_path(path: str, settings: object) -> str:
    """The path without a slash at its end. Raises ValueError, and TypeError for settings of another type."""
    required(settings)
    if not path.startswith("/"):
        raise ValueError(f"a path must begin with '/': {path!r}")
    return path.rstrip("/")


def router_of(app: Any) -> Router:
    """The application's router, or the router that it is. Raises TypeError."""
    router = app if isinstance(app, Router) else getattr(app, "router", None)
    if not isinstance(router, Router):
        raise TypeError(f"the application is neither FastAPI nor Starlette but {type(app).__name__}")
    return router


def no_dependencies() -> TypeError:
    """The error for dependencies without FastAPI."""
    return TypeError("dependencies are FastAPI's: use middleware in a Starlette application")


def required(settings: object) -> None:
    """Raises TypeError for settings of another type."""
    if not isinstance(settings, ServerSettings):
        raise TypeError(f"settings must be ServerSettings(...), not {type(settings).__name__}")
