"""A page of the AI SDK that is reloaded shows what it showed: questions that were answered, an answer that is being
written, a request that has the last message only."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import MessagesState
from langgraph.types import interrupt

from tests.integration.test_ai_sdk_pages import errands, middleware_agent, said
from tests.support.ai_sdk_page import Client, Page, chunks_of, client, page_of, watched, without_data
from tests.support.graphs import Graph, chat_node, in_a_row
from tests.support.serving import Exchange, call, post, run_body
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


async def as_after_a_reload(page: Page) -> Page:
    """The page as it is after a reload. Fails if that shows another chat."""
    again = await page.reloaded()
    assert without_data(again.messages) == without_data(page.messages)
    assert page.version in page.client.generations([again.messages])[0]
    return again


# ---------------------------------------------------------------- questions


def asking(*questions: str, said: bool = True, first: bool = False) -> Graph:
    """A node that asks, behind one that talks; with `first` there is none."""

    def ask(state: MessagesState) -> dict[str, Any]:
        answers = [interrupt({"question": question}) for question in questions]
        return {"messages": [("ai", f"Noted: {answers}.")] if said else []}

    talking = ScriptedChatModel(script=lambda messages: f"Let me ask ({len(messages)}).")
    return in_a_row({**({} if first else {"plan": chat_node(talking)}), "ask": ask})


def asking_inside() -> Graph:
    inner: Any = asking("Inside?")
    inner.checkpointer = None
    return in_a_row({"inner": inner})


QUESTIONS: dict[str, Callable[[], Graph]] = {
    "one": lambda: asking("Which city?"),
    "two in one node": lambda: asking("Which city?", "Which day?"),
    "before anything was said": lambda: asking("Which city?", first=True),
    "and nothing behind it": lambda: asking("Which city?", "Which day?", said=False),
    "in a subgraph": asking_inside,
}


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("build", QUESTIONS.values(), ids=QUESTIONS)
async def test_answered_questions_stay_in_the_chat(ai: Client, build: Callable[[], Graph], version: int) -> None:
    page = page_of(build(), ai, version)
    for turn in ("go", "go on"):
        await page.say(turn)
        while page.chunks[-1]["finishReason"] == "tool-calls":
            page = await as_after_a_reload(page)
            page.output({"city": "Rome"})
            await page.send()
        page = await as_after_a_reload(page)
    await page.say("no more")
    page.output(error="I will not say")
    await page.send()
    if page.chunks[-1]["finishReason"] != "tool-calls":
        await as_after_a_reload(page)
    await page.regenerate()
    page.output("Oslo")
    await page.send()
    if page.chunks[-1]["finishReason"] != "tool-calls":
        await as_after_a_reload(page)


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("word", ["approve", "approve two"])
async def test_answered_approvals_stay_in_the_chat(ai: Client, word: str, version: int) -> None:
    page = errands(ai, version)
    await page.say(word)
    if version == 5:
        for part in [part for part in page.parts if part.get("toolCallId", "").startswith("question:")]:
            part |= {"state": "output-available", "output": {"approved": False, "reason": "too much"}}
    else:
        page.approve(word == "approve")
        if word != "approve":
            page.approve(False, "too much")
    await page.send()
    page = await as_after_a_reload(page)
    await page.say("hello")
    await as_after_a_reload(page)


@pytest.mark.parametrize("version", [6, 7])
async def test_the_decisions_for_langchains_middleware_stay_in_the_chat(ai: Client, version: int) -> None:
    page = page_of(middleware_agent(), ai, version)
    await page.say("pay")
    page.approve()
    page.approve(False, "not this one")
    await page.send()
    await as_after_a_reload(page)


async def test_a_question_that_an_agui_client_answered_is_in_the_chat(ai: Client) -> None:
    page = page_of(asking("Which city?"), ai)
    await page.say("go")
    asked = page.part("input-available")["toolCallId"].removeprefix("question:")
    body = {"threadId": "c1", "runId": "r2", "messages": [], "tools": [], "context": [], "protocolVersion": "1.0"}
    resume = [{"interruptId": asked, "status": "resolved", "payload": "Rome"}]
    await call(page.app, "POST", "/", {**body, "resume": resume})
    again = await page.reloaded()
    assert [part.get("output", part.get("text")) for part in again.parts if part["type"] != "step-start"] == [
        "Let me ask (1).",
        "Rome",
        "Noted: ['Rome'].",
    ]
    refused = await call(page.app, "POST", "/", {**body, "runId": "r3", "resume": [{**resume[0], "payload": "Oslo"}]})
    assert refused.status == 409, refused.body
    assert (await page.reloaded()).messages == again.messages


@pytest.mark.parametrize("behind", [False, True], ids=["before the text", "behind the text"])
@pytest.mark.parametrize("again", [False, True], ids=["not shown again", "shown again"])
async def test_an_answer_that_is_made_anew_takes_its_charts_along(ai: Client, behind: bool, again: bool) -> None:
    drawn: list[str] = []

    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await ScriptedChatModel(script=["Look."]).ainvoke("")]}

    async def draw(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        drawn.append(f"chart {len(drawn)} of {state['messages'][-1].type}")
        if again or len(drawn) != 3:
            EventEmitter(config).emit("chart", drawn[-1], keep=True)
        return {}

    def charts(page: Page) -> list[Any]:
        return [part["data"] for one in page.messages for part in one["parts"] if part["type"] == "data-chart"]

    nodes = {"talk": talk, "draw": draw}
    page = page_of(in_a_row(nodes if behind else dict(reversed(nodes.items()))), ai)
    await page.say("one")
    await page.say("two")
    await page.regenerate()
    assert charts(await page.reloaded()) == charts(page)
    assert len(charts(page)) == 1 + again
    await page.say("three")
    assert charts(await page.reloaded()) == charts(page)


# ---------------------------------------------------------------- in the middle of a run


class Slow:
    """A chat whose answers stop in the middle until the gate opens; with `question` behind a question."""

    def __init__(self, ai: Client, version: int = 6, *, question: bool = False) -> None:
        self.gate = asyncio.Event()

        async def speak(state: MessagesState) -> dict[str, Any]:
            asked = state["messages"][-2 if question else -1].text
            return {"messages": [await ScriptedChatModel(script=[[f"On {asked}: ", "w1 ", "w2."]]).ainvoke("")]}

        async def wait(state: MessagesState) -> dict[str, Any]:
            await self.gate.wait()
            return {"messages": [("ai", "The end.")]}

        async def ask(state: MessagesState) -> dict[str, Any]:
            return {"messages": [("ai", f"Asked: {interrupt('Which city?')}.")]}

        nodes = {"speak": speak, "stream": talker_node(self.gate), "wait": wait}
        self.page = page_of(in_a_row({"ask": ask, **nodes} if question else nodes), ai, version)

    async def half(self, **body: Any) -> tuple[Any, Page]:
        """Send what there is. The exchange, in its middle; the page as it is after a reload."""
        self.gate.clear()
        running = self.page.start(**body)
        await running.until(lambda it: b"half " in it.body)
        late = await self.page.reloaded()
        assert self.page.version in self.page.client.generations([late.messages])[0]
        return running, late

    async def whole(self, running: Any, late: Page, *, ended: bool = False) -> None:
        """The end of the answer, which the page joins before it, or with `ended` behind it. Fails if the pages do not
        have the same chat, and the thread too."""
        joining = None if ended else asyncio.create_task(self.joined())
        if joining is not None:
            await watched(self.page.app)
        self.gate.set()
        self.page.take(chunks_of((await running.end()).body))
        late.take(chunks_of((await (joining or self.joined())).body))
        assert without_data(late.messages) == without_data(self.page.messages)
        await as_after_a_reload(self.page)
        assert (await self.joined()).status == 204

    async def joined(self) -> Exchange:
        """The stream that a page joins."""
        return await call(self.page.app, "GET", "/chat/c1/stream")


def talker_node(gate: asyncio.Event) -> Any:
    """A node whose model stops in the middle of its answer."""

    class Halting(ScriptedChatModel):
        async def _astream(self, *given: Any, **more: Any) -> Any:
            async for chunk in super()._astream(*given, **more):
                yield chunk
                if chunk.text == "half ":
                    await gate.wait()

    return chat_node(Halting(script=lambda messages: [reasoning_part("Hm."), "half ", "an answer."]))


@pytest.mark.parametrize("ended", [False, True], ids=["joins the run", "comes when it has ended"])
@pytest.mark.parametrize("version", [5, 6, 7])
async def test_a_reload_in_the_middle_shows_the_answer_once(ai: Client, version: int, ended: bool) -> None:
    """Early clients append what they join to what they have: the chat comes without the answer that is written."""
    slow = Slow(ai, version)
    for turn in ("one", "two"):
        slow.page.asked(turn)
        before = without_data(slow.page.messages)
        running, late = await slow.half()
        assert without_data(late.messages) == before
        await slow.whole(running, late, ended=ended)


async def test_a_reload_while_the_first_message_waits(ai: Client) -> None:
    gate = asyncio.Event()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await gate.wait()
        return {"messages": [("ai", "Done.")]}

    page = page_of(in_a_row({"wait": wait}), ai)
    page.asked("hi")
    running = page.start()
    await running.until(lambda it: b'"type":"start"' in it.body)
    assert (await page.reloaded()).messages == page.messages
    gate.set()
    page.take(chunks_of((await running.end()).body))
    await as_after_a_reload(page)


@pytest.mark.parametrize("how", ["anew", "edited", "the last message only"])
async def test_a_reload_while_an_older_answer_is_made(ai: Client, how: str) -> None:
    slow = Slow(ai)
    slow.gate.set()
    for turn in ("one", "two"):
        await slow.page.say(turn)
    before = copy.deepcopy(slow.page.messages)
    if how == "the last message only":
        slow.page.asked("three")
        shown, slow.page.messages = copy.deepcopy(slow.page.messages), slow.page.messages[-1:]
        running, late = await slow.half()
        slow.page.messages = shown
    else:
        kept = 2 if how == "anew" else 0
        slow.page.messages = shown = before[: kept + 1]
        if how == "edited":
            shown[0]["parts"] = [{"type": "text", "text": "one, or two"}]
        running, late = await slow.half(trigger="regenerate-message")
    assert without_data(late.messages) == without_data(shown)
    await slow.whole(running, late)


@pytest.mark.parametrize("only", [False, True], ids=["the whole chat", "the last message"])
@pytest.mark.parametrize("ended", [False, True], ids=["joins the run", "comes when it has ended"])
@pytest.mark.parametrize("version", [5, 6, 7])
async def test_a_reload_while_an_answered_question_goes_on(ai: Client, version: int, ended: bool, only: bool) -> None:
    slow = Slow(ai, version, question=True)
    for turn in ("one", "two"):
        slow.gate.set()
        await slow.page.say(turn)
        slow.page.output("Rome")
        shown = slow.page.messages
        slow.page.messages = shown[-1:] if only else shown
        running, late = await slow.half()
        slow.page.messages = shown
        assert without_data(late.messages) == without_data(shown[:-1])
        await slow.whole(running, late, ended=ended)
        assert late.part("output-available")["output"] == "Rome"
        assert said(late) == f"Asked: Rome.On {turn}: w1 w2.half an answer.The end."


@pytest.mark.parametrize("version", [6, 7])
async def test_a_reload_while_an_approved_call_runs(ai: Client, version: int) -> None:
    gate = asyncio.Event()

    @tool
    async def pay(amount: int) -> str:
        """Pays."""
        await gate.wait()
        return f"paid {amount}"

    page = page_of(middleware_agent(pay), ai, version)
    await page.say("pay")
    page.approve()
    page.approve(False, "not this one")
    running = page.start()
    await running.until(lambda it: b"data-step" in it.body)
    late = await page.reloaded()
    assert len(late.messages) == 1
    joining = asyncio.create_task(call(page.app, "GET", "/chat/c1/stream"))
    await watched(page.app)
    gate.set()
    page.take(chunks_of((await running.end()).body))
    late.take(chunks_of((await joining).body))
    if version == 7:  # 6 cannot be sent what the user said to the approvals: a denied call is an error until a reload
        assert without_data(late.messages) == without_data(page.messages)
    assert said(late) == said(page)
    await as_after_a_reload(page)


async def test_a_reload_while_an_agui_client_is_answered(ai: Client) -> None:
    slow = Slow(ai)
    running = post(slow.page.app, run_body("hi", thread="c1"), "/")
    await running.until(lambda it: b"half " in it.body)
    late = await slow.page.reloaded()
    assert [one["role"] for one in late.messages] == ["user"]
    slow.gate.set()
    await running.end()
    late.take(chunks_of((await slow.joined()).body))
    assert said(late) == "On hi: w1 w2.half an answer.The end."


async def test_what_nobody_loaded_in_the_middle_is_not_joined_at_the_end(ai: Client) -> None:
    slow = Slow(ai)
    slow.gate.set()
    await slow.page.say("one")
    assert (await slow.joined()).status == 204
    slow.page.asked("two")
    running, _ = await slow.half()
    slow.gate.set()
    slow.page.take(chunks_of((await running.end()).body))
    await slow.page.say("three")
    assert (await slow.joined()).status == 204, "the page that loaded the chat before has no place for it"
