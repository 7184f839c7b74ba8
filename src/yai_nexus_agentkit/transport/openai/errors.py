"""Pure. Errors as OpenAI's clients expect them: one body, and the statuses by which they choose an exception."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic_core import to_json

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["error_body", "param_of", "status_of"]

_STATUS: Mapping[str, int] = {
    **dict.fromkeys((Code.INVALID_INPUT, Code.INVALID_RESUME, Code.NO_TOOL_RESULTS), 400),
    Code.THREAD_BUSY: 409,
    Code.OVERLOADED: 429,
    **dict.fromkeys((Code.WORKER_LOST, Code.BACKEND_ERROR), 502),
    Code.STORE_UNAVAILABLE: 503,
    **dict.fromkeys((Code.EXECUTION_TIMEOUT, Code.IDLE_TIMEOUT, Code.TOOL_TIMEOUT), 504),
}
_TYPES: Mapping[int, str] = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_INDEX = re.compile(r"\.(\d+)(?=\.|\Z)")


def status_of(code: str | None) -> int:
    """The HTTP status of a run that ended with this ``RUN_ERROR.code`` before anything was sent."""
    return _STATUS.get(code or "", 500)


def error_body(message: str, code: str | None, *, status: int | None = None, param: str | None = None) -> bytes:
    """``{"error": {"message", "type", "param", "code"}}``. `status`: default: that of the code."""
    status = status_of(code) if status is None else status
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    error = {"message": clean_text(message), "type": kind, "param": param, "code": code.lower() if code else None}
    return to_json({"error": error})


def param_of(path: str) -> str | None:
    """A JSON Pointer as OpenAI names a member: ``messages[0].content``."""
    if not path:
        return None
    dotted = ".".join(part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
    return clean_text(_INDEX.sub(r"[\1]", dotted))
