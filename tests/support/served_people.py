"""Applications for a real server process: `uvicorn tests.support.served_people:everything --factory`."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from tests.support.errands import Errands
from tests.support.histories import strict_model
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import tool_calls_part

__all__ = ["everything"]


class Size(BaseModel):
    width: int


def form() -> Any:
    """Asks for an object, and for a yes in a branch beside it."""

    def ask(state: MessagesState) -> dict[str, Any]:
        size = interrupt({"question": "How wide?"}, response_schema=Size)
        return {"messages": [("ai", f"{size.width} wide")]}

    def confirm(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", f"sure: {interrupt('Sure?')}")]}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_node("confirm", confirm)
    builder.add_edge(START, "ask")
    builder.add_edge(START, "confirm")
    return builder.compile(checkpointer=InMemorySaver())


def mailer() -> Any:
    """LangChain's own approval of a batch."""

    @tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        return f"sent to {to}"

    def script(messages: list[Any]) -> Any:
        if messages[-1].type == "tool":
            return ["Done."]
        names = messages[-1].text.split()
        return tool_calls_part(*(("send_mail", {"to": name}, f"call-{len(messages)}-{name}") for name in names))

    hitl: Any = HumanInTheLoopMiddleware(interrupt_on={"send_mail": True})
    return create_agent(strict_model(script, ids="all"), [send_mail], middleware=[hitl], checkpointer=InMemorySaver())


def everything() -> Any:
    """All of them."""
    agents = {
        "by-hand": AGUIAdapter(Errands("by hand", InMemorySaver()).graph),
        "agent": AGUIAdapter(Errands("create_agent", InMemorySaver()).graph),
        "older": AGUIAdapter(form(), options=AdapterOptions(interrupts="custom")),
        "form": AGUIAdapter(form()),
        "mailer": AGUIAdapter(mailer()),
    }
    return create_app(agents)
