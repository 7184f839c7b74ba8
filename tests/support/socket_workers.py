"""Workers whose users come by web socket: ``python -m tests.support.socket_workers PORT FOLDER STORE SETTINGS``.

`STORE`: the address of the store that the workers share. `SETTINGS`: `SocketSettings` as JSON. The header ``x-user``
names the user. The agent does what the word says: ``transfer`` asks for approval, ``locate`` needs a device.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from starlette.requests import HTTPConnection

from tests.support.workers import Worker, workers
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.orchestration.device_tools import on_device
from yai_nexus_agentkit.server import Identity, ServerSettings, SocketSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts

_MODULE = "tests.support.socket_workers"


def transfer(amount: int) -> str:
    """Moves money."""
    return f"moved {amount}"


def wire(amount: int) -> str:
    """Moves money, when a phone says so."""
    return f"wired {amount}"


@on_device(needs="geolocation")
def locate(precise: bool) -> str:  # type: ignore[empty-body]
    """Where the user is."""


def script(messages: list[AnyMessage]) -> list[Any]:
    results: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, str(message.content))
    if results:
        return [f"Result: {'; '.join(results)}."]
    word = str(messages[-1].content)
    call_id = f"call_{uuid4().hex[:8]}"
    calls: dict[str, Any] = {
        "transfer": {"amount": 5},
        "wire": {"amount": 7},
        "locate": {"precise": True},
        "confirm": {"q": "sure?"},
    }
    if word in calls:
        return tool_call_parts(word, calls[word], call_id)
    if word == "slow confirm":
        return [*(f"word{n} " for n in range(20)), *tool_call_parts("confirm", calls["confirm"], call_id)]
    if word == "slow":
        return [f"word{n} " for n in range(60)]
    return [f"You said {sum(m.type == 'human' for m in messages)} things."]


def build(checkpointer: Any) -> Any:
    model = ScriptedChatModel(script=script, pause=0.03)

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def route(state: MessagesState) -> Any:
        calls = [c for c in getattr(state["messages"][-1], "tool_calls", []) if c["name"] != "confirm"]
        return [Send("tools", [call]) for call in calls] or END

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([require_approval(transfer), require_approval(wire, needs="phone"), locate]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route, ["tools", END])
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=checkpointer)


def user_of(request: HTTPConnection) -> Identity:
    return Identity(user=request.headers.get("x-user", "anna"))


def app_of(checkpointer: Any, store: str = "memory:", **sockets: Any) -> Any:
    settings = ServerSettings(
        disconnect="continue", store=store, identity=user_of, lease=2.0, sockets=SocketSettings(**sockets)
    )
    return create_app(AGUIAdapter(build(checkpointer)), settings=settings)


async def serve(port: int, folder: Path, store: str, sockets: dict[str, Any]) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        app = app_of(saver, store or f"sqlite:{folder / 'runs.db'}", **sockets)
        config = uvicorn.Config(
            app, port=port, log_level="warning", timeout_graceful_shutdown=2, ws="websockets-sansio"
        )
        await uvicorn.Server(config).serve()


@contextmanager
def two_workers(folder: Path, store: str = "", **sockets: Any) -> Iterator[list[Worker]]:
    """Two workers of one service."""
    with workers(folder, store, arguments=[json.dumps(sockets)], module=_MODULE) as both:
        yield both


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])))
