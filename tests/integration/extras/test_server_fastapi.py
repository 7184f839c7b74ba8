"""Routes in FastAPI and Starlette applications, and what schemathesis makes of the OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from websockets.exceptions import InvalidStatus

from tests.support.serving import asker, call, living, run_body, talker
from tests.support.sockets import listening, tab
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, add_agui_routes, add_copilotkit_routes

app = FastAPI()
service = add_agui_routes(app, AGUIAdapter(talker(2)), "/agent", settings=ServerSettings(seed_paths=True))
add_agui_routes(app, AGUIAdapter(asker()), "/asker", service=service)
schema = schemathesis.openapi.from_asgi("/openapi.json", app)


def _names_files(body: Any) -> bool:
    if isinstance(body, dict):
        return body.get("type") in ("url", "file") or any(map(_names_files, body.values()))
    return isinstance(body, list) and any(map(_names_files, body))


def _surprises_nobody(label: str) -> Callable[..., None]:
    """A test for one operation. Those of a common one share a name, and processes that share the tests go by names."""

    @schema.include(name=label).parametrize()
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    def test(case: schemathesis.Case) -> None:
        excluded: list[Any] = []
        if case.operation.label.startswith("POST") and case.operation.path.removesuffix("/connect") in (
            "/agent",
            "/asker",
        ):
            # The protocol wants requests read leniently: unknown parts, nulls and the like are cleaned, not refused.
            excluded = CHECKS.get_by_names(["negative_data_rejection"])
        elif case.operation.method.upper() == "PATCH":
            # Which keys and nodes there are is the graph's business, no matter of a schema.
            excluded = CHECKS.get_by_names(["positive_data_acceptance"])
        if _names_files(case.body):  # which URLs are accepted depends on their hosts, which no schema says
            excluded += CHECKS.get_by_names(["positive_data_acceptance"])
        if "/threads/{thread_id}/" in case.operation.path:
            # A thread's id is any text, slashes too: a PATCH of this path would name the thread "0/cancel".
            excluded += CHECKS.get_by_names(["unsupported_method"])
        case.call_and_validate(excluded_checks=excluded)

    return test


_REPEATED = "/asker/"
"""The routes of the second agent beside its run have the same handlers as those of the first."""

for number, found in enumerate(schema.get_all_operations()):
    if _REPEATED not in found.ok().label or found.ok().label.endswith("/connect"):
        globals()[f"test_nothing_surprises_schemathesis_{number}"] = _surprises_nobody(found.ok().label)


def test_all_checks_are_in_force() -> None:
    assert {"not_a_server_error", "status_code_conformance", "response_schema_conformance"} <= set(
        CHECKS.get_all_names()
    )


async def test_a_run_in_a_fastapi_application_with_and_without_slash() -> None:
    for path in ("/agent", "/agent/"):
        done = await call(app, "POST", path, run_body(thread=path))
        assert (done.status, done.types()[-1]) == (200, "RUN_FINISHED")


async def test_the_document_names_every_route_once() -> None:
    document = (await call(app, "GET", "/openapi.json")).json
    operations = [op["operationId"] for item in document["paths"].values() for op in item.values()]
    assert len(operations) == len(set(operations)) == 36
    run = document["paths"]["/agent"]["post"]
    assert run["requestBody"]["content"]["application/json"]["schema"]["required"] == ["threadId", "runId", "messages"]
    assert "text/event-stream" in run["responses"]["200"]["content"]
    assert "$ref" not in str(run["requestBody"])


@pytest.mark.parametrize("accepted", [True, False])
async def test_the_document_has_as_node_where_it_is_accepted(accepted: bool) -> None:
    own = FastAPI()
    add_agui_routes(own, AGUIAdapter(talker(1)), "/agent", settings=ServerSettings(patch_as_node=accepted))
    document = (await call(own, "GET", "/openapi.json")).json
    patch = document["paths"]["/agent/threads/{thread_id}/state"]["patch"]
    assert ("as_node" in [parameter["name"] for parameter in patch["parameters"]]) is accepted


async def test_dependencies_guard_every_route() -> None:
    def guard(request: Request) -> None:
        if request.headers.get("x-key") != "sesame":
            raise HTTPException(401, "no")

    guarded = FastAPI()
    add_agui_routes(guarded, AGUIAdapter(talker(1)), "/agent", dependencies=[Depends(guard)])
    for method, path in [("POST", "/agent"), ("POST", "/agent/"), ("GET", "/agent/threads"), ("GET", "/agent/health")]:
        assert (await call(guarded, method, path, run_body() if method == "POST" else None)).status == 401, path
    assert (await call(guarded, "POST", "/agent", run_body(), {"x-key": "sesame"})).status == 200


async def test_a_router_may_be_given() -> None:
    router = APIRouter(prefix="/api")
    add_agui_routes(router, AGUIAdapter(talker(1)), "/agent")
    whole = FastAPI()
    whole.include_router(router)
    async with living(whole):
        assert (await call(whole, "POST", "/api/agent", run_body())).types()[-1] == "RUN_FINISHED"
        assert (await call(whole, "POST", "/api/agent/", run_body(run="r2"))).status == 200


@pytest.mark.parametrize(
    ("own", "path", "included", "base"),
    [
        ("/api", "/", "", "/api"),
        ("/api", "/", "/v1", "/v1/api"),
        ("/api", "/agent", "/v1", "/v1/api/agent"),
        ("", "/agent", "/v1", "/v1/agent"),
    ],
)
async def test_prefixes_of_routers_are_part_of_the_path(own: str, path: str, included: str, base: str) -> None:
    router = APIRouter(prefix=own)
    add_agui_routes(router, AGUIAdapter(talker(1)), path)
    whole = FastAPI()
    whole.include_router(router, prefix=included)
    for full in (base, base + "/"):
        done = await call(whole, "POST", full, run_body(thread=full))
        assert (done.status, done.types()[-1]) == (200, "RUN_FINISHED"), full
        other = await call(whole, "PUT", full)
        assert (other.status, other.headers["allow"]) == (405, "POST"), full
    assert (await call(whole, "GET", f"{base}/threads/{quote(base, safe='')}/state")).json["snapshot"]["count"] == 1
    document = (await call(whole, "GET", "/openapi.json")).json
    assert "post" in document["paths"][base]
    assert base + "/" not in document["paths"]


async def test_operations_of_all_agents_have_names_of_their_own() -> None:
    """Also those that a client generator makes equal, and those of a router that is included twice."""
    whole = FastAPI()
    for path in ("/", "/agent-one", "/agent_one", "/agent/one", "/agent.one", "/agent-one/two", "/{tenant}/agent"):
        add_agui_routes(whole, AGUIAdapter(talker(1)), path)
    for name in ("left", "right"):
        router = APIRouter(prefix=f"/{name}")
        add_agui_routes(router, AGUIAdapter(talker(1)))
        whole.include_router(router)
    twice = APIRouter()
    add_agui_routes(twice, AGUIAdapter(talker(1)), "/agent")
    whole.include_router(twice, prefix="/v1")
    whole.include_router(twice, prefix="/v2")
    document = (await call(whole, "GET", "/openapi.json")).json
    operations = [op["operationId"] for item in document["paths"].values() for op in item.values()]
    assert len(operations) == 11 * 15
    assert len({name.lower() for name in operations}) == len(operations)
    assert all(name.replace("_", "").isalnum() for name in operations)
    assert document["paths"]["/agent/one"]["post"]["operationId"] == "run_agent_one"


async def test_a_starlette_application_keeps_its_own_routes_and_lifespan() -> None:
    began: list[str] = []

    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        began.append("up")
        yield {"mine": 1}
        began.append("down")

    async def hello(request: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    whole = Starlette(routes=[Route("/", hello)], lifespan=lifespan)
    add_agui_routes(whole, AGUIAdapter(talker(1)), "/agent")
    async with living(whole):
        assert (await call(whole, "GET", "/")).body == b"hello"
        assert (await call(whole, "POST", "/agent", run_body())).types()[-1] == "RUN_FINISHED"
    assert began == ["up", "down"]


async def test_agents_of_one_service_share_limits_and_not_threads() -> None:
    whole = FastAPI()
    settings_ = ServerSettings(max_runs=1)
    shared = add_agui_routes(whole, AGUIAdapter(talker(1)), "/one", settings=settings_)
    assert add_agui_routes(whole, AGUIAdapter(talker(1)), "/two", settings=settings_, service=shared) is shared
    with shared.capacity.place("somebody"):
        assert (await call(whole, "POST", "/one", run_body())).status == 429
        assert (await call(whole, "POST", "/two", run_body())).status == 429
    await call(whole, "POST", "/one", run_body())
    assert (await call(whole, "GET", "/two/threads")).json == []


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="neither FastAPI nor Starlette"):
        add_agui_routes(object(), AGUIAdapter(talker()), "/agent")
    with pytest.raises(TypeError, match="dependencies are FastAPI's"):
        add_agui_routes(Starlette(), AGUIAdapter(talker()), "/agent", dependencies=[1])
    with pytest.raises(ValueError, match="must begin with '/'"):
        add_agui_routes(FastAPI(), AGUIAdapter(talker()), "agent")


def _a_guard(connection: HTTPConnection) -> None:
    if connection.headers.get("x-key") != "open":
        raise HTTPException(401)


def _a_guard_of_requests(request: Request) -> None:
    """A socket has no request."""


async def test_dependencies_guard_the_socket_too() -> None:
    guarded = FastAPI()
    add_agui_routes(guarded, AGUIAdapter(talker()), "/agent", dependencies=[Depends(_a_guard)])
    async with listening(guarded) as host:
        with pytest.raises(InvalidStatus):
            async with tab(host, "/agent/ws"):
                pass
        async with tab(host, "/agent/ws", headers={"x-key": "open"}) as one:
            assert (await one.played())[-1]["type"] == "RUN_FINISHED"


async def test_a_dependency_that_asks_for_a_request_keeps_sockets_out() -> None:
    guarded = FastAPI()
    add_agui_routes(guarded, AGUIAdapter(talker()), "/agent", dependencies=[Depends(_a_guard_of_requests)])
    async with listening(guarded, log_level="critical") as host:
        with pytest.raises(InvalidStatus):
            async with tab(host, "/agent/ws"):
                pass


@pytest.mark.parametrize("opens", [True, False])
async def test_routes_that_are_added_in_a_lifespan_have_a_store(opens: bool, tmp_path: Path) -> None:
    """Whoever adds them opens the service; else the server says that it is not ready."""
    stored = ServerSettings(store=f"sqlite:{tmp_path / 'runs.db'}")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = add_agui_routes(app, AGUIAdapter(talker(2)), "/agent", settings=stored)
        async with service if opens else nullcontext():
            yield

    app = FastAPI(lifespan=lifespan)
    async with living(app):
        ready = await call(app, "GET", "/agent/ready")
        run = await call(app, "POST", "/agent", run_body())
        joined = await call(app, "POST", "/agent/connect", run_body(None))
        if opens:
            assert ready.json == {"status": "ready"}
            assert run.types()[-1] == joined.types()[-1] == "RUN_FINISHED"
        for answer in () if opens else (ready, run, joined):
            assert answer.status == 503
            assert answer.json["detail"]["error"] == "STORE_UNAVAILABLE"
            assert "`async with` what add_agui_routes returns" in answer.json["detail"]["error_description"]


async def test_routes_that_are_added_in_a_lifespan_have_a_janitor() -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        cared = ServerSettings(thread_idle=0.2, janitor_every=0.1)
        async with add_agui_routes(app, AGUIAdapter(talker(2)), "/agent", settings=cared):
            yield

    app = FastAPI(lifespan=lifespan)
    async with living(app):
        await call(app, "POST", "/agent", run_body())
        assert len((await call(app, "GET", "/agent/threads")).json) == 1
        async with asyncio.timeout(10):
            while (await call(app, "GET", "/agent/threads")).json:
                await asyncio.sleep(0.05)


async def test_an_agent_that_only_another_wire_serves_has_a_janitor() -> None:
    cared, app = ServerSettings(thread_idle=0.2, janitor_every=0.1), Starlette()
    shared = add_agui_routes(app, AGUIAdapter(talker(2)), "/agent", settings=cared)
    add_copilotkit_routes(app, {"other": AGUIAdapter(talker(2))}, "/pages", settings=cared, service=shared)
    async with living(app):
        await call(app, "POST", "/pages/agent/other/run", run_body())
        assert len(await shared.index.entries("other", "", limit=9)) == 1
        async with asyncio.timeout(10):
            while await shared.index.entries("other", "", limit=9):
                await asyncio.sleep(0.05)
