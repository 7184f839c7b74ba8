"""Some providers (Gemini, Ollama) deliver several whole tool calls in a single chunk."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import calls_part, hello, streaming, tool_graph
from tests.scenarios.reading import snapshot

TITLE = "parallel tool calls that arrive whole in one chunk all appear, each with its own arguments and result"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/1016"


@tool
async def add(a: int, b: int) -> str:
    """Add."""
    return str(a + b)


@tool
async def sub(a: int, b: int) -> str:
    """Subtract."""
    return str(a - b)


def build():
    return tool_graph(
        streaming(
            script=[
                [
                    calls_part(
                        ("add", {"a": 5, "b": 2}, "c_add"),
                        ("sub", {"a": 5, "b": 2}, "c_sub"),
                        ("add", {"a": 1, "b": 1}, "c_add2"),
                    )
                ],
                ["done"],
            ]
        ),
        [add, sub],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + streamed_ids(ev, "done")
    p += (
        called(ev, "c_add", "add", {"a": 5, "b": 2}, "7")
        + called(ev, "c_sub", "sub", {"a": 5, "b": 2}, "3")
        + called(ev, "c_add2", "add", {"a": 1, "b": 1}, "2")
    )
    first = (snapshot(ev) or [None, {}])[1]
    if [c["id"] for c in first.get("toolCalls") or []] != ["c_add", "c_sub", "c_add2"]:
        p.append("the three calls are not on one assistant message in the snapshot")
    return p
