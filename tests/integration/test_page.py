"""The chat page in an application: where it is, what its files are sent with, and what stays with the agents."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from tests.support.line_wire import LineWire
from tests.support.serving import Exchange, call, run_body, talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.page.files import is_built
from yai_nexus_agentkit.server import Identity, ServerSettings, add_agui_routes, add_page, create_app

HOME = "<!doctype html><title>A page</title>"
SCRIPT = "export const agent = 1;\n" * 200
GOES_ON = ServerSettings(disconnect_by_request=True)

built = pytest.mark.skipif(not is_built(), reason="the page is not built: make page")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A build of a page."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(HOME)
    (tmp_path / "icon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "main-1a2b.js").write_text(SCRIPT)
    (tmp_path / "assets" / "font-1a2b.woff2").write_bytes(b"wOF2")
    return tmp_path


def adapter() -> AGUIAdapter:
    return AGUIAdapter(talker(3))


def guard(authorization: str = Header(default="")) -> None:
    if authorization != "Bearer x":
        raise HTTPException(401, "sign in first")


def at_the_root(files: Path) -> Any:
    app = create_app(adapter(), settings=GOES_ON)
    add_page(app, "/", "/", settings=GOES_ON, files=files)
    return app


def beside_its_agent(files: Path) -> Any:
    app = Starlette()
    add_page(app, "/agent", settings=GOES_ON, files=str(files))
    add_agui_routes(app, adapter(), "/agent", settings=GOES_ON)
    return app


def in_fastapi(files: Path) -> Any:
    app = FastAPI()
    add_agui_routes(app, adapter(), "/agent", settings=GOES_ON)
    add_page(app, "/agent", "/", settings=GOES_ON, files=files)

    async def behind_a_proxy(scope: Any, receive: Any, send: Any) -> None:
        """As servers do it with their option ``--root-path``."""
        await app({**scope, "root_path": "/pre", "path": f"/pre{scope['path']}"}, receive, send)

    return behind_a_proxy


def in_a_router(files: Path) -> Any:
    router = APIRouter(prefix="/api")
    add_agui_routes(router, adapter(), "/agent", settings=GOES_ON)
    add_page(router, "/agent", "/show", settings=GOES_ON, files=files)
    app = FastAPI()
    app.include_router(router, prefix="/v2")
    return app


def mounted(files: Path) -> Any:
    return Starlette(routes=[Mount("/sub", at_the_root(files))])


KINDS: dict[Any, str] = {
    at_the_root: "/",
    beside_its_agent: "/chat/",
    in_fastapi: "/",
    in_a_router: "/v2/api/show/",
    mounted: "/sub/",
}


async def config_at(app: Any, home: str) -> dict[str, Any]:
    answer = await call(app, "GET", f"{home}config.json")
    assert answer.headers["cache-control"] == "no-cache"
    found: dict[str, Any] = answer.json
    return found


@pytest.mark.parametrize(("kind", "home"), KINDS.items(), ids=lambda value: getattr(value, "__name__", ""))
async def test_the_page_finds_its_files_and_its_agent(files: Path, kind: Any, home: str) -> None:
    app = kind(files)
    assert (await call(app, "GET", home)).body.decode() == HOME
    for name in ("icon.svg", "assets/main-1a2b.js"):
        assert (await call(app, "GET", home + name)).status == 200

    [agent] = (await config_at(app, home))["agents"]
    run, listed = urljoin(home, agent["run"]), urljoin(home, agent["url"]).rstrip("/") + "/threads"
    answer = await call(app, "POST", run, run_body("hi"))
    assert (answer.text(), answer.types()[-1]) == ("w0 w1 w2 ", "RUN_FINISHED")
    assert [thread["title"] for thread in (await call(app, "GET", listed)).json] == ["hi"]
    assert run.endswith("?disconnect=continue")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/assets/", 404),
        ("/assets/other.js", 404),
        ("/assets/../icon.svg", 404),
        ("/assets/%2e%2e/icon.svg", 404),
        ("/assets//etc/passwd", 404),
        ("/threads/t1", 405),
        ("/health", 200),
    ],
)
async def test_other_paths_stay_with_the_application(files: Path, path: str, status: int) -> None:
    assert (await call(at_the_root(files), "GET", path)).status == status


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_other_methods_stay_with_the_agent(files: Path, method: str) -> None:
    answer = await call(at_the_root(files), method, "/")
    assert (answer.status, answer.error, answer.headers["allow"]) == (405, "METHOD_NOT_ALLOWED", "POST")


async def test_a_path_without_its_slash_leads_to_the_page(files: Path) -> None:
    """Relative, so that it is right behind a proxy that takes a prefix away."""
    for app, path in ((beside_its_agent(files), "/chat"), (in_a_router(files), "/v2/api/show")):
        answer = await call(app, "GET", path)
        assert (answer.status, answer.headers["location"]) == (307, f"{path.rpartition('/')[2]}/")


# ---------------------------------------------------------------- headers


async def test_every_file_has_a_strict_policy(files: Path) -> None:
    app = at_the_root(files)
    for path in ("/", "/config.json", "/icon.svg", "/assets/main-1a2b.js"):
        headers = (await call(app, "GET", path)).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' data: blob:",
            "media-src": "'self' data: blob:",
            "connect-src": "'self'",
            "font-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize(
    ("path", "kind", "kept", "zipped"),
    [
        ("/", "text/html; charset=utf-8", "no-cache", True),
        ("/icon.svg", "image/svg+xml", "no-cache", True),
        ("/assets/main-1a2b.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", True),
        ("/assets/font-1a2b.woff2", "font/woff2", "public, max-age=31536000, immutable", False),
    ],
)
async def test_files_are_compressed_and_kept(files: Path, path: str, kind: str, kept: str, zipped: bool) -> None:
    app = at_the_root(files)
    plain = await call(app, "GET", path)
    small = await call(app, "GET", path, headers={"accept-encoding": "br, gzip"})

    assert (plain.headers["content-type"], plain.headers["cache-control"]) == (kind, kept)
    assert "content-encoding" not in plain.headers
    assert small.headers.get("content-encoding") == ("gzip" if zipped else None)
    assert (gzip.decompress(small.body) if zipped else small.body) == plain.body
    again = await call(app, "GET", path, headers={"if-none-match": plain.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["content-security-policy"] == plain.headers["content-security-policy"]
    assert (await call(app, "HEAD", path)).headers["content-length"] == str(len(plain.body))


async def test_a_new_build_is_shown_by_a_server_that_runs(files: Path) -> None:
    app = at_the_root(files)
    old = [await call(app, "GET", path) for path in ("/", "/assets/main-1a2b.js")]
    (files / "assets" / "main-1a2b.js").rename(files / "assets" / "main-3c4d.js")
    (files / "index.html").write_text(HOME + "<!-- new -->")
    os.utime(files / "index.html", ns=(1, 1))

    new = await call(app, "GET", "/", headers={"if-none-match": old[0].headers["etag"]})
    assert (new.status, new.body) == (200, old[0].body + b"<!-- new -->")
    assert (await call(app, "GET", "/assets/main-3c4d.js")).body == old[1].body
    assert (await call(app, "GET", "/assets/main-1a2b.js")).status == 404
    (files / "index.html").unlink()
    assert (await call(app, "GET", "/")).status == 404


# ---------------------------------------------------------------- the configuration


async def test_the_configuration_names_agents_and_more(files: Path) -> None:
    app = Starlette()
    paths = {"Writer": "/api/writer", "Critic": "/critic"}
    add_page(app, paths, "/show", title="House", examples={"Critic": ["Hi"]}, inspector="/inspector", files=files)

    assert await config_at(app, "/show/") == {
        "title": "House",
        "agents": [
            {"name": "Writer", "url": "../api/writer", "run": "../api/writer", "examples": []},
            {"name": "Critic", "url": "../critic", "run": "../critic", "examples": ["Hi"]},
        ],
        "inspector": "../inspector/",
    }


def by_header(request: Request) -> Identity:
    if request.headers["x-user"] == "nobody":
        raise HTTPException(401, "sign in first")
    if request.headers["x-user"] == "banned":
        raise PermissionError("not you")
    return Identity(user=request.headers["x-user"])


async def test_the_configuration_says_whether_it_is_the_same_person(files: Path) -> None:
    """`user` is a text for one person, the same in each process; None for nobody; not there if all are one user."""
    app = Starlette()
    add_page(app, "/agent", settings=ServerSettings(identity=by_header), files=files)

    async def user(name: str) -> Any:
        answer = await call(app, "GET", "/chat/config.json", headers={"x-user": name})
        return answer.json.get("user", "all are one")

    ann, again, bob = [await user(name) for name in ("ann", "ann", "bob")]
    assert ann == again == "cec78459472eed8b9f4625f155fd705a"
    assert ann != bob
    assert [await user(name) for name in ("nobody", "banned", "")] == [None, None, "all are one"]


async def test_a_resolver_that_fails_for_the_page_is_logged(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = Starlette()
    add_page(app, "/agent", settings=ServerSettings(identity=by_header), files=files)
    assert (await config_at(app, "/chat/"))["user"] is None
    assert "the identity resolver failed for the configuration of the page" in caplog.text


async def test_dependencies_guard_all_files(files: Path) -> None:
    app = FastAPI()
    add_page(app, "/agent", dependencies=[Depends(guard)], files=files)
    for path in ("/chat/", "/chat/config.json", "/chat/icon.svg", "/chat/assets/main-1a2b.js"):
        answers = [await call(app, "GET", path, headers=headers) for headers in ({}, {"authorization": "Bearer x"})]
        assert [answer.status for answer in answers] == [401, 200]
    assert app.openapi()["paths"] == {}


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"files": "/nowhere"}, FileNotFoundError, "the chat page is not built, there is no /nowhere/index.html"),
        ({"path": "chat"}, ValueError, "a path must begin with '/'"),
        ({"dependencies": [Depends(guard)]}, TypeError, "dependencies are FastAPI's"),
        ({"app": object()}, TypeError, "neither FastAPI nor Starlette"),
        ({"settings": {}}, TypeError, "settings must be ServerSettings"),
    ],
)
def test_what_cannot_be_shown_is_refused(files: Path, given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        add_page(**{"app": Starlette(), "agents": "/agent", "files": files, **given})


# ---------------------------------------------------------------- the package's own page


@built
async def test_a_whole_application_shows_the_page_at_its_root() -> None:
    app = create_app({"writer": adapter(), "critic": adapter()}, page=True)
    page: Exchange = await call(app, "GET", "/")
    sources = re.findall(r'(?:src|href)="\./([^"]+)"', page.body.decode())

    assert sources
    assert [(await call(app, "GET", f"/{source}")).status for source in sources] == [200] * len(sources)
    agents = (await config_at(app, "/"))["agents"]
    assert [(agent["name"], agent["run"]) for agent in agents] == [
        ("writer", "writer?disconnect=continue"),
        ("critic", "critic?disconnect=continue"),
    ]
    assert (await call(app, "POST", "/critic?disconnect=continue", run_body("hi"))).text() == "w0 w1 w2 "


@built
def test_an_agent_cannot_hide_a_part_of_the_page() -> None:
    with pytest.raises(ValueError, match="'assets' cannot be an agent's name: /assets is a path of the page"):
        create_app({"assets": adapter()}, page=True)


def test_the_page_reads_ag_ui_only() -> None:
    with pytest.raises(ValueError, match="the page reads AG-UI over SSE, not the wire LineWire"):
        create_app(adapter(), page=True, wire=LineWire())
