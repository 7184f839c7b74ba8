"""Fragments of two calls arrive alternately; after the first only their index differs."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import call_part, hello, streaming, tool_graph

TITLE = "interleaved argument fragments of two parallel calls are not mixed up"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/871"


@tool
async def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def build():
    return tool_graph(
        streaming(
            ids="all",
            script=[
                [
                    call_part("look", "", "c0", 0),
                    call_part("look", "", "c1", 1),
                    call_part(args='{"q": ', index=0),
                    call_part(args='{"q"', index=1),
                    call_part(args='"north', index=0),
                    call_part(args=': "south', index=1),
                    call_part(args='"}', index=1),
                    call_part(args='"}', index=0),
                ],
                ["ok"],
            ],
        ),
        [look],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    return (
        success(ev)
        + consistent(ev)
        + called(ev, "c0", "look", {"q": "north"}, "found north")
        + called(ev, "c1", "look", {"q": "south"}, "found south")
        + streamed_ids(ev, "ok")
    )
