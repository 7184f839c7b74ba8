"""A provider's own work goes back as it came, whatever ``output_version`` its class has, with and without a
thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.providers.conftest import Serve
from tests.providers.shown import activities, answer_of, facts, provider_calls
from tests.support.graphs import chat
from tests.support.providers import gemini
from tests.support.providers.anthropic import AnthropicStream
from tests.support.providers.openai_responses import ResponsesStream
from tests.support.providers.server import Answer, ModelServer
from tests.support.two_sources import Source, hear

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
CITED = {"type": "web_search_result_location", "url": "https://w.example/", "title": "W", "cited_text": "sun"}
NOTED = {"type": "url_citation", "start_index": 0, "end_index": 5, "title": "W", "url": "https://w.example/"}
IMAGE = "aGVsbG8="


class Case(NamedTuple):
    """A provider's class, and an answer in which the provider did everything that it can do by itself."""

    model: Callable[[ModelServer], Any]
    answers: Callable[[], list[Answer]]
    read: Callable[[Mapping[str, Any]], list[str]]
    """The answer's content as it goes back."""
    back: list[str]
    lost: list[str]
    """Of that, what a client does not send back."""
    calls: list[str]
    media: int


def openai() -> list[Answer]:
    stream = ResponsesStream().text("Look.", id="msg_0").web_search("rome").code("print(1)", "1\n")
    stream.mcp_call("ask", {"q": "x"}, "yes").image(IMAGE).text("Sunny.", annotations=[NOTED])
    return [stream.done(), ResponsesStream("resp_2").text("Yes.", id="msg_9").done()]


def anthropic() -> list[Answer]:
    stream = AnthropicStream().thinking("A", signature="EqQB").text("Look.").web_search("rome", "srvtoolu_1")
    stream.thinking("B", signature="EqQC").code("print(1)", "1\n", "srvtoolu_2").text("Sunny.", citations=[CITED])
    return [stream.done(), AnthropicStream("msg_2").text("Yes.").done()]


def google() -> list[Answer]:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    printed = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    answer = gemini.answer("Look.", code, printed, "Sunny.", gemini.image(IMAGE))
    return [answer, gemini.answer("Yes.", id="gem-2")]


def read_openai(body: Mapping[str, Any]) -> list[str]:
    return [item["type"] for item in body["input"] if item.get("role") != "user"]


def read_anthropic(body: Mapping[str, Any]) -> list[str]:
    return [block["type"] for block in body["messages"][1]["content"]]


def read_gemini(body: Mapping[str, Any]) -> list[str]:
    return [next(iter(part)) for part in body["contents"][1]["parts"]]


def _openai(version: str, **fields: Any) -> Case:
    items = ["message", "web_search_call", "code_interpreter_call", "mcp_list_tools", "mcp_call"]
    back = [*items, "image_generation_call", "message"]
    # LangChain's v0 keeps the calls beside the content, without their places.
    v0 = [*items[2:3], "mcp_call", "image_generation_call", "message", "mcp_list_tools", "web_search_call"]
    return Case(
        lambda server: server.chat_openai(use_responses_api=True, output_version=version, **fields),
        openai,
        read_openai,
        v0 if version == "v0" else back,
        [*items[:3], "mcp_call", "message"],
        ["web_search", "code_interpreter", "ask"],
        media=1,
    )


def _anthropic(version: str) -> Case:
    use = ["server_tool_use"]
    back = ["thinking", "text", *use, "web_search_tool_result", "thinking", *use]
    back += ["bash_code_execution_tool_result", "text"]
    return Case(
        lambda server: server.chat_anthropic(output_version=version).bind_tools([SEARCH]),  # type: ignore[list-item]
        anthropic,
        read_anthropic,
        back,
        back,
        ["web_search", "bash_code_execution"],
        media=0,
    )


def _gemini(version: str) -> Case:
    back = ["text", "executableCode", "codeExecutionResult", "text"]
    return Case(
        lambda server: server.chat_gemini(output_version=version),
        google,
        read_gemini,
        [*back, "inlineData"],
        back,
        ["code_interpreter"],
        media=1,
    )


CASES = {
    "openai v0": _openai("v0"),
    "openai": _openai("responses/v1"),
    "openai v1": _openai("v1"),
    "anthropic": _anthropic("v0"),
    "anthropic v1": _anthropic("v1"),
    "gemini": _gemini("v0"),
    "gemini v1": _gemini("v1"),
}


@pytest.mark.filterwarnings("ignore:\\s*Warning. Output may vary each run:UserWarning")
@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_it_goes_back_as_it_came(judge: Judge, serve: Serve, source: Source, case: Case, memory: bool) -> None:
    server = serve(case.answers())
    saver = InMemorySaver() if memory else None
    heard = await hear(lambda: chat(case.model(server), checkpointer=saver), source, judge, "hi", "sure?")

    assert case.read(server.bodies[1]) == (case.back if memory else case.lost)
    assert [call[0] for call in provider_calls(heard)] == case.calls
    answer = next(m for m in heard.views[1]["messages"] if m["role"] == "assistant")
    assert answer["content"] == "Look.\n\nSunny."
    assert len(activities(heard, "media")) == case.media
    assert answer_of(heard)["content"] == "Yes."
    for citation in facts(answer).get("citations", ()):
        assert answer["content"][citation["start_index"] : citation["end_index"]] in ("Sunny.", "Sunny")
    assert [e["type"] for e in heard.events].count("MESSAGES_SNAPSHOT") == 0, "the client has it all"
