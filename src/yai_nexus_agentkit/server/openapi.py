"""What OpenAPI says of the routes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import RunAgentInput

__all__ = [
    "PATCH_BODY",
    "PATCH_PARAMETERS",
    "QUERY_LIST",
    "QUERY_VERSION",
    "RUN_BODY",
    "STATE_BODY",
    "THREAD_ID",
    "json_answer",
    "problems",
    "run_answers",
    "snapshot_answer",
]

Answers = dict[int | str, dict[str, Any]]

_PYDANTIC = frozenset({"$defs", "discriminator"})
"""Members of pydantic's schemas that mean nothing here."""

_PROBLEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "detail": {
            "type": "object",
            "properties": {
                "error": {"type": "string", "description": "a code"},
                "error_description": {"type": "string"},
                "path": {"type": "string", "description": "JSON Pointer into the body"},
                "timestamp": {"type": "string", "format": "date-time"},
                "trace_id": {"type": "string", "description": "stands in the server's log"},
            },
            "required": ["error", "error_description", "path", "timestamp", "trace_id"],
        }
    },
    "required": ["detail"],
}

_WHY: Mapping[int, str] = {
    400: "the body is not JSON as it should be",
    401: "nobody is signed in",
    403: "not allowed",
    404: "no such thread",
    409: "the thread has a run under way, waits for an answer, or the patch does not apply",
    413: "the body is too large",
    415: "the content type is not JSON",
    422: "the request is JSON, but not what it should be",
    429: "too many runs",
    500: "an internal error",
    503: "the checkpointer cannot be reached",
}


def problems(*statuses: int) -> Answers:
    """Answers that tell what is wrong; any route may answer 401, 403 and 500."""
    return {
        status: {"description": _WHY[status], "content": {"application/json": {"schema": _PROBLEM}}}
        for status in sorted({*statuses, 401, 403, 500})
    }


def json_answer(schema: Mapping[str, Any], *statuses: int) -> Answers:
    """A JSON answer; 200 if nothing else is said."""
    return {
        status: {"description": "done", "content": {"application/json": {"schema": dict(schema)}}}
        for status in statuses or (200,)
    }


def snapshot_answer(kind: str) -> Answers:
    """An AG-UI snapshot event."""
    schema = {
        "type": "object",
        "properties": {"type": {"const": kind}},
        "required": ["type", "messages" if kind == "MESSAGES_SNAPSHOT" else "snapshot"],
    }
    return json_answer(schema) | problems(404)


def run_answers() -> Answers:
    """An event stream, or why there is none."""
    stream = {
        "description": "server-sent events: one AG-UI event as JSON per `data:` line",
        "content": {"text/event-stream": {}},
    }
    return {200: stream, **problems(400, 409, 413, 415, 422, 429)}


def _body(schema: Mapping[str, Any], *kinds: str) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": dict(schema)} for kind in kinds or ("application/json",)}}


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema without references, which in pydantic's are relative to a document of their own; the members that tell
    the kinds of a union apart are required."""
    if isinstance(schema, Mapping):
        if isinstance(name := schema.get("$ref"), str):
            return _inlined(definitions[name.rpartition("/")[2]], definitions)
        told = {key: _inlined(value, definitions) for key, value in schema.items() if key not in _PYDANTIC}
        for kind in told.get("oneOf", ()) if "discriminator" in schema else ():
            kind["required"] = [schema["discriminator"]["propertyName"], *kind.get("required", ())]
        return told
    return [_inlined(item, definitions) for item in schema] if isinstance(schema, list) else schema


def _run_input() -> dict[str, Any]:
    """The request as it is read: a message of a role that nobody knows is dropped, not refused (AG-UI 1.0 §17)."""
    schema = RunAgentInput.model_json_schema(by_alias=True)
    inlined: dict[str, Any] = _inlined(schema, schema.get("$defs", {}))
    items = inlined["properties"]["messages"]["items"]
    known = [kind for kind in items["oneOf"] if kind["properties"]["role"]["const"] != "activity"]
    roles = [kind["properties"]["role"]["const"] for kind in known]
    stranger = {
        "type": "object",
        "properties": {"role": {"type": "string", "not": {"enum": roles}}},
        "required": ["role"],
    }
    inlined["properties"]["messages"]["items"] = {"anyOf": [*known, stranger]}
    return inlined


RUN_BODY = _body(_run_input())
STATE_BODY = _body({"type": "object", "properties": {"threadId": {"type": "string"}}, "required": ["threadId"]})

THREAD_ID: dict[str, Any] = {
    "name": "thread_id",
    "in": "path",
    "required": True,
    "description": "the client's thread id, percent-encoded",
    "schema": {"type": "string", "minLength": 1},
}
QUERY_VERSION: dict[str, Any] = {
    "name": "protocolVersion",
    "in": "query",
    "description": "the client's protocol version; without it tool results are text, which all clients read",
    "schema": {"type": "string"},
}
QUERY_LIST: list[dict[str, Any]] = [
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}},
    {
        "name": "before",
        "in": "query",
        "description": "only threads last used before this moment",
        "schema": {"type": "string", "format": "date-time"},
    },
]
PATCH_PARAMETERS: list[dict[str, Any]] = [
    THREAD_ID,
    {
        "name": "as_node",
        "in": "query",
        "description": "the node that the update is ascribed to; what follows it becomes due",
        "schema": {"type": "string"},
    },
]


def _operation(ops: list[str], *members: str) -> dict[str, Any]:
    pointer = {"type": "string", "pattern": "^(/([^/~]|~[01])*)*$"}
    known = {"op": {"enum": ops}, "path": pointer, "from": pointer, "value": {}}
    return {
        "type": "object",
        "properties": {name: known[name] for name in ("op", "path", *members)},
        "required": ["op", "path", *members],
    }


PATCH_BODY = _body(
    {
        "type": "array",
        "items": {
            "anyOf": [
                _operation(["add", "replace", "test"], "value"),
                _operation(["remove"]),
                _operation(["move", "copy"], "from"),
            ]
        },
    },
    "application/json",
    "application/json-patch+json",
)
