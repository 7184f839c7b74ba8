"""A node answered from LangGraph's cache: no model runs, no token comes, yet there is an answer."""

from __future__ import annotations

from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import CachePolicy

from tests.scenarios.checks import streamed_ids, success
from tests.scenarios.kit import streaming, turn, user
from tests.scenarios.reading import shape, view

TITLE = "an answer from the node cache is shown"
SOURCE = "own"


def build():
    global MODEL
    MODEL = streaming(ids="all", script=[["It is ", "seven."]])

    async def chat(state, config):
        return {"messages": [await MODEL.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("chat", chat, cache_policy=CachePolicy(key_func=lambda s, *a: s["messages"][-1].content))
    g.add_edge(START, "chat")
    return g.compile(checkpointer=InMemorySaver(), cache=InMemoryCache())


def turns():
    return [turn("r1", [user("u1", "what?")]), turn("r2", [user("u2", "what?")], thread="t2")]


def check(runs):
    p = success(runs[0]) + success(runs[1], "r2", "t2") + streamed_ids(runs[0], "It is seven.")
    if len(MODEL.calls) != 1:
        p.append("the cache was not used (the scenario is broken)")
    shown = view(runs[1], [user("u2", "what?")])
    if shape(shown) != [("user", "what?", (), None), ("assistant", "It is seven.", (), None)]:
        p.append(f"client ends with {shape(shown)}")
    return p
