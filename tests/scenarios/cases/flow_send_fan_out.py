"""Send: one node runs four times in the same step, each run streams its own answer."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from tests.scenarios.checks import no_duplicates, streamed_ids, success
from tests.scenarios.kit import hello, streaming, user
from tests.scenarios.reading import snapshot, texts, view

TITLE = "a node that runs four times in parallel gives four whole messages and balanced steps"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/333"


def build():
    def parts(ms):
        n = ms[-1].content if hasattr(ms[-1], "content") else ms[-1]
        return [f"part{n}-{k} " for k in range(4)]

    async def work(x, config):
        m = streaming(ids="all", label=f"w{x['n']}", pause=0.005 * (1 + x["n"] % 2), script=parts)
        return {"messages": [await m.ainvoke(str(x["n"]), config)]}

    end = streaming(ids="all", label="end", script=[["all ", "done"]])

    async def join(state, config):
        return {"messages": [await end.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("work", work)
    g.add_node("join", join)
    g.add_conditional_edges(START, lambda s: [Send("work", {"n": n}) for n in range(4)], ["work"])
    g.add_edge("work", "join")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = (
        success(ev)
        + streamed_ids(ev, *["".join(f"part{n}-{k} " for k in range(4)) for n in range(4)], "all done")
        + no_duplicates(snapshot(ev))
    )
    p += no_duplicates(view(ev, [user("u1", "hi")]), "the client's list")
    if len(texts(ev)) != 5:
        p.append(f"{len(texts(ev))} messages were streamed: {list(texts(ev).values())}")
    return p
