"""Threads that are visited by many: reloaded pages, pages with half a history, several tabs; and long threads."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.support.graphs import Graph, in_a_row, tool_loop
from tests.support.histories import strict_model
from tests.support.people import EACH_PEER, Peer, Tab, held
from tests.support.serving import living, post
from tests.support.timing import drained
from yai_nexus_agentkit import AGUIAdapter
from yai_nexus_agentkit.server import ServerSettings, create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, run_input, tool_calls_part

pytestmark = EACH_PEER


class Counted(MessagesState):
    turns: Annotated[int, operator.add]


def counting(saver: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Answers with what it was asked and counts its turns."""

    def answer(state: Counted) -> dict[str, Any]:
        text = " ".join(m.text for m in state["messages"] if m.type == "human")
        return {"turns": 1, "messages": [AIMessage(f"re {text}")]}

    return in_a_row({"answer": answer}, Counted, checkpointer=saver or InMemorySaver())


def pricing() -> Graph:
    @tool
    async def price(item: str) -> str:
        """Price of an item."""
        return f"{item}: 5"

    def script(messages: list[BaseMessage]) -> Any:
        if messages[-1].type == "tool":
            return ["That is it."]
        return [
            f"{messages[-1].text}? ",
            tool_calls_part(("price", {"item": messages[-1].text}, f"call-{len(messages)}")),
        ]

    return tool_loop(strict_model(script, ids="all"), [price])


# ---------------------------------------------------------------- pages with less than the thread


@pytest.mark.parametrize("make", [counting, pricing])
async def test_a_reloaded_page_sees_the_thread(peer: Peer, make: Any) -> None:
    graph = make()
    tab = Tab(graph, peer)
    for text in "abc":
        await tab.say(text)
    page = Tab(graph, peer, name="page")
    await page.send()
    assert page.outcome == "success"
    assert page.said == tab.said
    assert page.state == tab.state
    assert "STEP_STARTED" not in page.types
    await page.say("d")
    assert page.said[: len(tab.said)] == tab.said
    assert len(page.said) > len(tab.said) + 1


@pytest.mark.parametrize("make", [counting, pricing])
async def test_a_new_message_from_a_page_that_knows_nothing(peer: Peer, make: Any) -> None:
    """It is appended; the page sees what was before."""
    graph = make()
    tab = Tab(graph, peer)
    for text in "ab":
        await tab.say(text)
    page = Tab(graph, peer, name="page")
    await page.say("c")
    assert [text for role, text in page.said if role == "user"] == ["a", "b", "c"]
    if make is counting:
        assert page.state == {"turns": 3}


@pytest.mark.parametrize("kept", [1, 2, 3, 4, 5])
async def test_a_page_that_shows_the_newest_messages_only(peer: Peer, kept: int) -> None:
    """A window is no cut."""
    graph = counting()
    tab = Tab(graph, peer)
    for text in "abc":
        await tab.say(text)
    page = Tab(graph, peer, name="page")
    page.messages, page.state = tab.messages[-kept:], tab.state
    await page.say("d")
    assert [text for role, text in page.said if role == "user"] == ["a", "b", "c", "d"]
    assert page.state == {"turns": 4}


async def test_an_edit_in_a_window(peer: Peer) -> None:
    graph = counting()
    tab = Tab(graph, peer)
    for text in "abc":
        await tab.say(text)
    page = Tab(graph, peer, name="page")
    page.messages, page.state = tab.messages[-3:], tab.state
    await page.edit(0, "x")
    assert [text for role, text in page.said if role == "user"] == ["a", "b", "x"]
    assert page.state == {"turns": 3}


@pytest.mark.parametrize("kept", [1, 2, 3])
async def test_a_page_that_shows_the_oldest_messages_only_and_says_nothing(peer: Peer, kept: int) -> None:
    """An old copy is no wish to go back, unless it ends with what the user said."""
    graph = counting()
    tab = Tab(graph, peer)
    for text in "abc":
        await tab.say(text)
    page = Tab(graph, peer, name="page")
    page.messages, page.state = tab.messages[:kept], tab.state
    await page.send()
    if page.messages and kept % 2:
        return  # the same as an answer generated again
    assert page.said == tab.said
    assert page.state == {"turns": 3}


async def test_a_cut_without_a_new_message(peer: Peer) -> None:
    """Nothing runs, and nothing is lost: the cut counts when something is said."""
    graph = counting()
    tab = Tab(graph, peer)
    for text in "abc":
        await tab.say(text)
    before = tab.said
    tab.cut(1)
    await tab.send()
    assert "STEP_STARTED" not in tab.types
    assert tab.said == before
    tab.cut(1)
    await tab.say("x")
    assert [text for role, text in tab.said if role == "user"] == ["a", "x"]
    assert tab.state == {"turns": 2}


async def test_a_page_without_the_answers(peer: Peer) -> None:
    """Only the user's own messages: what is missing comes back, nothing is asked again."""
    graph = pricing()
    tab = Tab(graph, peer)
    await tab.say("a")
    await tab.say("b")
    page = Tab(graph, peer, name="page")
    page.messages = [m for m in tab.messages if m["role"] == "user"]
    await page.say("c")
    assert [text for role, text in page.said if role == "user"] == ["a", "b", "c"]
    assert len(page.said) == 12


async def test_messages_that_the_thread_never_had(peer: Peer) -> None:
    """An assistant's message that only the page has (half an aborted answer) is not stored, and goes. A new thread
    begins with all that the page shows, a greeting for example."""
    graph = counting()
    tab = Tab(graph, peer)
    tab.messages = [{"id": "greeting", "role": "assistant", "content": "Hello!"}]
    await tab.say("a")
    assert tab.said == [("assistant", "Hello!"), ("user", "a"), ("assistant", "re a")]
    half = {"id": "half", "role": "assistant", "content": "I was about to"}
    await tab.send([*tab.messages, half, {"id": "u2", "role": "user", "content": "b"}])
    assert [text for _, text in tab.said] == ["Hello!", "a", "re a", "b", "re a b"]


@pytest.mark.parametrize("role", ["system", "developer"])
async def test_a_changed_system_message(peer: Peer, role: str) -> None:
    """It is replaced, and nothing runs again for it."""
    graph = counting()
    tab = Tab(graph, peer)
    tab.messages = [{"id": "sys", "role": role, "content": "be kind"}]
    await tab.say("a")
    changed = [{**m, "content": "be brief"} if m["id"] == "sys" else m for m in tab.messages]
    await tab.send([*changed, {"id": "u2", "role": "user", "content": "b"}])
    assert tab.state == {"turns": 2}
    _, messages = await held(graph)
    assert [m.text for m in messages] == ["be brief", "a", "re a", "b", "re a b"]


async def test_the_same_request_twice(peer: Peer) -> None:
    """A proxy repeats it: the second one is an answer generated again, never a second copy of the message."""
    graph = counting()
    tab = Tab(graph, peer)
    await tab.say("a")
    asked = [m for m in tab.messages if m["role"] == "user"]
    await tab.send(asked)
    assert [role for role, _ in tab.said] == ["user", "assistant"]
    assert tab.state == {"turns": 1}


# ---------------------------------------------------------------- several tabs


async def test_tabs_that_diverge(peer: Peer) -> None:
    """Each shows a whole conversation of its own after its turn: never a mixture."""
    graph = counting()
    one, two = Tab(graph, peer, name="one"), Tab(graph, peer, name="two")
    await one.say("a")
    two.messages, two.state = one.messages, one.state
    await one.say("b")
    await two.say("c")
    assert two.said == [("user", "a"), ("assistant", "re a"), ("user", "c"), ("assistant", "re a c")]
    assert two.state == {"turns": 2}
    await one.say("d")
    texts = [text for role, text in one.said if role == "user"]
    assert texts == ["a", "b", "d"]
    assert one.said[-1] == ("assistant", "re a b d")
    await two.say("e")
    assert [text for role, text in two.said if role == "user"] == ["a", "c", "e"]
    assert two.said[-1] == ("assistant", "re a c e")


async def test_a_tab_that_is_behind_follows(peer: Peer) -> None:
    graph = counting()
    one, two = Tab(graph, peer, name="one"), Tab(graph, peer, name="two")
    await one.say("a")
    await two.send()
    await one.say("b")
    await two.send(state={})  # the state that it shows would be sent back as the user's wish
    assert two.said == one.said
    await two.say("c")
    await one.send(state={})
    assert one.said == two.said
    assert one.state == {"turns": 3}


async def test_a_question_that_two_tabs_see(peer: Peer) -> None:
    def ask(state: Counted) -> dict[str, Any]:
        return {"turns": 1, "messages": [AIMessage(f"heard {interrupt('Go?')}", id=f"t-{len(state['messages'])}")]}

    graph = in_a_row({"ask": ask}, Counted)
    one, two = Tab(graph, peer, name="one"), Tab(graph, peer, name="two")
    await one.say("a")
    await two.send()
    assert two.questions == one.questions
    await one.answer("yes")
    await two.answer("no", state={})
    assert two.outcome == "success"
    assert two.said == one.said == [("user", "a"), ("assistant", "heard yes")]
    assert two.state == {"turns": 1}


async def test_tabs_that_speak_at_the_same_time(peer: Peer) -> None:
    """A server lets one run of a thread go at a time: the other is refused, and comes through when it tries again."""
    model = ScriptedChatModel(script=lambda messages: [f"re {len(messages)}"], pause=0.3)

    async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    graph = in_a_row({"answer": answer})
    settings = ServerSettings(ending_wait=0, thread_key=lambda agent, user, thread: thread)
    app = create_app(AGUIAdapter(graph), settings=settings)

    def body(text: str, run: str, *before: Any) -> dict[str, Any]:
        message = {"id": f"u-{text}", "role": "user", "content": text}
        given = run_input([*before, message], thread_id="t", run_id=run, protocol_version=peer.version)
        return dict(given.model_dump(mode="json", by_alias=True, exclude_none=True))

    async with living(app):
        first = post(app, body("a", "r-a"))
        await first.until(lambda it: b"STEP_STARTED" in it.body)
        refused = await post(app, body("b", "r-b")).end()
        assert (refused.status, refused.error) == (409, "THREAD_BUSY")
        await first.end()
        again = await post(app, body("b", "r-again")).end()
    assert again.types()[-1] == "RUN_FINISHED"
    _, messages = await held(graph, "t")
    assert [m.type for m in messages] == ["human", "ai", "human", "ai"]


# ---------------------------------------------------------------- long threads


LONG = 150
"""Turns. Each leaves three checkpoints: of its input, before its node, and after it."""


async def test_going_back_in_a_thread_of_450_checkpoints(peer: Peer, saver: BaseCheckpointSaver[Any]) -> None:
    """Compared with a turn that does not go back, in processor time: the machine may be busy with other things."""
    if peer.version is None:
        return
    graph = counting(saver)
    adapter = AGUIAdapter(graph)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}

    async def run(*messages: dict[str, Any]) -> None:
        async for _ in adapter.run(run_input(messages, thread_id="t")):
            pass

    async def timed(*messages: dict[str, Any]) -> float:
        return await drained(adapter.run(run_input(messages, thread_id="t")))

    def said(text: str) -> dict[str, Any]:
        return {"id": f"u-{text}", "role": "user", "content": text}

    for number in range(LONG):
        await run(said(str(number)))
    assert len([None async for _ in saver.alist(config)]) == 3 * LONG
    held_messages = (await held(graph, "t"))[1]
    shown: list[dict[str, Any]] = [
        {"id": m.id, "role": "user" if m.type == "human" else "assistant", "content": m.text} for m in held_messages
    ]

    plain = [await timed(*shown, said(f"plain-{n}")) for n in range(3)][-1]
    costs = {}
    for back in (1, 10, LONG - 1):
        position = 2 * (LONG - back)
        edited = {**shown[position], "content": f"edited {back}"}
        costs[back] = await timed(*shown[:position], edited)
        _, messages = await held(graph, "t")
        assert [m.text for m in messages if m.type == "human"][-1] == f"edited {back}"
        # back to the long branch: the abandoned one is found by its id just the same
        shown_again = [*shown[:position], {**shown[position]}]
        costs[-back] = await timed(*shown_again)
    assert max(costs.values()) - plain < 0.15, costs


async def test_an_old_message_of_a_long_thread_made_elsewhere(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    """Without our metadata only the newest checkpoints are looked at: an older message is cut off at the head."""
    graph = counting()
    config: RunnableConfig = {"configurable": {"thread_id": "thread"}}
    for number in range(40):
        await graph.ainvoke({"messages": [HumanMessage(str(number), id=f"u-{number}")]}, config)
    tab = Tab(graph, peer)
    await tab.send()
    await tab.edit(35, "near")
    assert tab.state == {"turns": 36}
    assert not caplog.records
    await tab.edit(2, "far")
    assert [text for role, text in tab.said if role == "user"] == ["0", "1", "far"]
    assert any("no checkpoint before message" in record.getMessage() for record in caplog.records)
