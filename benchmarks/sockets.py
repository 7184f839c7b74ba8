"""What a web socket costs beside AG-UI over SSE: the same agent on the same server, asked over both in turn.

    python -m benchmarks.sockets            # CPU per token, and memory of idle sockets, as lines of text

Clients offer no compression, as a server should be set (``--ws-per-message-deflate false``). Linux only: figures come
from ``/proc``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.http_load import HOST, Server, graph, together

__all__ = ["IDLE", "figures", "idle", "main", "paced"]

PORT = 8_797
IDLE = 1_000
_STREAMS, _TOKENS, _PAUSE = 100, 100, 0.02
_ROUNDS, _ATTEMPTS = 3, 3


def both() -> Any:
    """The server: HTTP and sockets."""
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.server import ServerSettings, SocketSettings, create_app

    sockets = SocketSettings(max_sockets_per_user=None, runs_per_second=1000, frames_per_second=1000)
    return create_app(AGUIAdapter(graph()), settings=ServerSettings(sockets=sockets))


class SocketServer(Server):
    """A server process."""

    def start(self, command: list[str]) -> None:
        super().start([part.replace("benchmarks.http_load", "benchmarks.sockets") for part in command])


def _open(stack: AsyncExitStack) -> Any:
    return stack.enter_async_context(connect(f"ws://{HOST}:{PORT}/ws", compression=None, max_size=None))


async def _talk(socket: ClientConnection, tokens: int, pause: float) -> None:
    """One run over an open socket, read to its end."""
    message = {"id": str(uuid4()), "role": "user", "content": f"{tokens} {pause}"}
    asked = {"threadId": str(uuid4()), "runId": str(uuid4()), "protocolVersion": "1.0", "messages": [message]}
    await socket.send(json.dumps({"type": "run", "requestId": "q", "input": {**asked, "tools": [], "context": []}}))
    found = 0
    async for frame in socket:
        found += str(frame).count("TEXT_MESSAGE_CONTENT")
        if '"done":true' in str(frame):
            break
    if found == 0:
        raise RuntimeError("no tokens came")


async def _over_sockets(server: Server, tokens: int, pause: float) -> float:
    async with AsyncExitStack() as stack:
        opened = [await _open(stack) for _ in range(_STREAMS)]
        cpu = server.cpu
        await asyncio.gather(*(_talk(socket, tokens, pause) for socket in opened))
        return server.cpu - cpu


async def _over_http(server: Server, tokens: int, pause: float) -> float:
    cpu = server.cpu
    seen = await together(server.port, _STREAMS, tokens, pause)
    assert not [one.error for one in seen if one.error]
    return server.cpu - cpu


async def paced(server: Server, tokens: int = _TOKENS, pause: float = _PAUSE) -> float:
    """CPU per token over sockets, SSE = 1: the least of several rounds of each, since noise only adds."""
    rounds: list[tuple[float, float]] = []
    for _ in range(_ROUNDS):
        rounds.append((await _over_http(server, tokens, pause), await _over_sockets(server, tokens, pause)))
    return min(sockets for _, sockets in rounds) / min(sse for sse, _ in rounds)


async def idle(server: Server, count: int = IDLE) -> float:
    """Kilobytes of resident memory for each open socket in which nothing happens. For a server that did nothing yet."""
    async with AsyncExitStack() as stack:
        for _ in range(50):
            await _open(stack)
        before = server.memory
        for _ in range(count):
            await _open(stack)
        await asyncio.sleep(2)
        return (server.memory - before) / count / 1024


async def figures(budgets: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """``paced`` and ``idle``, the former measured again while it is over its budget."""
    async with SocketServer(sys.executable, "both", PORT) as server:
        found = {"idle": await idle(server), "paced": float("inf")}
        await together(PORT, 4, 10, 0)
        for _ in range(_ATTEMPTS):
            found["paced"] = min(found["paced"], await paced(server))
            if found["paced"] <= budgets["paced"]["max"]:
                break
    return found


async def main() -> None:
    """Measure, and print."""
    async with SocketServer(sys.executable, "both", PORT) as server:
        print(f"{IDLE} idle sockets: {await idle(server):.1f} kB each", flush=True)
        await together(PORT, 4, 10, 0)
        print(f"CPU per token, a token every 20 ms: {await paced(server):.2f} x SSE", flush=True)
        print(f"CPU per token, as fast as it goes: {await paced(server, 200, 0.0):.2f} x SSE", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
