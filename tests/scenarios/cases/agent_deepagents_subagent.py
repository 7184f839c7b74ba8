"""deepagents: the main agent delegates to a subagent, which uses a tool of its own."""

from __future__ import annotations

from deepagents import create_deep_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.scenarios.checks import called, no_duplicates, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming
from tests.scenarios.reading import results, shape, snapshot, spoken, tool_calls

TITLE = "a deepagents delegation: one task call with one result, a legal stream, and a clean main conversation"
SOURCE = "https://github.com/langchain-ai/deepagents/issues/2701"


@tool
async def search(q: str) -> str:
    """Search."""
    return f"hits for {q}"


def build():
    sub = streaming(
        ids="all",
        label="sub",
        script=[["Searching. ", *stream_calls(("search", {"q": "moss"}, "c_in"))], ["Moss is green."]],
    )
    main = streaming(
        ids="all",
        label="main",
        script=[
            [
                "Delegating. ",
                *stream_calls(("task", {"description": "research moss", "subagent_type": "researcher"}, "c_task")),
            ],
            ["It is green."],
        ],
    )
    return create_deep_agent(
        model=main,
        tools=[],
        subagents=[
            {"name": "researcher", "description": "researches", "system_prompt": "r", "tools": [search], "model": sub}
        ],
        checkpointer=InMemorySaver(),
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = (
        success(ev)
        + called(
            ev, "c_task", "task", {"description": "research moss", "subagent_type": "researcher"}, "Moss is green."
        )
        + streamed_ids(ev, "Delegating. ", "It is green.")
        + no_duplicates(snapshot(ev))
    )
    if "c_in" in tool_calls(ev):
        p += called(ev, "c_in", "search", {"q": "moss"})
    if len([1 for i, _ in results(ev) if i == "c_in"]) > 1:
        p.append("the subagent's call has two results")
    want = [
        ("user", "hi", (), None),
        ("assistant", "Delegating. ", ("task",), None),
        ("tool", "Moss is green.", (), "c_task"),
        ("assistant", "It is green.", (), None),
    ]
    if shape(spoken(snapshot(ev))) != want:
        p.append(f"the main conversation is {shape(spoken(snapshot(ev)))}")
    return p
