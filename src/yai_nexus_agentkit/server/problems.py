"""Edge. Exceptions as refusals, and the texts that clients get of errors: no internals unless settings say so."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from math import ceil
from typing import Any, Protocol, TypeVar
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.errors import (
    UNEXPECTED,
    AGUIAdapterError,
    Code,
    HookError,
    OverloadedError,
    ResumeError,
    RunInputError,
    RunTimeoutError,
    StatePatchError,
    ThreadBusyError,
    ThreadNotFoundError,
    ThreadPausedError,
    own_text,
)
from yai_nexus_agentkit.runs.stores.store import StoreUnavailableError
from yai_nexus_agentkit.runs.telemetry import trace_id
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.transport.wire import Refusal, Wire

__all__ = ["answered", "client_text", "refused", "shown_text", "timely"]

_logger = logging.getLogger(__name__)
_WITHOUT_BODY = frozenset({204, 205, 304})


class _Refuses(Protocol):
    def refusal(self, error: Exception) -> Response: ...


R = TypeVar("R", bound=_Refuses)


def answered(handler: Callable[[R, Request], Awaitable[Response]]) -> Callable[[R, Request], Awaitable[Response]]:
    """Turn what a handler raises into the refusal of its object."""

    @wraps(handler)
    async def answer(self: R, request: Request) -> Response:
        try:
            return await handler(self, request)
        except Exception as error:
            return self.refusal(error)
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return self.refusal(RuntimeError(f"the storage of threads raised {error!r}"))

    return answer


def refused(error: Exception, wire: Wire, settings: ServerSettings, count: Callable[[int, str], None]) -> Response:
    """The wire's answer to an exception. Unexpected ones are logged under the id that the client gets. `count`: called
    with the answer's status and code."""
    refusal = _refusal(error, settings)
    if refusal.status in _WITHOUT_BODY:
        count(refusal.status, refusal.code)
        return Response(status_code=refusal.status, headers=refusal.headers)
    answer = wire.refuse(refusal, trace_id=trace_id() or uuid4().hex, now=datetime.now(UTC))
    count(answer.status, refusal.code)
    return Response(answer.body, answer.status, answer.headers)


@contextmanager
def timely() -> Iterator[None]:
    """A storage that does not answer in time refuses the request. Raises `Refusal` 504."""
    try:
        yield
    except TimeoutError as error:
        raise Refusal(504, "STORE_TIMEOUT", "the storage of threads did not answer in time") from error


def _refusal(error: Exception, settings: ServerSettings) -> Refusal:
    match error:
        case Refusal():
            return error
        case HTTPException():
            code = _HTTP.get(error.status_code, "HTTP_ERROR")
            headers = {name: str(value) for name, value in (error.headers or {}).items()}
            return Refusal(error.status_code, code, _detail_text(error.detail), headers=headers)
        case ClientDisconnect():
            return Refusal(400, "BAD_REQUEST", "the connection was closed before the body was complete")
        case PermissionError():
            return Refusal(403, "FORBIDDEN", "this is not allowed")
        case RunInputError():
            return Refusal(422, "INVALID_INPUT", error.reason, path=error.path)
        case ThreadNotFoundError() | ThreadPausedError() | ResumeError():
            status, code = _OF_THREADS[type(error)]
            return Refusal(status, code, str(error))
        case StatePatchError(conflict=True):
            return Refusal(409, "PATCH_CONFLICT", str(error), path=error.path)
        case StatePatchError():
            return Refusal(422, "INVALID_PATCH", str(error), path=error.path)
        case ThreadBusyError():
            return Refusal(409, "THREAD_BUSY", str(error), headers=_later(error.retry_after))
        case StoreUnavailableError():
            _logger.warning(
                "a request was refused: %s%s", error, f": {own_text(error.__cause__)}" if error.__cause__ else ""
            )
            return Refusal(503, "STORE_UNAVAILABLE", str(error), headers=_later(settings.retry_after))
        case OverloadedError():
            after = settings.retry_after if error.retry_after is None else error.retry_after
            return Refusal(429, "OVERLOADED", str(error), headers=_later(after))
        case _:
            return _failure(error, settings)


def _failure(error: Exception, settings: ServerSettings) -> Refusal:
    if isinstance(error, AGUIAdapterError) and error.code == Code.BACKEND_ERROR:
        return Refusal(502, error.code, str(error))
    if isinstance(error, RunTimeoutError):
        return Refusal(504, "STORE_TIMEOUT", str(error))
    code = "HOOK_ERROR" if isinstance(error, HookError) else "INTERNAL_ERROR"
    return Refusal(500, code, client_text(error, expose=settings.expose_errors))


def _later(seconds: float | None) -> dict[str, str]:
    """The header that says when to try again. It counts whole seconds."""
    return {} if seconds is None else {"retry-after": str(ceil(seconds))}


def _detail_text(detail: Any) -> str:
    """The text of an ``HTTPException``. FastAPI's may hold any data."""
    if isinstance(detail, str):
        return detail
    try:
        return json.dumps(detail, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return type(detail).__name__


def client_text(error: BaseException, *, expose: bool) -> str:
    """`shown_text`; an unexpected exception is logged with this text, the id where it is hidden behind one."""
    text = shown_text(error, expose=expose)
    if _is_unexpected(error):
        _logger.error(text, exc_info=error)
    return text


def shown_text(error: BaseException, *, expose: bool) -> str:
    """The client's text for an exception: the text of our own errors, else an id. The caller logs both."""
    if expose or not _is_unexpected(error):
        return own_text(error)
    return f"internal error (id {trace_id() or uuid4().hex})"


def _is_unexpected(error: BaseException) -> bool:
    return not isinstance(error, AGUIAdapterError) or error.code in UNEXPECTED


_OF_THREADS: Mapping[type[AGUIAdapterError], tuple[int, str]] = {
    ThreadNotFoundError: (404, "THREAD_NOT_FOUND"),
    ThreadPausedError: (409, "THREAD_PAUSED"),
    ResumeError: (409, "ALREADY_ANSWERED"),
}

_HTTP: Mapping[int, str] = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    429: "OVERLOADED",
}
