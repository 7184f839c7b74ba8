"""A mixed turn; the page puts its answer right behind the assistant message, before the server tool's result."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.scenarios.checks import success
from tests.scenarios.kit import stream_calls, streaming, turn, user
from tests.scenarios.reading import shape, view
from yai_nexus_agentkit.orchestration.middleware import ClientToolsMiddleware

TITLE = "a client tool's answer that stands before the server tool's result in the history is taken all the same"
SOURCE = "https://github.com/CopilotKit/CopilotKit/issues/4759"
HI = [user("u1", "hi")]
SEEN = []
TOOLS = [{"name": "pick", "description": "d", "parameters": {"type": "object", "properties": {}}}]
ANSWER = {"id": "tm", "role": "tool", "toolCallId": "p1", "content": "red"}


@tool
async def srv(a: int) -> str:
    """S."""
    return "srv result"


def say(messages):
    SEEN.append([(m.type, m.text) for m in messages])
    if messages[-1].type == "human":
        return ["Both. ", *stream_calls(("srv", {"a": 1}, "s1"), ("pick", {}, "p1"))]
    return [f"Got {messages[-1].text} and {messages[-2].text}."]


def build():
    model = streaming(ids="all", label="a", script=say)
    return create_agent(model, [srv], middleware=[ClientToolsMiddleware()], checkpointer=InMemorySaver())


def turns():
    fields = {"tools": TOOLS, "protocolVersion": "1.0"}

    def second(runs):
        held = view(runs[0], HI)
        at = next(i for i, m in enumerate(held) if m["role"] == "assistant") + 1
        return turn("r2", [*held[:at], ANSWER, *held[at:]], **fields)

    return [turn("r1", HI, **fields), second]


def check(runs):
    p = success(runs[0]) + success(runs[1], "r2")
    if len(SEEN) < 2:
        return [*p, "the model was not asked again: the answer is lost"]
    if sorted(text for kind, text in SEEN[1] if kind == "tool") != ["red", "srv result"]:
        p.append(f"the model saw {SEEN[1]}")
    shown = view(runs[1], [*view(runs[0], HI), ANSWER])
    if [m["role"] for m in shown] != ["user", "assistant", "tool", "tool", "assistant"]:
        p.append(f"list {shape(shown)}")
    return p
