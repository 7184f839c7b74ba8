"""Pure. The shapes of bodies and answers, for FastAPI's OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from ag_ui.core import AgentCapabilities, MessagesSnapshotEvent, RunAgentInput, StateSnapshotEvent
from pydantic import BaseModel, Field, TypeAdapter

from yai_nexus_agentkit.runs.index import ThreadStatus

__all__ = [
    "AS_NODE",
    "DESCRIPTION_BODY",
    "MEDIA_PARAMETERS",
    "PATCH_BODY",
    "QUERY_LIST",
    "RUN_BODY",
    "SNAPSHOT_PARAMETERS",
    "STATE_BODY",
    "THREAD_ID",
    "AgentCapabilities",
    "ConnectionShown",
    "MessagesSnapshotEvent",
    "StateSnapshotEvent",
    "Status",
    "ThreadShown",
    "ThreadState",
    "answers",
]

Answers = dict[int | str, dict[str, Any]]
Pointer = Annotated[str, Field(pattern="^(/([^/~]|~[01])*)*$")]


class Detail(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="a code")
    error_description: str
    path: str = Field(description="JSON Pointer into the body")
    timestamp: datetime
    trace_id: str = Field(description="also in the server's log")


class Refused(BaseModel):
    """The body of every refusal."""

    detail: Detail


class Status(BaseModel):
    """The result of a request."""

    status: str


class ConnectionShown(BaseModel):
    """One of the user's web sockets."""

    connectionId: str
    device: str
    abilities: list[str]
    threadId: str = Field(description="of the newest request")
    since: datetime


class ThreadShown(BaseModel):
    """One thread of the list."""

    threadId: str
    status: ThreadStatus
    title: str
    metadata: dict[str, Any]
    createdAt: datetime
    updatedAt: datetime


class Description(BaseModel):
    """The changes."""

    title: str | None = Field(default=None, max_length=200)
    metadata: dict[str, Any] | None = None


class StateRequest(BaseModel):
    """Names a thread."""

    threadId: str


class ThreadState(StateRequest):
    """State and messages of a thread."""

    threadExists: bool
    state: Any
    messages: list[Any]


class Setting(BaseModel):
    """Writes or compares a value."""

    op: Literal["add", "replace", "test"]
    path: Pointer
    value: Any


class Removal(BaseModel):
    """Removes a value."""

    op: Literal["remove"]
    path: Pointer


class Transfer(BaseModel):
    """Takes a value from elsewhere."""

    op: Literal["move", "copy"]
    path: Pointer
    source: Pointer = Field(alias="from")


_WHY: Mapping[int, str] = {
    400: "the body is not JSON as it should be",
    401: "nobody is signed in",
    403: "not allowed",
    404: "no such thread",
    408: "the body did not arrive in time",
    409: "the thread has an active run or waits for an answer, the patch does not apply, or somebody cancelled it",
    413: "the body is too large",
    415: "the content type is not JSON",
    422: "the request is JSON, but not what it should be",
    429: "too many runs, or too many bodies that are being received",
    500: "an internal error",
    503: "a storage cannot be reached",
    504: "the storage of threads did not answer in time",
}


def answers(model: Any, *refusals: int, done: tuple[int, ...] = (200,)) -> Answers:
    """Answers of a route: `model` with the statuses `done` (None: an event stream, `bytes`: a file), and refusals. Any
    route may answer 401, 403, 500 and 503."""
    stream = {
        "description": "server-sent events: one AG-UI event as JSON per `data:` line",
        "content": {"text/event-stream": {}},
    }
    good: dict[str, Any] = {"description": "done", "model": model}
    if model is None:
        good = stream
    elif model is bytes:
        good = {"description": "a picture or another file, of any type", "content": {"*/*": {}}}
    found: Answers = dict.fromkeys(done, good)
    return found | {
        status: {"description": _WHY[status], "model": Refused} for status in {*refusals, 401, 403, 500, 503}
    }


def _body(model: Any, *kinds: str) -> dict[str, Any]:
    """A body that the server reads itself: FastAPI is given its schema only."""
    schema = TypeAdapter(model).json_schema()
    inlined = _inlined(schema, schema.get("$defs", {}))
    return {"required": True, "content": {kind: {"schema": inlined} for kind in kinds or ("application/json",)}}


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema without references, which are relative to a document of pydantic's own. The member that tells the
    kinds of a union apart is required."""
    if isinstance(schema, Mapping):
        if isinstance(name := schema.get("$ref"), str):
            return _inlined(definitions[name.rpartition("/")[2]], definitions)
        kept = {key: _inlined(value, definitions) for key, value in schema.items() if key not in _PYDANTIC}
        for kind in kept.get("oneOf", ()) if "discriminator" in schema else ():
            kind["required"] = [schema["discriminator"]["propertyName"], *kind.get("required", ())]
        return kept
    return [_inlined(item, definitions) for item in schema] if isinstance(schema, list) else schema


_PYDANTIC = frozenset({"$defs", "discriminator"})
"""Members of pydantic's schemas that mean nothing here."""


def _query(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **schema}}


RUN_BODY = _body(RunAgentInput)
STATE_BODY = _body(StateRequest)
DESCRIPTION_BODY = _body(Description)
PATCH_BODY = _body(list[Setting | Removal | Transfer], "application/json", "application/json-patch+json")
THREAD_ID: dict[str, Any] = {
    "name": "thread_id",
    "in": "path",
    "required": True,
    "description": "the client's thread id, percent-encoded",
    "schema": {"type": "string", "minLength": 1},
}
MEDIA_PARAMETERS: list[dict[str, Any]] = [
    THREAD_ID,
    {**THREAD_ID, "name": "media_id", "description": "the end of a link in a MESSAGES_SNAPSHOT"},
]
SNAPSHOT_PARAMETERS = [
    THREAD_ID,
    _query("protocolVersion", "the client's version; without it tool results are text, which all clients read"),
]
AS_NODE = _query("as_node", "the node that the update is ascribed to; what follows it becomes due")
QUERY_LIST = [
    _query("limit", "at most this many", type="integer", minimum=1, maximum=1000, default=100),
    _query("before", "only threads last used before this moment", format="date-time"),
    _query("beforeId", "and those of that moment that come behind this thread"),
    _query("search", "only threads whose titles have this, in upper or lower case", maxLength=200),
]
