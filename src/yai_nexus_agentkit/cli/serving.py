"""Edge. The application of ``serve``: agents by name, the identity of requests, the chat page and the inspector."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.agents import adapter_of, loaded, warn_of_model
from yai_nexus_agentkit.cli.arguments import run_arguments
from yai_nexus_agentkit.cli.failures import CommandError, warn
from yai_nexus_agentkit.cli.loading import find, made, parse_spec
from yai_nexus_agentkit.cli.models import MODELS, model_settings, server_settings
from yai_nexus_agentkit.cli.persistence import persistence, run_store, with_persistence

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.server import Identity, ServerSettings
    from yai_nexus_agentkit.server.agents import Agent
    from yai_nexus_agentkit.server.settings import Resolver

__all__ = ["AI_SDK", "COPILOTKIT", "INSPECTOR", "LIVE", "application", "inspector_wanted", "named_specs", "page_wanted"]

INSPECTOR = "inspector"
"""The path of the inspector; no agent can have this name."""
AI_SDK = "/api/chat"
"""The path for pages made with the AI SDK, if they are served."""
COPILOTKIT = "/copilotkit"
"""The path for pages made with CopilotKit, if they are served."""
LIVE = "/live"
"""The path of google-adk's live mode, if it is served."""

_SAYS_NOTHING = frozenset({"agent", "agents", "app", "graph", "init", "main", "module", "server", "src"})
"""Names that are not titles."""
_NAMED = re.compile(r"([A-Za-z0-9._~-]+)=(.+)")


def named_specs(args: argparse.Namespace) -> dict[str | None, str]:
    """``name=module:attribute``, or one spec without a name (None). Raises `CommandError`."""
    named: dict[str | None, str] = {}
    paths = [COPILOTKIT] * args.copilotkit + [MODELS] * args.openai + [AI_SDK] * args.ai_sdk + [LIVE] * args.live
    taken = {INSPECTOR, *(path.split("/")[1] for path in paths)}
    if page_wanted(args):
        from yai_nexus_agentkit.page.mount import first_parts

        taken |= first_parts()
    for text in args.agents:
        match = _NAMED.fullmatch(text)
        name, spec = (match[1], match[2]) if match else (None, text)
        if name is None and len(args.agents) > 1:
            raise CommandError(f"several agents need names: write name={text}")
        if name in named or name in taken:
            raise CommandError(f"the name {name!r} is taken")
        named[name] = spec
    return named


def page_wanted(args: argparse.Namespace) -> bool:
    """Whether to show the chat page: by the command line, else if it is built. Raises `CommandError`."""
    from yai_nexus_agentkit.page.files import is_built

    if args.page and not is_built():
        raise CommandError("--page: the chat page is not built: run `make page` in the repository (it needs Node)")
    return is_built() if args.page is None else bool(args.page)


def inspector_wanted(args: argparse.Namespace) -> bool:
    """Whether to serve the inspector: by the command line, else if it is installed. Raises `CommandError`."""
    installed = find_spec("agui_inspector") is not None
    if args.inspector and not installed:
        raise CommandError("--inspector needs an extra: pip install 'yai-nexus-agentkit[inspector]'")
    return installed if args.inspector is None else bool(args.inspector)


@asynccontextmanager
async def application(args: argparse.Namespace, address: str, *, first: bool) -> AsyncIterator[Starlette]:
    """The application with its agents loaded, for as long as the block lasts. `address`: where it listens. `first`: no
    other worker has warned of the agents. Raises `CommandError`."""
    from yai_nexus_agentkit.server import ServerSettings, create_app

    specs, common = named_specs(args), _common(args)
    found = {name: find(parse_spec(spec)) for name, spec in specs.items()}
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(run_store(args.run_store))
        try:
            settings = ServerSettings(
                identity=_resolver(args, common),
                cors=args.cors,
                expose_errors=bool(args.expose_errors),
                hosts=_hosts(args, address),
                disconnect=args.disconnect,
                orphaned=args.orphaned,
                max_runs_per_user=args.max_runs_per_user,
                store=store,
                ai_sdk_version=args.ai_sdk_version or 6,
                disconnect_by_request=page_wanted(args),
                restore_identity=None
                if args.identity
                else lambda agent, user, facts: replace(common, user=user, facts=facts),
                **server_settings(args),
            )
            models = model_settings(args, common)
        except ValueError as error:
            raise CommandError(str(error)) from error
        attributes = await stack.enter_async_context(persistence(checkpointer=args.checkpointer, store=args.store))
        agents = {name: await _agent(found[name], spec, attributes, args, stack) for name, spec in specs.items()}
        only = agents.get(None)
        try:
            app = create_app(
                only or {name: agent for name, agent in agents.items() if name},
                settings=settings,
                copilotkit=COPILOTKIT if args.copilotkit else None,
                openai=models,
                ai_sdk=AI_SDK if args.ai_sdk else None,
                live=LIVE if args.live else None,
            )
        except (TypeError, ValueError) as error:  # TypeError: an agent without a live mode
            raise CommandError(str(error)) from error
        _add_pages(app, agents, specs, args, settings)
        if first:
            _warn_of_forgetting(agents, specs, args)
        yield app


async def _agent(
    found: Any, spec: str, attributes: dict[str, Any], args: argparse.Namespace, stack: AsyncExitStack
) -> Agent:
    """One agent: loaded now, or made for each request, with the user in the configuration of the user's function."""
    from yai_nexus_agentkit.adapter.frameworks import is_agent

    if not args.per_request:
        return await stack.enter_async_context(loaded(found, spec, attributes, args))
    if is_agent(found):
        warn(f"--per-request: {spec} already exists, so all requests share it")
        warn_of_model(spec, args)

    async def make(identity: Identity) -> AGUIAdapter:
        agent = await made(found, spec, _with_defaults(identity.config, {"user": identity.user}))
        return adapter_of(with_persistence(agent, attributes, spec), args)

    return make


def _hosts(args: argparse.Namespace, address: str) -> list[str]:
    """Names of this server. One on a loopback address answers to no others: a page of another site may have its own
    name lead there."""
    checked = (args.allow_host or ip_address(address).is_loopback) and "*" not in args.allow_host
    return ["localhost", "127.0.0.1", "::1", args.host, address, *args.allow_host] if checked else []


def _common(args: argparse.Namespace) -> Identity:
    """The values that all identities share: the configuration and context of the command line."""
    from yai_nexus_agentkit.server import Identity

    config, context = run_arguments(args).values()
    return Identity(config={"configurable": config["configurable"]}, context=context)


def _resolver(args: argparse.Namespace, common: Identity) -> Resolver:
    """The identity of a request, with `common` as defaults."""
    from yai_nexus_agentkit.server import Identity

    whose = find(parse_spec(args.identity)) if args.identity else None
    if whose is not None and not callable(whose):
        raise CommandError(f"--identity: {args.identity} is of type {type(whose).__name__}, not a function")

    async def resolve(request: Request) -> Identity:
        if whose is None:
            return common
        found = whose(request)
        identity: Identity = found if isinstance(found, Identity) else await found
        merged: Any = _with_defaults(identity.config, (common.config or {})["configurable"])
        return replace(
            identity, config=merged, context=common.context if identity.context is None else identity.context
        )

    return resolve


def _with_defaults(config: Mapping[str, Any] | None, configurable: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration, with these values for what its ``configurable`` lacks."""
    own = config or {}
    return {**own, "configurable": {**configurable, **(own.get("configurable") or {})}}


def _add_pages(
    app: Starlette,
    agents: Mapping[str | None, Agent],
    specs: Mapping[str | None, str],
    args: argparse.Namespace,
    settings: ServerSettings,
) -> None:
    """The inspector, and the chat page at the root, as wanted."""
    from yai_nexus_agentkit.server import add_page

    if inspector_wanted(args):
        _add_inspector(app, specs)
    if page_wanted(args):
        paths = {name or "agent": f"/{name or ''}" for name in specs}
        link = f"/{INSPECTOR}" if inspector_wanted(args) else None
        title = args.title or _title(agents, specs)
        add_page(app, paths, "/", title=title, examples=args.example, inspector=link, settings=settings)


def _title(agents: Mapping[str | None, Agent], specs: Mapping[str | None, str]) -> str:
    """The name of the only agent in words: the one it is served as, its own, or the last part of its module's that says
    something. "Agent" for several, and where no name says anything."""
    from yai_nexus_agentkit import AGUIAdapter

    if len(specs) > 1:
        return "Agent"
    ((name, spec),) = specs.items()
    agent, module = agents[name], parse_spec(spec).module
    identity = agent.capabilities().identity if isinstance(agent, AGUIAdapter) else None
    parts = Path(module).with_suffix("").parts if module.endswith(".py") else module.split(".")
    names = [name, identity.name if identity is not None else None, *reversed(parts)]
    words = [re.sub(r"[\W_]+", " ", one).strip() for one in names if one]
    title = next((one for one in words if one and one.lower() not in _SAYS_NOTHING), "Agent")
    return title[0].upper() + title[1:]


def _warn_of_forgetting(
    agents: Mapping[str | None, Agent], specs: Mapping[str | None, str], args: argparse.Namespace
) -> None:
    """Warn of agents whose conversations are gone when the page is reloaded, and whose runs end with their worker."""
    from yai_nexus_agentkit import AGUIAdapter

    several = args.workers > 1
    losses = ["a reload of the page forgets them"] * page_wanted(args) + ["a run is lost with its worker"] * several
    where = "sqlite:PATH or postgres://..." if several else "memory"
    for name, agent in agents.items():
        if losses and isinstance(agent, AGUIAdapter) and agent.source.thread_store() is None:
            warn(f"{specs[name]} stores no threads: {', and '.join(losses)}. --checkpointer {where} keeps them")


def _add_inspector(app: Starlette, specs: Mapping[str | None, str]) -> None:
    """Serve the inspector at ``/inspector``; redirect ``GET /`` to it, where no page is shown there."""
    from agui_inspector import Agent, mount_inspector
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    # Not its warning that the page is served: the banner says so.
    logging.getLogger("agui_inspector").setLevel(logging.ERROR)
    agents = [Agent(id=name or "agent", url=f"/{name or ''}", name=name or spec) for name, spec in specs.items()]
    mount_inspector(app, agents=agents, enabled=True, path=f"/{INSPECTOR}")

    async def home(request: Request) -> RedirectResponse:
        return RedirectResponse(f"{request.scope.get('root_path', '')}/{INSPECTOR}/")

    # First: the agents' routes answer 405 to methods that they lack.
    app.router.routes.insert(0, Route("/", home, methods=["GET"]))
