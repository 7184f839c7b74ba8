"""Edge. The routes of the Vercel AI SDK: what ``useChat`` and its ``DefaultChatTransport`` ask for, for one agent.

``POST {api}`` sends a message, ``GET {api}/{id}/stream`` joins the run under way (204: there is none). The others are
the application's own by the AI SDK's documentation: ``GET {api}/{id}`` the chat's messages, ``POST {api}/{id}/stop`` to
stop its run, ``DELETE {api}/{id}``. A connection that ends is a reload or ``stop()`` of the page: the run goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.origins import is_same_site
from yai_nexus_agentkit.server.settings import ServerSettings
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


def _answered(handler: Callable[[AISDK, Request], Awaitable[Response]]) -> Callable[[AISDK, Request], Any]:
    """Turn what a handler raises into a refusal."""

    @wraps(handler)
    async def answer(self: AISDK, request: Request) -> Response:
        try:
            return await handler(self, request)
        except Exception as error:
            return self.endpoints.refusal(error)

    return answer


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
            ("DELETE", chat, self.endpoints.delete),
        ]
        return [Route(path + end, handler, methods=[method]) for method, end, handler in table if path + end]

    @_answered
    async def stream(self, request: Request) -> Response:
        """The run under way, from the answer's beginning; 204 if there is none."""
        caller = await self.endpoints.caller(request)
        run = await self.endpoints.current(caller.thread(request.path_params["thread_id"]))
        if run is None:
            return Response(status_code=204)
        return await self.endpoints.joined(caller, self.wire.joining(run.run_input))

    @_answered
    async def messages(self, request: Request) -> Response:
        """The chat's messages; none if there is no such chat. A page of version 5 appends the answer under way to what
        it has of it, so it gets nothing of it here."""
        caller, chat = await self.endpoints.caller(request), request.path_params["thread_id"]
        appends = self.wire.version == 5 and await self.endpoints.current(caller.thread(chat)) is not None
        history = UIHistory(self.wire.version, answered=not appends)
        found = await self.endpoints.found(caller, history.of(chat), running=False)
        shown = b"".join([piece async for piece in found.whole()])
        if (failure := history.failure) is not None:
            raise Refusal(500, failure.code or "INTERNAL_ERROR", failure.message)
        return Response(shown, media_type="application/json")

    @_answered
    async def stop(self, request: Request) -> Response:
        """Stop the chat's run: its stream ends with ``abort``."""
        if not is_same_site(request.headers, self.endpoints.settings.cors):
            raise Refusal(403, "FORBIDDEN", "a page of another origin must send content-type: application/json")
        caller = await self.endpoints.caller(request)
        stopped = await self.endpoints.service.cancel(caller.thread(request.path_params["thread_id"]).key)
        return JSONResponse({"stopped": stopped})
