"""Applications for a real server process: `uvicorn tests.support.served_agents:everything --factory`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.support.graphs import in_a_row
from tests.support.serving import last_text, talker
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_call_parts

_THINKING = 0.15
"""Seconds before an answer that does not stream: the client's judge calls a run that arrives in one piece buffered."""


def chat() -> Any:
    """An agent with a tool of its own, which also calls the client's tools: ``ask`` calls ``confirm``."""

    @tool
    def lookup(city: str) -> str:
        """Find the weather."""
        return f"sunny in {city}"

    def script(messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return ["The answer ", "was ", str(last.content), "."]
        said = last_text(messages)
        if said == "weather":
            return tool_call_parts("lookup", {"city": "Berlin"}, f"call_{len(messages)}")
        if said == "ask":
            return tool_call_parts("confirm", {"question": "sure?"}, f"call_{len(messages)}")
        return ["Hello ", "from ", "the ", "server."]

    model = ScriptedChatModel(script=script, pause=0.05)
    return create_agent(model, [lookup], middleware=[ClientToolsMiddleware()], checkpointer=InMemorySaver())


def approval() -> Any:
    """Asks, then repeats the answer."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(_THINKING)
        answer = interrupt({"question": "Send the mail?"})
        return {"messages": [("ai", f"answered {answer}")]}

    return in_a_row({"ask": ask})


class Counting:
    """A slow agent that says how often it was cancelled."""

    cancelled = 0

    def graph(self) -> Any:
        model = ScriptedChatModel(script=lambda messages: ["word "] * 400, pause=0.02)

        async def agent(state: MessagesState) -> dict[str, Any]:
            await asyncio.sleep(_THINKING)
            if last_text(state["messages"]) == "how often?":
                return {"messages": [("ai", str(self.cancelled))]}
            try:
                return {"messages": [await model.ainvoke(state["messages"])]}
            except asyncio.CancelledError:
                self.cancelled += 1
                raise

        return in_a_row({"agent": agent})


def everything() -> Any:
    """All of them."""
    agents = {
        "chat": AGUIAdapter(chat()),
        "approval": AGUIAdapter(approval()),
        "slow": AGUIAdapter(Counting().graph()),
        "talk": AGUIAdapter(talker(30, 0.005)),
        "load": AGUIAdapter(talker(200)),
        "load-callbacks": AGUIAdapter(talker(200), options=AdapterOptions(source="callbacks")),
    }
    return create_app(agents, settings=ServerSettings(keep_alive=float(os.environ.get("KEEP_ALIVE", "15"))))
