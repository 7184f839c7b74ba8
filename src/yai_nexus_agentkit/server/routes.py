"""Edge. The route table of an agent, for Starlette and for OpenAPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.openapi import (
    AS_NODE,
    DESCRIPTION_BODY,
    MEDIA_PARAMETERS,
    PATCH_BODY,
    QUERY_LIST,
    RUN_BODY,
    SNAPSHOT_PARAMETERS,
    STATE_BODY,
    THREAD_ID,
    AgentCapabilities,
    ConnectionShown,
    MessagesSnapshotEvent,
    StateSnapshotEvent,
    Status,
    ThreadShown,
    ThreadState,
    answers,
)
from yai_nexus_agentkit.server.thread_endpoints import ThreadEndpoints
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["Entry", "entries", "paths_of", "refusals", "starlette_routes"]


class _ThreadId(Convertor[str]):
    """Any text at all, slashes and line breaks included."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("agui_thread", _ThreadId())


_WITH_BODY = (400, 408, 413, 415, 422, 429)
"""Refusals of every route that receives a body."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One route. `path` is relative to the agent's."""

    method: str
    path: str
    handler: Handler
    answers: dict[int | str, dict[str, Any]]
    parameters: Sequence[dict[str, Any]] = ()
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def operation(self) -> str:
        """A name that is unique within the agent."""
        return getattr(self.handler, "__name__", self.path).strip("_")

    @property
    def openapi(self) -> dict[str, Any]:
        """The part of the operation's description that FastAPI does not make from the answers."""
        described: dict[str, Any] = {"parameters": list(self.parameters)} if self.parameters else {}
        return described | ({"requestBody": self.body} if self.body else {})


def entries(endpoints: Endpoints) -> list[Entry]:
    """The routes of one agent."""
    it, stored = endpoints, ThreadEndpoints(endpoints)
    thread = "/threads/{thread_id:agui_thread}"
    table = [
        Entry("POST", "", it.run, answers(None, 409, *_WITH_BODY), body=RUN_BODY),
        Entry("POST", "/connect", it.connect, answers(None, 504, *_WITH_BODY), body=RUN_BODY),
        Entry("GET", "/capabilities", it.capabilities, answers(AgentCapabilities)),
        Entry("GET", "/connections", it.connections, answers(list[ConnectionShown], 504)),
        Entry("GET", "/health", it.health, answers(Status)),
        Entry("GET", "/ready", it.ready, answers(Status)),
        Entry("POST", f"{thread}/cancel", it.cancel, answers(Status, 404, 504, done=(200, 202)), [THREAD_ID]),
        Entry("GET", f"{thread}/runs", it.runs, answers(list[dict[str, Any]], 404), [THREAD_ID]),
        *_thread_routes(stored, "/threads", f"{thread}/messages", f"{thread}/state", f"{thread}/state", thread),
    ]
    # A thread's id is any text: after what ends in a word, before what does not.
    path = f"{thread}/media/{{media_id:agui_thread}}"
    table.insert(-1, Entry("GET", path, stored.media, answers(bytes, 404, 504), MEDIA_PARAMETERS))
    renamed = answers(ThreadShown, 404, 504, *_WITH_BODY)
    table.append(Entry("PATCH", thread, stored.describe, renamed, [THREAD_ID], DESCRIPTION_BODY))
    older = it.settings.older_paths
    if older is not None:
        table += _thread_routes(stored, *(path.replace("{}", "{thread_id:agui_thread}") for path in older.values()))
        found = answers(ThreadState, 504, *_WITH_BODY)
        table.append(Entry("POST", "/agents/state", stored.agent_state, found, body=STATE_BODY))
    return table


def _thread_routes(
    it: ThreadEndpoints, listed: str, messages: str, state: str, patched: str, deleted: str
) -> list[Entry]:
    """The routes that have an older set of paths, too. The last one comes last: a thread id is any text."""
    patch = answers(Status, 404, 409, 504, *_WITH_BODY)
    parameters = [THREAD_ID, AS_NODE] if it.settings.patch_as_node else [THREAD_ID]
    return [
        Entry("GET", listed, it.threads, answers(list[ThreadShown], 422, 504), QUERY_LIST),
        Entry("GET", messages, it.messages, answers(MessagesSnapshotEvent, 404, 504), SNAPSHOT_PARAMETERS),
        Entry("GET", state, it.state, answers(StateSnapshotEvent, 404, 504), SNAPSHOT_PARAMETERS),
        Entry("PATCH", patched, it.patch_state, patch, parameters, PATCH_BODY),
        Entry("DELETE", deleted, it.delete, answers(Status, 404, 409, 504), [THREAD_ID]),
    ]


def starlette_routes(endpoints: Endpoints, path: str) -> list[BaseRoute]:
    """The table as Starlette routes under `path`; the run also with a trailing slash."""
    table = entries(endpoints)
    routes: list[BaseRoute] = []
    for entry in table:
        routes += [Route(full, entry.handler, methods=[entry.method]) for full in paths_of(path, entry)]
    return [*routes, *refusals(endpoints, path)]


def refusals(endpoints: Endpoints, path: str, prefix: str = "") -> list[BaseRoute]:
    """Routes that answer other methods on the paths of the table: 405 with all that are allowed. They come after it."""
    allowed: dict[str, list[str]] = {}
    for entry in entries(endpoints):
        for full in paths_of(path, entry, prefix):
            allowed.setdefault(prefix + full, []).append(entry.method)
    return [
        Route(full, _OtherMethods(endpoints, methods), include_in_schema=False) for full, methods in allowed.items()
    ]


class _OtherMethods:
    """An ASGI application: Starlette gives one every method."""

    def __init__(self, endpoints: Endpoints, allowed: Sequence[str]) -> None:
        self._endpoints, self._allow = endpoints, ", ".join(sorted(allowed))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = Refusal(405, "METHOD_NOT_ALLOWED", f"allowed: {self._allow}", headers={"allow": self._allow})
        await self._endpoints.refusal(refusal)(scope, receive, send)


def paths_of(path: str, entry: Entry, prefix: str = "") -> list[str]:
    """The paths of an entry behind a router's `prefix`. Browsers dislike redirects of a POST, so the run has two: with
    and without a trailing slash."""
    full = path + entry.path
    if entry.path:
        return [full]
    return [full, full + "/"] if prefix + full else ["/"]
