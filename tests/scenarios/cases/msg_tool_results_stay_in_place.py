"""The result's message id while streaming and in the snapshot: if they differ, the official client drops the streamed
tool message and appends the snapshot's one at the end, after the answer. MESSAGES_SNAPSHOT is an edit of the list."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import consistent, ordered, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph
from tests.scenarios.reading import shape, snapshot

TITLE = "after the run the client has the tool result between call and answer, not behind the answer"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1745"


@tool
async def weather(city: str) -> str:
    """Weather."""
    return f"{city}: sun"


def build():
    return tool_graph(
        streaming(
            ids="all",
            script=[
                ["First. ", *stream_calls(("weather", {"city": "Rome"}, "c1"), ("weather", {"city": "Pisa"}, "c2"))],
                ["Then. ", *stream_calls(("weather", {"city": "Bari"}, "c3"))],
                ["Sun everywhere."],
            ],
        ),
        [weather],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    want = [
        ("user", "hi", (), None),
        ("assistant", "First. ", ("weather", "weather"), None),
        ("tool", "Rome: sun", (), "c1"),
        ("tool", "Pisa: sun", (), "c2"),
        ("assistant", "Then. ", ("weather",), None),
        ("tool", "Bari: sun", (), "c3"),
        ("assistant", "Sun everywhere.", (), None),
    ]
    p = success(ev) + consistent(ev) + ordered(ev)
    if shape(snapshot(ev)) != want:
        p.append(f"snapshot is {shape(snapshot(ev))}")
    return p
