"""Two parallel agents each made a call that nobody answered (a disconnect amid both tools); the user writes on."""

from __future__ import annotations

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.scenarios.checks import no_duplicates, success
from tests.scenarios.kit import stream_calls, streaming, turn, user
from tests.scenarios.reading import view

TITLE = "calls left open by two agents: the model is given an answer for each of them on the next turn"
SOURCE = "https://github.com/earendil-works/pi/issues/9306"
HI = [user("u1", "hi")]
SEEN = []
SHOWN = []


def sayer(n):
    def say(messages):
        first = all(name != n for name, _ in SEEN)
        SEEN.append((n, messages))
        return [f"{n}. ", *stream_calls(("go", {"n": n}, f"k{n}"))] if first else [f"{n} ok."]

    return say


def build():
    g = StateGraph(MessagesState)
    for n in ("a", "b"):
        model = streaming(ids="all", label=n, script=sayer(n))

        async def node(s, config, model=model):
            return {"messages": [await model.ainvoke(s["messages"], config)]}

        g.add_node(n, node)
        g.add_edge(START, n)

    async def tools(s):
        await asyncio.sleep(5)

    def route(s):
        made = any(getattr(m, "tool_calls", None) for m in s["messages"][-2:])
        return "tools" if made and s["messages"][-1].text.endswith(". ") else END

    g.add_node("tools", tools)
    g.add_conditional_edges("a", route, ["tools", END])
    return g.compile(checkpointer=InMemorySaver())


async def drive(start):
    first, events = [], start(turn("r1", HI))
    async for event in events:
        first.append(event)
        if event["type"] == "STEP_STARTED" and event["stepName"] == "tools":
            break
    await events.aclose()
    held = [*view(first, HI), user("u2", "go on")]
    second = [event async for event in start(turn("r2", held))]
    SHOWN.extend(view(second, held))
    return [first, second]


def check(runs):
    p = success(runs[1], "r2")
    for n, messages in SEEN[2:]:
        calls = [c["id"] for m in messages for c in getattr(m, "tool_calls", []) or []]
        answered = [m.tool_call_id for m in messages if m.type == "tool"]
        if sorted(calls) != sorted(answered):
            p.append(f"{n} was given calls {calls}, results {answered}")
    return p + no_duplicates(SHOWN, "list")
