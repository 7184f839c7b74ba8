"""The tools of the showcase: progress, charts, questions, forms, a subagent, plans, files, a failure."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from examples.models import pause, words
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.orchestration.approvals import require_approval
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part

WEATHER = {"Berlin": (21, "sunny"), "Lisbon": (27, "clear"), "Oslo": (12, "windy"), "Paris": (18, "rainy")}
SUN = Path(__file__).resolve().parents[1] / "multimodal" / "sun.png"
SEATS = ["aisle", "middle", "window"]
FLIGHT = {
    "type": "object",
    "title": "Flight details",
    "properties": {
        "seat": {"type": "string", "title": "Seat", "enum": SEATS, "default": "aisle"},
        "date": {"type": "string", "title": "Day of departure", "format": "date"},
        "bags": {"type": "integer", "title": "Bags", "minimum": 0, "maximum": 3, "default": 1},
        "meal": {"type": "boolean", "title": "With a meal"},
        "email": {"type": "string", "title": "Send the ticket to", "format": "email"},
        "remarks": {"type": "string", "title": "Remarks", "maxLength": 200},
    },
    "required": ["seat", "date"],
}
ui = EventEmitter()


@tool
async def get_weather(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """The weather in a city, asked from five stations."""
    for station in range(1, 6):
        await asyncio.sleep(8 * pause())
        ui.progress(f"Weather in {city}", station / 5, f"station {station} of 5")
    degrees, sky = WEATHER.get(city, (15, "cloudy"))
    answer = json.dumps({"city": city, "celsius": degrees, "sky": sky})
    return Command(
        update={"temperatures": {city: degrees}, "messages": [ToolMessage(answer, tool_call_id=tool_call_id)]}
    )


@tool
def pay(amount: int, to: str, note: str = "") -> str:
    """Pay somebody an amount in euros."""
    return f"paid {amount} € to {to}" + (f" ({note})" if note else "")


def asked_of(args: dict[str, Any]) -> str:
    return f"Pay {args['amount']} € to {args['to']}?"


@tool
def book_flight(to: str) -> str:
    """Book a flight; the user fills in the details."""
    answer = interrupt({"question": f"A few details for your flight to {to}"}, response_schema=FLIGHT)
    if answer.get("status") == "cancelled":
        return f"no flight to {to} was booked"
    return f"booked a flight to {to} on {answer['date']}, {answer['seat']} seat"


async def look(state: MessagesState) -> dict[str, Any]:
    found = words("I looked through **six shelves** and found 120 books on that.")
    model = ScriptedChatModel(script=[[reasoning_part("Shelves A to F. "), *found]], pause=pause())
    return {"messages": [await model.ainvoke(state["messages"])]}


librarian = StateGraph(MessagesState).add_node(look).add_edge(START, "look").compile(name="librarian")


@tool
async def ask_librarian(topic: str, config: RunnableConfig) -> str:
    """Ask the librarian, an agent of its own."""
    answered = await librarian.ainvoke({"messages": [HumanMessage(topic)]}, config)
    return str(answered["messages"][-1].text)


@tool
async def make_plan(goal: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Make a plan, work through it, and hand out a table and a picture."""
    steps, plan = ["read the brief", "collect numbers", "draft", "review"], f"plan-{tool_call_id}"
    ui.activity(plan, "checklist", {"title": goal, "steps": [{"text": step, "done": False} for step in steps]})
    for number in range(len(steps)):
        await asyncio.sleep(8 * pause())
        ui.activity_patch(plan, [{"op": "replace", "path": f"/steps/{number}/done", "value": True}])
    ui.emit("report", "step;done\n" + "\n".join(f"{step};yes" for step in steps), mime_type="text/csv", keep=True)
    ui.emit("cover", SUN.read_bytes(), mime_type="image/png", keep=True)
    return "all done"


@tool
async def read_file(path: str) -> str:
    """Read a file that is not there."""
    await asyncio.sleep(5 * pause())
    raise FileNotFoundError(f"no such file: {path}")


def draw_chart(temperatures: dict[str, int]) -> None:
    """A chart that is still there after a reload: an activity, not an event."""
    content = {"type": "bar", "title": "Temperature in °C", "x": list(temperatures), "y": list(temperatures.values())}
    ui.activity("temperatures", "chart", content)


TOOLS: list[BaseTool] = [
    get_weather,
    require_approval(pay, when=lambda args: args["amount"] > 10, message=asked_of),
    book_flight,
    ask_librarian,
    make_plan,
    read_file,
]
