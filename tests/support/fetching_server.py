"""Servers for the figure about many large downloads at once, each a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.attacked import Heartbeat
from tests.support.serving import talker
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import Fetcher, ServerSettings, create_app

__all__ = ["SIZE", "agents", "files"]

SIZE = 15_000_000


def files() -> Any:
    """Serves one large picture under any name."""
    body = b"\x89PNG\r\n\x1a\n" + bytes(SIZE - 8)

    async def picture(request: Request) -> Response:
        return Response(body, media_type="image/png")

    return Starlette(routes=[Route("/{name}", picture)])


def agents() -> Any:
    """``/look`` looks at a picture for a while, ``/talk`` talks meanwhile; ``/figures`` has how the process fared."""

    async def look(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(0.5)
        content: Any = state["messages"][0].content
        return {"messages": [AIMessage(str(len(content[0]["base64"])))]}

    looking = StateGraph(MessagesState).add_node(look).add_edge(START, "look").compile()
    settings = ServerSettings(media="fetch", fetcher=Fetcher(hosts=["127.0.0.1"], timeout=90))
    app = create_app({"look": AGUIAdapter(looking), "talk": AGUIAdapter(talker(3000, 0.02))}, settings=settings)
    heart, inner = Heartbeat(), app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: Any) -> AsyncIterator[Any]:
        task = asyncio.create_task(heart.beat())
        async with inner(running) as state:
            yield state
        task.cancel()

    async def figures(request: Request) -> JSONResponse:
        return JSONResponse({"pause": heart.read(), "memory": _most_memory()})

    app.router.lifespan_context = lifespan
    app.router.routes.insert(0, Route("/figures", figures))
    return app


def _most_memory() -> float:
    """The most resident memory that the process had at any time, in MB."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000
