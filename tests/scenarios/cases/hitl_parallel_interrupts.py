"""Two nodes of one step interrupt; the client answers each by its id, in the other order."""

from __future__ import annotations

import json
import operator
from typing import Annotated

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.scenarios.checks import paused, success
from tests.scenarios.kit import answers, hello, turn, user
from tests.scenarios.reading import state

TITLE = "two simultaneous interrupts are both reported and each gets its own answer"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2178"


class S(MessagesState):
    got: Annotated[list, operator.add]


def asker(what):
    def f(state):
        return {"got": [f"{what}={interrupt({'ask': what})}"]}

    return f


def build():
    g = StateGraph(S)
    for w in ("size", "colour", "count"):
        g.add_node(w, asker(w))
        g.add_edge(START, w)
    return g.compile(checkpointer=InMemorySaver())


def value(i):
    return next(w for w in ("size", "colour", "count") if w in json.dumps(i)) + "-answer"


def turns():
    return [*hello(), lambda runs: turn("r2", [user("u1", "hi")], resume=answers(runs[0], value)[::-1])]


def check(runs):
    p = paused(runs[0], 3)
    if p:
        return p
    p += success(runs[1], "r2")
    got = (state(runs[1]) or {}).get("got")
    if sorted(got or []) != ["colour=colour-answer", "count=count-answer", "size=size-answer"]:
        p.append(f"state.got is {got}")
    return p
