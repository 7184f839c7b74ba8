"""Edge. An agent of a running ADK API server (``adk api_server``), over HTTP, as a `Source`."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from google.adk.agents.run_config import StreamingMode
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events import Event
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import ListSessionsResponse
from google.genai import types
from pydantic import BaseModel, ValidationError

from yai_nexus_agentkit.adapter.adk.plan import Plan
from yai_nexus_agentkit.adapter.adk.run import AdkRun
from yai_nexus_agentkit.adapter.adk.source import AdkSource
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import AGUIAdapterError, Code, RunInputError, RunTimeoutError, own_text
from yai_nexus_agentkit.protocol.json.reader import read_json
from yai_nexus_agentkit.protocol.sse_reader import SSEReader

__all__ = ["RemoteAdkError", "RemoteAdkSource", "from_environment"]

_logger = logging.getLogger(__name__)
_HOST, _APP = "http://localhost:8000", "default_agent"
_DEPTH = 200
_Model = TypeVar("_Model", bound=BaseModel)


class RemoteAdkError(AGUIAdapterError):
    """The ADK server cannot be reached, or answers with an error. `status`: its HTTP status, None without an answer."""

    code = Code.BACKEND_ERROR

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _Server:
    """The server's HTTP interface. `timeout`: seconds without a byte. `client`: one of the application's own."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], timeout: float, client: httpx.AsyncClient | None
    ) -> None:
        self._base, self._headers, self._timeout, self._client = base_url.rstrip("/"), headers, timeout, client

    async def send(self, method: str, path: str, body: Any = None, *, missing: bool = False) -> Any:
        """The JSON of an answer; None for a 404 that may be (`missing`)."""
        async with self._answer(method, path, body) as answer:
            await answer.aread()
            if answer.status_code == 404 and missing:
                return None
            self._check(answer)
            return _read(answer.content) if answer.content else None

    async def events(self, body: Any) -> AsyncGenerator[Any, None]:
        """The frames of ``/run_sse``."""
        async with self._answer("POST", "/run_sse", body) as answer:
            kind = answer.headers.get("content-type", "").partition(";")[0]
            if not answer.is_success or kind != "text/event-stream":
                await answer.aread()
            self._check(answer)
            if kind != "text/event-stream":
                raise _Misunderstood(f"{kind or 'nothing'} instead of a stream of events")
            reader = SSEReader()
            async for piece in answer.aiter_bytes():
                for data in reader.feed(piece):
                    yield _read(data)
            if reader.within:
                raise RemoteAdkError("the ADK server's answer broke off within an event")

    @asynccontextmanager
    async def _answer(self, method: str, path: str, body: Any) -> AsyncIterator[httpx.Response]:
        client = self._client or httpx.AsyncClient()
        try:
            async with client.stream(
                method, f"{self._base}{path}", json=body, headers=dict(self._headers), timeout=self._timeout
            ) as answer:
                yield answer
        except httpx.TimeoutException as error:
            text = f"the ADK server was silent for {self._timeout:g} seconds"
            raise RunTimeoutError(text, code=Code.IDLE_TIMEOUT) from error
        except httpx.HTTPError as error:
            raise RemoteAdkError(f"the ADK server cannot be reached: {own_text(error)}") from error
        finally:
            if self._client is None:
                await client.aclose()

    def _check(self, answer: httpx.Response) -> None:
        if not answer.is_success:
            text = f"the ADK server answered {answer.status_code}: {answer.text[:500]}"
            raise RemoteAdkError(text, status=answer.status_code)


class _Misunderstood(RemoteAdkError):
    """The server answers, but not as an ADK server does: a page to sign in, a proxy's text."""

    def __init__(self, found: object) -> None:
        super().__init__(f"this is no answer of an ADK server: {found}")


def _read(text: bytes | str) -> Any:
    try:
        return read_json(text, max_depth=_DEPTH)
    except ValueError as error:
        raise _Misunderstood(f"it {error}") from error


def _made(model: type[_Model], data: Any) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _Misunderstood(f"no {model.__name__}: {error.errors()[0]['msg']}") from error


def _plain(name: str) -> str:
    """An id that may stand in a path: the server takes an escaped slash for one."""
    return name.replace("/", "%2F")


def _path(app_name: str, user_id: str, session_id: str = "") -> str:
    names = [quote(_plain(name), safe="") for name in (app_name, user_id, session_id)]
    return f"/apps/{names[0]}/users/{names[1]}/sessions" + (f"/{names[2]}" if session_id else "")


class _RemoteSessions(BaseSessionService):
    """The sessions of the server. It stores messages by running them, so only changes of the state can be appended."""

    def __init__(self, server: _Server) -> None:
        self._server = server

    async def get_session(self, *, app_name: str, user_id: str, session_id: str, config: Any = None) -> Session | None:
        found = await self._server.send("GET", _path(app_name, user_id, session_id), missing=True)
        return None if found is None else _made(Session, found)

    async def create_session(
        self, *, app_name: str, user_id: str, state: Any = None, session_id: str | None = None
    ) -> Session:
        body = {"sessionId": session_id and _plain(session_id), "state": state or {}}
        try:
            made = await self._server.send("POST", _path(app_name, user_id), body)
        except RemoteAdkError as error:
            if error.status != 409 or session_id is None:  # it is there already: another request was quicker
                raise
            made = await self._server.send("GET", _path(app_name, user_id, session_id))
        return _made(Session, made)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        found = await self._server.send("GET", _path(app_name, user_id or ""))
        return ListSessionsResponse(sessions=[_made(Session, one) for one in found])

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        await self._server.send("DELETE", _path(app_name, user_id, session_id), missing=True)

    async def append_event(self, session: Session, event: Event) -> Event:
        where = _path(session.app_name, session.user_id, session.id)
        await self._server.send("PATCH", where, {"stateDelta": event.actions.state_delta})
        return event


class _RemoteArtifacts(InMemoryArtifactService):
    """Reads the server's artifacts."""

    def __init__(self, server: _Server) -> None:
        super().__init__()
        self._server = server

    async def load_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None, version: Any = None
    ) -> types.Part | None:
        path = f"{_path(app_name, user_id, session_id or '')}/artifacts/{quote(filename)}/versions/{version}"
        found = await self._server.send("GET", path, missing=True)
        return None if found is None else _made(types.Part, found)


class _RemoteRunner(Runner):
    """Runs on the server. Nothing of a local runner is set up."""

    def __init__(self, server: _Server, app_name: str) -> None:
        self._server, self.app_name = server, app_name
        self.agent = SimpleNamespace(name=app_name, description="", sub_agents=(), tools=())
        self.session_service = _RemoteSessions(server)
        self.artifact_service = _RemoteArtifacts(server)
        self.plugin_manager = PluginManager()

    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        run_config: Any,
        invocation_id: str | None = None,
        new_message: types.Content | None = None,
        state_delta: dict[str, Any] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events of a run. Closing it ends the run on the server."""
        message = None if new_message is None else new_message.model_dump(mode="json", by_alias=True, exclude_none=True)
        body = {
            "appName": self.app_name,
            "userId": _plain(user_id),
            "sessionId": _plain(session_id),
            "newMessage": message,
            "streaming": run_config.streaming_mode == StreamingMode.SSE,
            "stateDelta": state_delta,
            "customMetadata": run_config.custom_metadata,
        }
        events = self._server.events(body)
        try:
            async for frame in events:
                if isinstance(frame, dict) and "error" in frame and "author" not in frame:
                    raise RemoteAdkError(str(frame["error"]))
                yield _made(Event, frame)
        finally:
            await events.aclose()


class RemoteAdkSource(AdkSource):
    """The agent `app_name` of the ADK API server at `base_url`. Everything of `AdkSource` works, but for what the
    server has no route for: the client's tools are not offered, earlier messages of an unknown thread are not taken
    over, edits do not rewind (only new messages count), and tools there emit nothing.

    `headers`: of each request to it. `timeout`: seconds without a byte from it (``IDLE_TIMEOUT``). `client`: an
    ``httpx.AsyncClient`` to use. `options`: those of `AdkSource` for apps, users and limits. A server that cannot be
    reached ends a run with ``BACKEND_ERROR``.
    """

    def __init__(
        self,
        base_url: str = _HOST,
        app_name: str = _APP,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        client: httpx.AsyncClient | None = None,
        **options: Any,
    ) -> None:
        self._server = _Server(base_url, headers or {}, timeout, client)
        super().__init__(_RemoteRunner(self._server, app_name), edits="append", **options)

    async def apps(self) -> list[str]:
        """The names of the server's agents."""
        found: list[str] = await self._server.send("GET", "/list-apps")
        return found

    async def prepare(self, run: RunContext, /) -> AdkRun:
        if run.run_input.tools:
            _logger.warning("the client's tools are left out: a remote ADK server takes none")
        return await super().prepare(run)

    async def _store(self, session: Any, plan: Plan) -> None:
        """Messages before the newest go with it; those of a thread that the server does not know are left out. Results
        without those of other calls come again with the next request."""
        message, before = plan.message, []
        for entry in plan.stored if session.events else ():
            parts = list(entry.content.parts or ()) if entry.content is not None and entry.author == "user" else []
            if message is not None and any(part.function_response for part in parts):
                raise RunInputError("a remote ADK server takes results or a message, not both", path="/messages")
            before += parts
        if message is not None and message.content is not None:
            message.content.parts = [*before, *(message.content.parts or ())]
        if message is None:
            await self._sessions.store(session, (), plan.state)


def from_environment() -> RemoteAdkSource:
    """The agent ``ADK_APP_NAME`` of the server at ``ADK_HOST``: for ``serve``."""
    return RemoteAdkSource(os.environ.get("ADK_HOST", _HOST), os.environ.get("ADK_APP_NAME", _APP))
