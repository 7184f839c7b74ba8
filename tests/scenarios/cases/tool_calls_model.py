"""A tool asks a streaming model; its words are the tool's business, the result is what counts."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import call_part, hello, streaming, tool_graph, user
from tests.scenarios.reading import shape, snapshot, spoken, view

TITLE = "a model used inside a tool does not leak into the assistant's own messages"
SOURCE = "https://github.com/CopilotKit/CopilotKit/issues/3861"


def build():
    helper = streaming(ids="all", label="helper", script=[["short ", "summary"]])

    @tool
    async def summarize(text: str, config: RunnableConfig) -> str:
        """Summarize."""
        return (await helper.ainvoke(text, config)).content

    return tool_graph(
        streaming(
            ids="all",
            script=[
                ["I will. ", call_part("summarize", "", "c"), call_part(args='{"text": "long"}')],
                ["Done: short summary."],
            ],
        ),
        [summarize],
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = (
        success(ev)
        + consistent(ev)
        + called(ev, "c", "summarize", {"text": "long"}, "short summary")
        + streamed_ids(ev, "I will. ", "Done: short summary.")
    )
    want = [
        ("user", "hi", (), None),
        ("assistant", "I will. ", ("summarize",), None),
        ("tool", "short summary", (), "c"),
        ("assistant", "Done: short summary.", (), None),
    ]
    if shape(spoken(snapshot(ev))) != want:
        p.append(f"snapshot is {shape(spoken(snapshot(ev)))}")
    if sorted(map(str, shape(spoken(view(ev, [user("u1", "hi")]))))) != sorted(map(str, want)):
        p.append(f"the client ends with {shape(spoken(view(ev, [user('u1', 'hi')])))}")
    return p
