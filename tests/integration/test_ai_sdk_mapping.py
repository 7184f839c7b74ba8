# ruff: noqa: E501
"""A run as a page of the AI SDK gets it: every row of the mapping, by real graphs, read by the client's own code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.support.ai_sdk_graphs import (
    broken_arguments,
    calls,
    disordered,
    ends_with_a_tool,
    failing,
    failing_tool,
    json_result,
    named_late,
    named_late_with_calls,
    provider,
    reasoning,
    resumed,
    subagent,
    text,
    two_nodes,
    unseen,
    values,
    written_anew,
)
from tests.support.ai_sdk_page import Client, Page, brief, client, page_of, without_data
from tests.support.graphs import Graph, chat_node, in_a_row, scripted
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.protocol.request import RequestLimits
from yai_nexus_agentkit.transport.ai_sdk.request import read_request


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


ROWS: dict[Callable[[], Graph], Any] = {
    text: snapshot(
        [
            "start",
            'data-step data={"name": "chat", "status": "started"} transient=true',
            "start-step",
            "text-start",
            "text-delta Hello  + there.",
            "text-end",
            'data-step data={"name": "chat", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    reasoning: snapshot(
        [
            "start",
            'data-step data={"name": "chat", "status": "started"} transient=true',
            "start-step",
            "reasoning-start",
            "reasoning-delta They  + greet.",
            "reasoning-end",
            "text-start",
            "text-delta Hello!",
            "text-end",
            'data-step data={"name": "chat", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    resumed: snapshot(
        [
            "start",
            'data-step data={"name": "chat", "status": "started"} transient=true',
            "start-step",
            "reasoning-start",
            "reasoning-delta Hm. ",
            "reasoning-end",
            "text-start",
            "text-delta Hel",
            "reasoning-start",
            "reasoning-delta Well. ",
            "reasoning-end",
            "text-delta lo.",
            "reasoning-start",
            "reasoning-delta Done.",
            "reasoning-end",
            "text-end",
            'data-step data={"name": "chat", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    calls: snapshot(
        [
            "start",
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "start-step",
            'tool-input-start toolName="weather"',
            'tool-input-delta {"city": "Rome"}',
            'tool-input-start toolName="weather"',
            'tool-input-delta {"city": "Oslo"}',
            'tool-input-available toolName="weather" input={"city": "Rome"}',
            'tool-input-available toolName="weather" input={"city": "Oslo"}',
            'data-step data={"name": "agent", "status": "done"} transient=true',
            'data-step data={"name": "tools", "status": "started"} transient=true',
            'tool-output-available output="sun in Rome"',
            'tool-output-available output="sun in Oslo"',
            'data-step data={"name": "tools", "status": "done"} transient=true',
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Sunny.",
            "text-end",
            'data-step data={"name": "agent", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    disordered: snapshot(
        [
            "start",
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "start-step",
            'tool-input-start toolName="nobody"',
            "tool-input-delta {}",
            'tool-input-start toolName="weather"',
            'tool-input-delta {"city": "Rome"}',
            'tool-input-available toolName="nobody" input={}',
            'tool-input-available toolName="weather" input={"city": "Rome"}',
            'data-step data={"name": "agent", "status": "done"} transient=true',
            'data-step data={"name": "tools", "status": "started"} transient=true',
            'tool-output-available output="sun in Rome"',
            'tool-output-error errorText="Error: nobody is not a valid tool, try one of [weather]."',
            'data-step data={"name": "tools", "status": "done"} transient=true',
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "reasoning-start",
            "reasoning-delta Well, ",
            "reasoning-end",
            "text-start",
            "text-delta half.",
            "text-end",
            'data-step data={"name": "agent", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    json_result: snapshot(
        [
            "start",
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "start-step",
            'tool-input-start toolName="found"',
            'tool-input-delta {"q": +  "x"}',
            'tool-input-available toolName="found" input={"q": "x"}',
            'data-step data={"name": "agent", "status": "done"} transient=true',
            'data-step data={"name": "tools", "status": "started"} transient=true',
            'tool-output-available output={"q": "x", "hits": [1, null]}',
            'data-step data={"name": "tools", "status": "done"} transient=true',
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Done.",
            "text-end",
            'data-step data={"name": "agent", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    failing_tool: snapshot(
        [
            "start",
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "start-step",
            'tool-input-start toolName="risky"',
            'tool-input-delta {"n" + : 1}',
            'tool-input-available toolName="risky" input={"n": 1}',
            'data-step data={"name": "agent", "status": "done"} transient=true',
            'data-step data={"name": "tools", "status": "started"} transient=true',
            "tool-output-error errorText=\"Error: ValueError('kaboom 42')\\n Please fix your mistakes.\"",
            'data-step data={"name": "tools", "status": "done"} transient=true',
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Oh.",
            "text-end",
            'data-step data={"name": "agent", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    broken_arguments: snapshot(
        [
            "start",
            'data-step data={"name": "chat", "status": "started"} transient=true',
            "start-step",
            "text-start",
            "text-delta Look: ",
            'tool-input-start toolName="weather"',
            'tool-input-delta {"city": "Ro',
            'tool-input-error toolName="weather" input="{\\"city\\": \\"Ro" errorText="the arguments are not JSON"',
            "text-end",
            'data-step data={"name": "chat", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="tool-calls"',
        ]
    ),
    two_nodes: snapshot(
        [
            "start",
            'data-step data={"name": "first", "status": "started"} transient=true',
            "start-step",
            "text-start",
            "text-delta One.",
            "text-end",
            'data-step data={"name": "first", "status": "done"} transient=true',
            'data-step data={"name": "second", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Two.",
            "text-end",
            'data-step data={"name": "second", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    values: snapshot(
        [
            "start",
            'data-step data={"name": "first", "status": "started"} transient=true',
            'data-note data={"at": 1} transient=true',
            "data-chart data=[1, 2]",
            'data-step data={"name": "first", "status": "done"} transient=true',
            'data-state data={"n": 1, "notes": ["a"]}',
            'data-step data={"name": "second", "status": "started"} transient=true',
            'data-activity-plan data={"steps": ["a"]}',
            'data-activity-plan data={"steps": ["a", "b"]}',
            "start-step",
            "text-start",
            "text-delta Noted.",
            "text-end",
            'data-step data={"name": "second", "status": "done"} transient=true',
            'data-state data={"n": 2, "notes": ["a"]}',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    provider: snapshot(
        [
            "start",
            'data-step data={"name": "chat", "status": "started"} transient=true',
            "start-step",
            "text-start",
            "text-delta Let me look.",
            'tool-input-start toolName="web_search" providerExecuted=true',
            'tool-input-delta {"query": "rome"}',
            'tool-input-available toolName="web_search" input={"query": "rome"} providerExecuted=true',
            'tool-output-available output=[{"type": "web_search_result", "url": "https://w.example/", "title": "Weather"}] providerExecuted=true',
            """\
text-delta \n\

It is sunny.\
""",
            'file url="data:image/png;base64,aGVsbG8=" mediaType="image/png"',
            "text-end",
            'source-url url="https://w.example/" title="Weather"',
            'data-step data={"name": "chat", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    subagent: snapshot(
        [
            "start",
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "start-step",
            'tool-input-start toolName="consult"',
            'tool-input-delta {"question + ": "why?"}',
            'tool-input-available toolName="consult" input={"question": "why?"}',
            'data-step data={"name": "agent", "status": "done"} transient=true',
            'data-step data={"name": "tools", "status": "started"} transient=true',
            'data-subagent data={"id": "ID", "name": "expert", "parentToolCallId": "call_1", "status": "running"}',
            'data-step data={"name": "tools/chat", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta It  + rains.",
            "text-end",
            'data-step data={"name": "tools/chat", "status": "done"} transient=true',
            'data-subagent data={"id": "ID", "name": "expert", "parentToolCallId": "call_1", "status": "finished"}',
            'tool-output-available output="It rains."',
            'data-step data={"name": "tools", "status": "done"} transient=true',
            'data-step data={"name": "agent", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Done.",
            "text-end",
            'data-step data={"name": "agent", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    unseen: snapshot(
        [
            "start",
            'data-step data={"name": "quiet", "status": "started"} transient=true',
            'data-step data={"name": "quiet", "status": "done"} transient=true',
            "start-step",
            "text-start",
            "text-delta Aside.",
            "text-end",
            'data-step data={"name": "loud", "status": "started"} transient=true',
            "finish-step",
            "start-step",
            "text-start",
            "text-delta Aloud.",
            "text-end",
            'data-step data={"name": "loud", "status": "done"} transient=true',
            "finish-step",
            'finish finishReason="stop"',
        ]
    ),
    failing: snapshot(
        [
            "start",
            'data-step data={"name": "chat", "status": "started"} transient=true',
            "start-step",
            "text-start",
            "text-delta So far.",
            "text-end",
            'data-step data={"name": "chat", "status": "done"} transient=true',
            "finish-step",
            'data-error data={"code": "AGENT_ERROR", "message": "it broke"} transient=true',
            'error errorText="it broke"',
        ]
    ),
    ends_with_a_tool: snapshot(
        [
            "start",
            'data-step data={"name": "ask", "status": "started"} transient=true',
            "start-step",
            'tool-input-start toolName="weather"',
            'tool-input-delta {"city": +  "Rome"}',
            'tool-input-available toolName="weather" input={"city": "Rome"}',
            'data-step data={"name": "ask", "status": "done"} transient=true',
            'data-step data={"name": "act", "status": "started"} transient=true',
            'tool-output-available output="done"',
            'data-step data={"name": "act", "status": "done"} transient=true',
            "finish-step",
            "start-step",
            "finish-step",
            "message-metadata messageMetadata={}",
            'finish finishReason="stop"',
        ]
    ),
}


NOT_STORED = {failing, subagent, broken_arguments, resumed}
"""Runs whose answers are not, or not all, in the thread, or not in as many pieces."""


@pytest.mark.parametrize(("version", "source"), [(5, "events"), (6, "events"), (7, "events"), (6, "callbacks")])
@pytest.mark.parametrize("build", ROWS, ids=lambda build: build.__name__)
async def test_a_run_as_chunks(ai: Client, build: Callable[[], Graph], version: int, source: str) -> None:
    page = page_of(build(), ai, version, source=source, settings={"expose_errors": True})
    await page.say("hi")
    assert brief(page.chunks) == ROWS[build]
    if build not in NOT_STORED:
        assert without_data((await page.reloaded()).messages) == without_data(page.messages)
    if page.chunks[-1]["type"] == "finish":
        await page.say("again")
        assert page.chunks[-1]["type"] == "finish", "what the page sends back is understood"


def sent_back(page: Page) -> list[tuple[str, str]]:
    """The messages that the server reads out of the page's, but for results: ai 5 does not keep their ids."""
    messages = read_request(page.posted(), RequestLimits()).run_input.messages
    return [(message.role, message.id) for message in messages if message.role != "tool"]


@pytest.mark.parametrize(("version", "source"), [(5, "events"), (6, "events"), (7, "events"), (6, "callbacks")])
@pytest.mark.parametrize("build", [named_late, named_late_with_calls, written_anew], ids=lambda build: build.__name__)
async def test_an_answer_that_is_stored_under_another_id_is_shown_once(
    ai: Client, build: Callable[[], Graph], version: int, source: str
) -> None:
    page = page_of(build(), ai, version, source=source)
    await page.say("hi")
    stored = (await page.reloaded()).messages
    told = [(part["type"], part.get("text"), part.get("state")) for part in page.parts]
    assert told == [(part["type"], part.get("text"), part.get("state")) for part in stored[-1]["parts"]]
    assert sent_back(page) == sent_back(await page.reloaded()), "under the thread's ids"
    await page.say("again")
    assert (await page.reloaded()).messages[:2] == stored


async def test_options_for_older_clients_of_agui_change_nothing(ai: Client) -> None:
    older = {"reasoning": "thinking", "interrupts": "custom", "text_chunks": True, "raw_events": True}
    page = page_of(reasoning(), ai, **older)
    await page.say("hi")
    assert brief(page.chunks) == ROWS[reasoning]


# ---------------------------------------------------------------- beside each other


async def test_two_messages_that_are_streamed_at_once_share_a_step(ai: Client) -> None:
    def speaking(name: str) -> Any:
        return chat_node(scripted([part for n in range(4) for part in (0.01, f"{name}{n} ")]))

    builder = StateGraph(MessagesState).add_node("a", speaking("a")).add_node("b", speaking("b"))
    page = page_of(builder.add_edge(START, "a").add_edge(START, "b").compile(InMemorySaver()), ai)
    await page.say("hi")
    assert sorted(part["text"] for part in page.parts if part["type"] == "text") == ["a0 a1 a2 a3 ", "b0 b1 b2 b3 "]
    assert [part["type"] for part in page.parts].count("step-start") == 1


# ---------------------------------------------------------------- large values


async def test_a_large_value_is_not_sent_for_each_small_change(ai: Client) -> None:
    async def grow(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        ui = EventEmitter(config)
        ui.activity("log", "log", {"lines": ["x" * 20_000]})
        for n in range(400):
            ui.activity_patch("log", [{"op": "add", "path": "/lines/-", "value": f"line {n}"}])
        return {"messages": [("ai", "Done.")]}

    page = page_of(in_a_row({"grow": grow}), ai)
    await page.say("hi")
    sent = [chunk["data"] for chunk in page.chunks if chunk["type"] == "data-activity-log"]
    assert len(sent) < 12
    assert len(sent[-1]["lines"]) == 401
