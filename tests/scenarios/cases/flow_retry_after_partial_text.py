"""A node with a RetryPolicy: the first attempt streams half an answer and fails, the second succeeds."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from tests.scenarios.checks import consistent, streamed_ids, success
from tests.scenarios.kit import hello, streaming, user
from tests.scenarios.reading import shape, view

TITLE = "after a retried node the user has one clean answer, not the failed half glued to it"
SOURCE = "https://github.com/HKUDS/nanobot/issues/4038"


def build():
    model = streaming(script=[["The ans", ConnectionError("lost")], ["The ", "answer ", "is 5."]])

    async def chat(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("chat", chat, retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.01, jitter=False))
    g.add_edge(START, "chat")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return hello()


def check(runs):
    ev = runs[0]
    p = success(ev) + consistent(ev) + streamed_ids(ev, "The answer is 5.")
    if shape(view(ev, [user("u1", "hi")])) != [("user", "hi", (), None), ("assistant", "The answer is 5.", (), None)]:
        p.append(f"client ends with {shape(view(ev, [user('u1', 'hi')]))}")
    return p
