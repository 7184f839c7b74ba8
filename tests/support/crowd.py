"""Driver. Many clients at once on raw sockets: what they cost in this process is a fraction of what a server does."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections import Counter
from urllib.parse import urlsplit

import h11

from tests.support.serving import run_body
from yai_nexus_agentkit.testing import parse_sse

__all__ = ["crowd", "listed"]


async def crowd(url: str, streams: int, *, tokens: int, run: str = "run") -> list[str]:
    """That many runs at once, each in a thread of its own; what is wrong with them, one line each."""
    found = await asyncio.gather(*(_stream(url, f"thread-{n}", run, tokens) for n in range(streams)))
    return [fault for fault in found if fault]


def listed(url: str) -> Counter[str]:
    """How many threads the server lists, by their status."""
    with urllib.request.urlopen(f"{url}/threads?limit=1000", timeout=30) as answer:
        return Counter(thread["status"] for thread in json.load(answer))


async def _stream(url: str, thread: str, run: str, tokens: int) -> str | None:
    """The fault of a run of `talker`; None if every token came, in order, and nothing came after the end."""
    try:
        status, body = await _post(url, run_body(thread=thread, run=run))
    except OSError as error:
        return f"{thread}: {error!r}"
    if status != "200":
        return f"{thread}: {status} {body[:200]!r}"
    events = parse_sse(body)
    text = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    if text != "".join(f"w{n} " for n in range(tokens)):
        return f"{thread}: {len(text.split())} of {tokens} tokens"
    if (events[0]["type"], events[-1]["type"]) != ("RUN_STARTED", "RUN_FINISHED"):
        return f"{thread}: from {events[0]} to {events[-1]}"
    ids = {(event["threadId"], event["runId"]) for event in (events[0], events[-1])}
    return None if ids == {(thread, run)} else f"{thread}: {ids}"


async def _post(url: str, body: dict[str, object]) -> tuple[str, str]:
    """Status and body."""
    place, data = urlsplit(url), json.dumps(body).encode()
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    http = h11.Connection(h11.CLIENT)
    headers = {"host": place.netloc, "content-type": "application/json", "content-length": str(len(data))}
    request = h11.Request(method="POST", target=place.path or "/", headers=[*headers.items(), ("connection", "close")])
    for event in (request, h11.Data(data), h11.EndOfMessage()):
        writer.write(http.send(event) or b"")
    http.receive_data(await reader.read())
    http.receive_data(b"")
    writer.close()
    response, answer = http.next_event(), b""
    assert isinstance(response, h11.Response)
    while isinstance(piece := http.next_event(), h11.Data):
        answer += piece.data
    return str(response.status_code), answer.decode()
