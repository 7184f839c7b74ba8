"""Tools that return Command(update=...), two of them in one step."""

from __future__ import annotations

import operator
from typing import Annotated

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import MessagesState
from langgraph.types import Command

from tests.scenarios.checks import called, consistent, success
from tests.scenarios.kit import hello, stream_calls, streaming, tool_graph
from tests.scenarios.reading import state

TITLE = "a tool that returns a Command delivers its ToolMessage as the result, and its state update"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/431"


class S(MessagesState):
    seen: Annotated[list, operator.add]


@tool
async def note(what: str, id: Annotated[str, InjectedToolCallId]):
    """Note something."""
    return Command(update={"messages": [ToolMessage(f"noted {what}", tool_call_id=id)], "seen": [what]})


def build():
    return tool_graph(
        streaming(
            ids="all",
            script=[stream_calls(("note", {"what": "tea"}, "c1"), ("note", {"what": "milk"}, "c2")), ["Noted."]],
        ),
        [note],
        state=S,
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = (
        success(ev)
        + consistent(ev)
        + called(ev, "c1", "note", {"what": "tea"}, "noted tea")
        + called(ev, "c2", "note", {"what": "milk"}, "noted milk")
    )
    if sorted((state(ev) or {}).get("seen", [])) != ["milk", "tea"]:
        p.append(f"state.seen is {(state(ev) or {}).get('seen')}")
    return p
