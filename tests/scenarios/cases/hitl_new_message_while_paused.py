"""Pending interrupts block new input: an input without `resume` is refused, or the question is asked again."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.scenarios.checks import failure, paused, success
from tests.scenarios.kit import answers, hello, turn, user

TITLE = "a new message on a paused thread does not run the graph, and the question stays answerable"
SOURCE = "https://github.com/assistant-ui/assistant-ui/issues/4477"

GOT, RAN = [], []


def build():
    def ask(state):
        RAN.append(len(state["messages"]))
        GOT.append(interrupt({"question": "sure?"}))
        return {}

    g = StateGraph(MessagesState)
    g.add_node("ask", ask)
    g.add_edge(START, "ask")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [
        *hello(),
        turn("r2", [user("u1", "hi"), user("u2", "never mind, what is the time?")]),
        lambda runs: turn("r3", [user("u1", "hi")], resume=answers(runs[0], "yes")),
    ]


def check(runs):
    refused, restated = failure(runs[1], "r2"), paused(runs[1], 1, "r2")
    p = paused(runs[0]) + (
        [f"message without resume is neither refused ({refused[0]}) nor answered by the same question ({restated[0]})"]
        if refused and restated
        else []
    )
    if len(RAN) > 2:
        p.append(f"the graph ran on the refused message ({len(RAN)} times in all)")
    p += [f"resume after that: {x}" for x in success(runs[2], "r3")]
    if GOT != ["yes"]:
        p.append(f"the node got {GOT}")
    return p
