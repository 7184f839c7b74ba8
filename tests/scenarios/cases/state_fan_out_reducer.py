"""Five parallel tasks append to one list through a reducer."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from tests.scenarios.checks import streamed_ids, success
from tests.scenarios.kit import hello, streaming
from tests.scenarios.reading import state, states

TITLE = "results gathered by parallel tasks never disappear from the state the client sees"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2628"


class S(MessagesState):
    found: Annotated[list, operator.add]


def build():
    model = streaming(ids="all", script=[["summary"]])

    async def work(x):
        await asyncio.sleep(0.01 * x["n"])
        return {"found": [x["n"]]}

    async def join(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    g = StateGraph(S)
    g.add_node("work", work)
    g.add_node("join", join)
    g.add_conditional_edges(START, lambda s: [Send("work", {"n": n}) for n in range(5)], ["work"])
    g.add_edge("work", "join")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + streamed_ids(ev, "summary")
    before = set()
    for n, s in enumerate(states(ev)):
        now = set(s.get("found") or [])
        if before - now:
            p.append(f"state event {n} has lost {sorted(before - now)}: found={s.get('found')}")
        before |= now
    if sorted((state(ev) or {}).get("found") or []) != [0, 1, 2, 3, 4]:
        p.append(f"state.found ends as {(state(ev) or {}).get('found')}")
    return p
