"""Edge. The body of a request as JSON data: received within limits, parsed once, refused with the reason."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request

from yai_nexus_agentkit.protocol.json.json_safe import json_safe
from yai_nexus_agentkit.protocol.json.reader import TooManyValuesError, read_json
from yai_nexus_agentkit.server.settings import LEAST_BODY, ServerSettings
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["PATCHES", "Body", "beside_the_loop", "parse_body", "receive_body"]

T = TypeVar("T")

_LARGE = 32 * 1024
"""Bodies above this are parsed in a thread: the loop serves streams meanwhile."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""JavaScript writes half of a pair for text that was cut inside an emoji."""

_PARSERS = ThreadPoolExecutor(2, thread_name_prefix="agui-parser")
"""Threads of our own: an agent's sync nodes may occupy all those of the loop's default executor."""

PATCHES = ThreadPoolExecutor(1, thread_name_prefix="agui-patch")
"""For patches of large states, which cannot be interrupted: requests are parsed meanwhile."""


class Body(NamedTuple):
    """The body of a request."""

    data: Any
    """The JSON data, or the part of it that counts."""
    raw: bytes


async def beside_the_loop(body: bytes, work: Callable[[], T]) -> T:
    """The result of `work`, whose time grows with the body: a large one is worked on in a thread."""
    if len(body) <= _LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_PARSERS, work)


def parse_body(body: bytes, settings: ServerSettings) -> Any:
    """The JSON data of a body, with U+FFFD for lone surrogates. Raises `Refusal` 400, or 413 for too many values."""
    try:
        data = read_json(body, max_depth=settings.max_depth, max_values=settings.max_values)
    except TooManyValuesError as error:
        raise Refusal(413, "BODY_TOO_LARGE", f"the body {error}") from None
    except ValueError as error:
        raise Refusal(400, "INVALID_JSON", f"the body {error}") from None
    return json_safe(data) if _SURROGATE.search(body) else data


async def receive_body(request: Request, settings: ServerSettings, take: Callable[[int], None]) -> bytes:
    """The whole body, if it is JSON by its type. `take` is called with the bytes that arrive, and may refuse them.

    Raises `Refusal` 408, 413 or 415, and what `take` raises.
    """
    _check_type(request)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > settings.max_body:
        raise _too_large(settings)
    chunks: list[bytes] = []
    size, taken = 0, LEAST_BODY
    take(LEAST_BODY)
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for chunk in request.stream():
                size += len(chunk)
                if size > settings.max_body:
                    raise _too_large(settings)
                if size > taken:
                    take(size - taken)
                    taken = size
                chunks.append(chunk)
    except TimeoutError:
        text = f"the body did not arrive within {settings.body_timeout:g} seconds"
        raise Refusal(408, "BODY_TIMEOUT", text, headers={"connection": "close"}) from None
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


def _too_large(settings: ServerSettings) -> Refusal:
    return Refusal(413, "BODY_TOO_LARGE", f"the body is larger than {settings.max_body} bytes")
