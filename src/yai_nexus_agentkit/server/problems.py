"""Edge. What went wrong, as HTTP: one body for every route, without internals."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from yai_nexus_agentkit.errors import (
    UNEXPECTED,
    AGUIAdapterError,
    OverloadedError,
    StatePatchError,
    ThreadBusyError,
    ThreadNotFoundError,
    ThreadPausedError,
)
from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.runs.telemetry import trace_id

__all__ = ["Problem", "client_text", "problem_of", "problem_response", "shown_text"]

_logger = logging.getLogger(__name__)
_WITHOUT_BODY = frozenset({204, 205, 304})


class Problem(Exception):
    """A request that is answered with an error. `path`: a JSON Pointer into the body."""

    def __init__(
        self, status: int, error: str, description: str, *, path: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(description)
        self.status, self.error, self.description, self.path = status, error, description, path
        self.headers = dict(headers or {})


def problem_of(error: Exception, *, retry_after: int, expose: bool) -> Problem:
    """Any exception as a problem. Unexpected ones are logged under the id that the client sees."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(
            error.status_code,
            _HTTP.get(error.status_code, "HTTP_ERROR"),
            _detail_text(error.detail),
            headers={name: str(value) for name, value in (error.headers or {}).items()},
        )
    if isinstance(error, ClientDisconnect):
        return Problem(400, "BAD_REQUEST", "the connection was closed before the body was complete")
    if isinstance(error, PermissionError):
        return Problem(403, "FORBIDDEN", "this is not allowed")
    if isinstance(error, ThreadNotFoundError):
        return Problem(404, "THREAD_NOT_FOUND", str(error))
    if isinstance(error, ThreadPausedError):
        return Problem(409, "THREAD_PAUSED", str(error))
    if isinstance(error, StatePatchError):
        status, code = (409, "PATCH_CONFLICT") if error.conflict else (422, "INVALID_PATCH")
        return Problem(status, code, str(error), path=error.path)
    if isinstance(error, ThreadBusyError):
        return Problem(409, error.code, str(error))
    if isinstance(error, OverloadedError):
        return Problem(429, error.code, str(error), headers={"retry-after": str(retry_after)})
    return Problem(500, "INTERNAL_ERROR", client_text(error, expose=expose))


def problem_response(problem: Problem) -> Response:
    """``{"detail": {"error", "error_description", "path", "timestamp", "trace_id"}}``; nothing for a status that has no
    body."""
    if problem.status in _WITHOUT_BODY:
        return Response(status_code=problem.status, headers=problem.headers)
    detail: dict[str, Any] = {
        "error": problem.error,
        "error_description": clean_text(problem.description),
        "path": clean_text(problem.path),
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "trace_id": trace_id() or uuid4().hex,
    }
    return JSONResponse({"detail": detail}, status_code=problem.status, headers=problem.headers)


def _detail_text(detail: Any) -> str:
    """What an ``HTTPException`` says. FastAPI's may hold any data."""
    if isinstance(detail, str):
        return detail
    try:
        return json.dumps(detail, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return type(detail).__name__


def client_text(error: BaseException, *, expose: bool) -> str:
    """`shown_text`; an exception that is hidden behind an id is logged with it."""
    text = shown_text(error, expose=expose)
    if not expose and _is_hidden(error):
        _logger.error(text, exc_info=error)
    return text


def shown_text(error: BaseException, *, expose: bool) -> str:
    """What a client is told of an exception: the text of our own errors, else an id. Whoever tells it logs both."""
    if expose or not _is_hidden(error):
        try:
            return str(error) or type(error).__name__
        except Exception:  # an exception whose own text fails
            return type(error).__name__
    return f"internal error (id {trace_id() or uuid4().hex})"


def _is_hidden(error: BaseException) -> bool:
    return not isinstance(error, AGUIAdapterError) or error.code in UNEXPECTED


_HTTP: Mapping[int, str] = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    429: "OVERLOADED",
}
