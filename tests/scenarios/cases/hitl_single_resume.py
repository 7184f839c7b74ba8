"""interrupt() in a node, answered with a payload on the next run of the thread."""

from __future__ import annotations

import json

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.scenarios.checks import consistent, paused, streamed_ids, success
from tests.scenarios.kit import answers, hello, streaming, turn, user
from tests.scenarios.reading import index, interrupts, shape, snapshot, texts, view

TITLE = "a run that pauses says what it wants, and the answer reaches the waiting node"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2058"

GOT = []


def build():
    model = streaming(ids="all", script=[["Plan ready. "], ["Booked."]])

    async def plan(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    async def ask(state, config):
        GOT.append(interrupt({"question": "Book the 8:15 train?"}))
        return {}

    async def book(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    for n, f in (("plan", plan), ("ask", ask), ("book", book)):
        g.add_node(n, f)
    g.add_edge(START, "plan")
    g.add_edge("plan", "ask")
    g.add_edge("ask", "book")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [
        *hello(),
        lambda runs: turn(
            "r2", view(runs[0], [user("u1", "hi")]), resume=answers(runs[0], {"approved": True, "seat": "4A"})
        ),
    ]


def check(runs):
    p = paused(runs[0]) + consistent(runs[0]) + streamed_ids(runs[0], "Plan ready. ")
    if "8:15" not in json.dumps(interrupts(runs[0])):
        p.append(f"the question is nowhere in the interrupt: {interrupts(runs[0])}")
    for t in ("STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"):
        if index(runs[0], t) > len(runs[0]) - 1:
            p.append(f"{t} after the end")
    p += success(runs[1], "r2")
    if GOT != [{"approved": True, "seat": "4A"}]:
        p.append(f"the node got {GOT}")
    p += consistent(runs[1], view(runs[0], [user("u1", "hi")])) + streamed_ids(runs[1], "Booked.")
    if list(texts(runs[1]).values()) != ["Booked."]:
        p.append(f"second run streamed {list(texts(runs[1]).values())}")
    want = [("user", "hi", (), None), ("assistant", "Plan ready. ", (), None), ("assistant", "Booked.", (), None)]
    if shape(snapshot(runs[1])) != want:
        p.append(f"final snapshot {shape(snapshot(runs[1]))}")
    return p
