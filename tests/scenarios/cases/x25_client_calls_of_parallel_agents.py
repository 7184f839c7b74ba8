"""Two agents side by side each call a client tool; the page answers both in the next request."""

from __future__ import annotations

import json

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import no_duplicates, success
from tests.scenarios.kit import stream_calls, streaming, turn, user
from tests.scenarios.reading import shape, tool_calls, view

TITLE = "client tool calls of two parallel agents: both answers reach the thread and the model"
SOURCE = "https://github.com/ag-ui-protocol/ag-ui/issues/1346"
HI = [user("u1", "hi")]
SEEN = []
TOOLS = [{"name": "pick", "description": "d", "parameters": {"type": "object"}}]


def sayer(n):
    def say(messages):
        SEEN.append((n, [(m.type, m.text) for m in messages]))
        mine = [m for m in messages if m.type == "tool"]
        if not mine:
            return [f"{n} picks. ", *stream_calls(("pick", {"who": n}, f"k{n}"))]
        return [f"{n} got {','.join(sorted(m.text for m in mine))}."]

    return say


def build():
    g = StateGraph(MessagesState)
    for n in ("a", "b"):
        model = streaming(ids="all", label=n, script=sayer(n))

        async def node(s, config, model=model):
            return {"messages": [await model.ainvoke(s["messages"], config)]}

        g.add_node(n, node)
        g.add_edge(START, n)
    return g.compile(checkpointer=InMemorySaver())


def given(runs):
    """The page's answers."""
    calls = {id: json.loads(call["args"])["who"] for id, call in tool_calls(runs[0]).items()}
    return [
        {"id": f"tm{id}", "role": "tool", "toolCallId": id, "content": f"answer-{who}"} for id, who in calls.items()
    ]


def turns():
    fields = {"tools": TOOLS, "protocolVersion": "1.0"}
    return [
        turn("r1", HI, **fields),
        lambda runs: turn("r2", [*view(runs[0], HI), *given(runs)], **fields),
    ]


def check(runs):
    p = success(runs[0]) + success(runs[1], "r2")
    outcome = runs[0][-1].get("outcome") or {}
    if sorted(outcome.get("pendingToolCallIds") or []) != ["ka", "kb"]:
        p.append(f"outcome {outcome}")
    for n, messages in SEEN[2:]:
        if sorted(text for kind, text in messages if kind == "tool") != ["answer-a", "answer-b"]:
            p.append(f"{n} saw {messages}")
    shown = view(runs[1], [*view(runs[0], HI), *given(runs)])
    p += no_duplicates(shown, "list")
    if sorted(m["toolCallId"] for m in shown if m["role"] == "tool") != ["ka", "kb"]:
        p.append(f"list {shape(shown)}")
    return p
