"""ToolNode(handle_tool_errors=True): the failure becomes a ToolMessage and the model goes on."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph
from tests.scenarios.reading import snapshot

TITLE = "a tool failure that the graph handles is shown as the call's (failed) result, and the run goes on"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/2316"


@tool
async def risky(n: int) -> str:
    """Risky."""
    if n:
        raise ValueError("kaboom 42")
    return "fine"


def build():
    return tool_graph(
        streaming(
            ids="all", script=[stream_calls(("risky", {"n": 1}, "bad"), ("risky", {"n": 0}, "good")), ["It failed."]]
        ),
        [risky],
        node_args={"handle_tool_errors": True},
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + streamed_ids(ev, "It failed.")
    p += called(ev, "bad", "risky", {"n": 1}, lambda r: "kaboom 42" in r) + called(
        ev, "good", "risky", {"n": 0}, "fine"
    )
    tools = {m["toolCallId"]: m for m in snapshot(ev) or [] if m["role"] == "tool"}
    if not tools.get("bad", {}).get("error"):
        p.append("the failed result carries no `error` in the snapshot: it looks like a success")
    if tools.get("good", {}).get("error"):
        p.append("the good result is marked as failed")
    return p
