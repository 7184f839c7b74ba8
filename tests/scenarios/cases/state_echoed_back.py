"""Clients send the state they hold with every run. A list with an append reducer must not grow by being echoed."""

from __future__ import annotations

import operator
from typing import Annotated

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.scenarios.checks import success
from tests.scenarios.kit import streaming, turn, user
from tests.scenarios.reading import state, view

TITLE = "the state that the client sends back is taken as the state, not added to it"
SOURCE = "https://github.com/assistant-ui/assistant-ui/pull/4828"


class S(MessagesState):
    log: Annotated[list, operator.add]
    total: Annotated[int, operator.add]
    title: str


def build():
    model = streaming(ids="all", script=lambda ms: [f"turn {sum(m.type == 'human' for m in ms)}"])

    async def chat(state, config):
        return {
            "messages": [await model.ainvoke(state["messages"], config)],
            "log": [f"entry {len(state.get('log') or []) + 1}"],
            "total": 1,
        }

    g = StateGraph(S)
    g.add_node("chat", chat)
    g.add_edge(START, "chat")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    def again(n):
        def t(runs):
            held, s = [], {}
            for k, ev in enumerate(runs):
                held = view(ev, [*held, user(f"u{k + 1}", "q")])
                s = state(ev, s)
            return turn(f"r{n}", [*held, user(f"u{n}", "q")], state={k: v for k, v in s.items() if k != "messages"})

        return t

    return [turn("r1", [user("u1", "q")]), again(2), again(3)]


def check(runs):
    p = []
    for n, ev in enumerate(runs):
        p += success(ev, f"r{n + 1}")
        s = state(ev) or {}
        if (s.get("log"), s.get("total")) != ([f"entry {k + 1}" for k in range(n + 1)], n + 1):
            p.append(f"after run {n + 1} the state is log={s.get('log')} total={s.get('total')}")
    return p
