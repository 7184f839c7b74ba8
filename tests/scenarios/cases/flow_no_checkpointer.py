"""A graph compiled without a checkpointer: the client's history is all there is."""

from __future__ import annotations

from langchain_core.tools import tool
from langgraph.graph import MessagesState

from tests.scenarios.checks import called, consistent, ordered, success
from tests.scenarios.kit import stream_calls, streaming, tool_graph, turn, user
from tests.scenarios.reading import shape, state, view

TITLE = "a graph without a checkpointer works over two turns, tools included"
SOURCE = "https://github.com/CopilotKit/CopilotKit/pull/1880"


@tool
async def look(q: str) -> str:
    """Look."""
    return f"seen {q}"


class S(MessagesState):
    n: int


def build():
    global MODEL
    MODEL = streaming(ids="all", script=[[*stream_calls(("look", {"q": "x"}, "c"))], ["Seen."], ["Still here."]])
    return tool_graph(MODEL, [look], state=S, checkpointer=None)


def turns():
    return [
        turn("r1", [user("u1", "hi")], state={"n": 3}),
        lambda runs: turn("r2", [*view(runs[0], [user("u1", "hi")]), user("u2", "and?")], state={"n": 4}),
    ]


def check(runs):
    p = success(runs[0]) + success(runs[1], "r2")
    if p:
        return p
    p += called(runs[0], "c", "look", {"q": "x"}, "seen x") + consistent(runs[0]) + ordered(runs[0])
    held = [*view(runs[0], [user("u1", "hi")]), user("u2", "and?")]
    p += consistent(runs[1], held)
    if [m.type for m in MODEL.calls[-1]] != ["human", "ai", "tool", "ai", "human"]:
        p.append(f"in the second turn the model was given {[m.type for m in MODEL.calls[-1]]}")
    if shape(view(runs[1], held))[-1] != ("assistant", "Still here.", (), None):
        p.append(f"client ends with {shape(view(runs[1], held))}")
    if (state(runs[1]) or {}).get("n") != 4:
        p.append(f"state ends as {state(runs[1])}")
    return p
