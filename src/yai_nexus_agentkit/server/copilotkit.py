"""Edge. CopilotKit's runtime without Node: the routes that its browser packages call, over the agents of a server.

`@copilotkit/core` 1.75 asks ``GET /info`` which agents there are, then posts to ``/agent/{id}/run``, ``/connect`` (a
page that opens) and ``/stop/{threadId}``. Its single transport posts ``{"method", "params", "body"}`` to the base path
instead. It stops runs explicitly: a connection that ends is a reload, so runs go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yai_nexus_agentkit import __version__
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.body import Body
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.origins import check_same_site
from yai_nexus_agentkit.server.problems import answered
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.thread_endpoints import ThreadEndpoints
from yai_nexus_agentkit.transport.copilotkit import CopilotKitWire
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["CopilotKit"]


class CopilotKit:
    """The handlers of one runtime."""

    def __init__(self, agents: Mapping[str, ServedAgent], service: RunService, settings: ServerSettings) -> None:
        """`agents`: by the id that pages use; at least one."""
        own, wire = replace(settings, disconnect="continue"), CopilotKitWire(settings.event_lines)
        self._agents = {name: Endpoints(agent, service, own, wire) for name, agent in agents.items()}
        for endpoints in self._agents.values():
            endpoints.run_path = "/run"
        self._first = next(iter(self._agents.values()))
        """For what is the same for all agents: the limits of bodies, who sends a request, refusals."""
        self._label = next(iter(agents)) if len(agents) == 1 else ""
        """The agent that refusals are counted for."""

    def routes(self, path: str) -> list[Route]:
        """All routes, under `path`."""
        table: Sequence[tuple[str, str, Handler]] = [
            ("GET", "/info", self.info),
            ("POST", "/agent/{agent}/run", self.run),
            ("POST", "/agent/{agent}/connect", self.connect),
            ("POST", "/agent/{agent}/stop/{thread_id:agui_thread}", self.stop),
            ("GET", "/agent/{agent}/threads/{thread_id:agui_thread}/media/{media_id:agui_thread}", self.media),
            ("POST", "", self.single),
        ]
        routes = [Route(path + end, handler, methods=[method]) for method, end, handler in table if path + end]
        return [*routes, Route(f"{path}/", self.single, methods=["POST"])]

    @answered
    async def info(self, request: Request) -> Response:
        """The agents that the caller may use."""
        return await self._info(await self._first.caller(request))

    @answered
    async def run(self, request: Request) -> Response:
        """A run of one agent."""
        return await self._agent(request.path_params["agent"]).run(request)

    @answered
    async def connect(self, request: Request) -> Response:
        """A thread's active run, or the thread as it is now."""
        return await self._agent(request.path_params["agent"]).connect(request)

    @answered
    async def media(self, request: Request) -> Response:
        """The content behind a link of a snapshot."""
        return await ThreadEndpoints(self._agent(request.path_params["agent"])).media(request)

    @answered
    async def stop(self, request: Request) -> Response:
        """Stop a thread's run: the one that the body names, if it names one."""
        check_same_site(request.headers, self._first.settings.cors)
        agent = self._agent(request.path_params["agent"])
        caller, data = await agent.caller(request), None
        if "content-type" in request.headers:
            async with agent.received(request, optional=True) as body:
                data = body.data
        return await _stopped(agent, caller, request.path_params["thread_id"], data)

    @answered
    async def single(self, request: Request) -> Response:
        """Any of these, by the method that the body names."""
        caller = await self._first.caller(request)
        async with self._first.received(request) as body:
            asked: Mapping[str, Any] = body.data if isinstance(body.data, Mapping) else {}
            method, params, inner = asked.get("method"), asked.get("params"), asked.get("body")
            if method == "info":
                return await self._info(caller)
            if method not in ("agent/run", "agent/connect", "agent/stop"):
                raise Refusal(
                    400, "INVALID_REQUEST", "method must be 'info', 'agent/run', 'agent/connect' or 'agent/stop'"
                )
            named: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
            agent = self._agent(named.get("agentId"))
            caller = replace(caller, agent=agent.agent, under=f"/agent/{named['agentId']}")
            if method == "agent/stop":
                return await _stopped(agent, caller, named.get("threadId"), inner)
            posted = await agent.posted(caller, Body(inner, body.raw))
        return await (agent.started if method == "agent/run" else agent.joined)(caller, posted)

    def refusal(self, error: Exception) -> Response:
        """CopilotKit's answer to what a handler raised."""
        return self._first.refusal(error, self._label)

    def _agent(self, name: Any) -> Endpoints:
        found = self._agents.get(name) if isinstance(name, str) else None
        if found is None:
            raise Refusal(404, "AGENT_NOT_FOUND", "there is no such agent")
        return found

    async def _info(self, caller: Caller) -> Response:
        agents: dict[str, Any] = {}
        for name, endpoints in self._agents.items():
            try:
                adapter = await replace(caller, agent=endpoints.agent).adapter()
            except (HTTPException, PermissionError):  # not for this user
                continue
            able = endpoints.agent.able(adapter)
            agents[name] = {
                "name": name,
                "description": (able.identity and able.identity.description) or "",
                "className": type(adapter).__name__,
                "capabilities": able.model_dump(mode="json", by_alias=True, exclude_none=True),
            }
        threads = dict.fromkeys(("list", "inspect", "mutations", "realtimeMetadata"), False)
        return JSONResponse(
            {
                "version": __version__,
                "agents": agents,
                "audioFileTranscriptionEnabled": False,
                "mode": "sse",
                "threadEndpoints": threads,
            }
        )


async def _stopped(agent: Endpoints, caller: Caller, thread_id: Any, body: Any) -> Response:
    if not isinstance(thread_id, str):
        raise Refusal(422, "INVALID_INPUT", "threadId is missing")
    run_id = body.get("runId") if isinstance(body, Mapping) else None
    key = caller.thread(thread_id).key
    running = await agent.service.current(key)
    another = running is not None and run_id is not None and running.run_input.run_id != run_id
    return JSONResponse({"stopped": not another and await agent.service.cancel(key)})
