"""Edge. What each route of an agent does. Every handler takes a request and gives a response; none knows FastAPI."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Any, Concatenate

from ag_ui.core import BaseEvent, RunAgentInput
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.shared.threads import Threads
from yai_nexus_agentkit.errors import ThreadNotFoundError
from yai_nexus_agentkit.protocol.request import peer_declares
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadStatus
from yai_nexus_agentkit.runs.service import RunService
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.body import read_json, read_run_input
from yai_nexus_agentkit.server.problems import Problem, problem_of, problem_response
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.stream import RunResponse

__all__ = ["Endpoints"]

_logger = logging.getLogger(__name__)
_READY_WITHIN = 5.0
"""Seconds that the checkpointer may take to answer a readiness probe."""
_MAX_LIST = 1000

Handler = Callable[[Request], Awaitable[Response]]


def _answered(
    handler: Callable[Concatenate[Endpoints, Request, ...], Awaitable[Response]],
) -> Callable[[Endpoints, Request], Awaitable[Response]]:
    """Turn what a handler raises into a problem."""

    @wraps(handler)
    async def answer(self: Endpoints, request: Request) -> Response:
        try:
            return await handler(self, request)
        except Exception as error:
            settings = self.settings
            return problem_response(problem_of(error, retry_after=settings.retry_after, expose=settings.expose_errors))

    return answer


class Endpoints:
    """The handlers of one agent."""

    def __init__(self, agent: ServedAgent, service: RunService, settings: ServerSettings) -> None:
        self.agent, self.service, self.settings = agent, service, settings

    @_answered
    async def run(self, request: Request) -> Response:
        """A run: the request is checked, then the events stream."""
        settings = self.settings
        identity = await self._identity(request)
        run_input = await read_run_input(request, max_body=settings.max_body, max_depth=settings.max_depth)
        adapter = await self.agent.adapter(identity)
        thread = self._thread(identity, run_input.thread_id)
        opened = partial(
            self.service.open,
            adapter,
            run_input,
            thread=thread,
            identity=identity,
            request=self._facts(request, identity, thread),
            headers=request.headers,
        )
        return RunResponse(opened, settings)

    @_answered
    async def capabilities(self, request: Request) -> Response:
        """What the agent declares (AG-UI 1.0, capabilities)."""
        adapter = await self.agent.adapter(await self._identity(request))
        return JSONResponse(adapter.capabilities().model_dump(mode="json", by_alias=True, exclude_none=True))

    async def health(self, request: Request) -> Response:
        """The process answers."""
        return JSONResponse({"status": "ok"})

    @_answered
    async def ready(self, request: Request) -> Response:
        """The checkpointer answers."""
        adapter = self.agent.fixed
        store = adapter.threads() if adapter is not None else None
        if store is not None:
            try:
                async with asyncio.timeout(_READY_WITHIN):
                    await store.ready()
            except Exception as error:
                _logger.warning("the checkpointer of %s cannot be reached", self.agent.name, exc_info=error)
                raise Problem(503, "NOT_READY", "the checkpointer cannot be reached") from error
        return JSONResponse({"status": "ready"})

    @_answered
    async def threads(self, request: Request) -> Response:
        """The user's threads, last used first."""
        identity = await self._identity(request)
        limit = _number(request, "limit", 100)
        if not 1 <= limit <= _MAX_LIST:
            raise Problem(422, "INVALID_QUERY", f"limit is between 1 and {_MAX_LIST}")
        before = _moment(request, "before")
        found = await self.service.index.entries(self.agent.name, identity.user, limit=limit, before=before)
        shape = self.settings.thread_list or _listed
        return JSONResponse(shape(found))

    @_answered
    async def messages(self, request: Request) -> Response:
        """The conversation as a ``MESSAGES_SNAPSHOT``."""
        store, thread, run = await self._stored(request)
        return _event(await store.messages(thread.key, run))

    @_answered
    async def state(self, request: Request) -> Response:
        """The state as a ``STATE_SNAPSHOT``."""
        store, thread, run = await self._stored(request)
        return _event(await store.state(thread.key, run))

    @_answered
    async def patch_state(self, request: Request) -> Response:
        """Apply a JSON Patch to the state."""
        store, thread, run = await self._stored(request)
        settings = self.settings
        operations = await read_json(request, max_body=settings.max_body, max_depth=settings.max_depth)
        if not isinstance(operations, list):
            raise Problem(422, "INVALID_PATCH", "the body is not a list of operations")
        as_node = request.query_params.get("as_node")
        async with self.service.hold(thread):
            await store.patch_state(thread.key, operations, run, as_node=as_node)
            await self.service.index.touch(thread, ThreadStatus.IDLE)
        return JSONResponse({"status": "updated"})

    @_answered
    async def delete(self, request: Request) -> Response:
        """Delete a thread."""
        store, thread, _ = await self._stored(request)
        async with self.service.hold(thread):
            try:
                await store.delete(thread.key)
            except ThreadNotFoundError:
                await self.service.index.remove(thread.key)  # deleted before, and the index was not reached then
                raise
            await self.service.index.remove(thread.key)  # last: what could not be deleted is still listed
        return JSONResponse({"status": "deleted"})

    @_answered
    async def cancel(self, request: Request) -> Response:
        """Stop the thread's run. Its stream ends with the cancelled outcome."""
        identity = await self._identity(request)
        thread = self._thread(identity, request.path_params["thread_id"])
        if await self.service.cancel(thread.key):
            return JSONResponse({"status": "cancelling"}, status_code=202)
        store = (await self.agent.adapter(identity)).threads()
        if store is None or not await store.exists(thread.key):
            raise ThreadNotFoundError("there is no such thread")
        return JSONResponse({"status": "idle"})

    @_answered
    async def agent_state(self, request: Request) -> Response:
        """State and messages of a thread in one answer, in the shape of older integrations."""
        identity = await self._identity(request)
        body = await read_json(request, max_body=self.settings.max_body, max_depth=self.settings.max_depth)
        thread_id = body.get("threadId") if isinstance(body, Mapping) else None
        if not isinstance(thread_id, str):
            raise Problem(422, "INVALID_INPUT", "threadId is missing", path="/threadId")
        adapter = await self.agent.adapter(identity)
        store, thread = adapter.threads(), self._thread(identity, thread_id)
        answer: dict[str, Any] = {"threadId": thread_id, "threadExists": False, "state": {}, "messages": []}
        if store is not None and await store.exists(thread.key):
            run = self._outside_run(request, adapter, identity, thread)
            state = await store.state(thread.key, run)
            told = (await store.messages(thread.key, run)).model_dump(mode="json", by_alias=True)
            answer |= {"threadExists": True, "state": state.snapshot, "messages": told["messages"]}
        return JSONResponse(answer)

    async def _identity(self, request: Request) -> Identity:
        found = self.settings.identity(request)
        identity = await found if inspect.isawaitable(found) else found
        if not isinstance(identity, Identity):
            raise TypeError(f"the identity resolver returned {type(identity).__name__}, not Identity")
        return identity

    def _thread(self, identity: Identity, thread_id: str) -> ThreadRef:
        agent, user = self.agent.name, identity.user
        key: Any = self.settings.thread_key(agent, user, thread_id if identity.thread is None else identity.thread)
        if not isinstance(key, str) or not key:
            raise TypeError(f"thread_key returned {key!r}, not a text")  # None would be one thread for everybody
        return ThreadRef(agent, user, thread_id, key)

    async def _stored(self, request: Request) -> tuple[Threads, ThreadRef, RunContext]:
        """The thread that the path names, if the agent keeps threads."""
        identity = await self._identity(request)
        adapter = await self.agent.adapter(identity)
        store = adapter.threads()
        if store is None:
            raise ThreadNotFoundError("there is no such thread")
        thread = self._thread(identity, request.path_params["thread_id"])
        return store, thread, self._outside_run(request, adapter, identity, thread)

    def _outside_run(self, request: Request, adapter: AGUIAdapter, identity: Identity, thread: ThreadRef) -> RunContext:
        """What hooks are given where there is no run. A peer that names no version gets what old clients read."""
        asked = RunAgentInput(
            thread_id=thread.id,
            run_id="",
            protocol_version=request.query_params.get("protocolVersion"),
            state={}, messages=[], tools=[], context=[], forwarded_props={},
        )  # fmt: skip
        return RunContext(
            run_input=asked,
            declared=peer_declares(asked),
            options=adapter.options,
            hooks=adapter.hooks,
            context=identity.context,
            request=self._facts(request, identity, thread),
        )

    def _facts(self, request: Request, identity: Identity, thread: ThreadRef) -> dict[str, Any]:
        """What hooks find in ``RunContext.request``."""
        return {
            **identity.facts,
            "user": identity.user,
            "agent": thread.agent,
            "thread_key": thread.key,
            "path": request.url.path,
            "headers": dict(request.headers),
        }


def _listed(entries: Sequence[ThreadEntry]) -> list[dict[str, Any]]:
    return [
        {
            "threadId": entry.thread.id,
            "status": entry.status,
            "createdAt": _iso(entry.created),
            "updatedAt": _iso(entry.updated),
        }
        for entry in entries
    ]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise Problem(422, "INVALID_QUERY", f"{name} is not a whole number") from None


def _moment(request: Request, name: str) -> float | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text.replace(" ", "+")).timestamp()
    except (ValueError, OverflowError, OSError):
        raise Problem(422, "INVALID_QUERY", f"{name} is not a date and time (ISO 8601)") from None


def _event(event: BaseEvent) -> Response:
    return Response(event.model_dump_json(by_alias=True), media_type="application/json")
