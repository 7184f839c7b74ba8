"""Edge. The route table on a FastAPI application or router, with OpenAPI. Imported only where one is given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.websockets import WebSocket

from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.routes import entries, paths_of, refusals
from yai_nexus_agentkit.transport.agui_sse import AGUIWire

__all__ = ["add_routes", "add_socket", "add_undescribed"]


def add_routes(app: Any, endpoints: Endpoints, path: str, dependencies: Sequence[Any]) -> None:
    """Add every route of an agent. `dependencies` guard all of them. The document describes AG-UI's wire only."""
    name, described = endpoints.agent.name, isinstance(endpoints.wire, AGUIWire)
    prefix = getattr(app, "prefix", "")
    for entry in entries(endpoints):
        for position, full in enumerate(paths_of(path, entry, prefix)):
            app.add_api_route(
                full,
                _endpoint(entry.handler),
                methods=[entry.method],
                dependencies=list(dependencies),
                summary=(entry.handler.__doc__ or "").partition("\n")[0],
                tags=[name],
                name=entry.operation,
                generate_unique_id_function=_operation_id,
                responses=entry.answers,
                response_class=Response,
                openapi_extra=entry.openapi,
                include_in_schema=position == 0 and described,
            )
    router = getattr(app, "router", app)
    router.routes.extend(refusals(endpoints, path, prefix))


def add_undescribed(app: Any, routes: Sequence[Route], dependencies: Sequence[Any]) -> None:
    """Add routes that the document leaves out. `dependencies` guard all of them."""
    for route in routes:
        app.add_api_route(
            route.path,
            _endpoint(route.endpoint),
            methods=sorted(route.methods or ()),
            dependencies=list(dependencies),
            response_class=Response,
            include_in_schema=False,
        )


def add_socket(app: Any, socket: Any, path: str, dependencies: Sequence[Any]) -> None:
    """Add a web socket. `dependencies` guard it, too; one that asks for a ``Request`` cannot be met by a socket, so the
    handshake fails: let it ask for an ``HTTPConnection``."""

    async def endpoint(websocket: WebSocket) -> None:
        await socket(websocket.scope, websocket.receive, websocket.send)

    app.add_api_websocket_route(path, endpoint, dependencies=list(dependencies))


def _operation_id(route: Any) -> str:
    """Unique in the whole document. FastAPI calls this where the whole path is known, with the prefixes of routers.

    Client generators reduce ids to letters, digits and underscores; a hash keeps apart what they would make equal.
    """
    parts = [part for part in route.path_format.split("/") if part not in ("", "{thread_id}")]
    lossy = [part for part in parts if not (part.isascii() and part.isalnum())]
    words = [re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in (route.name, *parts)]
    if lossy:
        words.append(sha256(route.path_format.encode()).hexdigest()[:8])
    return "_".join(words)


def _endpoint(handler: Handler) -> Any:
    """A function whose signature FastAPI reads as: the request, and nothing to validate."""

    async def endpoint(request: Request) -> Response:
        return await handler(request)

    return endpoint
