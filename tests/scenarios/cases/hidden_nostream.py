"""A router model tagged nostream: LangGraph's way of saying that its tokens are not for the user."""

from __future__ import annotations

import json

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import consistent, streamed_ids, success
from tests.scenarios.kit import hello, streaming
from tests.scenarios.reading import texts

TITLE = "a model tagged nostream does not talk to the user"
SOURCE = "https://github.com/langchain-ai/agent-chat-ui/issues/179"


def build():
    router = streaming(ids="all", label="router", script=[["ROUTE", "=billing"]]).with_config(
        tags=["nostream", "langsmith:nostream"]
    )
    model = streaming(ids="all", script=[["Your bill ", "is 5."]])

    async def route(state, config):
        await router.ainvoke(state["messages"], config)
        return {}

    async def chat(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("route", route)
    g.add_node("chat", chat)
    g.add_edge(START, "route")
    g.add_edge("route", "chat")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + streamed_ids(ev, "Your bill is 5.")
    if "ROUTE" in "".join(texts(ev).values()):
        p.append(f"the router's words were streamed: {texts(ev)}")
    if "ROUTE" in json.dumps(ev):
        p.append("the router's words are somewhere on the wire")
    return p
