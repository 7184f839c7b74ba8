"""What it costs that a server owns its runs, logs them, and shows them on other workers.

    python -m benchmarks.shared_runs            # all measurements, as lines of text

Servers are processes of their own under uvicorn; Redis and PostgreSQL are started on free ports. ``direct`` is a run as
its own response, without a service: the others are compared with it. Linux only: figures come from ``/proc``.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import uuid4

from benchmarks.http_load import HOST, Server, graph, load, percentile, together

PORT = 8_781


# ---------------------------------------------------------------- the server's side


def direct() -> Any:
    """A run is its response: no service, no feed, no log."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    from yai_nexus_agentkit import AGUIAdapter

    adapter = AGUIAdapter(graph())

    async def run(request: Request) -> StreamingResponse:
        return StreamingResponse(adapter.stream_sse(await request.json()), media_type="text/event-stream")

    return Starlette(routes=[Route("/", run, methods=["POST"])])


def owned() -> Any:
    """Runs go on without viewers. STORE: the store's address; FLUSH: seconds."""
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.server import ServerSettings, create_app

    settings = ServerSettings(
        store=os.environ.get("STORE", "memory:"),
        flush=float(os.environ.get("FLUSH", "0.02")),
        disconnect="continue",
        max_runs=5000,
    )
    return create_app(AGUIAdapter(graph()), settings=settings)


class Worker(Server):
    """A server of this module."""

    def __init__(self, factory: str, port: int, store: str = "memory:", flush: float = 0.02) -> None:
        super().__init__(sys.executable, factory, port)
        self._given = {"STORE": store, "FLUSH": str(flush)}

    def start(self, command: list[str]) -> None:
        os.environ.update(self._given)
        super().start([part.replace("benchmarks.http_load", "benchmarks.shared_runs") for part in command])


# ---------------------------------------------------------------- the clients' side


async def opened(port: int, path: str, thread: str, said: str) -> asyncio.StreamReader:
    """A run, or a view of one."""
    message = [] if path else [{"id": "m", "role": "user", "content": said}]
    body = json.dumps({"threadId": thread, "runId": str(uuid4()), "messages": message}).encode()
    reader, writer = await asyncio.open_connection(HOST, port, limit=2**22)
    head = f"POST {path or '/'} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    reader.__dict__["writer"] = writer  # the connection lives as long as its reader
    return reader


async def arrivals(reader: asyncio.StreamReader) -> dict[str, float]:
    """When each token came, and ``first`` for the first event."""
    seen: dict[str, float] = {}
    tail = b""
    while chunk := await reader.read(65536):
        now = time.perf_counter()
        tail += chunk
        if b"data:" in tail:
            seen.setdefault("first", now)
        for word in tail.split(b"word")[1:]:
            seen.setdefault(word[:4].decode(errors="replace"), now)
        tail = tail[-12:]
    return seen


async def costs(workers: dict[str, Worker]) -> None:
    """CPU per token of 100 runs that get a token every 20 ms: the least of three rounds, beside the first worker's."""
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in workers}
    for _ in range(3):
        for name, worker in workers.items():
            async with worker as server:
                seen[name].append(await load(server, 100, 200, 0.02))
    least = {name: min(float(one["cpu_us_per_token"]) for one in found) for name, found in seen.items()}
    base = next(iter(least.values()))
    for name, cost in least.items():
        first = min(one["first_event_ms_p50"] for one in seen[name])
        print(f"{name}: {cost:.0f} us per token, {cost / base:.2f} x; first event p50 {first} ms", flush=True)


async def elsewhere(store: str, flush: float) -> None:
    """20 runs on one worker, each watched on both."""
    async with Worker("owned", PORT, store, flush) as here, Worker("owned", PORT + 1, store, flush) as there:
        await together(here.port, 4, 10, 0)
        before = here.cpu, there.cpu
        threads = [str(uuid4()) for _ in range(20)]
        own = [asyncio.create_task(arrivals(await opened(here.port, "", one, "300 0.02"))) for one in threads]
        await asyncio.sleep(0.5)
        far = [asyncio.create_task(arrivals(await opened(there.port, "/connect", one, ""))) for one in threads]
        seen = list(zip([await one for one in own], [await one for one in far], strict=True))
        owner, follower = here.cpu - before[0], there.cpu - before[1]
    words = [f"{n:04d}" for n in range(60, 300)]
    late = [b[word] - a[word] for a, b in seen for word in words if word in a and word in b]
    p50, p99 = statistics.median(late) * 1000, percentile(late, 0.99) * 1000
    print(f"viewer on another worker, {flush * 1000:.0f} ms: CPU {follower / owner:.2f} x; +{p50:.0f} / {p99:.0f} ms")


async def joining() -> None:
    """Attaching to a run of 2,000 tokens, and 100 viewers of one run."""
    async with Worker("owned", PORT) as server:
        await together(server.port, 4, 10, 0)
        run = asyncio.create_task(arrivals(await opened(server.port, "", "long", "2400 0.002")))
        await asyncio.sleep(5)
        took = []
        for _ in range(20):
            began = time.perf_counter()
            view = await opened(server.port, "/connect", "long", "")
            while b"data:" not in await view.readline():
                pass
            took.append(time.perf_counter() - began)
            view.__dict__["writer"].close()
        print(f"attach to a long run: first event p50 {statistics.median(took) * 1000:.1f} ms")
        await run
        before = server.cpu
        await asyncio.create_task(arrivals(await opened(server.port, "", "one", "300 0.02")))
        alone, before = server.cpu - before, server.cpu
        first = asyncio.create_task(arrivals(await opened(server.port, "", "many", "300 0.02")))
        views = [asyncio.create_task(arrivals(await opened(server.port, "/connect", "many", ""))) for _ in range(100)]
        await asyncio.gather(first, *views)
        many = server.cpu - before
        print(f"100 viewers of one run: {(many - alone) / 100 / alone:.2f} x a run's own CPU per viewer")


async def unwatched(factory: str) -> None:
    """500 runs that start at once, the best of three rounds; then 1,000 runs whose clients leave."""
    async with Worker(factory, PORT) as server:
        late = []
        for _ in range(3):
            await together(server.port, 4, 10, 0)
            seen = await together(server.port, 500, 20, 0.1)
            late.append(percentile([one.first for one in seen if not one.error], 0.99) * 1000)
        print(f"{factory}: 500 runs at once: first event p99 {min(late):.0f} ms", flush=True)
        if factory == "direct":
            return
        before = server.memory
        for n in range(1000):
            view = await opened(server.port, "", f"left{n}", "50 0.1")
            await view.readline()
            view.__dict__["writer"].close()
        most = server.memory
        await asyncio.sleep(15)
        left = await asyncio.gather(*(_runs(server.port, f"left{n}") for n in range(0, 1000, 50)))
        print(f"1,000 runs without viewers: {(most - before) / 1000 / 1024:.0f} kB each; {sum(left)} left after")


async def _runs(port: int, thread: str) -> int:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(f"GET /threads/{thread}/runs HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).partition(b"\r\n\r\n")[2]
    writer.close()
    return len(json.loads(answer))


@asynccontextmanager
async def databases() -> AsyncIterator[tuple[str, str]]:
    """Addresses of a Redis and a PostgreSQL of our own."""
    from tests.support.postgres import postgres
    from tests.support.redis_server import redis_server

    async with AsyncExitStack() as stack:
        redis = stack.enter_context(redis_server())
        yield redis.address, stack.enter_context(postgres())


async def main() -> None:
    """Measure, and print a line each."""
    async with databases() as (redis, database):
        await costs(
            {
                "direct": Worker("direct", PORT),
                "owned, memory": Worker("owned", PORT),
                "owned, Redis, 20 ms": Worker("owned", PORT, redis),
                "owned, PostgreSQL, 50 ms": Worker("owned", PORT, database, 0.05),
            }
        )
        await elsewhere(redis, 0.02)
        await joining()
        await unwatched("direct")
        await unwatched("owned")


if __name__ == "__main__":
    asyncio.run(main())
