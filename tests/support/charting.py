"""An agent that shows things beside its answers: a chart, a plan, a progress bar, a tool's output."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from yai_nexus_agentkit import AGUIAdapter, EventEmitter
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

ui = EventEmitter()


@tool
def draw(title: str) -> str:
    """Draw a chart."""
    ui.tool_output("drawing ...")
    ui.emit("chart", {"title": title}, keep=True)
    return f"drawn {title}"


def plan(title: str) -> None:
    ui.activity(f"plan-{title}", "plan", {"steps": []})
    for step in ("look", "book"):
        ui.activity_patch(f"plan-{title}", [{"op": "add", "path": "/steps/-", "value": f"{step} {title}"}])


def charting(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """``draw X`` calls a tool that emits a chart, ``plan X`` fills a plan between two answers, ``slow X`` does so
    before an answer that takes two seconds, ``pin X`` emits under one id; ``pass X`` emits what is not kept."""

    async def agent(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        text = str(last.content)
        word, _, title = text.partition(" ")
        if last.type == "tool":
            return {"messages": [await said(f"Done: {text}.", state)]}
        if word == "draw":
            call = tool_calls_part(("draw", {"title": title}, f"call-{last.id}"))
            return {"messages": [await ScriptedChatModel(script=[[call]]).ainvoke(state["messages"])]}
        if word in ("plan", "slow"):
            before = await said(f"Planning {title}.", state)
            plan(title)
            ui.progress(title, 1.0, "planned")
            ui.emit("chart", {"title": title}, keep=True)
            return {"messages": [before, await said(f"Planned {title}.", state, 0.2 if word == "slow" else 0)]}
        if word == "pin":
            ui.emit("pinned", {"title": title}, keep="pin")
        if word == "pass":
            ui.emit("toast", {"title": title})
        return {"messages": [await said(f"You said {text}.", state)]}

    async def said(text: str, state: MessagesState, pause: float = 0.0) -> AIMessage:
        parts = [f"{part} " for part in text.split()]
        if pause:
            parts += [f"word{n} " for n in range(10)]
        await asyncio.sleep(0)
        return await ScriptedChatModel(script=[parts], pause=pause).ainvoke(state["messages"])

    def after(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    builder = StateGraph(MessagesState)
    builder.add_node(agent)
    builder.add_node("tools", ToolNode([draw]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=checkpointer or InMemorySaver())


def app() -> Any:
    """Served for clients in Node."""
    return create_app(AGUIAdapter(charting()), settings=ServerSettings(disconnect="continue"), copilotkit="/copilotkit")
