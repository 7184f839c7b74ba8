"""Who joins an active run sees the user's messages as hooks show them, at the run's own worker and at another one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import BaseEvent, MessagesSnapshotEvent
from langgraph.graph import MessagesState

from tests.support.graphs import in_a_row
from tests.support.serving import JSON, Exchange, living, run_body
from yai_nexus_agentkit import AGUIAdapter, Hooks
from yai_nexus_agentkit.runs.stores.opening import open_store
from yai_nexus_agentkit.server import ServerSettings, create_app


def hidden(messages: list[Any], run: Any) -> list[Any]:
    return [m.model_copy(update={"content": m.content.replace("1234", "****")}) for m in messages]


def hidden_in_snapshots(event: BaseEvent, run: Any) -> Iterator[BaseEvent]:
    if isinstance(event, MessagesSnapshotEvent):
        event = event.model_copy(update={"messages": hidden(event.messages, run)})
    yield event


@pytest.mark.parametrize("hooks", [Hooks(on_messages=hidden), Hooks(on_event=hidden_in_snapshots)], ids=["1", "2"])
@pytest.mark.parametrize("elsewhere", [False, True])
async def test_messages_before_an_active_run_are_redacted(hooks: Hooks, elsewhere: bool, tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def node(state: MessagesState) -> dict[str, Any]:
        await go_on.wait()
        return {"messages": [("ai", "Done.")]}

    graph = in_a_row({"node": node})
    async with AsyncExitStack() as stack:
        apps = []
        for _ in range(2):
            store = await stack.enter_async_context(open_store(f"sqlite:{tmp_path / 'store.db'}"))
            settings = ServerSettings(disconnect="continue", store=store)
            apps.append(create_app(AGUIAdapter(graph, hooks=hooks), settings=settings))
            await stack.enter_async_context(living(apps[-1]))
        run = Exchange(apps[0], "POST", "/", json.dumps(run_body("my PIN is 1234")).encode(), JSON)
        await run.until(lambda answer: b"STEP_STARTED" in answer.body)
        joined = Exchange(apps[elsewhere], "POST", "/connect", json.dumps(run_body(None)).encode(), JSON)
        await joined.until(lambda answer: b"STEP_STARTED" in answer.body)
        go_on.set()
        await run.end()
        await joined.end()
    assert "TEXT_MESSAGE_CONTENT" in joined.types()
    assert b"my PIN is ****" in joined.body
    assert b"1234" not in joined.body
