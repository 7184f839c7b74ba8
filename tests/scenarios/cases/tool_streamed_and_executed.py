"""The everyday loop: text and a tool call streamed in fragments, a ToolNode runs it, the model answers."""

from __future__ import annotations

from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import call_part, hello, streaming, tool_graph
from tests.scenarios.reading import expand, index, of, shape, snapshot, texts, tool_calls

TITLE = "a streamed tool call that a ToolNode executes shows once, with its arguments and one result"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1391"


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"{city}: 21 degrees"


def build():
    return tool_graph(
        streaming(
            ids="all",
            script=[
                [
                    "Let me ",
                    "look. ",
                    call_part("weather", "", "call_w"),
                    call_part(args='{"ci'),
                    call_part(args='ty": "Oslo'),
                    call_part(args='"}'),
                ],
                ["It is ", "21 degrees."],
            ],
        ),
        [weather],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + called(ev, "call_w", "weather", {"city": "Oslo"}, "Oslo: 21 degrees") + consistent(ev)
    p += streamed_ids(ev, "Let me look. ", "It is 21 degrees.")
    want = [
        ("user", "hi", (), None),
        ("assistant", "Let me look. ", ("weather",), None),
        ("tool", "Oslo: 21 degrees", (), "call_w"),
        ("assistant", "It is 21 degrees.", (), None),
    ]
    if shape(snapshot(ev)) != want:
        p.append(f"snapshot is {shape(snapshot(ev))}")
    if len(of(expand(ev), "TOOL_CALL_ARGS")) < 3:
        p.append("the argument fragments were not streamed as they came")
    parent = tool_calls(ev).get("call_w", {}).get("parent")
    if parent is not None and parent != (snapshot(ev) or [{}, {}])[1].get("id"):
        p.append(f"the call's parent message {parent} is not the assistant message")
    if (
        index(ev, "TOOL_CALL_RESULT")
        > index(
            expand(ev),
            "TEXT_MESSAGE_START",
            messageId=next((i for i, t in texts(ev).items() if t.startswith("It is")), None),
        )
        >= 0
    ):
        p.append("the result came after the answer had begun")
    return p
