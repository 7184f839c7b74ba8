"""Regenerate the last answer of a longer conversation, one that also used a tool."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, no_duplicates, streamed_ids, success
from tests.scenarios.kit import stream_calls, streaming, tool_graph, turn, user
from tests.scenarios.reading import plain, shape, snapshot, view

TITLE = "regenerating a later answer replaces that answer and its tool calls, and nothing else"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/2223"


@tool
async def look(q: str) -> str:
    """Look."""
    return f"seen {q}"


def build():
    global MODEL
    MODEL = streaming(
        ids="all",
        script=[
            ["A1"],
            stream_calls(("look", {"q": "x"}, "c1")),
            ["A2"],
            stream_calls(("look", {"q": "y"}, "c2")),
            ["A2 again"],
        ],
    )
    return tool_graph(MODEL, [look])


def turns():
    def first(runs):
        return view(runs[0], [user("u1", "q1")])

    return [
        turn("r1", [user("u1", "q1")]),
        lambda runs: turn("r2", [*first(runs), user("u2", "q2")]),
        lambda runs: turn("r3", [*first(runs), user("u2", "q2")]),
    ]


def check(runs):
    p = (
        success(runs[0])
        + success(runs[1], "r2")
        + success(runs[2], "r3")
        + streamed_ids(runs[2], "A2 again")
        + called(runs[2], "c2", "look", {"q": "y"}, "seen y")
        + no_duplicates(snapshot(runs[2]))
    )
    if [plain(m.get("content")) for m in snapshot(runs[2]) or []] != ["q1", "A1", "q2", "", "seen y", "A2 again"]:
        p.append(f"history {shape(snapshot(runs[2]))}")
    if [m.content for m in MODEL.calls[3]] != ["q1", "A1", "q2"]:
        p.append(f"the model was given {[m.content for m in MODEL.calls[3]]}")
    return p
