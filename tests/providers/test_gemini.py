"""Gemini: thinking, signatures, pictures, grounding, code that Google ran, blocked answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import Judge
from tests.providers.conftest import Serve
from tests.providers.shown import activities, answer_of, facts, provider_calls
from tests.support.providers import gemini
from tests.support.providers.server import ModelServer
from tests.support.two_sources import Source, hear

IMAGE = "aGVsbG8="
GROUNDING = {
    "webSearchQueries": ["rome weather"],
    "groundingChunks": [{"web": {"uri": "https://w.example/", "title": "Weather"}}],
    "groundingSupports": [
        {"segment": {"startIndex": 7, "endIndex": 19, "text": "It is sunny."}, "groundingChunkIndices": [0]}
    ],
}


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sun in {city}"


def agent(server: ModelServer, *tools: Any, memory: bool = True) -> Callable[[], Any]:
    model = server.chat_gemini()
    return lambda: create_agent(model, list(tools), checkpointer=InMemorySaver() if memory else None)


@pytest.mark.parametrize("memory", [True, False], ids=["thread", "no thread"])
async def test_the_signature_of_a_call_is_given_back(judge: Judge, serve: Serve, source: Source, memory: bool) -> None:
    calls = [gemini.call("weather", {"city": "Rome"}, signature="c2ln"), gemini.call("weather", {"city": "Oslo"})]
    server = serve(
        [
            gemini.answer(gemini.thought("Look."), calls),
            gemini.answer("Sun.", id="gem-2"),
            gemini.answer("You are welcome.", id="gem-3"),
        ]
    )
    await hear(agent(server, weather, memory=memory), source, judge, "hi", "thanks")

    for body in server.bodies[1:]:
        made = [part for part in body["contents"][1]["parts"] if "functionCall" in part]
        assert [part.get("thoughtSignature") for part in made] == ["c2ln", None]


async def test_a_picture_is_an_activity_and_parts_the_text(judge: Judge, serve: Serve, source: Source) -> None:
    server = serve(
        [gemini.answer("Here:", gemini.image(IMAGE), "A cat."), gemini.answer("You are welcome.", id="gem-2")]
    )
    heard = await hear(agent(server), source, judge, "hi", "thanks")

    first = next(m for m in heard.views[0]["messages"] if m["role"] == "assistant")
    assert first["content"] == "Here:\n\nA cat."
    part = {"type": "image", "source": {"type": "data", "value": IMAGE, "mimeType": "image/png"}}
    assert activities(heard, "media") == [{"messageId": first["id"], "parts": [part]}]
    [data] = [part["inlineData"]["data"] for part in server.bodies[1]["contents"][1]["parts"] if "inlineData" in part]
    assert data == IMAGE


async def test_grounding_is_metadata_and_an_activity(judge: Judge, serve: Serve, source: Source) -> None:
    server = serve([gemini.answer("Über: ", "It is sunny.", grounding=GROUNDING)])
    heard = await hear(agent(server), source, judge, "hi")

    answer = answer_of(heard)
    [citation] = facts(answer)["citations"]
    assert (citation["url"], citation["title"]) == ("https://w.example/", "Weather")
    shown = answer["content"][citation["start_index"] : citation["end_index"]]
    assert shown == "It is sunny.", "Google counts bytes, the client characters"
    assert activities(heard, "citations") == [{"messageId": answer["id"], "citations": [citation]}]


@pytest.mark.filterwarnings("ignore:\\s*Warning. Output may vary each run:UserWarning")
async def test_code_is_a_call_of_the_providers(judge: Judge, serve: Serve, source: Source) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(3)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "3\n"}}
    heard = await hear(agent(serve([gemini.answer("Run:", code, result, "Three.")])), source, judge, "hi")

    assert answer_of(heard)["content"] == "Run:\n\nThree."
    [(name, arguments, shown)] = provider_calls(heard)
    assert (name, shown) == ("code_interpreter", "3\n")
    assert "print(3)" in arguments


@pytest.mark.parametrize("text", ["I ", ""])
async def test_a_blocked_answer_says_so(judge: Judge, serve: Serve, source: Source, text: str) -> None:
    heard = await hear(agent(serve([gemini.answer(text, finish="SAFETY")])), source, judge, "hi")
    assert facts(heard.events[-1]) == {"finish_reason": "SAFETY", "incomplete": "filter"}


async def test_a_cut_answer_says_so(judge: Judge, serve: Serve, source: Source) -> None:
    heard = await hear(agent(serve([gemini.answer("Half an", finish="MAX_TOKENS")])), source, judge, "hi")
    assert facts(answer_of(heard)) == {"finish_reason": "MAX_TOKENS", "incomplete": "length"}
