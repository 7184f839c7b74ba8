"""A tool without parameters: the provider sends empty argument fragments."""

from __future__ import annotations

import json

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import call_part, hello, streaming, tool_graph
from tests.scenarios.reading import snapshot

TITLE = "a call without arguments is complete and its arguments are valid JSON everywhere"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2463"


@tool
async def now() -> str:
    """Time."""
    return "noon"


def build():
    return tool_graph(
        streaming(ids="all", script=[[call_part("now", "", "c"), call_part(args="")], ["It is noon."]]), [now]
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + called(ev, "c", "now", {}, "noon") + streamed_ids(ev, "It is noon.")
    for m in snapshot(ev) or []:
        for c in m.get("toolCalls") or []:
            try:
                json.loads(c["function"]["arguments"])
            except ValueError:
                p.append(f"snapshot arguments {c['function']['arguments']!r} are not JSON")
    return p
