"""A one-node chat graph that streams text: the smallest real run."""

from __future__ import annotations

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

TITLE = "plain chat streams one assistant message"
SOURCE = "own"


def build():
    model = GenericFakeChatModel(messages=iter([AIMessage(content="Hello there, friend")]))

    async def chat(state, config):
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    g = StateGraph(MessagesState)
    g.add_node("chat", chat)
    g.add_edge(START, "chat")
    return g.compile(checkpointer=InMemorySaver())


def turns():
    return [{"threadId": "t", "runId": "r1", "messages": [{"id": "u1", "role": "user", "content": "hi"}]}]


def check(runs):
    p, ev = [], runs[0]
    types = [e["type"] for e in ev]
    if types[0] != "RUN_STARTED" or types[-1] != "RUN_FINISHED":
        p.append(f"lifecycle: {types[0]}..{types[-1]}")
    text = "".join(
        e["delta"] for e in ev if e["type"] in ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK") and e.get("delta")
    )
    if text != "Hello there, friend":
        p.append(f"text was {text!r}")
    snaps = [e for e in ev if e["type"] == "MESSAGES_SNAPSHOT"]
    if not snaps:
        p.append("no MESSAGES_SNAPSHOT")
    else:
        roles = [m["role"] for m in snaps[-1]["messages"]]
        if roles != ["user", "assistant"]:
            p.append(f"snapshot roles {roles}")
        ids = {e["messageId"] for e in ev if e["type"] == "TEXT_MESSAGE_START"}
        if snaps[-1]["messages"][-1]["id"] not in ids:
            p.append("snapshot message id differs from the streamed id: the client would show it twice")
    return p
