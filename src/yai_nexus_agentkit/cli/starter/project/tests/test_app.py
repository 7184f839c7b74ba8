"""The application, called without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from yai_nexus_agentkit.testing import ScriptedChatModel, assert_conformant

from app import application


@asynccontextmanager
async def browser(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        assert (await client.get("/agent/capabilities")).status_code == 200  # any answer brings the cookie
        yield client


async def test_each_browser_has_its_own_conversations(tmp_path: Path) -> None:
    app = application(tmp_path, ScriptedChatModel(script=[["Hello ", "there."]]))
    message = {"id": "m1", "role": "user", "content": "Hi"}

    async with app.router.lifespan_context(app), browser(app) as ann, browser(app) as bob:
        answer = await ann.post("/agent", json={"threadId": "t1", "runId": "r1", "messages": [message]})
        assert_conformant(answer.text)
        threads = {
            name: (await client.get("/agent/threads")).json() for name, client in {"ann": ann, "bob": bob}.items()
        }

    assert [thread["title"] for thread in threads["ann"]] == ["Hi"]
    assert threads["bob"] == []
