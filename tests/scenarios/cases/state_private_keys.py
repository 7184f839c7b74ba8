"""A graph with an output schema: scratch values and secrets are not part of what it gives out."""

from __future__ import annotations

import json

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from tests.scenarios.checks import streamed_ids, success
from tests.scenarios.kit import hello, streaming
from tests.scenarios.reading import state

TITLE = "state keys outside the graph's output schema never reach the client, at no point of the run"
SOURCE = "https://github.com/langchain-ai/langgraphjs/issues/1475"


class Out(MessagesState):
    answer: str


class S(Out):
    secret: str
    scratch: list


class Private(TypedDict):
    between_nodes: str


def build():
    model = streaming(ids="all", script=[["done"]])

    def plan(state) -> Private:
        return {"secret": "s3cr3t-token", "scratch": ["draft-xyz"], "between_nodes": "hush-hush"}

    async def work(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)], "answer": "42"}

    g = StateGraph(S, input_schema=MessagesState, output_schema=Out)
    g.add_node("plan", plan)
    g.add_node("work", work)
    g.add_node("last", lambda s: {"scratch": ["draft-xyz", "more"]})
    g.add_edge(START, "plan")
    g.add_edge("plan", "work")
    g.add_edge("work", "last")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + streamed_ids(ev, "done")
    for w in ("s3cr3t-token", "draft-xyz", "hush-hush"):
        hits = [e["type"] for e in ev if w in json.dumps(e)]
        if hits:
            p.append(f"{w} is in {hits}")
    if (state(ev) or {}).get("answer") != "42":
        p.append(f"state.answer is {(state(ev) or {}).get('answer')}")
    return p
