"""Driver. The HTTP cases: a server process under uvicorn, clients on sockets of this one (`benchmarks.http_load`)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.http_load import Server, idle, load

__all__ = ["HTTP_CASES", "http_servers", "measure_http"]

HTTP_CASES: Mapping[str, tuple[str, Callable[[Server], Awaitable[dict[str, Any]]]]] = {
    "http_load": ("100 runs of 200 tokens at once, as fast as they go", lambda server: load(server, 100, 200, 0)),
    "http_paced": (
        "100 runs of 100 tokens at once, a token every 20 ms",
        lambda server: load(server, 100, 100, 0.02),
    ),
    "http_idle": ("200 open streams in which nothing happens", lambda server: idle(server, 200)),
}
"""Title, and what is measured, by name."""

_PORT = 8_771


def http_servers(*, peer: bool) -> Sequence[str]:
    """The servers that can be compared here: factories of `benchmarks.http_load`."""
    return ("ours", "ours_callbacks", *(("peer_raw_off", "peer") if peer else ()))


async def measure_http(name: str, servers: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of a case, by server; each has a process of its own."""
    found = []
    for server in servers:
        async with Server(sys.executable, server, _PORT) as running:
            found.append((server, await HTTP_CASES[name][1](running)))
    return iter(found)
