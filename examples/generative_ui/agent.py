"""Nodes send what a page can draw, and know nothing of the protocol: a chart, a plan, progress, a file."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from examples.models import pause
from yai_nexus_agentkit import EventEmitter

MONTHS = ["January", "February", "March"]
ui = EventEmitter()


class State(MessagesState):
    sales: dict[str, int]


async def collect(state: State) -> dict[str, Any]:
    sales: dict[str, int] = {}
    for number, month in enumerate(MONTHS):
        await asyncio.sleep(5 * pause())
        sales[month] = 40 + 20 * number
        ui.progress("collecting", (number + 1) / len(MONTHS), month)
        ui.state({"sales": sales})  # The page need not wait for the node's end.
    return {"sales": sales}


def draw(state: State) -> dict[str, Any]:
    sales = state["sales"]
    ui.emit("display_chart", {"type": "line", "x": list(sales), "y": list(sales.values())})
    table = "\n".join(f"{month};{amount}" for month, amount in sales.items())
    ui.emit("download", table, mime_type="text/csv")
    return {}


async def plan(state: State) -> dict[str, Any]:
    steps = ["check the numbers", "tell the team"]
    ui.activity("plan", "checklist", {"steps": [{"text": step, "done": False} for step in steps]})
    for number in range(len(steps)):
        await asyncio.sleep(5 * pause())
        ui.activity_patch("plan", [{"op": "replace", "path": f"/steps/{number}/done", "value": True}])
    return {"messages": [AIMessage("The chart, the table and the plan are on your page.")]}


graph = (
    StateGraph(State)
    .add_node(collect)
    .add_node(draw)
    .add_node(plan)
    .add_edge(START, "collect")
    .add_edge("collect", "draw")
    .add_edge("draw", "plan")
    .compile()
)
