"""Graphs that take messages out of their thread, or remember otherwise than a client: people go on, and go back."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from tests.support.chats import Turns, chats_with, said, text_of
from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from tests.support.histories import transcript
from tests.support.people import PEERS, Tab, held


async def trim(state: Turns) -> dict[str, Any]:
    """Keeps the newest five messages."""
    return {"messages": [RemoveMessage(m.id) for m in state["messages"][:-5] if m.id]}


async def sum_up(state: Turns) -> dict[str, Any]:
    """Puts all but the newest five messages into one."""
    old = state["messages"][:-5]
    summary = HumanMessage(f"So far: {len(old)}", id=f"summary-{len(old)}-{state['turns']}")
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), summary, *state["messages"][-5:]] if old else []}


async def begin(state: Turns, config: RunnableConfig) -> dict[str, Any]:
    """Says something that the thread does not store."""
    await scripted("A plan.").ainvoke(state["messages"], config)
    return {"turns": state.get("turns", 0) + 1}


async def count(state: Turns) -> dict[str, Any]:
    return {"turns": state.get("turns", 0) + 1}


async def answer(state: Turns, config: RunnableConfig) -> dict[str, Any]:
    return {"messages": [await scripted(f"Turn {state['turns']}.").ainvoke(state["messages"], config)]}


def noting() -> Any:
    """Stores what it does not say."""
    return chat_node(scripted(*["Aside."] * 12, tags=["nostream"]))


KINDS: dict[str, Any] = {
    "trims": lambda: {"count": count, "trim": trim, "answer": answer},
    "trims at the end": lambda: {"count": count, "answer": answer, "trim": trim},
    "sums up": lambda: {"count": count, "sum": sum_up, "answer": answer},
    "says more": lambda: {"count": begin, "answer": answer},
    "says less": lambda: {"count": count, "note": noting(), "trim": trim, "answer": answer},
}


def graph(kind: str) -> Graph:
    return in_a_row(KINDS[kind](), Turns)


@pytest.mark.parametrize("headers", [None, {"X-Conversation-Id": "c"}], ids=["by its beginning", "by a header"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_of_openais_clients_goes_on_in_its_thread(kind: str, headers: Any) -> None:
    """They know neither what the thread lost, nor what it holds unseen."""
    app, posted = chats_with(graph(kind)), said("hi")
    for n in range(1, 6):
        text = await text_of(app, posted, headers, user="ann")
        assert text.endswith(f"Turn {n}.")
        posted += [{"role": "assistant", "content": text}, {"role": "user", "content": f"and {n}"}]
    assert (await text_of(app, posted[:-2], headers, user="ann")).endswith("Turn 5."), "repeated"


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
@pytest.mark.parametrize("everything", [False, True], ids=["shows the thread", "shows all that was said"])
@pytest.mark.parametrize("kind", ["trims", "trims at the end", "sums up"])
@pytest.mark.usefixtures("verifier")
async def test_going_back_behind_what_a_run_took_out(kind: str, everything: bool, peer: Any) -> None:
    """All of the state returns. A page that ignores snapshots has the messages that the thread lost."""
    made = graph(kind)
    for act in ("regenerate", "edit", "another id"):
        tab, shown = Tab(made, peer, thread=act), list[dict[str, Any]]()
        for n in range(5):
            if everything:
                tab.messages = shown
            await tab.say(f"m{n}", in_step=not everything)
            known = {m["id"] for m in shown}
            shown = [*shown, *(m for m in tab.messages if m["id"] not in known and not m["id"].startswith("summary"))]
        before = transcript((await held(made, act))[1])
        tab.messages = shown if everything else tab.messages
        if act == "regenerate":
            await tab.regenerate(in_step=not everything)
        else:
            await tab.edit(-1, "m4", id="another" if act == "another id" else None, in_step=not everything)
        assert transcript((await held(made, act))[1]) == before
        assert tab.state["turns"] == 5
