"""Edge. The routes of the Vercel AI SDK: what ``useChat`` and its ``DefaultChatTransport`` ask for, for one agent.

``POST {api}`` sends a message, ``GET {api}/{id}/stream`` joins the active run (204: there is none). The others are
the application's own by the AI SDK's documentation: ``GET {api}/{id}`` the chat's messages, ``POST {api}/{id}/stop`` to
stop its run, ``DELETE {api}/{id}``. A connection that ends is a reload or ``stop()`` of the page: the run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ag_ui.core import MessagesSnapshotEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.adapter.hook_calls import shown_snapshot
from yai_nexus_agentkit.protocol.endings import answered as answered_by
from yai_nexus_agentkit.protocol.fetched_media import messages_as_sent
from yai_nexus_agentkit.protocol.request import empty_request
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.caller import Caller
from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.origins import check_same_site
from yai_nexus_agentkit.server.problems import answered
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.thread_endpoints import ThreadEndpoints
from yai_nexus_agentkit.transport.ai_sdk import AISDKWire, UIHistory, values_json
from yai_nexus_agentkit.transport.ai_sdk.conversation import last_user, reply_id
from yai_nexus_agentkit.transport.wire import Posted, Refusal

__all__ = ["AISDK", "joining", "readable"]

_LOADED, _LOADED_KEPT = "ai-sdk-loaded", 30.0
"""Kind of a note on the board: a page loaded a chat without the answer to this user message, which was being written.
Seconds for which the answer can be joined although it is complete: the page joins it in a second request."""


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


async def joining(endpoints: Endpoints, wire: AISDKWire, caller: Caller, chat: str) -> Posted | None:
    """What a page of this chat joins: the active run, or the answer of one that ended since the page was loaded; None
    if there is neither."""
    thread = caller.thread(chat)
    run = await endpoints.current(thread)
    turn = None if run else (await endpoints.service.store.board.notes(_LOADED, thread.key)).get("")
    if run is None and turn is None:
        return None
    asked, own = run.run_input if run else empty_request(chat), None
    if not (newest := last_user(asked.messages)):  # a page may send its last message only
        newest = last_user(await endpoints.in_time(caller.history(chat)))
        own = reply_id(newest)
    if turn not in (None, newest):
        return None
    questions = answered_by((await endpoints.kept(thread)).questions, asked.resume or ())
    return wire.joining(asked, own, [one for one in questions if one.turn == newest])


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
        posted = await joining(self.endpoints, self.wire, caller, request.path_params["thread_id"])
        return Response(status_code=204) if posted is None else await self.endpoints.joined(caller, posted)

    @answered
    async def messages(self, request: Request) -> Response:
        """The chat's messages; none if there is no such chat. The answer of an active run is left out: clients before
        5.0.233, 6.0.250 and 7.0.61 append what they join to what they have."""
        caller, chat = await self.endpoints.caller(request), request.path_params["thread_id"]
        thread, adapter = caller.thread(chat), await caller.adapter()
        run = await self.endpoints.current(thread) if adapter.threads() is not None else None
        history = UIHistory(self.wire.version)
        found = await self.endpoints.found(caller, history.of(chat), running=False)
        async for _ in found.whole():
            pass
        if (failure := history.failure) is not None:
            raise Refusal(500, failure.code or "INTERNAL_ERROR", failure.message)
        history.asked, board = found.kept.questions, self.endpoints.service.store.board
        if run is None:
            await board.drop(_LOADED, thread.key, "")
            return Response(values_json(history.messages()), media_type="application/json")
        snapshot = MessagesSnapshotEvent(messages=messages_as_sent(run.run_input.messages))
        shown = shown_snapshot(caller.outside_run(adapter, thread), snapshot)
        posted = [one for event in shown if isinstance(event, MessagesSnapshotEvent) for one in event.messages]
        messages = history.messages(posted)
        turn = next((one["id"] for one in reversed(messages) if one["role"] == "user"), "")
        await board.put(_LOADED, thread.key, "", turn, keep=_LOADED_KEPT)
        return Response(values_json(messages), media_type="application/json")

    @answered
    async def stop(self, request: Request) -> Response:
        """Stop the chat's run: its stream ends with ``abort``."""
        check_same_site(request.headers, self.endpoints.settings.cors)
        caller = await self.endpoints.caller(request)
        stopped = await self.endpoints.service.cancel(caller.thread(request.path_params["thread_id"]).key)
        return JSONResponse({"stopped": stopped})
