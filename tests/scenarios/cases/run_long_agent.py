"""create_agent compiles its graph with a recursion limit of its own (about ten thousand); LangGraph's default is 25."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.scenarios.checks import called, consistent, streamed_ids, success
from tests.scenarios.kit import hello, stream_calls, streaming

TITLE = "an agent that needs twenty tool calls is not stopped by a recursion limit the graph does not have"
SOURCE = "https://github.com/langchain-ai/deepagents-quickstarts/issues/11"


@tool
async def step(n: int) -> str:
    """Step."""
    return f"step {n}"


def build():
    return create_agent(
        streaming(ids="all", script=[*[stream_calls(("step", {"n": n}, f"c{n}")) for n in range(20)], ["Arrived."]]),
        [step],
        checkpointer=InMemorySaver(),
    )


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev)
    if p:
        return p
    for n in range(20):
        p += called(ev, f"c{n}", "step", {"n": n}, f"step {n}")
    return p + consistent(ev) + streamed_ids(ev, "Arrived.")
