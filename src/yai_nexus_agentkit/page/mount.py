"""Edge. The chat page as routes: its built files, and a ``config.json`` that names the agents."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from yai_nexus_agentkit.page.files import ASSETS, INDEX, NO_CACHE, SECURITY, STATIC, is_built, sent

__all__ = ["config_of", "first_parts", "page_routes"]

_CONFIG = "config.json"
Handler = Callable[[Request], Awaitable[Response]]
Configured = Callable[[Request], Awaitable[Mapping[str, object]]]


def first_parts() -> set[str]:
    """First parts of the paths of the page at the root: no agent at the root can have these names."""
    return {_CONFIG, *(entry.name for entry in STATIC.iterdir())} if STATIC.is_dir() else set()


def config_of(
    agents: Mapping[str, str],
    path: str = "",
    *,
    title: str,
    examples: Mapping[str, Sequence[str]],
    inspector: str | None = None,
    query: str = "",
) -> dict[str, object]:
    """What a page at `path` reads first. `agents`: the path of each, by its name. `examples`: messages that a new
    conversation offers, by the same names.

    URLs are relative to the page, so that they are right behind every prefix of a router or a proxy. ``run`` is the
    URL that runs are posted to, with `query`; ``url`` is that of the agent's other routes.
    """
    shown = []
    for name, target in agents.items():
        url = _relative(target, path)
        run = f"{url}?{query}" if query else url
        shown.append({"name": name, "url": url, "run": run, "examples": list(examples.get(name, ()))})
    link = None if inspector is None else f"{_relative(inspector, path)}/"
    return {"title": title, "agents": shown, "inspector": link}


def page_routes(config: Configured, path: str = "", *, folder: Path = STATIC) -> list[Route]:
    """The routes of a page at `path`, which has no slash at its end. `config`: returns what a request of the page's
    configuration is answered.

    Raises FileNotFoundError if the folder has no build of a page.
    """
    if not is_built(folder):
        how = "run `make page` in the repository (it needs Node)" if folder == STATIC else "build it first"
        raise FileNotFoundError(f"the chat page is not built, there is no {folder / INDEX}: {how}")

    async def configured(request: Request) -> Response:
        return JSONResponse(await config(request), headers={**SECURITY, **NO_CACHE})

    async def with_slash(request: Request) -> Response:
        return RedirectResponse(f"{quote(request.scope['path'].rpartition('/')[2])}/", headers=SECURITY)

    routes = [Route(f"{path}/", _file(folder / INDEX)), Route(f"{path}/{_CONFIG}", configured)]
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            routes.append(Route(f"{path}/{entry.name}/{{name:path}}", _folder(entry)))
        elif entry.name != INDEX:
            routes.append(Route(f"{path}/{entry.name}", _file(entry)))
    return [*routes, Route(path, with_slash)] if path else routes


def _file(path: Path) -> Handler:
    async def file(request: Request) -> Response:
        return await sent(request, path, immutable=False)

    return file


def _folder(folder: Path) -> Handler:
    """Its files are found in a list, so that no path leads out of it. The list is that of the newest build."""

    def files() -> dict[str, Path]:
        return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}

    async def file(request: Request) -> Response:
        path = (await run_in_threadpool(files)).get(request.path_params["name"])
        if path is None:
            raise HTTPException(404)
        return await sent(request, path, immutable=folder.name == ASSETS)

    return file


def _relative(target: str, path: str) -> str:
    return posixpath.relpath(target, path or "/")
