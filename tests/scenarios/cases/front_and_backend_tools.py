"""One model message calls a server tool and a client tool: the graph runs the first, the client answers the other."""

from __future__ import annotations

from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.scenarios.checks import called, consistent, no_duplicates, streamed_ids, success
from tests.scenarios.kit import stream_calls, streaming, turn, user
from tests.scenarios.reading import results, snapshot, view

TITLE = "a server tool and a client tool in one message: each streamed once, each answered once, in order"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/1412"
TOOL = {"name": "confirm", "description": "Ask the user", "parameters": {"type": "object", "properties": {}}}


@tool
async def price(item: str) -> str:
    """Price."""
    return f"{item} costs 5"


def build():
    global MODEL
    MODEL = streaming(
        ids="all", script=[stream_calls(("price", {"item": "tea"}, "b1"), ("confirm", {}, "f1")), ["Bought tea for 5."]]
    )

    async def agent(state, config):
        return {"messages": [await MODEL.ainvoke(state["messages"], config)]}

    async def server(state, config):
        return {
            "messages": [
                await price.ainvoke({**c, "type": "tool_call"}, config)
                for c in state["messages"][-1].tool_calls
                if c["name"] == "price"
            ]
        }

    g = StateGraph(MessagesState)
    g.add_node("agent", agent)
    g.add_node("server", server)
    g.add_edge(START, "agent")
    g.add_edge("server", END)
    g.add_conditional_edges(
        "agent", lambda s: "server" if getattr(s["messages"][-1], "tool_calls", []) else END, ["server", END]
    )
    return g.compile(checkpointer=InMemorySaver())


def turns():
    def second(runs):
        return turn(
            "r2",
            [*view(runs[0], [user("u1", "hi")]), {"id": "tm1", "role": "tool", "toolCallId": "f1", "content": "yes"}],
            tools=[TOOL],
        )

    return [turn("r1", [user("u1", "hi")], tools=[TOOL]), second]


def check(runs):
    p = (
        success(runs[0])
        + consistent(runs[0])
        + called(runs[0], "b1", "price", {"item": "tea"}, "tea costs 5")
        + called(runs[0], "f1", "confirm", {})
    )
    if [i for i, _ in results(runs[0])] != ["b1"]:
        p.append(f"results of the first run: {results(runs[0])}")
    p += (
        success(runs[1], "r2")
        + called(runs[1], "b1", "price", None, times=0)
        + called(runs[1], "f1", "confirm", None, times=0)
    )
    p += streamed_ids(runs[1], "Bought tea for 5.") + no_duplicates(snapshot(runs[1]))
    got = [(m.type, getattr(m, "tool_call_id", None)) for m in MODEL.calls[-1]]
    if sorted(got[2:], key=str) != [("tool", "b1"), ("tool", "f1")] or got[:2] != [("human", None), ("ai", None)]:
        p.append(f"the model was given {got}")
    return p
