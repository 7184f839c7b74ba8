"""A client's tool: the model calls it, the run ends, the client sends the result with the next run."""

from __future__ import annotations

from tests.scenarios.checks import called, consistent, no_duplicates, streamed_ids, success
from tests.scenarios.kit import chat_graph, stream_calls, streaming, turn, user
from tests.scenarios.reading import results, shape, snapshot, view

TITLE = "a client-side tool: called once, answered once, and the next answer follows"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/pull/1343"
TOOL = {
    "name": "set_colour",
    "description": "Colour the page",
    "parameters": {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]},
}


def build():
    global MODEL
    MODEL = streaming(
        ids="all", script=[["Colouring. ", *stream_calls(("set_colour", {"c": "red"}, "f1"))], ["Now it is red."]]
    )
    return chat_graph(MODEL)


def turns():
    def second(runs):
        seen = view(runs[0], [user("u1", "hi")])
        return turn(
            "r2", [*seen, {"id": "tm1", "role": "tool", "toolCallId": "f1", "content": "ok, red"}], tools=[TOOL]
        )

    return [turn("r1", [user("u1", "hi")], tools=[TOOL]), second]


def check(runs):
    p = (
        success(runs[0])
        + consistent(runs[0])
        + called(runs[0], "f1", "set_colour", {"c": "red"})
        + streamed_ids(runs[0], "Colouring. ")
    )
    if results(runs[0]):
        p.append("the agent answered the client's tool itself")
    p += (
        success(runs[1], "r2")
        + called(runs[1], "f1", "set_colour", None, times=0)
        + streamed_ids(runs[1], "Now it is red.")
        + no_duplicates(snapshot(runs[1]))
    )
    sent = [*view(runs[0], [user("u1", "hi")]), {"id": "tm1", "role": "tool", "toolCallId": "f1", "content": "ok, red"}]
    want = [
        ("user", "hi", (), None),
        ("assistant", "Colouring. ", ("set_colour",), None),
        ("tool", "ok, red", (), "f1"),
        ("assistant", "Now it is red.", (), None),
    ]
    if shape(view(runs[1], sent)) != want:
        p.append(f"client ends with {shape(view(runs[1], sent))}")
    got = [
        (m.type, m.text if isinstance(m.text, str) else m.text(), len(getattr(m, "tool_calls", []) or []))
        for m in MODEL.calls[-1]
    ]
    if got != [("human", "hi", 0), ("ai", "Colouring. ", 1), ("tool", "ok, red", 0)]:
        p.append(f"the model was given {got}")
    return p
