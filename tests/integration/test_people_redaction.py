"""People whose client is shown a redacted conversation: what it sends back as it was shown is no edit, and no loss."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, Message, UserMessage
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.graphs import Graph
from tests.support.people import EACH_PEER, Peer, Tab, held
from yai_nexus_agentkit.adapter.run_context import Hooks
from yai_nexus_agentkit.testing import ScriptedChatModel

pytestmark = EACH_PEER

Redact = Callable[[list[Message]], list[Message]]


def mask(messages: list[Message]) -> list[Message]:
    """Digits, in texts and in parts."""
    for message in messages:
        if isinstance(message.content, str):
            message.content = re.sub(r"\d", "*", message.content)
        for part in message.content if isinstance(message.content, list) else ():
            if part.type == "text":
                part.text = re.sub(r"\d", "*", part.text)
    return messages


def without(*roles: str) -> Redact:
    return lambda messages: [m for m in messages if m.role not in roles]


def without_the_newest(messages: list[Message]) -> list[Message]:
    """Of the user's messages."""
    newest = next((m.id for m in reversed(messages) if m.role == "user"), None)
    return [m for m in messages if m.id != newest]


def with_more(messages: list[Message]) -> list[Message]:
    """Messages that no thread holds, of roles that a client could have added."""
    greeting = AssistantMessage(id="greeting", content="Welcome!")
    note, end = (UserMessage(id=id, content=f"({id})") for id in ("note", "end"))
    return [greeting, *messages[:1], note, *messages[1:], end]


REDACTIONS: dict[str, Redact] = {
    "masked": mask,
    "without users": without("user"),
    "without answers": without("assistant"),
    "without instructions": without("system", "developer"),
    "without the newest": without_the_newest,
    "with more": with_more,
    "masked with more": lambda messages: with_more(mask(messages)),
}


class State(MessagesState):
    turns: Annotated[int, operator.add]


class Talk:
    """A graph whose model keeps what it was given, on a thread that a page without redaction has spoken on."""

    def __init__(self, peer: Peer, redact: Redact) -> None:
        self.peer, self.redact, self.calls = peer, redact, 0
        self.given: list[str] = []
        self.model = ScriptedChatModel(script=self._answer, ids="all")
        graph = StateGraph(State).add_node("chat", self._chat).add_edge(START, "chat")
        self.graph: Graph = graph.compile(checkpointer=InMemorySaver())

    def _answer(self, messages: list[BaseMessage]) -> list[str]:
        self.given = [m.text for m in messages]
        return [f"answer {len(messages)}"]

    async def _chat(self, state: State) -> dict[str, Any]:
        return {"messages": [await self.model.ainvoke(state["messages"])], "turns": 1}

    def tab(self, name: str) -> Tab:
        return Tab(self.graph, self.peer, hooks=Hooks(on_messages=self._hook), name=name)

    def _hook(self, messages: list[Message], run: Any) -> list[Message]:
        self.calls += 1
        return self.redact(messages)

    async def begun(self) -> Tab:
        tab = self.tab("first")
        system = {"id": "system", "role": "system", "content": "You are number 1."}
        user = {"id": "first-0", "role": "user", "content": "my card is 1234"}
        await tab.send([system, user], in_step=False)
        await tab.say([{"type": "text", "text": "and 5678"}], in_step=False)
        await tab.say("third", in_step=False)
        return tab

    async def reloaded(self) -> Tab:
        """A page that knows nothing but what it is shown."""
        tab = self.tab("second")
        await tab.send([], in_step=False, state=None)
        return tab

    async def check(self, tab: Tab, *, turns: int, last: str) -> None:
        """The thread has all that was said, as it was said."""
        state, messages = await held(self.graph)
        said = ["You are number 1.", "my card is 1234", "and 5678", "third", last]
        assert [m.text for m in messages if m.type != "ai"] == said[: turns + 1]
        assert [m.text for m in messages if m.type == "ai"] == [f"answer {2 * n + 2}" for n in range(turns)]
        assert (state["turns"], self.given) == (turns, [m.text for m in messages[:-1]])


@pytest.fixture(params=REDACTIONS)
def talk(request: pytest.FixtureRequest, peer: Peer) -> Talk:
    return Talk(peer, REDACTIONS[request.param])


async def test_a_new_message(talk: Talk) -> None:
    await talk.begun()
    tab = await talk.reloaded()
    talk.calls = 0

    await tab.say("fourth", in_step=False)

    await talk.check(tab, turns=4, last="fourth")
    assert "MESSAGES_SNAPSHOT" not in tab.types
    assert talk.calls == 1
    if talk.redact is not without_the_newest:  # else that one is shown from now on
        await tab.say("fifth", in_step=False)
        assert "MESSAGES_SNAPSHOT" not in tab.types


async def test_a_page_that_was_there_all_the_time(talk: Talk) -> None:
    tab = await talk.begun()

    await tab.say("fourth", in_step=False)

    await talk.check(tab, turns=4, last="fourth")
    assert "MESSAGES_SNAPSHOT" not in tab.types


async def test_a_visit(talk: Talk) -> None:
    await talk.begun()
    tab = await talk.reloaded()
    before = tab.messages

    await tab.send(in_step=False)

    await talk.check(tab, turns=3, last="")
    assert tab.messages == before


@pytest.mark.parametrize("redacted", ["masked", "without answers", "without instructions", "with more"])
async def test_the_last_answer_is_generated_again(peer: Peer, redacted: str) -> None:
    talk = Talk(peer, REDACTIONS[redacted])
    await talk.begun()
    tab = await talk.reloaded()
    last = next(n for n, m in enumerate(tab.messages) if m["content"] == "third")

    await tab.send(tab.messages[: last + 1], in_step=False)

    await talk.check(tab, turns=3, last="")


async def test_a_message_that_is_redacted_is_sent_again(peer: Peer) -> None:
    talk = Talk(peer, mask)
    await talk.begun()
    tab = await talk.reloaded()

    await tab.regenerate(1, in_step=False)

    await talk.check(tab, turns=2, last="")
    assert [m["content"] for m in tab.messages if m["role"] == "assistant"] == ["answer *", "answer *"]


async def test_an_edit_is_one_all_the_same(peer: Peer) -> None:
    talk = Talk(peer, mask)
    await talk.begun()
    tab = await talk.reloaded()

    await tab.edit(1, "and 9", in_step=False)

    _, messages = await held(talk.graph)
    assert [m.text for m in messages] == ["You are number 1.", "my card is 1234", "answer 2", "and 9", "answer 4"]


async def test_hidden_results_answer_their_calls(peer: Peer) -> None:
    """A call is not open because its result is hidden from the client."""
    from tests.integration.test_people_history import Diary

    diary = Diary(memory=False)
    tab = Tab(diary.graph, peer, hooks=Hooks(on_messages=lambda messages, run: without("tool")(messages)))
    await tab.say("price tea", in_step=False)
    page = Tab(diary.graph, peer, hooks=Hooks(on_messages=lambda messages, run: without("tool")(messages)), name="page")
    await page.send([], in_step=False, state=None)

    await page.say("more", in_step=False)

    _, messages = await held(diary.graph)
    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "human", "ai"]
