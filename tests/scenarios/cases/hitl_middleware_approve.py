"""LangChain 1.x HumanInTheLoopMiddleware: one interrupt for two reviewed calls, answered with decisions."""

from __future__ import annotations

import json

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.scenarios.checks import called, no_duplicates, paused, streamed_ids, success
from tests.scenarios.kit import answers, hello, stream_calls, streaming, turn, user
from tests.scenarios.reading import interrupts, plain, shape, snapshot, view

TITLE = "HumanInTheLoopMiddleware: approve one call and edit the other"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/2014"


@tool
async def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


def build():
    return create_agent(
        streaming(
            ids="all",
            script=[
                ["Sending both. ", *stream_calls(("send", {"to": "ann"}, "c1"), ("send", {"to": "bob"}, "c2"))],
                ["Done."],
            ],
        ),
        [send],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"send": True})],
        checkpointer=InMemorySaver(),
    )


def turns():
    def second(runs):
        d = {
            "decisions": [
                {"type": "approve"},
                {"type": "edit", "edited_action": {"name": "send", "args": {"to": "bea"}}},
            ]
        }
        return turn("r2", view(runs[0], [user("u1", "hi")]), resume=answers(runs[0], d))

    return [*hello(), second]


def check(runs):
    p = paused(runs[0]) + called(runs[0], "c1", "send", {"to": "ann"}) + called(runs[0], "c2", "send", {"to": "bob"})
    if "bob" not in json.dumps(interrupts(runs[0])):
        p.append("the calls under review are not in the interrupt")
    p += (
        success(runs[1], "r2")
        + called(runs[1], "c1", "send", None, "sent to ann", times=0)
        + called(runs[1], "c2", "send", None, lambda r: "sent to bea" in r, times=0)
    )
    p += streamed_ids(runs[1], "Done.") + no_duplicates(snapshot(runs[1]))
    shown = view(runs[1], view(runs[0], [user("u1", "hi")]))
    got = {
        m["toolCallId"]: plain(m["content"]) for m in shown if m["role"] == "tool"
    }  # LangChain adds a note to the edited call's result
    if set(got) != {"c1", "c2"} or got["c1"] != "sent to ann" or "sent to bea" not in got["c2"]:
        p.append(f"client shows {shape(shown)}")
    return p
