"""The agent loop lives in a subgraph; parent and subgraph share the messages."""

from __future__ import annotations

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import call_part, hello, streaming, tool_graph
from tests.scenarios.reading import shape, snapshot, spoken

TITLE = "a tool used inside a subgraph appears exactly once"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1479"


@tool
async def weather(city: str) -> str:
    """Weather."""
    return f"{city}: fog"


def build():
    inner = tool_graph(
        streaming(
            ids="all",
            label="in",
            script=[["Looking. ", call_part("weather", "", "c"), call_part(args='{"city": "Riga"}')], ["Fog in Riga."]],
        ),
        [weather],
        checkpointer=None,
    )
    outer = streaming(ids="all", label="out", script=[["To sum up: fog."]])

    async def wrap(state, config):
        return {"messages": [await outer.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("inner", inner)
    g.add_node("wrap", wrap)
    g.add_edge(START, "inner")
    g.add_edge("inner", "wrap")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = (
        success(ev)
        + consistent(ev)
        + called(ev, "c", "weather", {"city": "Riga"}, "Riga: fog")
        + streamed_ids(ev, "Looking. ", "Fog in Riga.", "To sum up: fog.")
    )
    want = [
        ("user", "hi", (), None),
        ("assistant", "Looking. ", ("weather",), None),
        ("tool", "Riga: fog", (), "c"),
        ("assistant", "Fog in Riga.", (), None),
        ("assistant", "To sum up: fog.", (), None),
    ]
    if shape(spoken(snapshot(ev))) != want:
        p.append(f"snapshot is {shape(snapshot(ev))}")
    return p
