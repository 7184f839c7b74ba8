"""Custom events by both of LangGraph's ways: adispatch_custom_event and the stream writer, in nodes and in tools."""

from __future__ import annotations

import json
from datetime import datetime

from langchain_core.callbacks import adispatch_custom_event
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import called, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph
from tests.scenarios.reading import of

TITLE = "custom events reach the client once each, in order, whichever way they were sent"
SOURCE = "https://github.com/bytedance/deer-flow/issues/4396"
OPTIONS = {"custom_events": "all"}


@tool
async def slow() -> str:
    """Slow."""
    get_stream_writer()({"progress": "tool-half"})
    return "ok"


def build():
    model = streaming(ids="all", script=[stream_calls(("slow", {}, "c")), ["fine"]])
    inner = tool_graph(model, [slow], checkpointer=None)

    async def first(state, config):
        await adispatch_custom_event("step", {"n": 1, "at": datetime(2026, 1, 1)}, config=config)
        get_stream_writer()({"progress": "node-half"})
        await adispatch_custom_event("step", {"n": 2}, config=config)
        return {}

    g = StateGraph(MessagesState)
    g.add_node("first", first)
    g.add_node("inner", inner)
    g.add_edge(START, "first")
    g.add_edge("first", "inner")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + called(ev, "c", "slow", {}, "ok")
    custom = of(ev, "CUSTOM")
    steps = [e["value"] for e in custom if e["name"] == "step"]
    if [s.get("n") for s in steps if isinstance(s, dict)] != [1, 2]:
        p.append(f"dispatched events arrived as {steps}")
    elif not str(steps[0].get("at")).startswith("2026-01-01"):
        p.append(f"a datetime in a custom event arrived as {steps[0].get('at')!r}")
    for w in ("node-half", "tool-half"):
        n = sum(w in json.dumps(e) for e in custom)
        if n != 1:
            p.append(f"what the stream writer wrote ({w}) arrived {n} times as CUSTOM")
    return p
