"""Edge. The handlers of the routes of stored threads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ag_ui.core import BaseEvent
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from yai_nexus_agentkit.adapter.smaller import linked
from yai_nexus_agentkit.errors import ThreadNotFoundError
from yai_nexus_agentkit.runs.index import ThreadEntry, ThreadStatus
from yai_nexus_agentkit.runs.operations import OperationCancelledError
from yai_nexus_agentkit.server.body import PATCHES
from yai_nexus_agentkit.server.caller import StoredThread
from yai_nexus_agentkit.server.endpoints import Endpoints
from yai_nexus_agentkit.server.media import media_response
from yai_nexus_agentkit.server.problems import answered, timely
from yai_nexus_agentkit.server.thread_list import description, page_of, shown_entries, shown_entry
from yai_nexus_agentkit.transport.agui_sse import MAX_FRAME
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["ThreadEndpoints"]


class ThreadEndpoints:
    """The handlers of the threads of one agent."""

    def __init__(self, endpoints: Endpoints) -> None:
        """`endpoints`: the other handlers of the same agent."""
        self._endpoints = endpoints
        self._service, self.settings = endpoints.service, endpoints.settings

    @answered
    async def threads(self, request: Request) -> Response:
        """The user's threads, last used first."""
        caller = await self._endpoints.caller(request)
        page = page_of(request, caller.thread)
        wanted = self._service.index.entries(self._endpoints.agent.name, caller.identity.user, **page)
        shape = self.settings.thread_list or shown_entries
        return JSONResponse(shape(await self._endpoints.in_time(wanted)))

    @answered
    async def describe(self, request: Request) -> Response:
        """Give a thread another title, other metadata, or both."""
        thread = await self._thread(request)
        changed = description(await self._json(request))
        return JSONResponse(shown_entry(await self._endpoints.in_time(self._described(thread, changed))))

    async def _described(self, thread: StoredThread, changed: Mapping[str, Any]) -> ThreadEntry:
        index, key = self._service.index, thread.ref.key
        found = await index.describe(key, **changed)
        if found is None and await thread.store.exists(key):  # the index forgot it: it was restarted, or is full
            waits = await thread.store.waits(key)
            await index.touch(thread.ref, ThreadStatus.PAUSED if waits else ThreadStatus.IDLE)
            found = await index.describe(key, **changed)
        if found is None:
            raise ThreadNotFoundError("there is no such thread")
        return found

    @answered
    async def messages(self, request: Request) -> Response:
        """The conversation as a ``MESSAGES_SNAPSHOT``."""
        thread = await self._thread(request)
        event = await self._endpoints.in_time(thread.store.messages(thread.ref.key, thread.run))
        event = (await self._endpoints.kept(thread.ref)).placed(event)
        answer = _event(event)
        excess = len(answer.body) - MAX_FRAME
        return answer if excess <= 0 else _event(linked(event, excess, thread.run) or event)

    @answered
    async def media(self, request: Request) -> Response:
        """The content behind a link of a snapshot."""
        thread = await self._thread(request)
        wanted = request.path_params["media_id"]
        source = await self._endpoints.in_time(thread.store.media(thread.ref.key, wanted, thread.run))
        return media_response(source)

    @answered
    async def state(self, request: Request) -> Response:
        """The state as a ``STATE_SNAPSHOT``."""
        thread = await self._thread(request)
        return _event(await self._endpoints.in_time(thread.store.state(thread.ref.key, thread.run)))

    @answered
    async def patch_state(self, request: Request) -> Response:
        """Apply a JSON Patch to the state."""
        thread = await self._thread(request)
        operations = await self._json(request)
        settings = self.settings
        if not isinstance(operations, list):
            raise Refusal(422, "INVALID_PATCH", "the body is not a list of operations")
        if len(operations) > settings.max_entries:
            raise Refusal(422, "INVALID_PATCH", f"{len(operations)} operations; at most {settings.max_entries}")
        as_node = request.query_params.get("as_node")
        if as_node is not None and not settings.patch_as_node:
            raise Refusal(422, "INVALID_PATCH", "as_node is not accepted (ServerSettings.patch_as_node)")
        async with self._operation(thread):
            await thread.store.patch_state(
                thread.ref.key,
                operations,
                thread.run,
                as_node=as_node,
                max_size=settings.max_body,
                executor=PATCHES,
            )
            waits = await thread.store.waits(thread.ref.key)
            await self._service.index.touch(thread.ref, ThreadStatus.PAUSED if waits else ThreadStatus.IDLE)
        return JSONResponse({"status": "updated"})

    @answered
    async def delete(self, request: Request) -> Response:
        """Delete a thread."""
        thread = await self._thread(request)
        key = thread.ref.key
        async with self._operation(thread):
            try:
                await thread.store.delete(key)
            except ThreadNotFoundError:
                await self._service.forget(key)  # deleted before, and the rest was not reached then
                raise
            await self._service.forget(key)
        return JSONResponse({"status": "deleted"})

    @answered
    async def agent_state(self, request: Request) -> Response:
        """State and messages of a thread in one answer, in the shape of older integrations."""
        caller = await self._endpoints.caller(request)
        body = await self._json(request)
        thread_id = body.get("threadId") if isinstance(body, Mapping) else None
        if not isinstance(thread_id, str):
            raise Refusal(422, "INVALID_INPUT", "threadId is missing", path="/threadId")
        if len(thread_id) > self.settings.max_id:
            text = f"threadId has {len(thread_id)} characters; at most {self.settings.max_id}"
            raise Refusal(422, "INVALID_INPUT", text, path="/threadId")
        answer: dict[str, Any] = {"threadId": thread_id, "threadExists": False, "state": {}, "messages": []}
        try:
            thread = await caller.stored(thread_id)
            state = await self._endpoints.in_time(thread.store.state(thread.ref.key, thread.run))
            messages = await self._endpoints.in_time(thread.store.messages(thread.ref.key, thread.run))
        except ThreadNotFoundError:
            return JSONResponse(answer)
        shown = messages.model_dump(mode="json", by_alias=True)["messages"]
        return JSONResponse(answer | {"threadExists": True, "state": state.snapshot, "messages": shown})

    async def _thread(self, request: Request) -> StoredThread:
        """The thread that the path names. Raises `ThreadNotFoundError` if the agent keeps no threads."""
        named, path = request.path_params["thread_id"], request.scope["path"]
        ends = (f"/threads/{named}/messages", self.settings.older_path("messages", named))
        end = next((end for end in ends if path.endswith(end)), "")
        return await (await self._endpoints.caller(request, end)).stored(named)

    async def _json(self, request: Request) -> Any:
        async with self._endpoints.received(request) as body:
            return body.data

    @asynccontextmanager
    async def _operation(self, thread: StoredThread) -> AsyncIterator[None]:
        """Hold a thread while it is changed. Raises `ThreadBusyError`, and `Refusal`: 504 if the storage hangs, 409 if
        somebody cancels."""
        try:
            with timely():
                async with self._service.operation(thread.ref, limit=self.settings.store_timeout):
                    yield
        except OperationCancelledError as error:
            raise Refusal(409, "CANCELLED", "the operation was cancelled") from error

    def refusal(self, error: Exception) -> Response:
        """The answer to what a handler raised."""
        return self._endpoints.refusal(error)


def _event(event: BaseEvent) -> Response:
    return Response(event.model_dump_json(by_alias=True), media_type="application/json")
