"""Driver. Who runs a scene: the bare loop, this package's adapter and endpoint, and ag-ui-langgraph's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig

from benchmarks.registry import Graph, Turn
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter

__all__ = [
    "BARE",
    "PEER",
    "Contender",
    "ai_sdk",
    "available",
    "bare_loop",
    "endpoint_of",
    "peer_is_there",
    "socket_of",
]

Stream: TypeAlias = Callable[[Turn], AsyncGenerator[Any, None]]
"""One turn, as what the contender yields for it: native events, or bytes on the wire."""


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody who runs turns of a graph. `open` is called outside of the clock, once per scene."""

    name: str
    open: Callable[[Graph], Stream]


def bare_loop(graph: Graph) -> Stream:
    """The measure of all: ``astream_events`` with the arguments the adapter uses, no handler, nothing translated."""

    async def run(turn: Turn) -> AsyncGenerator[Any, None]:
        config: RunnableConfig = {"configurable": {"thread_id": turn.request.thread_id}}
        stream: Any = graph.astream_events(
            turn.graph_input, config, version="v2", stream_mode=["updates", "values", "custom"], subgraphs=True
        )
        async with aclosing(stream) as natives:
            async for native in natives:
                yield native

    return run


def adapter(options: AdapterOptions) -> Callable[[Graph], Stream]:
    """``AGUIAdapter.stream_sse``."""

    def make(graph: Graph) -> Stream:
        made = AGUIAdapter(graph, options=options)
        return lambda turn: made.stream_sse(turn.request)

    return make


def ai_sdk(make: Callable[[Graph], AGUIAdapter]) -> Callable[[Graph], Stream]:
    """The adapter's events as chunks of the AI SDK, to bytes."""

    def open_(graph: Graph) -> Stream:
        from yai_nexus_agentkit.transport.ai_sdk import ChunkEncoder, UIMessageStream

        made = make(graph)
        return lambda turn: made.stream(turn.request, ChunkEncoder(UIMessageStream.of(6, turn.request)).encode)

    return open_


def endpoint(graph: Graph) -> Stream:
    """The application of ``create_app``, called in this process: with parsing the request, without sockets."""
    return endpoint_of(AGUIAdapter)(graph)


def endpoint_of(make: Callable[[Graph], AGUIAdapter]) -> Callable[[Graph], Stream]:
    """`endpoint` with an adapter of your own."""
    return lambda graph: _through(_application(make(graph)))


def socket_of(make: Callable[[Graph], AGUIAdapter]) -> Callable[[Graph], Stream]:
    """The same application's web socket, one for each turn."""
    return lambda graph: _through_socket(_application(make(graph)))


def _application(adapter: AGUIAdapter) -> Any:
    from yai_nexus_agentkit.server import ServerSettings, create_app

    settings = ServerSettings(thread_key=lambda agent, user, thread_id: thread_id)  # the scene's thread is there
    return create_app(adapter, settings=settings)


def peer_adapter(**options: bool) -> Callable[[Graph], Stream]:
    """ag-ui-langgraph's agent and encoder; a clone per run, as its endpoint does."""

    def make(graph: Graph) -> Stream:
        from ag_ui.encoder import EventEncoder
        from ag_ui_langgraph import LangGraphAgent

        agent = LangGraphAgent(name="agent", graph=graph, **options)

        async def run(turn: Turn) -> AsyncGenerator[bytes, None]:
            encoder = EventEncoder()
            async for event in agent.clone().run(turn.request):
                yield encoder.encode(event).encode()

        return run

    return make


def peer_endpoint(**options: bool) -> Callable[[Graph], Stream]:
    """ag-ui-langgraph's FastAPI endpoint, called in this process."""

    def make(graph: Graph) -> Stream:
        from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
        from fastapi import FastAPI

        app = FastAPI()
        add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="agent", graph=graph, **options), "/")
        return _through(app)

    return make


BARE = Contender("bare", bare_loop)

OURS = (
    Contender("adapter", adapter(AdapterOptions())),
    Contender("callbacks", adapter(AdapterOptions(source="callbacks"))),
    Contender("endpoint", endpoint),
)

PEER = (
    Contender("peer adapter, raw off", peer_adapter(emit_raw_events=False)),
    Contender("peer adapter", peer_adapter()),
    Contender("peer endpoint, raw off", peer_endpoint(emit_raw_events=False)),
    Contender("peer endpoint", peer_endpoint()),
)


def peer_is_there() -> bool:
    """ag-ui-langgraph is installed: `make bench-peer` makes an environment that has it."""
    return find_spec("ag_ui_langgraph") is not None


def available(*, peer: bool) -> tuple[Contender, ...]:
    """The contenders that can run here, the bare loop first."""
    return (BARE, *OURS, *(PEER if peer else ()))


def _through(app: Any) -> Stream:
    """Turns as POST requests to an ASGI application; yields its body's chunks."""

    async def run(turn: Turn) -> AsyncGenerator[bytes, None]:
        sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        body = turn.body
        asked = False

        async def receive() -> Mapping[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.get_running_loop().create_future()  # the client stays
            raise AssertionError

        task = asyncio.create_task(app(_scope(len(body)), receive, sent.put))
        try:
            while (message := await sent.get())["type"] != "http.response.body" or message.get("more_body"):
                if message["type"] == "http.response.start" and message["status"] != 200:
                    raise RuntimeError(f"the endpoint answered {message['status']}")
                if message.get("body"):
                    yield message["body"]
            if message.get("body"):
                yield message["body"]
        finally:
            await task

    return run


def _through_socket(app: Any) -> Stream:
    """Turns as runs over a web socket of an ASGI application; yields its frames as bytes."""

    async def run(turn: Turn) -> AsyncGenerator[bytes, None]:
        sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        inbox: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        asked = turn.body.decode()
        inbox.put_nowait({"type": "websocket.connect"})
        inbox.put_nowait({"type": "websocket.receive", "text": f'{{"type":"run","requestId":"q","input":{asked}}}'})
        scope = {**_scope(0), "type": "websocket", "scheme": "ws", "path": "/ws", "subprotocols": []}
        task = asyncio.create_task(app(scope, inbox.get, sent.put))
        try:
            while not (text := (await sent.get()).get("text") or "").endswith('"done":true}'):
                if text.startswith('{"type":"error"'):
                    raise RuntimeError(f"the socket answered {text}")
                yield text.encode()
            yield text.encode()
        finally:
            inbox.put_nowait({"type": "websocket.disconnect", "code": 1000})
            await task

    return run


def _scope(length: int) -> dict[str, Any]:
    headers = {"host": "bench", "content-type": "application/json", "accept": "text/event-stream"}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "root_path": "",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in {**headers, "content-length": str(length)}.items()],
        "client": ("127.0.0.1", 1),
        "server": ("bench", 80),
        "state": {},
    }
