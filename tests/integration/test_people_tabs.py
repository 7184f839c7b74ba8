"""Tabs that went different ways: each goes on in its own branch, with its own answers, tool turns and state."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.support.graphs import Graph, in_a_row, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.testing import tool_calls_part

pytestmark = EACH_PEER


def merged(held: list[Any], writes: list[Any]) -> list[Any]:
    for write in writes:
        held = add_messages(held, write)  # type: ignore[assignment]
    return held


class Logged(MessagesState):
    log: Annotated[list[str], operator.add]


class Piecewise(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merged)]
    log: Annotated[list[str], operator.add]


class Replaced(TypedDict):
    messages: list[AnyMessage]
    log: Annotated[list[str], operator.add]


def echo(schema: type = Logged) -> Graph:
    """Answers with all user messages, in order; asks where one of them wants that."""

    def answer(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        said = " ".join(m.text for m in state["messages"] if m.type == "human")
        if "ask" in last.text:
            said += f" {interrupt('Sure?')}"
        new = AIMessage(f"re {said}", id=f"re-{said}")
        return {"messages": [*state["messages"], new] if schema is Replaced else [new], "log": [last.text]}

    return in_a_row({"answer": answer}, schema)


def pricing() -> Graph:
    @tool
    async def price(item: str) -> str:
        """Price of an item."""
        return f"{item}: 5"

    def script(messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if last.type == "tool":
            return [" ".join(m.text for m in messages if m.type in ("human", "tool"))]
        return [tool_calls_part(("price", {"item": last.text}, "call"))]  # the same id in every turn

    return tool_loop(strict_model(script, ids="all"), [price], Logged)


async def apart(graph: Graph, peer: Peer, **options: Any) -> tuple[Tab, Tab]:
    """Two tabs on one thread that both have spoken after "a"; the second one last."""
    one, two = Tab(graph, peer, name="one", **options), Tab(graph, peer, name="two", **options)
    await one.say("a")
    two.messages, two.state = one.messages, one.state
    await one.say("b1")
    await two.say("b2")
    return one, two


KINDS: dict[str, Callable[[], Graph]] = {
    "echo": echo,
    "in pieces": lambda: echo(Piecewise),
    "without a reducer": lambda: echo(Replaced),
    "with a tool": pricing,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
async def test_each_tab_keeps_its_own(peer: Peer, make: Callable[[], Graph]) -> None:
    one, two = await apart(make(), peer)
    for number in (3, 4):
        for tab, name in ((one, "1"), (two, "2")):
            before = tab.messages
            await tab.say(f"{'cd'[number - 3]}{name}")
            assert tab.messages[: len(before)] == before
            texts = [text for role, text in tab.said if role == "user"]
            assert texts == ["a", f"b{name}", f"c{name}", f"d{name}"][:number]
            assert tab.state.get("log") in (texts, [])
            assert all(text in tab.said[-1][1] for text in texts)
            assert "MESSAGES_SNAPSHOT" not in tab.types


async def test_a_visit_shows_the_head(peer: Peer) -> None:
    """Nothing runs: that tab has said nothing new."""
    graph = echo()
    one, two = await apart(graph, peer)

    await one.send()

    assert one.said == two.said
    assert one.state == two.state == {"log": ["a", "b2"]}


async def test_a_visit_to_a_head_that_asks(peer: Peer) -> None:
    graph = echo()
    one, two = await apart(graph, peer)
    await two.say("ask")

    await one.send()

    assert [q["message"] for q in one.questions] == ["Sure?"]
    assert [text for role, text in one.said if role == "user"] == ["a", "b2", "ask"]


async def test_a_tab_whose_branch_asks_goes_on(peer: Peer) -> None:
    """Its question is left as it is, as by an edit."""
    graph = echo()
    one, two = await apart(graph, peer)
    await one.say("ask")
    await two.say("c2")

    await one.say("never mind", reloaded=True)

    assert [text for role, text in one.said if role == "user"] == ["a", "b1", "ask", "never mind"]
    assert ("assistant", "re a b1") in one.said
    assert one.state == {"log": ["a", "b1", "never mind"]}


@pytest.mark.parametrize("act", ["edit", "regenerate", "cut"])
async def test_a_tab_goes_back_in_its_branch(peer: Peer, act: str) -> None:
    graph = echo()
    one, two = await apart(graph, peer)
    await one.say("c1")
    await one.say("d1")
    await two.say("c2")

    if act == "edit":
        await one.edit(2, "x")
    elif act == "regenerate":
        await one.edit(2, "c1")
    else:
        one.cut(2)
        await one.say("x")

    new = "c1" if act == "regenerate" else "x"
    assert [text for _, text in one.said] == ["a", "re a", "b1", "re a b1", new, f"re a b1 {new}"]
    assert one.state == {"log": ["a", "b1", new]}


@pytest.mark.parametrize("number", [0, 1])
async def test_the_other_tab_edited_a_message_of_both(peer: Peer, number: int) -> None:
    """The text that this tab still shows is no edit of the edited one."""
    graph = echo()
    one, two = Tab(graph, peer, name="one"), Tab(graph, peer, name="two")
    await one.say("a")
    await one.say("b")
    two.messages, two.state = one.messages, one.state
    await two.edit(number, "x")

    await one.say("c")

    assert [text for _, text in one.said] == ["a", "re a", "b", "re a b", "c", "re a b c"]
    assert one.state == {"log": ["a", "b", "c"]}
    await two.say("y")
    assert [text for role, text in two.said if role == "user"] == [*"ab"[:number], "x", "y"]


async def test_the_other_tab_had_the_answer_generated_again(peer: Peer) -> None:
    """The branches have the same user messages: the new answer takes the place of the old one."""
    graph = pricing()
    one, two = Tab(graph, peer, name="one"), Tab(graph, peer, name="two")
    await one.say("a")
    two.messages, two.state = one.messages, one.state
    await two.regenerate()
    assert [m["id"] for m in two.messages[1:]] != [m["id"] for m in one.messages[1:]]

    await one.say("b")

    assert one.messages[:4] == two.messages
    assert one.said[-1] == ("assistant", "a a: 5 b b: 5")


async def test_redacted_tabs(peer: Peer) -> None:
    """Messages that the hook adds or masks do not begin a branch."""
    hooks = Hooks(on_messages=lambda messages, run: [m for m in messages if m.role != "system"])
    graph = echo()
    one = Tab(graph, peer, name="one", hooks=hooks)
    await one.send(
        [{"id": "s", "role": "system", "content": "s"}, {"id": "a", "role": "user", "content": "a"}], in_step=False
    )
    two = Tab(graph, peer, name="two", hooks=hooks)
    await two.send([], in_step=False, state=None)
    await one.say("b1", in_step=False)
    await two.say("b2", in_step=False)

    await one.say("c1", in_step=False)

    assert [text for _, text in one.said] == ["s", "a", "re a", "b1", "re a b1", "c1", "re a b1 c1"]
    assert next(m.text for m in (await held(graph))[1]) == "s"


async def test_a_branch_that_is_gone(peer: Peer) -> None:
    """Pruned: what the tab said is said again where it left the others; the answers that nobody has any more vanish."""
    graph = echo()
    one, _ = await apart(graph, peer)
    saver = graph.checkpointer
    assert isinstance(saver, InMemorySaver)
    for checkpoints in saver.storage["thread"].values():
        for id in sorted(checkpoints)[:-1]:
            del checkpoints[id]

    await one.say("c1")

    assert [text for _, text in one.said] == ["a", "re a", "b1", "c1", "re a b1 c1"]


async def test_a_trimming_graph_is_followed(peer: Peer) -> None:
    """Messages that the graph itself removed do not make another branch."""

    def answer(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(f"re {state['messages'][-1].text}")], "log": [state["messages"][-1].text]}

    graph = in_a_row({"answer": answer}, Short)
    one, two = Tab(graph, peer, name="one"), Tab(graph, peer, name="two")
    await one.say("a")
    await one.say("b")
    two.messages, two.state = one.messages, one.state
    for text in "cde":
        await one.say(text)

    await two.say("f", state={})

    assert [text for _, text in two.said] == ["e", "re e", "f", "re f"]


def last_four(left: Any, right: Any) -> Any:
    return add_messages(left, right)[-4:]  # type: ignore[index]


class Short(MessagesState):
    messages: Annotated[list[Any], last_four]  # type: ignore[misc]
    log: Annotated[list[str], operator.add]
