"""Pages of the AI SDK and clients of other wires that watch one run, and a run that another worker goes on with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    UserMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from tests.support.ai_sdk_graphs import calls, json_result, reasoning, subagent
from tests.support.ai_sdk_page import Client, Page, chunks_of, client, page_of, without_data
from tests.support.graphs import Graph, in_a_row
from tests.support.serving import call, post, run_body, talker
from yai_nexus_agentkit import EventEmitter
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
    await asyncio.sleep(0.05)
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
    await asyncio.sleep(0.05)
    gate.set()
    page.take(chunks_of((await running.end()).body))
    late.messages = page.messages[:-1]
    late.take(chunks_of((await joining).body))
    assert charts(late) == charts(page) == [[1], [3], [5]]
