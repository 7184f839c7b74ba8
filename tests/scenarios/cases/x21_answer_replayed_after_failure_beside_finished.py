"""Two branches ask; both are answered; one streams and finishes, the other fails; the same answers are sent again."""

from __future__ import annotations

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.scenarios.checks import balanced, failure, no_duplicates, paused
from tests.scenarios.kit import answers, hello, streaming, turn, user
from tests.scenarios.reading import plain, texts, view

TITLE = "two answers, one branch fails: sent again, they are taken, and the branch that worked is not streamed twice"
SOURCE = "own"
HI = [user("u1", "hi")]
N = []


def build():
    m = streaming(ids="all", label="m", script=lambda ms: ["Good branch speaks."])

    async def good(s, config):
        a = interrupt("good?")
        return {"messages": [await m.ainvoke([("human", a)], config)]}

    async def bad(s):
        a = interrupt("bad?")
        await asyncio.sleep(0.05)
        N.append(a)
        if len(N) == 1:
            raise RuntimeError("boom")
        return {"messages": [("ai", "Bad branch recovered.")]}

    g = StateGraph(MessagesState)
    g.add_node("good", good)
    g.add_node("bad", bad)
    g.add_node("end", lambda s: {"messages": [("ai", "End.")]})
    g.add_edge(START, "good")
    g.add_edge(START, "bad")
    g.add_edge(["good", "bad"], "end")
    return g.compile(checkpointer=InMemorySaver())


def after(runs):
    held = HI
    for events in runs:
        held = view(events, held)
    return held


def turns():
    return [
        *hello(),
        lambda runs: turn("r2", after(runs), resume=answers(runs[0], "go")),
        lambda runs: turn("r3", after(runs), resume=answers(runs[0], "go")),
        lambda runs: turn("r4", after(runs), resume=answers(runs[2], "go") or answers(runs[0], "go")),
    ]


def check(runs):
    p = paused(runs[0], 2) + failure(runs[1], "r2", says="boom")
    if p:
        return p
    for n, ev in enumerate(runs):
        p += balanced(ev, steps=False)
        p += no_duplicates(after(runs[: n + 1]), f"list {n}")
        if n >= 2 and any("Good branch" in t for t in texts(ev).values()):
            p.append(f"run {n} streams it again")
    got = sorted(plain(m.get("content")) for m in after(runs))
    if got != ["Bad branch recovered.", "End.", "Good branch speaks.", "hi"]:
        p.append(f"list {got}; ends {[r[-1] for r in runs]}")
    return p
