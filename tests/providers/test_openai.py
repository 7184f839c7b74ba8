"""OpenAI's chat completions and Responses: reasoning, tools of OpenAI's own, images, refusals, cut answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from pydantic import BaseModel

from tests.conftest import Judge
from tests.providers.conftest import Serve
from tests.providers.shown import activities, answer_of, facts, provider_calls
from tests.support.graphs import chat, in_a_row
from tests.support.providers import openai_chat
from tests.support.providers.openai_responses import ResponsesStream
from tests.support.providers.server import Answer, ModelServer
from tests.support.two_sources import Source, hear

IMAGE = "aGVsbG8gd29ybGQ="
CITED = {"type": "url_citation", "start_index": 6, "end_index": 11, "title": "Weather", "url": "https://w.example/"}


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


def chatting(server: ModelServer, *, memory: bool = True, responses: bool = True) -> Callable[[], Any]:
    model = server.chat_openai(use_responses_api=responses)
    return lambda: chat(model, checkpointer=InMemorySaver() if memory else None)


@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
async def test_reasoning_with_several_parts_is_given_back(
    judge: Judge, serve: Serve, source: Source, memory: bool
) -> None:
    stream = ResponsesStream().reasoning("Weigh options.", "Pick one.", encrypted="gAAA").text("Take the bus.")
    server = serve([stream.done(), ResponsesStream("resp_2").text("Yes.", id="msg_2").done()])
    heard = await hear(chatting(server, memory=memory), source, judge, "hi", "sure?")

    [thought] = [m for m in heard.views[0]["messages"] if m["role"] == "reasoning"]
    assert thought["content"] == "Weigh options.\n\nPick one."
    [item] = [item for item in server.bodies[1]["input"] if item["type"] == "reasoning"]
    assert item["encrypted_content"] == "gAAA"
    assert [part["text"] for part in item["summary"]] == ["Weigh options.", "Pick one."]


async def test_a_web_search_is_a_call_of_the_providers_and_parts_the_text(
    judge: Judge, serve: Serve, source: Source
) -> None:
    stream = ResponsesStream().text("Let me search.", id="msg_0").web_search("rome weather").text("It is sunny.")
    heard = await hear(chatting(serve([stream.done()])), source, judge, "hi")

    assert answer_of(heard)["content"] == "Let me search.\n\nIt is sunny."
    [(name, arguments, result)] = provider_calls(heard)
    assert (name, result) == ("web_search", "completed")
    assert json.loads(arguments) == {"type": "search", "query": "rome weather"}


async def test_citations_are_metadata_and_an_activity(judge: Judge, serve: Serve, source: Source) -> None:
    stream = ResponsesStream().text("So. ", id="msg_0").web_search("rome").text("It is sunny.", annotations=[CITED])
    heard = await hear(chatting(serve([stream.done()])), source, judge, "hi")

    answer = answer_of(heard)
    [citation] = facts(answer)["citations"]
    assert (citation["url"], citation["title"]) == ("https://w.example/", "Weather")
    assert answer["content"][citation["start_index"] : citation["end_index"]] == "sunny"
    assert activities(heard, "citations") == [{"messageId": answer["id"], "citations": [citation]}]


async def test_a_picture_is_an_activity(judge: Judge, serve: Serve, source: Source) -> None:
    stream = ResponsesStream().image(IMAGE).text("Here it is.")
    heard = await hear(chatting(serve([stream.done()])), source, judge, "hi")

    assert answer_of(heard)["content"] == "Here it is."
    part = {"type": "image", "source": {"type": "data", "value": IMAGE, "mimeType": "image/png"}}
    assert activities(heard, "media") == [{"messageId": "resp_1", "parts": [part]}]


async def test_a_picture_without_words_is_shown(judge: Judge, serve: Serve, source: Source) -> None:
    server = serve([ResponsesStream().image(IMAGE).done(), ResponsesStream("resp_2").text("Thanks.", id="m2").done()])
    heard = await hear(chatting(server), source, judge, "hi", "nice")

    [content] = activities(heard, "media")
    assert content["parts"][0]["source"]["value"] == IMAGE
    assert any(item["type"] == "image_generation_call" for item in server.bodies[1]["input"])


async def test_code_and_remote_tools_are_calls_of_the_providers(judge: Judge, serve: Serve, source: Source) -> None:
    stream = ResponsesStream().code("print(1+2)", "3\n").mcp_call("ask", {"q": "x"}, "the answer").text("Three.")
    heard = await hear(chatting(serve([stream.done()])), source, judge, "hi")

    code, asked = provider_calls(heard)
    assert code[0] == "code_interpreter"
    assert json.loads(code[1]) == {"code": "print(1+2)"}
    assert json.loads(code[2]) == [{"type": "logs", "logs": "3\n"}]
    assert (asked[0], json.loads(asked[1]), asked[2]) == ("ask", {"q": "x"}, "the answer")


async def test_a_search_is_given_back_without_a_thread(judge: Judge, serve: Serve, source: Source) -> None:
    stream = ResponsesStream().text("Let me search.", id="msg_0").web_search("rome weather").text("It is sunny.")
    server = serve([stream.done(), ResponsesStream("resp_2").text("Yes.", id="msg_2").done()])
    await hear(chatting(server, memory=False), source, judge, "hi", "sure?")

    kinds = [item["type"] for item in server.bodies[1]["input"]]
    assert kinds.count("web_search_call") == 1
    assert "function_call_output" not in kinds
    [search] = [item for item in server.bodies[1]["input"] if item["type"] == "web_search_call"]
    assert search["action"] == {"type": "search", "query": "rome weather"}


async def test_a_search_beside_a_tool_of_the_agent(judge: Judge, serve: Serve, source: Source) -> None:
    both = ResponsesStream().web_search("rome weather").call("weather", {"city": "Rome"}, "call_a").done()
    server = serve([both, ResponsesStream("resp_2").text("Sun.", id="msg_2").done()])
    model = server.chat_openai(use_responses_api=True)
    heard = await hear(lambda: create_agent(model, [weather], checkpointer=InMemorySaver()), source, judge, "hi")

    assert [call[0] for call in provider_calls(heard)] == ["web_search"]
    results = {m["toolCallId"]: m["content"] for m in heard.views[-1]["messages"] if m["role"] == "tool"}
    assert results["call_a"] == "sun in Rome"


async def test_a_refusal_is_shown(judge: Judge, serve: Serve, source: Source) -> None:
    stream = ResponsesStream().text(refusal="I cannot help with that.")
    heard = await hear(chatting(serve([stream.done()])), source, judge, "hi")
    assert answer_of(heard)["content"] == "I cannot help with that."


async def test_a_refusal_says_so(judge: Judge, serve: Serve, source: Source) -> None:
    stream = ResponsesStream().text(refusal="I cannot help with that.")
    heard = await hear(chatting(serve([stream.done()])), source, judge, "hi")
    assert facts(answer_of(heard))["incomplete"] == "refusal"


CUT = ResponsesStream().text("Half an ans").done("incomplete", incomplete_details={"reason": "max_output_tokens"})


@pytest.mark.parametrize("responses", [True, False], ids=["responses", "chat"])
async def test_a_cut_answer_says_so(judge: Judge, serve: Serve, source: Source, responses: bool) -> None:
    stream: Answer = CUT if responses else openai_chat.answer("Half an ans", finish="length")
    heard = await hear(chatting(serve([stream]), responses=responses), source, judge, "hi")

    answer = answer_of(heard)
    assert answer["content"] == "Half an ans"
    assert facts(answer) == {
        "finish_reason": "max_output_tokens" if responses else "length",
        "incomplete": "length",
    }
    assert facts(heard.events[-1])["incomplete"] == "length"


async def test_every_answer_says_how_it_ended(judge: Judge, serve: Serve, source: Source) -> None:
    server = serve([openai_chat.answer("Hello.")])
    heard = await hear(chatting(server, responses=False), source, judge, "hi")
    assert facts(answer_of(heard)) == {"finish_reason": "stop"}
    assert "metadata" not in heard.events[-1]


async def test_a_filtered_answer_without_text_does_not_look_like_success(
    judge: Judge, serve: Serve, source: Source
) -> None:
    server = serve([openai_chat.answer(finish="content_filter")])
    heard = await hear(chatting(server, responses=False), source, judge, "hi")
    assert facts(heard.events[-1]) == {"finish_reason": "content_filter", "incomplete": "filter"}


async def test_a_tools_name_in_pieces(judge: Judge, serve: Serve, source: Source) -> None:
    begin = {"index": 0, "id": "call_a", "type": "function", "function": {"name": "wea", "arguments": ""}}
    rest = {"index": 0, "function": {"name": "ther", "arguments": ""}}
    args = {"index": 0, "function": {"arguments": '{"city": "Rome"}'}}
    deltas = [{"tool_calls": [delta]} for delta in (begin, rest, args)]
    server = serve([openai_chat.answer(*deltas, finish="tool_calls"), openai_chat.answer("Sun.", id="chatcmpl-2")])
    model = server.chat_openai()
    heard = await hear(lambda: create_agent(model, [weather], checkpointer=InMemorySaver()), source, judge, "hi")

    assert [e["toolCallName"] for e in heard.events if e["type"] == "TOOL_CALL_START"] == ["weather"]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
async def test_structured_output_shows_no_chain(judge: Judge, serve: Serve, source: Source) -> None:
    class Weather(BaseModel):
        """Weather of a city."""

        city: str

    server = serve([openai_chat.answer('{"city": "Rome"}')])
    asking = server.chat_openai().with_structured_output(Weather)

    async def node(state: MessagesState) -> dict[str, Any]:
        found = await asking.ainvoke(state["messages"])
        return {"messages": [("ai", f"It is {found.city}.")]}

    heard = await hear(lambda: in_a_row({"node": node}), source, judge, "where?")
    assert [e["type"] for e in heard.events if e["type"].startswith("REASONING")] == []
    assert answer_of(heard)["content"] == "It is Rome."
