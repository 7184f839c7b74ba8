"""What OpenAI's wire costs beside AG-UI's: the same agent on the same server, asked over both in turn.

    python -m benchmarks.chats            # CPU per token and time to the first chunk, as lines of text

Linux only: figures come from ``/proc``.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import Any

from benchmarks.http_load import HOST, Server, graph, percentile, together

PORT = 8_791
_STREAMS, _TOKENS, _PAUSE = 100, 100, 0.02
_ROUNDS = 3


def both() -> Any:
    """The server: an agent over AG-UI at ``/``, and as a model."""
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.server import create_app

    return create_app(AGUIAdapter(graph()), openai="/v1")


class _Server(Server):
    def start(self, command: list[str]) -> None:
        super().start([part.replace("benchmarks.http_load", "benchmarks.chats") for part in command])


async def chat(port: int, tokens: int, pause: float) -> float:
    """One streamed answer, read to its end. Seconds to its first chunk."""
    body = json.dumps({"stream": True, "messages": [{"role": "user", "content": f"{tokens} {pause}"}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
    began, first, seen = time.perf_counter(), 0.0, b""
    reader, writer = await asyncio.open_connection(HOST, port, limit=2**22)
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    while piece := await reader.read(65536):
        if not first and b"chat.completion.chunk" in piece:
            first = time.perf_counter() - began
        seen += piece
    writer.close()
    found = seen.count(b'"delta":{"content"')
    if found < tokens or b"data: [DONE]" not in seen:
        raise RuntimeError(f"{found} of {tokens} tokens, the end: {seen[-200:]!r}")
    return first


async def chats(port: int, streams: int, tokens: int, pause: float) -> list[float]:
    """All at once."""
    return list(await asyncio.gather(*(chat(port, tokens, pause) for _ in range(streams))))


async def measured(server: Server, wire: str, tokens: int, pause: float) -> tuple[float, list[float]]:
    """Microseconds of CPU per token, and the seconds to each first event or chunk."""
    cpu = server.cpu
    if wire == "openai":
        first = await chats(server.port, _STREAMS, tokens, pause)
    else:
        seen = await together(server.port, _STREAMS, tokens, pause)
        assert not [one.error for one in seen if one.error]
        first = [one.first for one in seen]
    return (server.cpu - cpu) / (_STREAMS * tokens) * 1e6, first


async def main() -> None:
    """Measure, and print."""
    async with _Server(sys.executable, "both", PORT) as server:
        await chats(PORT, 4, 10, 0)
        await together(PORT, 4, 10, 0)
        for title, tokens, pause in (("paced at 20 ms", _TOKENS, _PAUSE), ("as fast as it goes", 200, 0.0)):
            ratios: list[float] = []
            for _ in range(_ROUNDS):
                figures = {wire: await measured(server, wire, tokens, pause) for wire in ("agui", "openai")}
                ratios.append(figures["openai"][0] / figures["agui"][0])
                shown = [
                    f"{wire}: {cpu:.0f} us per token, first p50 {statistics.median(first) * 1000:.0f} ms, "
                    f"p99 {percentile(first, 0.99) * 1000:.0f} ms"
                    for wire, (cpu, first) in figures.items()
                ]
                print(f"{_STREAMS} streams of {tokens} tokens, {title}: {'; '.join(shown)}", flush=True)
            print(f"CPU per token, {title}: {statistics.median(ratios):.2f} x AG-UI", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
