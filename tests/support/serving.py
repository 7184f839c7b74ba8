"""An ASGI application called by hand, a real server around one, and graphs worth serving."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support.graphs import in_a_row
from yai_nexus_agentkit.testing import ScriptedChatModel, parse_sse, run_input

JSON = {"content-type": "application/json"}
_ROOT = Path(__file__).resolve().parents[2]
_CLIENT = _ROOT / "tests" / "js" / "http_client.mjs"


class Exchange:
    """One request to an ASGI application, and what came back so far."""

    def __init__(
        self,
        app: Any,
        method: str,
        target: str,
        body: bytes | Sequence[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        *,
        cut_off: bool = False,
    ) -> None:
        """`cut_off`: more of the body was promised than will come."""
        path, _, query = target.partition("?")
        self.status = 0
        self.headers: dict[str, str] = {}
        self.writes: list[bytes] = []
        self.complete = False
        self.gate = asyncio.Event()
        """A client that reads; cleared, the application's writes do not return."""
        self.gate.set()
        self.broken: Exception | None = None
        """The exception that the next write raises."""
        chunks = [body] if isinstance(body, bytes) else list(body)
        self._incoming = [
            {"type": "http.request", "body": chunk, "more_body": cut_off or n < len(chunks) - 1}
            for n, chunk in enumerate(chunks)
        ]
        self._gone = asyncio.Event()
        self._news = asyncio.Condition()
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._incoming:
            return self._incoming.pop(0)
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            await self.gate.wait()
            if self.broken is not None:
                raise self.broken
            self.writes.append(message.get("body", b""))
            self.complete = not message.get("more_body", False)
        async with self._news:
            self._news.notify_all()

    def disconnect(self) -> None:
        """The client goes away."""
        self._gone.set()

    async def end(self) -> Exchange:
        """Wait until the application is through."""
        await self.task
        return self

    async def until(self, condition: Callable[[Exchange], object], seconds: float = 10.0) -> Exchange:
        """Wait until what came back fulfils the condition."""
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(lambda: condition(self))
        return self

    @property
    def body(self) -> bytes:
        return b"".join(self.writes)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of a stream."""
        return parse_sse(self.body.decode())

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def text(self) -> str:
        """All streamed text."""
        return "".join(event["delta"] for event in self.events if event["type"] == "TEXT_MESSAGE_CONTENT")

    @property
    def error(self) -> str:
        """The code of a problem."""
        detail = self.json["detail"]
        assert set(detail) == {"error", "error_description", "path", "timestamp", "trace_id"}
        return str(detail["error"])


async def call(
    app: Any, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> Exchange:
    """A whole exchange; a body that is not bytes is sent as JSON."""
    if body is not None and not isinstance(body, bytes):
        headers, body = {**JSON, **(headers or {})}, json.dumps(body).encode()
    return await Exchange(app, method, target, body or b"", headers).end()


def run_body(text: str | None = "hello", *, thread: str = "t1", run: str = "r1", **more: Any) -> dict[str, Any]:
    """The JSON of a run's request."""
    given = run_input(text or "hello", thread_id=thread, run_id=run)
    body: dict[str, Any] = json.loads(given.model_dump_json(by_alias=True))
    if text is None:
        body["messages"] = []
    return {**body, **more}


def post(app: Any, body: Mapping[str, Any], target: str = "/", headers: Mapping[str, str] | None = None) -> Exchange:
    """Start a run."""
    return Exchange(app, "POST", target, json.dumps(body).encode(), {**JSON, **(headers or {})})


@asynccontextmanager
async def living(app: Any) -> AsyncIterator[None]:
    """The application's lifespan around a block."""
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbox: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(
        app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, inbox.get, outbox.put)
    )
    await inbox.put({"type": "lifespan.startup"})
    started = await outbox.get()
    assert started["type"] == "lifespan.startup.complete", started
    try:
        yield
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        stopped = await outbox.get()
        assert stopped["type"] == "lifespan.shutdown.complete", stopped
        await task


# ---------------------------------------------------------------- graphs


class Noted(MessagesState, total=False):
    """A conversation and some shared state."""

    count: int
    notes: dict[str, Any]


def talker(
    tokens: int = 5, pause: float = 0.0, *, checkpointer: BaseCheckpointSaver[Any] | None = None, memory: bool = True
) -> Any:
    """Streams ``w0 w1 ...`` and counts its turns."""
    model = ScriptedChatModel(script=lambda messages: [f"w{n} " for n in range(tokens)], pause=pause)

    async def agent(state: Noted) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"])
        return {"messages": [answer], "count": state.get("count", 0) + 1, "notes": {"a": 1, "b": [1, 2]}}

    builder = StateGraph(Noted)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=checkpointer or (InMemorySaver() if memory else None))


def asker(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """Asks before it answers."""

    def ask(state: Noted) -> dict[str, Any]:
        answer = interrupt({"question": "really?"})
        return {"messages": [("ai", f"you said {answer}")], "count": 1}

    return in_a_row({"ask": ask}, Noted, checkpointer=checkpointer or InMemorySaver())


def failing(error: BaseException) -> Any:
    """Raises."""

    async def agent(state: MessagesState) -> dict[str, Any]:
        raise error

    return in_a_row({"agent": agent})


def last_text(messages: Sequence[BaseMessage]) -> str:
    """The newest message's text."""
    return str(messages[-1].content)


# ---------------------------------------------------------------- a real server


@contextmanager
def served(app: str, *, folder: Path = _ROOT, factory: bool = True) -> Iterator[str]:
    """A uvicorn process that serves ``module:factory``, or ``module:app``, of a folder; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kind = ["--factory"] if factory else []
    command = [sys.executable, "-m", "uvicorn", app, *kind, "--port", str(port), "--log-level", "warning"]
    with tempfile.TemporaryFile("w+") as shown:  # a pipe that nobody reads would stop the server at 64 kB
        process = subprocess.Popen(command, cwd=folder, stderr=shown)

        def log() -> str:
            shown.seek(0)
            return shown.read()

        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                if process.poll() is not None:
                    raise RuntimeError(log())
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise RuntimeError(f"the server did not stop: {log()}") from None
            assert "Traceback" not in log(), log()


def official_client(url: str, client: str, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The report of `http_client.mjs` about a scenario."""
    found = subprocess.run(
        ["node", str(_CLIENT), "--client", client, "-"],
        input=json.dumps({"url": url, **scenario}),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert found.stdout, found.stderr
    report: dict[str, Any] = json.loads(found.stdout)
    return report
