"""The tool itself asks for approval. AG-UI: the resumed run emits TOOL_CALL_RESULT against the original id and does not
re-emit the call's start, arguments and end."""

from __future__ import annotations

import json

from langchain_core.tools import tool
from langgraph.types import interrupt

from tests.scenarios.checks import called, no_duplicates, paused, streamed_ids, success
from tests.scenarios.kit import answers, hello, stream_calls, streaming, tool_graph, turn, user
from tests.scenarios.reading import results, view

TITLE = "after approval only the result arrives: the call and its arguments are not sent again"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2515"


@tool
async def send(to: str) -> str:
    """Send."""
    ok = interrupt({"action": "send", "to": to})
    return f"sent to {to}" if ok.get("approved") else "not sent"


def build():
    return tool_graph(
        streaming(ids="all", script=[["Sending. ", *stream_calls(("send", {"to": "ann"}, "c1"))], ["All done."]]),
        [send],
    )


def turns():
    return [
        *hello(),
        lambda runs: turn("r2", view(runs[0], [user("u1", "hi")]), resume=answers(runs[0], {"approved": True})),
    ]


def check(runs):
    p = paused(runs[0]) + called(runs[0], "c1", "send", {"to": "ann"})
    if results(runs[0]):
        p.append("a result before the approval")
    p += (
        success(runs[1], "r2")
        + called(runs[1], "c1", "send", None, "sent to ann", times=0)
        + streamed_ids(runs[1], "All done.")
    )
    shown = view(runs[1], view(runs[0], [user("u1", "hi")]))
    calls = [c for m in shown for c in m.get("toolCalls") or []]
    if [(c["id"], c["function"]["arguments"]) for c in calls] != [("c1", '{"to": "ann"}')] and [
        json.loads(c["function"]["arguments"] or "0") for c in calls
    ] != [{"to": "ann"}]:
        p.append(f"the client is left with calls {calls}")
    return p + no_duplicates(shown, "the client's list")
