"""Edge. The route table on a FastAPI application or router, with OpenAPI. Imported only where one is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.routes import entries, paths_of, refusals

__all__ = ["add_routes"]


def add_routes(app: Any, endpoints: Endpoints, path: str, dependencies: Sequence[Any]) -> None:
    """Add every route of an agent. `dependencies` guard all of them."""
    name = endpoints.agent.name
    table = entries(endpoints)
    for entry in table:
        for position, full in enumerate(paths_of(path, entry)):
            app.add_api_route(
                full,
                _endpoint(entry.handler),
                methods=[entry.method],
                dependencies=list(dependencies),
                summary=(entry.handler.__doc__ or "").partition("\n")[0],
                tags=[name],
                operation_id=f"{entry.operation}_{'_'.join(part for part in full.split('/') if part.isalnum())}",
                responses=entry.answers,
                response_class=Response,
                openapi_extra=entry.openapi,
                include_in_schema=position == 0,
            )
    router = getattr(app, "router", app)
    router.routes.extend(refusals(table, getattr(app, "prefix", "") + path))


def _endpoint(handler: Handler) -> Any:
    """A function whose signature FastAPI reads as: the request, and nothing to validate."""

    async def endpoint(request: Request) -> Response:
        return await handler(request)

    return endpoint
