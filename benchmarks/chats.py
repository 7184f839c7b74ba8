"""What OpenAI's wire costs beside AG-UI's: the same agent on the same server, asked over both in turn.

    python -m benchmarks.chats            # CPU per token, time to the first chunk, downloads; as lines of text

Linux only: figures come from ``/proc``.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
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


def fetching() -> Any:
    """The server: an agent whose files are fetched, from this machine too. It answers at once, or slowly."""
    from langgraph.graph import START, MessagesState, StateGraph

    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.server import Fetcher, ServerSettings, create_app
    from yai_nexus_agentkit.testing import ScriptedChatModel

    step = [part for n in range(600) for part in (_PAUSE, f"word{n:04d} ")]
    model = ScriptedChatModel(script=lambda messages: step)

    async def agent(state: MessagesState) -> dict[str, Any]:
        if isinstance(state["messages"][-1].content, str):
            return {"messages": [await model.ainvoke(state["messages"])]}
        return {"messages": [("ai", "seen")]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    settings = ServerSettings(media="fetch", fetcher=Fetcher(hosts=[HOST]))
    return create_app(AGUIAdapter(builder.compile()), openai="/v1", settings=settings)


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


@contextmanager
def files() -> Iterator[str]:
    """The URL of a file of 15 MB, served by a process of its own."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(15 * 2**20))
        command = [sys.executable, "-m", "http.server", str(PORT + 1), "--bind", HOST, "--directory", folder]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            yield f"http://{HOST}:{PORT + 1}/a.png"
        finally:
            process.terminate()
            process.wait()


async def asked(port: int, content: Any, *, stream: bool = False) -> tuple[bytes, list[float]]:
    """An answer, and the seconds between its pieces."""
    body = json.dumps({"stream": stream, "messages": [{"role": "user", "content": content}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
    reader, writer = await asyncio.open_connection(HOST, port, limit=2**22)
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    seen, gaps, last = b"", list[float](), 0.0
    while piece := await reader.read(65536):
        now = time.perf_counter()
        gaps += [now - last] if last else []
        seen, last = seen + piece, now
    writer.close()
    return seen, gaps


async def downloads() -> None:
    """50 requests at once with a file of 15 MB each, beside a stream that is paced."""
    with files() as url:
        part = {"type": "image_url", "image_url": {"url": url}}
        await _downloads(part)


async def _downloads(part: dict[str, Any]) -> None:
    async with _Server(sys.executable, "fetching", PORT) as server:
        await asked(PORT, [part])
        for _ in range(_ROUNDS):
            before = server.memory
            slow = asyncio.create_task(asked(PORT, "slow", stream=True))
            began = time.perf_counter()
            answers = await asyncio.gather(*(asked(PORT, [part]) for _ in range(50)))
            seconds, after = time.perf_counter() - began, server.memory
            assert all(b"seen" in answer for answer, _ in answers), answers[0]
            longest = max((await slow)[1])
            print(
                f"50 downloads of 15 MB at once: {seconds:.1f} s; memory {before / 2**20:.0f} MB before, "
                f"{after / 2**20:.0f} MB after; a stream paced at 20 ms was silent for {longest * 1000:.0f} ms at most",
                flush=True,
            )


async def main() -> None:
    """Measure, and print."""
    await downloads()
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
