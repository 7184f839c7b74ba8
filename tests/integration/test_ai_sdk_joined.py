"""Pages of the AI SDK and clients of other wires that watch one run, a run that another worker goes on with, and what a
page sends back of a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    UserMessage,
)
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from tests.support.ai_sdk_graphs import (
    block,
    calls,
    json_result,
    provider,
    reasoning,
    subagent,
    text,
    two_nodes,
)
from tests.support.ai_sdk_page import Client, Page, chunks_of, client, page_of, watched, without_data
from tests.support.graphs import Graph, chat, in_a_row
from tests.support.serving import call, post, run_body, talker
from yai_nexus_agentkit import AGUIAdapter, EventEmitter, Hooks, RunContext
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, reasoning_part, text_part
from yai_nexus_agentkit.transport.ai_sdk import UIMessageStream
from yai_nexus_agentkit.transport.ai_sdk.conversation import events_of


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("build", [reasoning, calls, json_result, subagent])
async def test_a_run_of_another_wire_is_joined(ai: Client, build: Callable[[], Graph], version: int) -> None:
    """Also one whose client is old, and gets its text in chunks."""
    gate = asyncio.Event()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await gate.wait()
        return {"messages": [("ai", "The end.")]}

    graph = in_a_row({"work": build(), "wait": wait})
    page = page_of(graph, ai, version, text_chunks=True)
    page.messages = [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]
    asked = run_body("hi", thread="c1", protocolVersion=None)
    asked["messages"][0]["id"] = "u1"
    first = post(page.app, asked, "/")
    await first.until(lambda it: "TEXT_MESSAGE_CHUNK" in it.types())
    joining = asyncio.create_task(call(page.app, "GET", "/chat/c1/stream"))
    await watched(page.app)
    gate.set()
    page.take(chunks_of((await joining).body))
    await first.end()
    assert page.reply["id"] == "re-u1"
    assert "".join(part["text"] for part in page.parts if part["type"] == "text").endswith("The end.")
    if build is not subagent:
        shown = without_data((await page.reloaded()).messages)
        assert [p["type"] for p in shown[-1]["parts"]] == [p["type"] for p in without_data(page.messages)[-1]["parts"]]


async def test_an_agui_client_joins_the_run_of_a_page(ai: Client) -> None:
    page = page_of(talker(40, 0.02), ai)
    page.asked("hi")
    first = page.start()
    await first.until(lambda it: b"w3 " in it.body)
    joined = await call(page.app, "POST", "/connect", run_body(None, thread="c1"))
    assert joined.text().split() == [f"w{n}" for n in range(40)]
    await first.end()


# ---------------------------------------------------------------- another worker goes on


@pytest.mark.parametrize("version", [5, 6, 7])
def test_half_an_answer_is_taken_back_when_another_worker_goes_on(ai: Client, version: Any) -> None:
    """Its events: what was open is closed, a snapshot lacks the half, and the node speaks again."""
    user = UserMessage(id="u1", content="hi")
    asked: Any = {"state": None, "tools": [], "context": [], "forwarded_props": {}}
    stream = UIMessageStream.of(version, RunAgentInput(thread_id="c1", run_id="r1", messages=[user], **asked))
    first = AssistantMessage(id="m0", content="First.")
    events = [
        RunStartedEvent(thread_id="c1", run_id="r1"),
        *(event for m in (first, AssistantMessage(id="m1", content="Half a")) for event in events_of([m])),
        MessagesSnapshotEvent(messages=[user, first]),
        *events_of([AssistantMessage(id="m2", content="Half a word, and the rest.")]),
        RunFinishedEvent(thread_id="c1", run_id="r1"),
    ]
    chunks = [chunk for event in events for chunk in stream.feed(event)]
    shown = ai.read(version, chunks)
    texts = [part["text"] for part in shown["parts"] if part["type"] == "text"]
    whole = ["First.", "Half a word, and the rest."]
    assert texts == (whole if version == 7 else [whole[0], "Half a", whole[1]])


@pytest.mark.parametrize("version", [5, 6, 7])
async def test_a_page_that_reloads_behind_a_finished_step_has_nothing_twice(ai: Client, version: int) -> None:
    """Early clients append what they join to what they have."""
    gate = asyncio.Event()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await gate.wait()
        return {"messages": [("ai", "The end.")]}

    page = page_of(in_a_row({"work": calls(), "wait": wait}), ai, version)
    page.asked("hi")
    running = page.start()
    await running.until(lambda it: b'"name":"wait","status":"started"' in it.body)
    late = await page.reloaded()
    assert len(late.messages) == 1
    joining = asyncio.create_task(call(page.app, "GET", "/chat/c1/stream"))
    await watched(page.app)
    gate.set()
    page.take(chunks_of((await running.end()).body))
    late.messages = late.messages[:1]
    late.take(chunks_of((await joining).body))
    assert without_data(late.messages) == without_data(page.messages) == without_data((await page.reloaded()).messages)


# ---------------------------------------------------------------- events that are kept


async def test_kept_events_stand_in_the_answer_that_they_were_of(ai: Client) -> None:
    gate = asyncio.Event()
    gate.set()

    async def draw(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        EventEmitter(config).emit("chart", len(state["messages"]), keep=True)
        await gate.wait()
        return {"messages": [("ai", "Drawn.")]}

    def charts(page: Page) -> list[list[Any]]:
        answers = [message["parts"] for message in page.messages if message["role"] == "assistant"]
        return [[part["data"] for part in parts if part["type"] == "data-chart"] for parts in answers]

    page = page_of(in_a_row({"draw": draw}), ai)
    await page.say("one")
    await page.say("two")
    assert charts(page) == charts(await page.reloaded()) == [[1], [3]]
    page.asked("three")
    gate.clear()
    running = page.start()
    await running.until(lambda it: b"data-chart" in it.body)
    late = await page.reloaded()
    joining = asyncio.create_task(call(page.app, "GET", "/chat/c1/stream"))
    await watched(page.app)
    gate.set()
    page.take(chunks_of((await running.end()).body))
    late.messages = page.messages[:-1]
    late.take(chunks_of((await joining).body))
    assert charts(late) == charts(page) == [[1], [3], [5]]


# ---------------------------------------------------------------- the conversation comes back


@pytest.mark.parametrize("build", [text, reasoning, calls, json_result, provider, two_nodes])
async def test_a_page_has_what_the_thread_has(ai: Client, build: Callable[[], Graph]) -> None:
    """So no run sends it the thread: its cost does not grow with the conversation."""
    seen: list[str] = []

    def note(event: BaseEvent, run: RunContext) -> list[BaseEvent]:
        seen.append(event.type)
        return [event]

    app = create_app(AGUIAdapter(build(), hooks=Hooks(on_event=note)), ai_sdk="/chat")
    page = Page(app, ai)
    await page.say("hi")
    await page.say("again")
    assert "MESSAGES_SNAPSHOT" not in seen
    page = await page.reloaded()
    seen.clear()
    page.asked("and again", id="u9")
    await page.start().end()
    assert "MESSAGES_SNAPSHOT" not in seen, "nor after a reload"


async def test_without_a_thread_the_model_gets_back_what_its_provider_made(ai: Client) -> None:
    heard: list[Any] = []
    said = [
        reasoning_part("They greet."),
        reasoning_part(signature="c2ln"),
        text_part("Let me look.", index=1),
        block(type="server_tool_use", id="srv_1", name="web_search", input={}, index=2),
        block(type="input_json_delta", partial_json='{"query": "rome"}', index=2),
        block(type="web_search_tool_result", tool_use_id="srv_1", content=[], index=3),
        text_part("It is sunny.", index=4),
    ]

    def script(messages: list[AnyMessage]) -> list[Any]:
        heard.append(messages)
        return said if len(heard) == 1 else ["Bye."]

    page = page_of(chat(ScriptedChatModel(script=script, provider="anthropic"), checkpointer=None), ai)
    await page.say("hi")
    await page.say("again")
    [_, answer, _] = heard[-1]
    kinds = ["thinking", "text", "server_tool_use", "web_search_tool_result", "text"]
    assert [part["type"] for part in answer.content] == kinds
    assert (answer.content[0]["signature"], answer.content[2]["input"]) == ("c2ln", {"query": "rome"})
