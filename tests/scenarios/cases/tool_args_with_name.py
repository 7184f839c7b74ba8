"""Gemini sends name and complete arguments of a call in the chunk that opens it."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import calls_part, hello, streaming, tool_graph

TITLE = "arguments that arrive in the same chunk as the tool's name are not lost"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2653"


@tool
async def read(path: str) -> str:
    """Read a file."""
    return "contents"


def build():
    return tool_graph(streaming(script=[[calls_part(("read", {"path": "/a.txt"}, "c"))], ["read it"]]), [read])


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    return (
        success(ev)
        + consistent(ev)
        + called(ev, "c", "read", {"path": "/a.txt"}, "contents")
        + streamed_ids(ev, "read it")
    )
