"""Anthropic: thinking beside tools, Anthropic's own tools, citations, refusals, cut answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.providers.conftest import Serve
from tests.providers.shown import activities, answer_of, facts, provider_calls
from tests.support.providers.anthropic import AnthropicStream
from tests.support.providers.server import ModelServer
from tests.support.two_sources import Source, hear

CITED = {
    "type": "web_search_result_location",
    "url": "https://w.example/",
    "title": "Weather",
    "encrypted_index": "Eo8",
    "cited_text": "sunny all day",
}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


def agent(server: ModelServer, *tools: Any, memory: bool = True) -> Callable[[], Any]:
    model = server.chat_anthropic(thinking={"type": "enabled", "budget_tokens": 1024})
    return lambda: create_agent(model, [SEARCH, *tools], checkpointer=InMemorySaver() if memory else None)


def searching() -> AnthropicStream:
    stream = AnthropicStream().thinking("Search first.", signature="EqQB").text("Let me search.")
    return stream.web_search("rome weather").text("It is sunny.", citations=[CITED])


@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
async def test_thinking_is_given_back_with_its_signature_behind_a_tool(
    judge: Judge, serve: Serve, source: Source, memory: bool
) -> None:
    asked = (
        AnthropicStream().thinking("Look.", signature="EqQB").redacted("EmwK").call("weather", {"city": "Rome"}, "a")
    )
    server = serve(
        [
            asked.done("tool_use"),
            AnthropicStream("msg_02").text("Sun.").done(),
            AnthropicStream("msg_03").text("You are welcome.").done(),
        ]
    )
    heard = await hear(agent(server, weather, memory=memory), source, judge, "hi", "thanks")

    assert [m["content"] for m in heard.views[0]["messages"] if m["role"] == "reasoning"] == ["Look.", ""]
    for body in server.bodies[1:]:
        thinking, redacted, use = body["messages"][1]["content"]
        assert (thinking["thinking"], thinking["signature"]) == ("Look.", "EqQB")
        assert redacted == {"type": "redacted_thinking", "data": "EmwK"}
        assert (use["type"], use["input"]) == ("tool_use", {"city": "Rome"})


async def test_a_web_search_is_a_call_of_the_providers_and_parts_the_text(
    judge: Judge, serve: Serve, source: Source
) -> None:
    heard = await hear(agent(serve([searching().done()])), source, judge, "hi")

    assert answer_of(heard)["content"] == "Let me search.\n\nIt is sunny."
    [(name, arguments, result)] = provider_calls(heard)
    assert (name, json.loads(arguments)) == ("web_search", {"query": "rome weather"})
    assert json.loads(result)[0]["url"] == "https://w.example/"


async def test_a_search_streams_its_arguments(judge: Judge, serve: Serve, source: Source) -> None:
    heard = await hear(agent(serve([searching().done()])), source, judge, "hi")

    kinds = [e["type"] for e in heard.events if e["type"].startswith("TOOL_CALL")]
    assert kinds[0] == "TOOL_CALL_START"
    assert kinds[-2:] == ["TOOL_CALL_END", "TOOL_CALL_RESULT"]
    at = [e["type"] for e in heard.events].index
    after = next(
        n for n, e in enumerate(heard.events) if "sunny" in str(e.get("delta")) or "It is" in str(e.get("delta"))
    )
    assert at("TOOL_CALL_RESULT") < after, "the result is shown before the text that rests on it"


async def test_citations_are_metadata_and_an_activity(judge: Judge, serve: Serve, source: Source) -> None:
    heard = await hear(agent(serve([searching().done()])), source, judge, "hi")

    answer = answer_of(heard)
    [citation] = facts(answer)["citations"]
    assert (citation["url"], citation["title"]) == ("https://w.example/", "Weather")
    assert citation["cited_text"] == "sunny all day"
    assert answer["content"][citation["start_index"] : citation["end_index"]] == "It is sunny."
    assert activities(heard, "citations") == [{"messageId": answer["id"], "citations": [citation]}]


@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
async def test_a_search_is_given_back_with_what_it_found(
    judge: Judge, serve: Serve, source: Source, memory: bool
) -> None:
    server = serve([searching().done(), AnthropicStream("msg_02").text("Yes.").done()])
    heard = await hear(agent(server, memory=memory), source, judge, "hi", "sure?")

    assert len(provider_calls(heard)) == 1
    blocks = server.bodies[1]["messages"][1]["content"]
    assert [b["type"] for b in blocks] == ["thinking", "text", "server_tool_use", "web_search_tool_result", "text"]
    use, found = blocks[2:4]
    assert use["input"] == {"query": "rome weather"}
    assert found["tool_use_id"] == use["id"]
    assert found["content"][0]["encrypted_content"] == "Eo8DCio"
    assert [m["role"] for m in server.bodies[1]["messages"]] == ["user", "assistant", "user"]


async def test_code_beside_a_tool_of_the_agent(judge: Judge, serve: Serve, source: Source) -> None:
    both = AnthropicStream().code("print(3)", "3\n").call("weather", {"city": "Rome"}, "toolu_1").done("tool_use")
    server = serve([both, AnthropicStream("msg_02").text("Sun.").done()])
    heard = await hear(agent(server, weather), source, judge, "hi")

    [(name, arguments, result)] = provider_calls(heard)
    assert (name, json.loads(arguments)) == ("bash_code_execution", {"code": "print(3)"})
    assert json.loads(result)["stdout"] == "3\n"
    results = {m["toolCallId"]: m["content"] for m in heard.views[-1]["messages"] if m["role"] == "tool"}
    assert results["toolu_1"] == "sun in Rome"


@pytest.mark.parametrize(("stop", "why"), [("max_tokens", "length"), ("refusal", "refusal")])
async def test_an_answer_that_is_not_whole_says_so(
    judge: Judge, serve: Serve, source: Source, stop: str, why: str
) -> None:
    heard = await hear(agent(serve([AnthropicStream().text("Half an").done(stop)])), source, judge, "hi")

    assert facts(answer_of(heard)) == {"finish_reason": stop, "incomplete": why}
    assert facts(heard.events[-1])["incomplete"] == why


async def test_a_refusal_without_text_does_not_look_like_success(judge: Judge, serve: Serve, source: Source) -> None:
    heard = await hear(agent(serve([AnthropicStream().done("refusal")])), source, judge, "hi")
    assert facts(heard.events[-1]) == {"finish_reason": "refusal", "incomplete": "refusal"}
