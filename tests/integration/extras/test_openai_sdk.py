"""Agents as models, asked by OpenAI's package for Python and by LangChain's chat model on top of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.support.server_process import serving
from tests.support.serving import served

CONFIRM: Any = {
    "type": "function",
    "function": {
        "name": "confirm",
        "description": "asks the user",
        "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
    },
}
MODEL = "my_agent"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served("tests.support.errand_words:models") as url:
        yield f"{url}/v1"


@pytest.fixture
def client(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server, api_key="key", max_retries=0) as client:
        yield client


def says(text: str) -> Any:
    return [{"role": "user", "content": text}]


def test_whole_answers_and_streams_say_the_same(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=MODEL, messages=says("think"))
    with client.chat.completions.stream(model=MODEL, messages=says("think")) as stream:
        streamed = stream.get_final_completion()
    for answer in (whole, streamed):
        message = answer.choices[0].message
        assert message.content == "Thought about it. "
        assert message.model_extra == {"reasoning_content": "Let me see now. "}
        assert answer.choices[0].finish_reason == "stop"
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0


def test_a_stream_ends_with_its_usage_if_asked(client: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "messages": says("hello"), "stream": True}
    chunks = list(client.chat.completions.create(**asked, stream_options={"include_usage": True}))
    assert (chunks[-1].choices, chunks[-1].usage is not None) == ([], True)
    assert all(chunk.usage is None for chunk in client.chat.completions.create(**asked))


def test_models_are_found(client: openai.OpenAI) -> None:
    assert [(model.id, model.owned_by) for model in client.models.list()] == [(MODEL, "langgraph")]
    assert client.models.retrieve(MODEL).object == "model"
    with pytest.raises(openai.NotFoundError, match="no model"):
        client.models.retrieve("other")


def test_a_tool_of_the_caller_is_called_in_several_rounds(client: openai.OpenAI) -> None:
    for stream in (False, True):
        messages = says("ask")
        for word in ("maybe", "surely"):
            with client.chat.completions.stream(model=MODEL, messages=messages, tools=[CONFIRM]) as streamed:
                choice = streamed.get_final_completion().choices[0]
            if not stream:
                choice = client.chat.completions.create(model=MODEL, messages=messages, tools=[CONFIRM]).choices[0]
            [call] = choice.message.tool_calls or []
            assert choice.finish_reason == "tool_calls"
            assert json.loads(call.function.arguments) == {"question": "sure?"}
            messages += [
                choice.message.model_dump(exclude_none=True),
                {"role": "tool", "tool_call_id": call.id, "content": word},
            ]
            told = client.chat.completions.create(model=MODEL, messages=messages, tools=[CONFIRM]).choices[0]
            assert told.message.content == f"The answer: {word}. "
            messages += [{"role": "assistant", "content": told.message.content}, *says("ask")]


async def test_requests_at_once_do_not_meet(server: str) -> None:
    async with openai.AsyncOpenAI(base_url=server, api_key="key", max_retries=0) as client:
        asked = [client.chat.completions.create(model=MODEL, messages=says("hello"), user="one") for _ in range(20)]
        answers = await asyncio.gather(*asked)
    assert {answer.choices[0].message.content for answer in answers} == {"Hello from the agent, this is one answer. "}


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"model": "other"}, openai.NotFoundError, "there is no model 'other'"),
        ({"messages": []}, openai.BadRequestError, "at least one message"),
        ({"n": 2}, openai.BadRequestError, "n must be 1"),
    ],
)
def test_refusals_are_the_package_s_own_exceptions(client: openai.OpenAI, given: Any, error: Any, text: str) -> None:
    for stream in (False, True):
        with pytest.raises(error, match=text):
            client.chat.completions.create(**{"model": MODEL, "messages": says("hello"), "stream": stream, **given})


def test_a_wrong_key_is_an_authentication_error(server: str) -> None:
    with openai.OpenAI(base_url=server, api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
        client.models.list()


def test_an_agent_that_failed_is_not_asked_again(server: str) -> None:
    asked: list[httpx.Request] = []
    counting = httpx.Client(event_hooks={"request": [asked.append]})
    with openai.OpenAI(base_url=server, api_key="key", http_client=counting) as client:
        with pytest.raises(openai.InternalServerError, match="internal error"):
            client.chat.completions.create(model=MODEL, messages=says("fail"))
        assert len(asked) == 1
        with pytest.raises(openai.APIError, match="internal error"):
            list(client.chat.completions.create(model=MODEL, messages=says("fail"), stream=True))
        assert len(asked) == 2


def model_of(server: str, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(model=MODEL, base_url=server, api_key=SecretStr("key"), max_retries=0, **more)


def test_langchain_has_the_agent_as_its_model(server: str) -> None:
    model = model_of(server, stream_usage=True)
    chunks = list(model.stream([HumanMessage("hello")]))
    assert "".join(str(chunk.content) for chunk in chunks) == "Hello from the agent, this is one answer. "
    assert len([chunk for chunk in chunks if chunk.content]) > 1
    answer = model.bind_tools([CONFIRM]).invoke([HumanMessage("ask")])
    assert isinstance(answer, AIMessage)
    [call] = answer.tool_calls
    told = model.invoke([HumanMessage("ask"), answer, ToolMessage("maybe", tool_call_id=call["id"])])
    assert told.content == "The answer: maybe. "


def test_an_agent_of_langchain_s_uses_the_agent(server: str) -> None:
    @tool
    def confirm(question: str) -> str:
        """Asks the user."""
        return f"yes to {question}"

    agent = create_agent(model_of(server), [confirm])
    messages = agent.invoke({"messages": [HumanMessage("ask")]})["messages"]
    assert messages[-1].content == "The answer: yes to sure?. "


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["verify_openai.py", "verify_litellm.py"])
def test_dify_and_litellm_are_content(server: str, judge: str) -> None:
    """Dify's own client, with OpenAI's package beside it, and LiteLLM."""
    python = ROOT / ".venvs" / "openai-clients" / "bin" / "python"
    assert python.exists(), "make test sets it up: make .venvs/openai-clients/.stamp"
    command = [python, judge, server, "--model", MODEL, "--bad-key", "wrong", "--tools"]
    done = subprocess.run(
        command, cwd=ROOT / "tests/js/openai", capture_output=True, text=True, timeout=110, check=False
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("FAIL")] == []
    assert (done.returncode, "ok " in done.stdout) == (0, True), done.stderr


def test_the_example_shows_what_its_page_says(tmp_path: Path) -> None:
    page = (ROOT / "examples/openai_model/README.md").read_text("utf-8")
    expected = page.partition("```text\n")[2].partition("```")[0]
    agent = f"approval={ROOT}/examples/approval/agent.py:graph"
    with serving(ROOT, agent, "--openai", "--no-inspector") as server:
        command = [sys.executable, ROOT / "examples/openai_model/ask.py", "Please pay Ada 50", "yes"]
        environment = {**os.environ, "BASE_URL": f"{server.base}/v1", "EXAMPLE_PAUSE": "0"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
    shown = re.sub(r"\[question \S+\]", "[question ...]", done.stdout)
    assert [line.rstrip() for line in shown.splitlines()] == expected.splitlines()
