"""Edge. A whole application, or routes for one that exists."""

from __future__ import annotations

import gc
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.page.mount import first_parts
from yai_nexus_agentkit.server.adding import (
    add_routes_of,
    add_socket,
    checked_path,
    no_dependencies,
    required,
    router_of,
)
from yai_nexus_agentkit.server.agents import Agent, ServedAgent, changed
from yai_nexus_agentkit.server.ai_sdk import AISDK, readable
from yai_nexus_agentkit.server.application_service import ApplicationService
from yai_nexus_agentkit.server.copilotkit import CopilotKit
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.openai import OpenAI, plain
from yai_nexus_agentkit.server.openai_settings import OpenAISettings
from yai_nexus_agentkit.server.origins import HostCheck
from yai_nexus_agentkit.server.page import add_page
from yai_nexus_agentkit.server.problems import refused
from yai_nexus_agentkit.server.routes import starlette_routes
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.sockets.agui import agui_socket
from yai_nexus_agentkit.server.sockets.ai_sdk import ai_sdk_socket
from yai_nexus_agentkit.server.sockets.live import LiveSocket, in_live_mode
from yai_nexus_agentkit.transport.agui_sse import AGUIWire
from yai_nexus_agentkit.transport.openai.wire import OpenAIWire
from yai_nexus_agentkit.transport.wire import Wire

__all__ = [
    "add_agui_routes",
    "add_ai_sdk_routes",
    "add_copilotkit_routes",
    "add_live_routes",
    "add_openai_routes",
    "create_app",
]

DEFAULTS = ServerSettings()
_NAME = re.compile(r"[A-Za-z0-9._~-]+")
_ONLY = "agent"
"""Name of an agent that was given without one."""


def create_app(
    agents: Agent | Mapping[str, Agent],
    *,
    settings: ServerSettings = DEFAULTS,
    wire: Wire | None = None,
    copilotkit: str | None = None,
    openai: str | OpenAISettings | None = None,
    ai_sdk: str | None = None,
    live: str | None = None,
    page: bool = False,
) -> Starlette:
    """An ASGI application that serves one agent at ``/``, or each of several at ``/{name}``.

    An agent is an `AGUIAdapter`, or a function from `Identity` to one. Runs of all agents count towards the same
    limits; their service is ``app.state.agui``. `wire`: what clients post and read; default: AG-UI over SSE.
    `copilotkit`: a path, ``/copilotkit`` for example, under which pages made with CopilotKit find the same agents.
    `openai`: a path, ``/v1`` for example, or settings; OpenAI's clients find the same agents there as models.
    `ai_sdk`: a path, ``/api/chat`` for example, where pages made with the AI SDK find the agent; each of several is at
    ``{path}/{name}``. `live`: the same, for a web socket to the agent in ADK's live mode. `page`: show the chat page at
    ``/``; its runs go on while it is reloaded (``disconnect_by_request``).

    Raises ValueError for names that cannot stand in a path, and for a page with another wire than AG-UI's;
    FileNotFoundError for a page that is not built; TypeError for agents without a live mode if `live` is given.
    """
    required(settings)
    if page:
        settings = replace(settings, disconnect_by_request=True)
    openai = OpenAISettings(path=openai) if isinstance(openai, str) else openai
    named = agents if isinstance(agents, Mapping) else {_ONLY: agents}
    _check_names(agents, copilotkit, openai, {"the AI SDK's path": ai_sdk, "the path of live mode": live}, page=page)
    spoken = wire or AGUIWire(settings.event_lines)
    if page and not isinstance(spoken, AGUIWire):
        raise ValueError(f"the page reads AG-UI over SSE, not the wire {type(spoken).__name__}")
    service = ApplicationService(settings)
    app = _empty(service, settings, spoken, openai)
    _live_with(app.router, service.living)
    app.state.agui = service
    under = {name: f"/{name}" if isinstance(agents, Mapping) else "" for name in named}
    for name, agent in named.items():
        one: Any = {"settings": settings, "name": name, "service": service}
        _add_agent(app, agent, under[name], wire=spoken, ai_sdk=ai_sdk, live=live, **one)
    if copilotkit is not None:
        add_copilotkit_routes(app, agents, copilotkit, settings=settings, service=service)
    if openai is not None:
        add_openai_routes(app, agents, openai, settings=settings, service=service)
    if page:
        add_page(app, {name: path or "/" for name, path in under.items()}, "/", settings=settings)
    return app


def _add_agent(
    app: Starlette, agent: Agent, path: str, *, wire: Wire, ai_sdk: str | None, live: str | None, **one: Any
) -> None:
    """One agent's routes on each wire that has some of its own for each agent."""
    add_agui_routes(app, agent, path or "/", wire=wire, **one)
    if ai_sdk is not None:
        add_ai_sdk_routes(app, agent, f"{ai_sdk.rstrip('/')}{path}", **one)
    if live is not None:
        add_live_routes(app, agent, f"{live.rstrip('/')}{path}", **one)


def _check_names(
    agents: Agent | Mapping[str, Agent],
    copilotkit: str | None,
    openai: OpenAISettings | None,
    longer: Mapping[str, str | None],
    *,
    page: bool,
) -> None:
    """Raises ValueError for names of agents that cannot stand in a path, or that are the path of another wire."""
    taken = {copilotkit: "CopilotKit's path"}
    if openai is not None:
        taken[openai.path] = "the path of the models"
    for whose, path in longer.items():
        if path is not None:
            taken["/".join(path.split("/")[:2])] = f"the beginning of {whose}"
    if page:
        taken |= {f"/{part}": "a path of the page" for part in first_parts()}
    for name in agents if isinstance(agents, Mapping) else ():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be an agent's name: letters, digits, '.', '_', '~' and '-' only")
        if other := taken.get(f"/{name}"):
            raise ValueError(f"{name!r} cannot be an agent's name: /{name} is {other}")


def _empty(
    service: ApplicationService, settings: ServerSettings, wire: Wire, openai: OpenAISettings | None
) -> Starlette:
    """An application without routes. What it refuses itself is written by `wire`, and under the path of the models as
    OpenAI's clients read it."""
    models = None if openai is None else f"{openai.path.rstrip('/')}/"

    def refuse(path: str, error: Exception) -> Response:
        spoken = OpenAIWire() if models is not None and f"{path}/".startswith(models) else wire
        return refused(error, spoken, settings, partial(service.count_refused, ""))

    async def no_route(request: Request, error: Exception) -> Response:
        return refuse(request.scope["path"], error)

    middleware = [Middleware(HostCheck, hosts=settings.hosts, refuse=refuse)] if settings.hosts else []
    app = Starlette(
        middleware=[*middleware, _cors(settings)] if settings.cors else middleware,
        exception_handlers={HTTPException: no_route},
    )
    _live_with(app.router, _heap_frozen)
    return app


def add_agui_routes(
    app: Any,
    agent: Agent,
    path: str = "/",
    *,
    dependencies: Sequence[Any] = (),
    settings: ServerSettings = DEFAULTS,
    name: str | None = None,
    service: ApplicationService | None = None,
    wire: Wire | None = None,
) -> ApplicationService:
    """Serve an agent under `path` of a FastAPI or Starlette application, or of a FastAPI ``APIRouter``.

    `dependencies`: FastAPI's, for all these routes. `name`: part of the identity of the agent's threads; default: the
    path. `service`: the one that an earlier call returned, for limits and an index in common; it ends with the
    application. `wire`: what clients post and read; default: AG-UI over SSE.

    Raises TypeError for other applications, and for dependencies without FastAPI.
    """
    path = checked_path(path, settings)
    served = ServedAgent(name or path.strip("/") or _ONLY, agent, settings)
    running = service or _own_service(app, settings)
    running.serves(served, settings, main=True)
    endpoints = Endpoints(served, running, settings, wire or AGUIWire(settings.event_lines))
    if hasattr(app, "add_api_route"):
        from yai_nexus_agentkit.server.fastapi_routes import add_routes

        add_routes(app, endpoints, path, dependencies)
    elif dependencies:
        raise no_dependencies()
    else:
        router_of(app).routes.extend(starlette_routes(endpoints, path))
    if settings.sockets is not None:
        add_socket(app, agui_socket(served, running, settings), f"{path}/ws", dependencies)
    return running


def add_copilotkit_routes(
    app: Any,
    agents: Agent | Mapping[str, Agent],
    path: str = "/copilotkit",
    *,
    dependencies: Sequence[Any] = (),
    settings: ServerSettings = DEFAULTS,
    service: ApplicationService | None = None,
) -> ApplicationService:
    """Serve agents to pages made with CopilotKit, without its Node runtime: `path` is their ``runtimeUrl``. `app`: a
    FastAPI or Starlette application, or a FastAPI ``APIRouter``.

    One agent without a name is CopilotKit's ``default``. Threads are the same as those of `add_agui_routes` if the
    agent has the same name there, and `service` is what that call returned. Runs go on when the page is gone;
    CopilotKit stops them by a request. `dependencies`: FastAPI's, for all these routes.

    Raises TypeError for other applications, and for dependencies without FastAPI; ValueError for no agents.
    """
    path = checked_path(path, settings)
    served, running = _served(app, agents, settings, service)
    shown = served if isinstance(agents, Mapping) else {"default": served[_ONLY]}
    add_routes_of(app, CopilotKit(shown, running, settings).routes(path), dependencies)
    return running


def add_openai_routes(
    app: Any,
    agents: Agent | Mapping[str, Agent],
    openai: str | OpenAISettings = "/v1",
    *,
    dependencies: Sequence[Any] = (),
    settings: ServerSettings = DEFAULTS,
    service: ApplicationService | None = None,
) -> ApplicationService:
    """Serve agents as models to OpenAI's clients: Dify, Open WebUI, LibreChat, the SDKs. `app`: a FastAPI or Starlette
    application, or a FastAPI ``APIRouter``. `openai`: the base path, or settings.

    A model is named like its agent; one agent without a name is the model ``agent``. Threads are the same as those of
    `add_agui_routes` if the agent has the same name there, and `service` is what that call returned. A client that goes
    away ends its run. `dependencies`: FastAPI's, for all these routes.

    Raises TypeError for other applications, and for dependencies without FastAPI; ValueError for no agents.
    """
    options = OpenAISettings(path=openai) if isinstance(openai, str) else openai
    required(settings)
    shown = {name: changed(agent, plain) for name, agent in _named(agents).items()}
    served, running = _served(app, shown, settings, service)
    add_routes_of(app, OpenAI(served, running, settings, options).routes(), dependencies)
    return running


def add_ai_sdk_routes(
    app: Any,
    agent: Agent,
    path: str = "/api/chat",
    *,
    dependencies: Sequence[Any] = (),
    settings: ServerSettings = DEFAULTS,
    name: str | None = None,
    service: ApplicationService | None = None,
) -> ApplicationService:
    """Serve an agent to pages made with the AI SDK (``useChat``): `path` is the ``api`` of their transport. `app`: a
    FastAPI or Starlette application, or a FastAPI ``APIRouter``.

    Chats are the same threads as those of `add_agui_routes` if the agent has the same `name` there (default: the path),
    and `service` is what that call returned. Runs go on when the page is gone; ``POST {path}/{id}/stop`` stops one.
    `dependencies`: FastAPI's, for all these routes.

    Raises TypeError for other applications, and for dependencies without FastAPI.
    """
    path = checked_path(path, settings)
    shown = {name or path.strip("/") or _ONLY: changed(agent, readable)}
    served, running = _served(app, shown, settings, service)
    for one in served.values():
        add_routes_of(app, AISDK(one, running, settings).routes(path), dependencies)
        if settings.sockets is not None:
            add_socket(app, ai_sdk_socket(one, running, settings), f"{path}/ws", dependencies)
    return running


def add_live_routes(
    app: Any,
    agent: Agent,
    path: str = "/live",
    *,
    dependencies: Sequence[Any] = (),
    settings: ServerSettings = DEFAULTS,
    name: str | None = None,
    service: ApplicationService | None = None,
) -> ApplicationService:
    """Serve an agent of google-adk in live mode: a web socket at `path`, whose model listens while it answers. `app`: a
    FastAPI or Starlette application, or a FastAPI ``APIRouter``.

    The frames are those of `add_agui_routes`' socket, or of `add_ai_sdk_routes`' with ``?ai=7``. Each connection has a
    thread and a model of its own. ``ServerSettings.sockets`` has the limits. Threads can be read over HTTP if the agent
    has the same `name` there (default: the path), and `service` is what that call returned.

    Raises TypeError for other applications and for agents without a live mode.
    """
    path = checked_path(path, settings)
    if isinstance(agent, AGUIAdapter):
        in_live_mode(agent)  # refused at once
    served, running = _served(app, {name or path.strip("/") or _ONLY: agent}, settings, service)
    for one in served.values():
        add_socket(app, LiveSocket(one, agent, running, settings), path, dependencies)
    return running


def _named(agents: Agent | Mapping[str, Agent]) -> Mapping[str, Agent]:
    named = agents if isinstance(agents, Mapping) else {_ONLY: agents}
    if not named:
        raise ValueError("there is no agent to serve: give at least one")
    return named


def _served(
    app: Any, agents: Agent | Mapping[str, Agent], settings: ServerSettings, service: ApplicationService | None
) -> tuple[dict[str, ServedAgent], ApplicationService]:
    """The agents of a further wire, and the service that runs them."""
    served = {name: ServedAgent(name, agent, settings) for name, agent in _named(agents).items()}
    running = service or _own_service(app, settings)
    for one in served.values():
        running.serves(one, settings)
    return served, running


def _own_service(app: Any, settings: ServerSettings) -> ApplicationService:
    """A service that lives with the application."""
    service = ApplicationService(settings)
    _live_with(router_of(app), service.living)
    return service


def _cors(settings: ServerSettings) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=list(settings.cors),
        allow_methods=["GET", "POST", "PATCH", "DELETE", "OPTIONS"],
        allow_headers=["*"],
        expose_headers=["retry-after"],
    )


def _live_with(router: Router, part: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
    """Begin and end `part` with the application, inside its own lifespan."""
    inner = router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with inner(app) as state, part():
            yield state

    router.lifespan_context = lifespan


@asynccontextmanager
async def _heap_frozen() -> AsyncIterator[None]:
    """Modules and graphs that are there at the start stay. A collection that looks at all of them takes 50 to 100 ms,
    in which no stream goes on; a burst of requests sets one off."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
