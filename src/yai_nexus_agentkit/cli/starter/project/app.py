"""The application: the agent and its page, for users who each have their own conversations.

uvicorn app:app --reload
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from fastapi import FastAPI
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.page.files import STATIC, is_built
from yai_nexus_agentkit.server import Identity, ServerSettings, add_agui_routes, add_page

from agent import build_graph, chat_model

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DATA", HERE / "data"))
"""The folder of the databases: conversations, and the runs that workers share."""
PAGE = HERE / "static"
"""The page as `npm run build` makes it in `page/`. Until then, it is the one of yai-nexus-agentkit."""
EXAMPLES = ["How is the weather in Berlin?", "Write to ann@example.com that the picnic takes place."]


class Visitors:
    """ASGI middleware. Each browser is a user, by a cookie that nobody can guess. Put your sign-in in its place."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        known = HTTPConnection(scope).cookies.get("visitor")
        visitor = known or uuid4().hex
        scope.setdefault("state", {})["user"] = visitor

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and known is None:
                secure = "; Secure" if scope["scheme"] == "https" else ""
                cookie = f"visitor={visitor}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}"
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self._app(scope, receive, send_with_cookie)


def identify(request: HTTPConnection) -> Identity:
    """Who is asking. Raise PermissionError to turn somebody away."""
    return Identity(user=request.state.user)


def application(data: Path, model: BaseChatModel) -> FastAPI:
    """The application with its databases in the folder `data`."""
    adapter: AGUIAdapter | None = None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        nonlocal adapter
        data.mkdir(parents=True, exist_ok=True)
        async with AsyncSqliteSaver.from_conn_string(str(data / "conversations.db")) as saver:
            adapter = AGUIAdapter(build_graph(model, saver))
            yield

    def agent(identity: Identity) -> AGUIAdapter:
        assert adapter is not None  # the lifespan has begun
        return adapter

    app = FastAPI(title="my-agent", lifespan=lifespan)
    app.add_middleware(Visitors)
    # An answer goes on while the page is reloaded, for ten minutes.
    settings = ServerSettings(
        identity=identify, store=f"sqlite:{data / 'runs.db'}", disconnect="continue", orphaned=600
    )
    add_agui_routes(app, agent, "/agent", settings=settings)
    files = PAGE if PAGE.is_dir() else STATIC
    if is_built(files):
        add_page(app, "/agent", "/", title="my-agent", examples=EXAMPLES, settings=settings, files=files)
    return app


app = application(DATA, chat_model())
