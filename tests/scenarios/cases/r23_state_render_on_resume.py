"""Shared state that grows by a reducer; a question in the middle; the client renders state while it runs."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Annotated

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.scenarios.checks import paused, success
from tests.scenarios.kit import answers, hello, turn, user
from tests.scenarios.reading import state, states, view

TITLE = "state over pause and resume never doubles, never goes back"
SOURCE = "https://github.com/CopilotKit/CopilotKit/issues/2151"
HI = [user("u1", "hi")]


class S(MessagesState):
    steps: Annotated[list, operator.add]
    doc: str


def build():
    g = StateGraph(S)
    g.add_node("a", lambda s: {"steps": ["a"], "doc": "draft"})
    g.add_node("side", lambda s: {"steps": ["side"]})
    g.add_node("b", lambda s: {"steps": [f"b:{interrupt('go?')}"], "doc": s["doc"] + "!"})
    g.add_node("c", lambda s: {"steps": ["c"], "messages": [("ai", "done")]})
    g.add_edge(START, "a")
    g.add_edge("a", "b")
    g.add_edge("a", "side")
    g.add_edge(["b", "side"], "c")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [
        *hello(),
        lambda runs: turn("r2", view(runs[0], HI), state=state(runs[0]), resume=answers(runs[0], "yes")),
        lambda runs: turn("r3", [*view(runs[1], view(runs[0], HI)), user("u2", "x")], state=state(runs[1])),
    ]


def check(runs):
    p = paused(runs[0], 1)
    if p:
        return p
    p += success(runs[1], "r2")
    held = state(runs[0])
    if sorted(held["steps"]) != ["a", "side"]:
        p.append(f"paused state {held}")
    counts = [len(held["steps"]), *(len(s.get("steps") or []) for s in states(runs[1], held))]
    if any(b < a for a, b in pairwise(counts)):
        p.append(f"number of steps shown on resume: {counts}")
    if sorted(state(runs[1], held)["steps"]) != ["a", "b:yes", "c", "side"]:
        p.append(f"state {state(runs[1], held)}")
    if sorted(state(runs[2], state(runs[1]))["steps"]) != ["a", "a", "b:yes", "c", "side", "side"]:
        p.append(f"next turn {state(runs[2])}")
    return p
