"""Edge. The handlers of an agent's routes. Each takes a request and returns a response; none knows FastAPI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from yai_nexus_agentkit.adapter.hook_calls import shown_snapshot
from yai_nexus_agentkit.errors import ThreadNotFoundError, own_text
from yai_nexus_agentkit.protocol.request import peer_declares
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.kept import Kept
from yai_nexus_agentkit.runs.live_run import Disconnect, LiveRun, RunRequest
from yai_nexus_agentkit.runs.remote_run import RemoteRun
from yai_nexus_agentkit.runs.restored import restored
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.admission import Admission
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.body import Body, beside_the_loop, parse_body, receive_body
from yai_nexus_agentkit.server.caller import Caller, LaterFacts
from yai_nexus_agentkit.server.origins import check_same_site
from yai_nexus_agentkit.server.problems import answered, refused, timely
from yai_nexus_agentkit.server.restoring import stored_of
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.stream import Found, Gated, RunResponse, ungated
from yai_nexus_agentkit.server.thread_list import (
    shown_connection,
    shown_run,
    title_of,
)
from yai_nexus_agentkit.transport.wire import Posted, Refusal, Wire

__all__ = ["Endpoints", "Handler"]

_logger = logging.getLogger(__name__)
_READY_WITHIN = 5.0
"""Seconds that the checkpointer may take to answer a readiness probe."""

T = TypeVar("T")

Handler = Callable[[Request], Awaitable[Response]]


class Endpoints:
    """The handlers of one agent on one wire."""

    def __init__(self, agent: ServedAgent, service: RunService, settings: ServerSettings, wire: Wire) -> None:
        self.agent, self.service, self.settings, self.wire = agent, service, settings, wire
        self.run_path = ""
        """The path of a run behind the agent's own."""

    @answered
    async def run(self, request: Request) -> Response:
        """A run: the request is checked, then the events stream."""
        caller = await self.caller(request, self.run_path)
        async with self.received(request) as body:
            posted = await self.posted(caller, body)
        return await self.started(caller, posted)

    async def started(self, caller: Caller, posted: Posted) -> Response:
        """The stream of a new run."""
        start = partial(self.service.start, await self.wanted(caller, posted))
        return self.streamed(start, posted)

    def streamed(self, start: Callable[[], Awaitable[LiveRun]], posted: Posted) -> Response:
        """The stream of the run that `start` makes."""
        as_event = self.settings.busy == "stream" or getattr(self.wire, "locked_as_event", False)
        encoder, launch = posted.encoder(), self.service.launch
        return RunResponse(start, launch, encoder, self.settings, self.refusal, locked_as_event=as_event)

    async def wanted(self, caller: Caller, posted: Posted, source: str = "") -> RunRequest:
        """The run that a request asks for. `source`: the web socket that it came by."""
        adapter, thread = await caller.adapter(), caller.thread(posted.run_input.thread_id)
        disconnect, shared = self._disconnect(caller.request), self.service.shares_runs
        sockets = self.settings.sockets
        return RunRequest(
            adapter=adapter,
            run_input=posted.run_input,
            thread=thread,
            identity=caller.identity,
            facts=caller.facts(thread) if self.agent.has_hooks(adapter) else LaterFacts(partial(caller.facts, thread)),
            headers=caller.request.headers,
            disconnect=disconnect,
            orphaned=self.settings.orphaned,
            alone=not self.service.shares_locks,
            title=title_of(self.settings, posted.run_input),
            admit=Admission(caller, posted, adapter, self.in_time).admitted,
            stored=stored_of(caller.identity, disconnect, self.settings.orphaned, source) if shared else "{}",
            source=source,
            name=caller.identity.thread if source and sockets is not None and sockets.isolated else None,
        )

    def _disconnect(self, request: HTTPConnection) -> Disconnect:
        """The fate of a run whose viewers have left: by the settings, or by ``?disconnect=``."""
        wanted = request.query_params.get("disconnect") if request.scope["query_string"] else None
        if wanted is None:
            return self.settings.disconnect
        if not self.settings.disconnect_by_request:
            raise Refusal(422, "INVALID_QUERY", "disconnect is not accepted (ServerSettings.disconnect_by_request)")
        if wanted not in ("cancel", "continue"):
            raise Refusal(422, "INVALID_QUERY", "disconnect must be 'cancel' or 'continue'")
        return wanted  # type: ignore[return-value]

    @answered
    async def connect(self, request: Request) -> Response:
        """The thread's active run, from its beginning; without one, the thread as it is now. The model is not
        called."""
        caller = await self.caller(request, "/connect")
        async with self.received(request) as body:
            posted = await self.posted(caller, body)
        return await self.joined(caller, posted)

    async def joined(self, caller: Caller, posted: Posted) -> Response:
        """The stream of a further viewer."""
        return (await self.found(caller, posted)).response(self.settings, self.refusal)

    async def current(self, thread: ThreadRef, *, lost: bool = False) -> LiveRun | RemoteRun | None:
        return await self.in_time(self.service.current(thread.key, lost=lost))

    async def found(self, caller: Caller, posted: Posted, *, running: bool = True, gate: Gated = ungated) -> Found:
        """The thread's active run, or the thread as it is now; without `running` always the latter, whose terminal
        event `gate` shows."""
        asked, adapter = posted.run_input, await caller.adapter()
        thread = caller.thread(asked.thread_id)
        run = await self.current(thread, lost=True) if running else None
        if run is not None and not run.feed.joinable:
            await run.ended()
            run = None
        encoder, store = posted.encoder(), adapter.threads()
        kept = Kept() if store is None else await self.kept(thread, [m.id for m in asked.messages])
        if run is not None:
            older = peer_declares(run.run_input) and not peer_declares(asked)
            shown = partial(shown_snapshot, caller.outside_run(adapter, thread))
            return Found(encoder=encoder, kept=kept, run=run, older=older, shown=shown)
        known = store is not None and await self.in_time(store.exists(thread.key))
        facts, limit = caller.facts(thread), self.settings.store_timeout
        encode = await gate(thread, encoder.encode) if known else encoder.encode
        frames = restored(adapter, asked, caller.identity, thread, facts, limit, kept.wire(encode))
        return Found(encoder=encoder, kept=kept, frames=frames if known else None)

    @answered
    async def runs(self, request: Request) -> Response:
        """The active runs of a thread."""
        caller = await self.caller(request)
        run = await self.current(caller.thread(request.path_params["thread_id"]))
        return JSONResponse([] if run is None else [shown_run(run)])

    @answered
    async def connections(self, request: Request) -> Response:
        """The user's own web sockets."""
        caller = await self.caller(request)
        found = self.service.connections.of(self.agent.name, caller.identity.user)
        return JSONResponse([shown_connection(one) for one in await self.in_time(found)])

    @asynccontextmanager
    async def received(self, request: Request, *, optional: bool = False) -> AsyncIterator[Body]:
        """The body of a request; None if it is empty and `optional`. It counts towards `ServerSettings.max_bodies`
        while the block lasts."""
        with self.service.capacity.body() as take:
            raw = await receive_body(request, self.settings, take)
            data = await beside_the_loop(raw, partial(parse_body, raw, self.settings)) if raw or not optional else None
            yield Body(data, raw)

    async def posted(self, caller: Caller, body: Body) -> Posted:
        """The request that a body makes on this wire."""
        wanted = self.wire.needs_history(body.data)
        history = () if wanted is None else await self.in_time(caller.history(wanted))
        parse = partial(self.wire.parse, body.data, history, self.settings.request_limits)
        posted = await beside_the_loop(body.raw, parse)
        for warning in posted.warnings:
            _logger.warning("request of run %r: %s", posted.run_input.run_id, warning)
        return replace(posted, body=body.data)

    @answered
    async def capabilities(self, request: Request) -> Response:
        """The capabilities that the agent declares (AG-UI 1.0)."""
        able = self.agent.able(await (await self.caller(request)).adapter())
        return JSONResponse(able.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def health(self, request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    @answered
    async def ready(self, request: Request) -> Response:
        """The checkpointer and the store answer."""
        self.service.check_open()
        adapter = self.agent.fixed
        store = adapter.threads() if adapter is not None else None
        wanted = {"checkpointer": store.ready if store is not None else None, "store": self.service.store.ready}
        for name, ready in wanted.items():
            try:
                async with asyncio.timeout(_READY_WITHIN):
                    if ready is not None:
                        await ready()
            except Exception as error:
                _logger.warning("the %s of agent %r cannot be reached: %s", name, self.agent.name, own_text(error))
                raise Refusal(503, "NOT_READY", f"the {name} cannot be reached") from error
        return JSONResponse({"status": "ready"})

    async def kept(self, thread: ThreadRef, held: Sequence[str] = ()) -> Kept:
        """Everything the thread's runs showed next to the conversation, for a page that holds the messages `held`."""
        return Kept.of(await self.in_time(self.service.store.journal.kept(thread.key)), held)

    @answered
    async def cancel(self, request: Request) -> Response:
        """Stop the thread's run. Its stream ends with the cancelled outcome."""
        check_same_site(request.headers, self.settings.cors)
        caller = await self.caller(request)
        thread = caller.thread(request.path_params["thread_id"])
        if await self.service.cancel(thread.key):
            return JSONResponse({"status": "cancelling"}, status_code=202)
        store = (await caller.adapter()).threads()
        if store is None or not await self.in_time(store.exists(thread.key)):
            raise ThreadNotFoundError("there is no such thread")
        return JSONResponse({"status": "idle"})

    def refusal(self, error: Exception, agent: str | None = None) -> Response:
        """The wire's answer to an exception. It is counted for this agent, or for `agent`."""
        count = partial(self.service.count_refused, self.agent.name if agent is None else agent)
        return refused(self.service.store.named(error), self.wire, self.settings, count)

    async def caller(self, request: Request, end: str = "") -> Caller:
        """Who sends the request, whose path has `end` after the agent's. Raises what the application's resolver
        raises."""
        return await Caller.of(request, self.agent, self.settings, end)

    async def in_time(self, answer: Awaitable[T]) -> T:
        """The answer of the storage of threads. Raises `Refusal` 504 if there is none in time."""
        with timely():
            async with asyncio.timeout(self.settings.store_timeout):
                return await answer
