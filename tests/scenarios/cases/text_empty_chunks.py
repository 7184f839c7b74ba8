"""Empty chunks before, between and after the text; the last words share a chunk with the finish reason."""

from __future__ import annotations

from langchain_core.messages import AIMessageChunk as C
from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph
from tests.scenarios.reading import of, texts

TITLE = "empty chunks make no empty messages, and the text in the finishing chunk is not lost"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2006"


@tool
async def look() -> str:
    """Look."""
    return "seen"


def build():
    return tool_graph(
        streaming(
            ids="all",
            script=[
                [
                    "",
                    "",
                    *stream_calls(("look", {}, "c")),
                    "",
                    C(content="", response_metadata={"finish_reason": "tool_calls"}),
                ],
                ["", "All ", "", "is ", " ", C(content="well.", response_metadata={"finish_reason": "stop"}), ""],
            ],
        ),
        [look],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + called(ev, "c", "look", {}, "seen") + streamed_ids(ev, "All is  well.")
    if any(t == "" for t in texts(ev).values()):
        p.append("an empty text message was opened for the tool call")
    if any(
        e.get("delta") == ""
        for e in of(ev, "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT")
    ):
        p.append("empty deltas were sent (the docs ask for non-empty ones)")
    return p
