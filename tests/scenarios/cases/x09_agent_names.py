"""Two named agents answer one after the other; the name is part of the stored message."""

from __future__ import annotations

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import success
from tests.scenarios.kit import hello, streaming, turn
from tests.scenarios.reading import of, snapshot

TITLE = "the name of the agent that spoke reaches the client during the run, not only after a reload"
SOURCE = "https://github.com/langchain-ai/langgraph/issues/5856"


def build():
    g = StateGraph(MessagesState)
    for n in ("ann", "bob"):
        g.add_node(n, create_agent(streaming(ids="all", label=n, script=[[f"{n} speaks."]]), [], name=n))
    g.add_edge(START, "ann")
    g.add_edge("ann", "bob")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [*hello(), turn("r2", [])]


def check(runs):
    ev = runs[0]
    p = success(ev)
    live = {e["messageId"]: e.get("name") for e in of(ev, "TEXT_MESSAGE_START")}
    answers = [m for e in of(ev, "MESSAGES_SNAPSHOT") for m in e["messages"] if m["role"] == "assistant"]
    restated = {m["id"]: m["name"] for m in answers if m.get("name")}
    reloaded = {m["id"]: m.get("name") for m in snapshot(runs[1]) or [] if m["role"] == "assistant"}
    shown = {id: restated.get(id) or name for id, name in live.items()}
    if shown != reloaded:
        p.append(f"live {shown}, after a reload {reloaded}")
    return p
