"""The model calls a tool that does not exist; ToolNode answers that itself, no tool ever runs."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph, user
from tests.scenarios.reading import expand, index, plain, results, view

TITLE = "a call of a tool that does not exist is answered for the user too, and the run goes on"
SOURCE = "https://github.com/langchain-ai/langgraphjs/issues/1831"


@tool
async def real() -> str:
    """Real."""
    return "ok"


def build():
    return tool_graph(
        streaming(ids="all", script=[stream_calls(("imaginary", {"n": 1}, "c1")), ["Sorry."]]),
        [real],
        backend=["real", "imaginary"],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + called(ev, "c1", "imaginary", {"n": 1}) + streamed_ids(ev, "Sorry.")
    got = [plain(m["content"]) for m in view(ev, [user("u1", "hi")]) if m["role"] == "tool" and m["toolCallId"] == "c1"]
    if len(got) != 1 or "imaginary" not in got[0]:
        p.append(f"the call's result is {got}")
    if len(results(ev)) > 1:
        p.append(f"{len(results(ev))} results")
    at, _answer = index(ev, "TOOL_CALL_RESULT", toolCallId="c1"), index(expand(ev), "TEXT_MESSAGE_START")
    if at < 0:
        p.append("no TOOL_CALL_RESULT: until the final snapshot the call looks as if it were still running")
    return p
