"""asyncio.gather over two streaming model calls in one node: their tokens alternate."""

from __future__ import annotations

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import consistent, streamed_ids, success
from tests.scenarios.kit import hello, streaming

TITLE = "two answers that stream at the same time are two whole messages"
SOURCE = "https://github.com/datarobot-oss/datarobot-genai/pull/540"


def build():
    a = streaming(ids="all", label="a", pause=0.01, script=[["Alpha ", "beta ", "gamma ", "delta"]])
    b = streaming(ids="all", label="b", pause=0.013, script=[["One ", "two ", "three ", "four ", "five"]])

    async def both(state, config):
        return {
            "messages": list(
                await asyncio.gather(a.ainvoke(state["messages"], config), b.ainvoke(state["messages"], config))
            )
        }

    g = StateGraph(MessagesState)
    g.add_node("both", both)
    g.add_edge(START, "both")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    return success(ev) + consistent(ev) + streamed_ids(ev, "Alpha beta gamma delta", "One two three four five")
