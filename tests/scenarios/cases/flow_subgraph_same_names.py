"""Parent and subgraph both have nodes called agent and tools."""

from __future__ import annotations

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph

TITLE = "a subgraph whose nodes are named like the parent's does not confuse the steps"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/2538"


@tool
async def look(q: str) -> str:
    """Look."""
    return f"seen {q}"


def build():
    inner = tool_graph(
        streaming(
            ids="all", label="in", script=[["Inner. ", *stream_calls(("look", {"q": "x"}, "c"))], ["Inner done."]]
        ),
        [look],
        checkpointer=None,
    )
    outer = streaming(ids="all", label="out", script=[["Outer done."]])

    async def tools(state, config):
        return {"messages": [await outer.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("agent", inner)
    g.add_node("tools", tools)
    g.add_edge(START, "agent")
    g.add_edge("agent", "tools")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    return (
        success(ev)
        + consistent(ev)
        + called(ev, "c", "look", {"q": "x"}, "seen x")
        + streamed_ids(ev, "Inner. ", "Inner done.", "Outer done.")
    )
