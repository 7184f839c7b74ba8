# ruff: noqa: E501
"""What a run is for a page of the AI SDK: every row of the mapping, by real graphs, read by the client's own code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import MessagesState

from tests.support.ai_sdk_page import Client, brief, client, page_of
from tests.support.graphs import Graph, chat, chat_node, in_a_row, scripted, tool_loop
from tests.support.tools import OSLO, ROME, risky, weather
from yai_nexus_agentkit import EventEmitter
from yai_nexus_agentkit.testing import reasoning_part, text_part, tool_call_parts, tool_calls_part


@pytest.fixture(scope="module")
def ai() -> Iterator[Client]:
    with client() as started:
        yield started


def block(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[fields])


class Noted(MessagesState):
    n: int
    notes: list[str]


@tool
async def found(q: str) -> dict[str, Any]:
    """Finds something."""
    return {"q": q, "hits": [1, None]}


def speaker(*script: Any, **fields: Any) -> Any:
    """A model with these answers, and one for the turn behind them."""
    return scripted(*script, "Bye.", **fields)


def text() -> Graph:
    return chat(speaker(["Hello ", "there."]))


def reasoning() -> Graph:
    said = [reasoning_part("They "), reasoning_part("greet."), reasoning_part(signature="c2lnbmVk"), "Hello!"]
    return chat(speaker(said, provider="anthropic"))


def calls() -> Graph:
    return tool_loop(speaker([tool_calls_part(ROME, OSLO)], ["Sunny."]), [weather])


def json_result() -> Graph:
    return tool_loop(speaker(tool_call_parts("found", {"q": "x"}, "call_1"), ["Done."]), [found])


def failing_tool() -> Graph:
    return tool_loop(speaker(tool_call_parts("risky", {"n": 1}, "call_1"), ["Oh."]), [risky], handle_tool_errors=True)


def broken_arguments() -> Graph:
    return chat(speaker(["Look: ", tool_calls_part(("weather", '{"city": "Ro', "call_1"))]))


def two_nodes() -> Graph:
    return in_a_row({"first": chat_node(speaker("One.")), "second": chat_node(speaker("Two."))})


def values() -> Graph:
    async def first(state: Noted, config: RunnableConfig) -> dict[str, Any]:
        ui = EventEmitter(config)
        ui.emit("note", {"at": 1})
        ui.emit("chart", [1, 2], keep="c")
        return {"n": 1, "notes": ["a"]}

    async def second(state: Noted, config: RunnableConfig) -> dict[str, Any]:
        ui = EventEmitter(config)
        ui.activity("p1", "plan", {"steps": ["a"]})
        ui.activity_patch("p1", [{"op": "add", "path": "/steps/-", "value": "b"}])
        return {"n": 2, "messages": [("ai", "Noted.")]}

    return in_a_row({"first": first, "second": second}, Noted)


def provider() -> Graph:
    hits = [{"type": "web_search_result", "url": "https://w.example/", "title": "Weather"}]
    cited = {"type": "web_search_result_location", "url": "https://w.example/", "title": "Weather", "cited_text": "25"}
    return chat(
        speaker(
            [
                text_part("Let me look.", index=0),
                block(type="server_tool_use", id="srv_1", name="web_search", input={}, index=1),
                block(type="input_json_delta", partial_json='{"query": "rome"}', index=1),
                block(type="web_search_tool_result", tool_use_id="srv_1", content=hits, index=2),
                text_part("It is sunny.", index=3),
                block(type="text", citations=[cited], index=3),
                block(type="image", base64="aGVsbG8=", mime_type="image/png", index=4),
            ],
            provider="anthropic",
        )
    )


def subagent() -> Graph:
    expert = chat(speaker(["It ", "rains."])).with_config(run_name="expert")

    @tool
    async def consult(question: str, config: RunnableConfig) -> str:
        """Ask the expert."""
        answer = await expert.ainvoke({"messages": [HumanMessage(question)]}, config)
        return str(answer["messages"][-1].text)

    return tool_loop(speaker(tool_call_parts("consult", {"question": "why?"}, "call_1"), ["Done."]), [consult])


def unseen() -> Graph:
    """A model that is not streamed: what the thread stores of it comes with the messages."""
    return in_a_row({"quiet": chat_node(speaker("Aside.", tags=["nostream"])), "loud": chat_node(speaker("Aloud."))})


def failing() -> Graph:
    return chat(speaker(["So far.", RuntimeError("it broke")]))


def ends_with_a_tool() -> Graph:
    async def act(state: MessagesState) -> dict[str, Any]:
        calls = getattr(state["messages"][-1], "tool_calls", [])
        return {"messages": [ToolMessage("done", tool_call_id=call["id"]) for call in calls]}

    return in_a_row({"ask": chat_node(speaker(tool_call_parts("weather", {"city": "Rome"}, "call_1"))), "act": act})


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


NOT_STORED = {failing, subagent, broken_arguments}
"""What they show is not, or not all, in the thread."""


def without_data(messages: list[Any]) -> list[Any]:
    """What a thread must show again: parts of data stand at the end there."""
    shown: list[Any] = json.loads(json.dumps(messages))
    for message in shown:
        message.pop("metadata", None)
        message["parts"] = [part for part in message["parts"] if not part["type"].startswith("data-")]
        for part in message["parts"]:
            if part["type"] == "reasoning":
                part.pop("id", None)  # ai 5 gives it one
            part.pop("rawInput", None)
    return shown


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
