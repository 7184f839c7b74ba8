"""Edge. The body of a request as JSON data: read up to a limit, parsed once, refused with the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request

from yai_nexus_agentkit.protocol.json.reader import read_json
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["beside_the_loop", "parse_json", "read_body"]

T = TypeVar("T")

_LARGE = 64 * 1024
"""Bodies above this are parsed in a thread: the loop serves streams meanwhile."""

_PARSERS = ThreadPoolExecutor(2, thread_name_prefix="agui-parser")
"""Threads of our own: an agent's sync nodes may occupy all those of the loop's default executor."""


async def beside_the_loop(body: bytes, work: Callable[[], T]) -> T:
    """The result of `work`, whose time grows with the body: a large one is worked on in a thread."""
    if len(body) <= _LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_PARSERS, work)


def parse_json(body: bytes, max_depth: int) -> Any:
    """JSON data. Bad UTF-8, ``NaN``, duplicate keys and deeper nesting are refused. Raises `Refusal` 400."""
    try:
        return read_json(body, max_depth=max_depth)
    except ValueError as error:
        raise Refusal(400, "INVALID_JSON", f"the body {error}") from None


async def read_body(request: Request, max_body: int) -> bytes:
    """The whole body, if it is JSON by its type and within the limit of bytes. Raises `Refusal` 413 or 415."""
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
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", f"the content type is {kind or 'missing'}, not application/json")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in ("utf-8", "utf8", "us-ascii"):
            raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", f"the charset is {value.strip()}, not utf-8")
    if request.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "compressed bodies are not accepted")


def _too_large(max_body: int) -> Refusal:
    return Refusal(413, "BODY_TOO_LARGE", f"the body is larger than {max_body} bytes")
