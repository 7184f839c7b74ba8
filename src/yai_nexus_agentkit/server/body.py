"""Edge. A request's body as JSON data: read up to a limit, parsed once, refused with what is wrong and where."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, NoReturn

from ag_ui.core import RunAgentInput
from starlette.requests import Request

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.request import parse_request
from yai_nexus_agentkit.server.problems import Problem

__all__ = ["read_json", "read_run_input"]

_logger = logging.getLogger(__name__)
_LARGE = 256 * 1024
"""Bodies above this are parsed in a thread: the loop serves streams meanwhile."""


async def read_run_input(request: Request, *, max_body: int, max_depth: int) -> RunAgentInput:
    """The request of a run, cleaned and validated (AG-UI 1.0 §17). Raises `Problem` 400, 413, 415 or 422."""
    body = await _read(request, max_body)
    if len(body) <= _LARGE:
        return _run_input(body, max_depth)
    return await asyncio.to_thread(_run_input, body, max_depth)


async def read_json(request: Request, *, max_body: int, max_depth: int) -> Any:
    """The body as JSON data. Raises `Problem` 400, 413 or 415."""
    return parse_json(await _read(request, max_body), max_depth)


def parse_json(body: bytes, max_depth: int) -> Any:
    """JSON data; refused are bad UTF-8, ``NaN``, duplicate keys, and deeper nesting. Raises `Problem` 400."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(400, "INVALID_JSON", f"the body is not UTF-8: byte {error.start} cannot be read") from None
    if not text.strip():
        raise Problem(400, "INVALID_JSON", "the body is empty")
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise Problem(400, "INVALID_JSON", f"the body is nested deeper than {max_depth} levels") from None
    except ValueError as error:
        raise Problem(400, "INVALID_JSON", f"the body is not JSON: {error}") from None
    if _deeper(data, max_depth):
        raise Problem(400, "INVALID_JSON", f"the body is nested deeper than {max_depth} levels")
    return data


def _run_input(body: bytes, max_depth: int) -> RunAgentInput:
    data = parse_json(body, max_depth)
    if not isinstance(data, Mapping):
        raise Problem(422, "INVALID_INPUT", "the body is not a JSON object")
    warnings: list[str] = []
    try:
        parsed = parse_request(data, warnings=warnings)
    except RunInputError as error:
        raise Problem(422, error.code, error.reason, path=error.path) from None
    for warning in warnings:
        _logger.warning("request of run %r: %s", parsed.run_id, warning)
    return parsed


async def _read(request: Request, max_body: int) -> bytes:
    _check_type(request)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_body:
        raise _too_large(max_body)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_body:
            raise _too_large(max_body)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _check_type(request: Request) -> None:
    """A type that pages of other origins cannot send without asking first (CORS); JSON only, UTF-8 only."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind not in ("application/json", "application/json-patch+json"):
        raise Problem(415, "UNSUPPORTED_MEDIA_TYPE", f"the content type is {kind or 'missing'}, not application/json")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in ("utf-8", "utf8", "us-ascii"):
            raise Problem(415, "UNSUPPORTED_MEDIA_TYPE", f"the charset is {value.strip()}, not utf-8")
    if request.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise Problem(415, "UNSUPPORTED_MEDIA_TYPE", "compressed bodies are not accepted")


def _too_large(max_body: int) -> Problem:
    return Problem(413, "BODY_TOO_LARGE", f"the body is larger than {max_body} bytes")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _deeper(data: Any, limit: int) -> bool:
    level = [data]
    for _ in range(limit):
        inside: list[Any] = []
        for item in level:
            inside += (
                value
                for value in (item.values() if type(item) is dict else item if type(item) is list else ())
                if type(value) is dict or type(value) is list
            )
        if not inside:
            return False
        level = inside
    return True
