"""Edge. The routes of the Vercel AI SDK: what ``useChat`` and its ``DefaultChatTransport`` ask for, for one agent.

``POST {api}`` sends a message, ``GET {api}/{id}/stream`` joins the active run (204: there is none). The others are
the application's own by the AI SDK's documentation: ``GET {api}/{id}`` the chat's messages, ``POST {api}/{id}/stop`` to
stop its run, ``DELETE {api}/{id}``. A connection that ends is a reload or ``stop()`` of the page: the run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.origins import check_same_site
from yai_nexus_agentkit.server.problems import answered
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.thread_endpoints import ThreadEndpoints
from yai_nexus_agentkit.transport.ai_sdk import AISDKWire, UIHistory
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["AISDK", "readable"]


def readable(agent: AGUIAdapter) -> AGUIAdapter:
    """The adapter without options for older clients of AG-UI, whose events say nothing here."""
    own = replace(
        agent.options,
        reasoning="off" if agent.options.reasoning == "off" else "standard",
        interrupts="outcome",
        text_chunks=False,
        raw_events=False,
    )
    return agent.replace(options=own)


class AISDK:
    """The handlers of one agent."""

    def __init__(self, agent: ServedAgent, service: RunService, settings: ServerSettings) -> None:
        self.wire = AISDKWire(settings.ai_sdk_version)
        self.endpoints = Endpoints(agent, service, replace(settings, disconnect="continue"), self.wire)

    def routes(self, path: str) -> list[Route]:
        """All routes, under `path`. A chat's id is any text: after what ends in a word, before what does not."""
        chat = "/{thread_id:agui_thread}"
        table: Sequence[tuple[str, str, Handler]] = [
            ("POST", "", self.endpoints.run),
            ("POST", "/", self.endpoints.run),
            ("GET", f"{chat}/stream", self.stream),
            ("POST", f"{chat}/stop", self.stop),
            ("GET", chat, self.messages),
            ("DELETE", chat, ThreadEndpoints(self.endpoints).delete),
        ]
        return [Route(path + end, handler, methods=[method]) for method, end, handler in table if path + end]

    def refusal(self, error: Exception) -> Response:
        """The AI SDK's answer to what a handler raised."""
        return self.endpoints.refusal(error)

    @answered
    async def stream(self, request: Request) -> Response:
        """The active run, from the answer's beginning; 204 if there is none."""
        caller = await self.endpoints.caller(request)
        run = await self.endpoints.current(caller.thread(request.path_params["thread_id"]))
        if run is None:
            return Response(status_code=204)
        return await self.endpoints.joined(caller, self.wire.joining(run.run_input))

    @answered
    async def messages(self, request: Request) -> Response:
        """The chat's messages; none if there is no such chat. A page of version 5 joins an answer that is being
        written and appends it to what it has, so it gets nothing of that answer here."""
        caller, chat = await self.endpoints.caller(request), request.path_params["thread_id"]
        appends = self.wire.version == 5 and await self.endpoints.current(caller.thread(chat)) is not None
        history = UIHistory(self.wire.version, answered=not appends)
        found = await self.endpoints.found(caller, history.of(chat), running=False)
        shown = b"".join([piece async for piece in found.whole()])
        if (failure := history.failure) is not None:
            raise Refusal(500, failure.code or "INTERNAL_ERROR", failure.message)
        return Response(shown, media_type="application/json")

    @answered
    async def stop(self, request: Request) -> Response:
        """Stop the chat's run: its stream ends with ``abort``."""
        check_same_site(request.headers, self.endpoints.settings.cors)
        caller = await self.endpoints.caller(request)
        stopped = await self.endpoints.service.cancel(caller.thread(request.path_params["thread_id"]).key)
        return JSONResponse({"stopped": stopped})
