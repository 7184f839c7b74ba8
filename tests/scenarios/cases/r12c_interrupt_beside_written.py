"""Branches of a fan-out write plain messages (no model); one of them asks first."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from tests.scenarios.checks import no_duplicates, paused, success
from tests.scenarios.kit import answers, hello, turn, user
from tests.scenarios.reading import plain, shape, texts, view

TITLE = "messages written beside a question are not streamed twice over pause and resume"
SOURCE = "https://github.com/langchain-ai/langgraph/issues/5672"
HI = [user("u1", "hi")]


def build():
    def work(s):
        n = s["n"]
        if n == 2:
            return {"messages": [("ai", f"two says {interrupt('two?')}")]}
        return {"messages": [("ai", f"branch {n} done")]}

    g = StateGraph(MessagesState)
    g.add_node("plan", lambda s: {})
    g.add_node("work", work)
    g.add_edge(START, "plan")
    g.add_conditional_edges("plan", lambda s: [Send("work", {"n": n}) for n in (1, 2, 3)], ["work"])
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [
        *hello(),
        lambda runs: turn("r2", view(runs[0], HI), resume=answers(runs[0], "yes")),
        lambda runs: turn("r3", [*view(runs[1], view(runs[0], HI)), user("u2", "x")]),
    ]


def check(runs):
    p = paused(runs[0], 1)
    if p:
        return p
    at_pause = view(runs[0], HI)
    if sorted(plain(m.get("content")) for m in at_pause) != ["branch 1 done", "branch 3 done", "hi"]:
        p.append(f"paused list {shape(at_pause)}")
    p += success(runs[1], "r2")
    if any("branch" in t for t in texts(runs[1]).values()):
        p.append(f"streamed again: {texts(runs[1])}")
    ids = {plain(m.get("content")): m["id"] for m in at_pause}
    shown = view(runs[1], at_pause)
    p += no_duplicates(shown, "list")
    if sorted(plain(m.get("content")) for m in shown) != ["branch 1 done", "branch 3 done", "hi", "two says yes"]:
        p.append(f"list {shape(shown)}")
    for m in shown:
        if m["role"] == "assistant" and ids.get(plain(m["content"]), m["id"]) != m["id"]:
            p.append(f"id changed of {m['content']}")
    return p
