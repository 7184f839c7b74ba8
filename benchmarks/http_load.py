"""Load on a real HTTP server: throughput, first event, memory per open stream, CPU per token.

    python -m benchmarks.http_load                       # the three measurements, ours
    python -m benchmarks.http_load --server peer --python /path/to/venv/bin/python

The server runs in a process of its own under uvicorn, with one scripted model and no network; the clients are raw
sockets in this process, so that what they cost is not counted. ``peer`` is ag-ui-langgraph's endpoint on that graph:
its interpreter needs that package beside this one. Linux only: figures come from ``/proc``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent


# ---------------------------------------------------------------- the server's side


def graph() -> Any:
    """One node, one model call. The last message says how many tokens, and the seconds before each: ``200 0.02``."""
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph

    from yai_nexus_agentkit.testing import ScriptedChatModel

    def script(messages: list[BaseMessage]) -> list[Any]:
        tokens, pause = str(messages[-1].content).split()
        step: list[Any] = [f"word{n:04d} " for n in range(int(tokens))]
        if float(pause) == 0:
            return step
        return [part for token in step for part in (float(pause), token)]

    model = ScriptedChatModel(script=script)

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=InMemorySaver())


def ours() -> Any:
    """This package's server."""
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.server import create_app

    return create_app(AGUIAdapter(graph()))


def ours_callbacks() -> Any:
    """The same with the callback source."""
    from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
    from yai_nexus_agentkit.server import create_app

    return create_app(AGUIAdapter(graph(), options=AdapterOptions(source="callbacks")))


def peer_raw_off() -> Any:
    """ag-ui-langgraph's endpoint without raw events."""
    return peer(emit_raw_events=False)


def peer(**options: bool) -> Any:
    """ag-ui-langgraph's endpoint as it comes."""
    from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
    from fastapi import FastAPI

    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="agent", graph=graph(), **options), "/")
    return app


@dataclass
class Server:
    """A server process."""

    python: str
    factory: str
    port: int
    process: subprocess.Popen[bytes] = field(init=False)

    async def __aenter__(self) -> Server:
        command = [
            self.python,
            "-m",
            "uvicorn",
            f"benchmarks.http_load:{self.factory}",
            "--factory",
            "--log-level",
            "error",
        ]
        command += ["--host", HOST, "--port", str(self.port), "--backlog", "2048", "--no-access-log"]
        self.start(command)
        for _ in range(300):
            try:
                _, writer = await asyncio.open_connection(HOST, self.port)
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError("the server ended before it listened") from None
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return self
        raise RuntimeError("the server does not listen")

    def start(self, command: list[str]) -> None:
        """Start the process."""
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        self.process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})

    async def __aexit__(self, *error: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---------------------------------------------------------------- the clients' side


@dataclass
class Stream:
    """The figures of one client."""

    first: float = 0.0
    """Seconds to ``RUN_STARTED``."""
    seconds: float = 0.0
    bytes: int = 0
    gaps: list[float] = field(default_factory=list)
    error: str | None = None


def request(tokens: int, pause: float) -> bytes:
    """A run in a new thread."""
    body = {
        "threadId": str(uuid4()),
        "runId": str(uuid4()),
        "protocolVersion": "1.0",
        "state": {},
        "messages": [{"id": str(uuid4()), "role": "user", "content": f"{tokens} {pause}"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    data = json.dumps(body).encode()
    head = f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
    return f"{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data


async def stream(
    port: int,
    tokens: int,
    pause: float,
    *,
    until: asyncio.Event | None = None,
    opened: asyncio.Semaphore | None = None,
) -> Stream:
    """One run, read to its end, or only `opened` and held `until` the event."""
    seen = Stream()
    began = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection(HOST, port, limit=2**22)
        writer.write(request(tokens, pause))
        tail, last, count = b"", began, 0
        while True:
            chunk = await reader.read(65536)
            now = time.perf_counter()
            if not chunk:
                break
            if not seen.bytes and not chunk.startswith(b"HTTP/1.1 200"):
                seen.error = chunk.decode(errors="replace")[:200]
            if not seen.first and b"RUN_STARTED" in tail + chunk:
                seen.first = now - began
            elif seen.first:
                seen.gaps.append(now - last)
            last = now
            seen.bytes += len(chunk)
            count += (tail[-32:] + chunk).count(b"TEXT_MESSAGE_CONTENT") - tail[-32:].count(b"TEXT_MESSAGE_CONTENT")
            tail = (tail + chunk)[-2000:]
            if until is not None and seen.first:
                if opened is not None:
                    opened.release()
                await until.wait()
                break
        writer.close()
        if until is None and seen.error is None and (b"RUN_FINISHED" not in tail or count < tokens):
            seen.error = f"{count} of {tokens} tokens, the end: {tail[-200:]!r}"
    except OSError as error:
        seen.error = repr(error)
    seen.seconds = time.perf_counter() - began
    return seen


async def together(port: int, streams: int, tokens: int, pause: float) -> list[Stream]:
    """All at once."""
    return list(await asyncio.gather(*(stream(port, tokens, pause) for _ in range(streams))))


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


async def load(server: Server, streams: int, tokens: int, pause: float) -> dict[str, Any]:
    """Throughput and delays of `streams` runs at once."""
    await together(server.port, 4, 10, 0)
    cpu, began = server.cpu, time.perf_counter()
    seen = await together(server.port, streams, tokens, pause)
    seconds, cpu = time.perf_counter() - began, server.cpu - cpu
    errors = [one.error for one in seen if one.error]
    return {
        "streams": streams,
        "tokens": tokens,
        "pause_ms": pause * 1000,
        "errors": len(errors),
        "first_error": errors[0] if errors else None,
        "seconds": round(seconds, 2),
        "tokens_per_second": round(streams * tokens / seconds),
        "cpu_us_per_token": round(cpu / (streams * tokens) * 1e6),
        "first_event_ms_p50": round(statistics.median(one.first for one in seen) * 1000),
        "first_event_ms_p99": round(percentile([one.first for one in seen], 0.99) * 1000),
        "gap_ms_p99": round(percentile([gap for one in seen for gap in one.gaps], 0.99) * 1000, 1),
        "bytes_per_token": round(sum(one.bytes for one in seen) / (streams * tokens)),
    }


async def idle(server: Server, streams: int) -> dict[str, Any]:
    """Memory of open streams in which nothing happens."""
    await together(server.port, 4, 10, 0)
    before = server.memory
    held, opened = asyncio.Event(), asyncio.Semaphore(0)
    tasks = [asyncio.create_task(stream(server.port, 1, 300, until=held, opened=opened)) for _ in range(streams)]
    for _ in range(streams):
        await opened.acquire()
    await asyncio.sleep(5)
    taken = server.memory - before
    held.set()
    seen = await asyncio.gather(*tasks)
    return {
        "streams": streams,
        "errors": sum(1 for one in seen if one.error or not one.first),
        "kilobytes_per_stream": round(taken / streams / 1024, 1),
    }


async def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=["ours", "ours_callbacks", "peer", "peer_raw_off"], default="ours")
    parser.add_argument("--python", default=sys.executable, help="the server's interpreter")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--only", choices=["load", "paced", "idle"])
    given = parser.parse_args()
    found: dict[str, Any] = {"server": given.server}
    measures: dict[str, Callable[[Server], Awaitable[dict[str, Any]]]] = {
        "load": lambda server: load(server, 500, 200, 0),
        "paced": lambda server: load(server, 100, 100, 0.02),
        "idle": lambda server: idle(server, 300),
    }
    for name, measure in measures.items():
        if given.only in (None, name):
            async with Server(given.python, given.server, given.port) as server:
                found[name] = await measure(server)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
