"""Edge. The one route table: what a Starlette application gets, and what OpenAPI says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from yai_nexus_agentkit.server.endpoints import Endpoints, Handler
from yai_nexus_agentkit.server.openapi import (
    PATCH_BODY,
    PATCH_PARAMETERS,
    QUERY_LIST,
    QUERY_VERSION,
    RUN_BODY,
    STATE_BODY,
    THREAD_ID,
    json_answer,
    problems,
    run_answers,
    snapshot_answer,
)
from yai_nexus_agentkit.server.problems import refused
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

_STATUS = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
_OBJECT = {"type": "object"}
_LIST = {"type": "array", "items": {"type": "object"}}
_THREAD_STATE = {
    "type": "object",
    "properties": {"threadId": {"type": "string"}, "threadExists": {"type": "boolean"}},
    "required": ["threadId", "threadExists", "state", "messages"],
}


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
        """What OpenAPI needs beside the answers."""
        described: dict[str, Any] = {"parameters": list(self.parameters)} if self.parameters else {}
        return described | ({"requestBody": self.body} if self.body else {})


def entries(endpoints: Endpoints) -> list[Entry]:
    """The routes of one agent."""
    it = endpoints
    thread = "/threads/{thread_id:agui_thread}"
    table = [
        Entry("POST", "", it.run, run_answers(), body=RUN_BODY),
        Entry("GET", "/capabilities", it.capabilities, json_answer(_OBJECT) | problems()),
        Entry("GET", "/health", it.health, json_answer(_STATUS)),
        Entry("GET", "/ready", it.ready, json_answer(_STATUS) | problems(503)),
        Entry("GET", "/threads", it.threads, json_answer(_LIST) | problems(422), QUERY_LIST),
        Entry(
            "GET", f"{thread}/messages", it.messages, snapshot_answer("MESSAGES_SNAPSHOT"), [THREAD_ID, QUERY_VERSION]
        ),
        Entry("GET", f"{thread}/state", it.state, snapshot_answer("STATE_SNAPSHOT"), [THREAD_ID, QUERY_VERSION]),
        Entry("PATCH", f"{thread}/state", it.patch_state, _patched(), PATCH_PARAMETERS, PATCH_BODY),
        Entry("POST", f"{thread}/cancel", it.cancel, json_answer(_STATUS, 200, 202) | problems(404), [THREAD_ID]),
        Entry("DELETE", thread, it.delete, json_answer(_STATUS) | problems(404, 409), [THREAD_ID]),
    ]
    return table + _seed(it) if it.settings.seed_paths else table


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
        await refused(refusal, self._endpoints.wire, self._endpoints.settings)(scope, receive, send)


def paths_of(path: str, entry: Entry, prefix: str = "") -> list[str]:
    """Where an entry is served, behind a router's `prefix`: redirects of a POST are what browsers dislike, so the run
    has both spellings."""
    full = path + entry.path
    if entry.path:
        return [full]
    return [full, full + "/"] if prefix + full else ["/"]


def _seed(it: Endpoints) -> list[Entry]:
    """The older set of paths for the same handlers."""
    return [
        Entry("GET", "/thread/list", it.threads, json_answer(_LIST) | problems(422), QUERY_LIST),
        Entry(
            "DELETE",
            "/thread/{thread_id:agui_thread}",
            it.delete,
            json_answer(_STATUS) | problems(404, 409),
            [THREAD_ID],
        ),
        Entry(
            "GET",
            "/message_snapshot/{thread_id:agui_thread}",
            it.messages,
            snapshot_answer("MESSAGES_SNAPSHOT"),
            [THREAD_ID, QUERY_VERSION],
        ),
        Entry(
            "GET",
            "/state_snapshot/{thread_id:agui_thread}",
            it.state,
            snapshot_answer("STATE_SNAPSHOT"),
            [THREAD_ID, QUERY_VERSION],
        ),
        Entry("PATCH", "/state/{thread_id:agui_thread}", it.patch_state, _patched(), PATCH_PARAMETERS, PATCH_BODY),
        Entry("POST", "/agents/state", it.agent_state, _thread_state(), body=STATE_BODY),
    ]


def _thread_state() -> dict[int | str, dict[str, Any]]:
    return json_answer(_THREAD_STATE) | problems(400, 413, 415, 422)


def _patched() -> dict[int | str, dict[str, Any]]:
    return json_answer(_STATUS) | problems(400, 404, 409, 413, 415, 422)
