"""Applications for a real server process: `uvicorn tests.support.served_people:everything --factory`."""

from __future__ import annotations

from importlib.util import find_spec
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
from yai_nexus_agentkit.orchestration.approvals import require_approval
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


def delegating() -> Any:
    """A deep agent whose clerk asks before it pays, and which writes a file of what came of it."""
    from deepagents import create_deep_agent

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def clerk(messages: list[Any]) -> Any:
        last = messages[-1]
        return [f"Clerk: {last.text}"] if last.type == "tool" else tool_calls_part(("pay", {"amount": 5}, "pay-1"))

    def chief(messages: list[Any]) -> Any:
        last, number = messages[-1], len(messages)
        if last.type == "human":
            order = {"description": last.text, "subagent_type": "clerk"}
            return tool_calls_part(("task", order, f"task-{number}"))
        if last.name == "task":
            file = {"file_path": f"/{number}.txt", "content": last.text}
            return tool_calls_part(("write_file", file, f"write-{number}"))
        return ["All ", "done."]

    helper: Any = {
        "name": "clerk",
        "description": "pays",
        "system_prompt": "pay",
        "model": strict_model(clerk, ids="all", label="clerk"),
        "tools": [require_approval(pay)],
    }
    return create_deep_agent(
        model=strict_model(chief, ids="all", label="chief"), subagents=[helper], checkpointer=InMemorySaver()
    )


def deep_agents() -> dict[str, AGUIAdapter]:
    """Where deepagents is installed."""
    if find_spec("deepagents") is None:
        return {}
    return {
        "delegating": AGUIAdapter(delegating()),
        "deep": AGUIAdapter(Errands("deepagents", InMemorySaver()).graph),
        "deep-callbacks": AGUIAdapter(
            Errands("deepagents", InMemorySaver()).graph, options=AdapterOptions(source="callbacks")
        ),
    }


def everything() -> Any:
    """All of them."""
    agents = {
        "by-hand": AGUIAdapter(Errands("by hand", InMemorySaver()).graph),
        "agent": AGUIAdapter(Errands("create_agent", InMemorySaver()).graph),
        **deep_agents(),
        "older": AGUIAdapter(form(), options=AdapterOptions(interrupts="custom")),
        "form": AGUIAdapter(form()),
        "mailer": AGUIAdapter(mailer()),
    }
    return create_app(agents)
