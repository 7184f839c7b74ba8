"""Answers as providers' classes store them, sent back by a client as it was shown them: nothing differs, so nothing is
sent again. What the client has otherwise is restated."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from yai_nexus_agentkit import AdapterOptions, AGUIAdapter
from yai_nexus_agentkit.testing import collect, run_input

CALL = {"name": "search", "args": {"query": "q"}, "id": "call-1", "type": "tool_call"}
RAW = [{"id": "call-1", "type": "function", "function": {"name": "search", "arguments": '{"query": "q"}'}}]
ENDED = {"finish_reason": "stop", "model_provider": "openai", "model_name": "some-model"}
CITED = [{"type": "web_search_result_location", "url": "https://example.com", "title": "A page", "cited_text": "so"}]
ANSWERS: dict[str, AIMessage] = {
    "text": AIMessage("yes"),
    "text and how it ended": AIMessage("yes", response_metadata=ENDED),
    "members without a value": AIMessage("yes", additional_kwargs={"refusal": None, "audio": None}),
    "a refusal": AIMessage("", additional_kwargs={"refusal": "I will not."}),
    "reasoning beside": AIMessage("yes", additional_kwargs={"reasoning_content": "let me think"}),
    "a call": AIMessage("", tool_calls=[CALL]),
    "a call, also as it came": AIMessage("", tool_calls=[CALL], additional_kwargs={"tool_calls": RAW, "refusal": None}),
    "text and a call": AIMessage("I look", tool_calls=[CALL], response_metadata=ENDED),
    "a block": AIMessage([{"type": "text", "text": "yes", "annotations": [], "index": 0}]),
    "blocks": AIMessage([{"type": "text", "text": "yes"}, {"type": "text", "text": " and no"}]),
    "a block and a call": AIMessage(
        [{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "call-1", "name": "search", "input": {}}],
        tool_calls=[CALL],
    ),
    "a call alone, as a block": AIMessage(
        [{"type": "tool_use", "id": "call-1", "name": "search", "input": {}}], tool_calls=[CALL]
    ),
    "a block of thinking": AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]),
    "citations": AIMessage([{"type": "text", "text": "yes", "citations": CITED}]),
    "half of an emoji": AIMessage("cut \ud83d here"),
    "arguments that are cut off": AIMessage(
        "",
        invalid_tool_calls=[
            {"name": "search", "args": '{"qu', "id": "call-1", "error": None, "type": "invalid_tool_call"}
        ],
    ),
}


async def thread(answer: AIMessage, source: Any) -> tuple[AGUIAdapter, list[dict[str, Any]]]:
    """An adapter whose thread has the answer, and the messages as a new client is shown them."""

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("done", id=f"done-{len(state['messages'])}")]}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(InMemorySaver())
    held: list[BaseMessage] = [HumanMessage("go", id="u1"), answer.model_copy(update={"id": "a1"})]
    if answer.tool_calls or answer.invalid_tool_calls:
        held.append(ToolMessage("found", tool_call_id="call-1", id="t1"))
    await graph.aupdate_state({"configurable": {"thread_id": "t"}}, {"messages": held}, "node")
    adapter = AGUIAdapter(graph, options=AdapterOptions(source=source))
    shown = [event for event in await turn(adapter, []) if event["type"] == "MESSAGES_SNAPSHOT"]
    return adapter, shown[-1]["messages"]


async def turn(adapter: AGUIAdapter, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return await collect(adapter, run_input(messages, thread_id="t"))


def restated(events: list[dict[str, Any]]) -> bool:
    return any(event["type"] == "MESSAGES_SNAPSHOT" for event in events)


@pytest.mark.parametrize("source", ["events", "callbacks"])
@pytest.mark.parametrize("kind", ANSWERS)
async def test_an_answer_that_comes_back_is_known(kind: str, source: str) -> None:
    adapter, shown = await thread(ANSWERS[kind], source)
    assert not restated(await turn(adapter, [*shown, {"id": "u2", "role": "user", "content": "and now?"}]))


@pytest.mark.parametrize("kind", ANSWERS)
async def test_an_answer_that_the_client_has_otherwise_is_restated(kind: str) -> None:
    changes = [("content", "something else")]
    if ANSWERS[kind].tool_calls or ANSWERS[kind].invalid_tool_calls:
        other = {"id": "call-2", "type": "function", "function": {"name": "other", "arguments": "{}"}}
        changes += [("toolCalls", [other]), ("toolCalls", None)]
    for key, value in changes:
        adapter, shown = await thread(ANSWERS[kind], "events")
        claimed = copy.deepcopy(shown)
        answer = next(message for message in claimed if message["id"] == "a1")
        answer[key] = value
        assert restated(await turn(adapter, [*claimed, {"id": "u2", "role": "user", "content": "and now?"}])), key
