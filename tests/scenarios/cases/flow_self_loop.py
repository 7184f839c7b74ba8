"""One node that runs three times in a row: nothing else happens between its answers."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.scenarios.checks import consistent, streamed_ids, success
from tests.scenarios.kit import hello, streaming

TITLE = "three answers given in a row by one node are three messages, not one glued together"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1580"


def build():
    model = streaming(ids="all", script=[["first ", "one"], ["second ", "one"], ["third ", "one"]])

    async def spin(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("spin", spin)
    g.add_edge(START, "spin")
    g.add_conditional_edges("spin", lambda s: "spin" if len(s["messages"]) < 4 else END, ["spin", END])
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    return success(ev) + consistent(ev) + streamed_ids(ev, "first one", "second one", "third one")
