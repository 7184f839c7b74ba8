"""An agent with HumanInTheLoopMiddleware as a node of a larger graph: the question names its calls."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import paused
from tests.scenarios.kit import stream_calls, streaming, turn, user
from tests.scenarios.reading import interrupts

TITLE = "the approval question of an agent that is a node names the calls it is about"
SOURCE = "own"


@tool
async def buy(what: str) -> str:
    """Buy."""
    return f"bought {what}"


def build():
    calls = stream_calls(("buy", {"what": "x"}, "b1"), ("buy", {"what": "y"}, "b2"))
    model = streaming(ids="all", label="a", script=[["Buying. ", *calls], ["done."]])
    a = create_agent(model, [buy], middleware=[HumanInTheLoopMiddleware({"buy": True})], name="a")
    g = StateGraph(MessagesState)
    g.add_node("a", a)
    g.add_edge(START, "a")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [turn(run, [user("u1", "hi")], protocolVersion="1.0") for run in ("r1", "r2")]


def check(runs):
    p = []
    for n, ev in enumerate(runs, 1):
        p += paused(ev, 1, f"r{n}")
        if p:
            return p
        named = interrupts(ev)[0]["metadata"]["langgraph"].get("toolCallIds")
        if named != ["b1", "b2"]:
            p.append(f"run {n}: toolCallIds {named}")
    return p
