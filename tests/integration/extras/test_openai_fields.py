"""Every field that OpenAI's clients know: what becomes of it, as docs/openai.md says. The older form of tools, by the
official client."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from openai.types.chat import completion_create_params as official

from tests.support.chats import chat, chats_with, error_of, message_of, said
from yai_nexus_agentkit import AGUIAdapter, Hooks
from yai_nexus_agentkit.orchestration.client_tools import client_tools
from yai_nexus_agentkit.server import create_app
from yai_nexus_agentkit.testing import ScriptedChatModel, tool_calls_part

PAGE = Path(__file__).resolve().parents[3] / "docs" / "openai.md"
FUNCTION = {"name": "locate", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": FUNCTION}
USED = {"messages", "model", "n", "modalities", "stream", "stream_options", "tools", "functions", "user"}
USED |= {"safety_identifier"}

# By field: values that clients send, and how the agent's hooks find them. Tools: what is offered of `locate`.
HANDED_ON: dict[str, list[Any]] = {
    "temperature": [0.5, 1],
    "top_p": [0.5],
    "presence_penalty": [-0.5],
    "frequency_penalty": [1.0],
    "max_tokens": [100, 100.0, -1],
    "max_completion_tokens": [100, 100.0],
    "seed": [7, 7.0],
    "top_logprobs": [2.0],
    "logprobs": [True],
    "logit_bias": [{"50256": -100}],
    "stop": ["x", ["x", "y"]],
    "response_format": [{"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}],
    "tool_choice": ["auto", "required", TOOL, {"type": "auto"}],
    "function_call": ["auto", "none", {"name": "locate"}],
    "parallel_tool_calls": [True, False],
    "reasoning_effort": ["low"],
    "verbosity": ["low"],
    "metadata": [{"a": "b"}],
    "store": [True],
    "service_tier": ["auto"],
    "prompt_cache_key": ["k"],
    "prompt_cache_retention": ["24h"],
    "prompt_cache_options": [{"mode": "implicit"}],
    "prediction": [{"type": "content", "content": "x"}],
    "audio": [{"voice": "alloy", "format": "wav"}],
    "moderation": [{"model": "m"}],
    "web_search_options": [{}],
    "thinking": [{"type": "enabled"}],
    "session_id": ["s"],
}


def listening() -> tuple[Any, list[Any]]:
    """An application, and for each run what its hooks and its agent saw."""
    seen: list[Any] = []

    def before(run: Any) -> None:
        seen.append((run.run_input.forwarded_props["openai"], run.request.get("end_user"), run.run_input.tools))

    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "ok")]}

    graph = StateGraph(MessagesState).add_node(agent).add_edge(START, "agent").compile()
    return create_app({"model": AGUIAdapter(graph, hooks=Hooks(before_run=before))}, openai="/v1"), seen


def rows() -> dict[str, str]:
    """The page's table of fields: the second column by field."""
    table = PAGE.read_text("utf-8").partition("## Fields of a request")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (`.+?`) \| (.+?) \|$", table, re.MULTILINE)
    return {name: text for names, text in found for name in re.findall(r"`(\w+)`", names)}


def test_the_page_has_every_field_of_the_official_client() -> None:
    known = {*official.CompletionCreateParamsBase.__annotations__, "stream"}
    assert rows().keys() >= known
    assert known <= {*USED, *HANDED_ON}


def test_fields_without_effect_are_those_of_the_page() -> None:
    without = {name for name, text in rows().items() if text.startswith("no effect")}
    with_effect = {*USED, "tool_choice", "function_call", "parallel_tool_calls"}
    assert without == HANDED_ON.keys() - with_effect - {"thinking", "session_id"}


@pytest.mark.parametrize(("field", "value"), [(field, v) for field, values in HANDED_ON.items() for v in values])
async def test_fields_are_handed_on(field: str, value: Any) -> None:
    app, seen = listening()
    tools = {"functions": [FUNCTION]} if field == "function_call" else {"tools": [TOOL]}
    for stream in (False, True):
        answer = await chat(app, "hi", stream=stream, **{field: value}, **tools)
        assert answer.status == 200, answer.body
    plain = dict.fromkeys(("seed", "max_tokens", "max_completion_tokens", "top_logprobs"), int)
    for given, _, offered in seen:
        assert given == {field: value}
        assert type(given[field]) is plain.get(field, type(value))
        assert [tool.name for tool in offered] == ([] if value == "none" else ["locate"])
    assert (await chat(app, "hi", **{field: None})).status == 200


@pytest.mark.parametrize(
    ("given", "user", "handed_on"),
    [
        ({"user": "ann"}, "ann", {"user": "ann"}),
        ({"safety_identifier": "ann"}, "ann", {"safety_identifier": "ann"}),
        ({"user": "ann", "safety_identifier": "x"}, "ann", {"user": "ann", "safety_identifier": "x"}),
        ({"n": 1.0, "model": None, "stream_options": None, "modalities": ["text"]}, None, {"modalities": ["text"]}),
    ],
)
async def test_fields_with_a_meaning_of_their_own(given: Any, user: Any, handed_on: Any) -> None:
    app, seen = listening()
    assert (await chat(app, "hi", **given)).status == 200
    assert seen == [(handed_on, user, [])]


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"max_tokens": 100.5}, "max_tokens"),
        ({"max_tokens": "100"}, "max_tokens"),
        ({"n": 2.0}, "n"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"tools": [{"type": "custom", "custom": {"name": "a"}}]}, "tools[0]"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice"),
        ({"functions": [FUNCTION], "function_call": {"name": "other"}}, "function_call"),
        ({"functions": {}}, "functions"),
        ({"functions": [{}]}, "functions[0].name"),
        ({"functions": ["locate"]}, "functions[0]"),
        ({"messages": [*said("hi"), {"role": "function", "name": "a", "content": "x"}]}, "messages[1]"),
    ],
)
async def test_what_no_agent_can_do_is_refused(given: Any, param: str) -> None:
    app, seen = listening()
    answer = await chat(app, **{"messages": said("hi"), **given})
    assert (error_of(answer), seen) == ((400, "invalid_input", param), [])


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        ("required", ["locate", "other"]),
        ({"type": "function", "function": {"name": "other"}}, ["other"]),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TOOL]}}, ["locate"]),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}, []),
        ({"type": "none"}, []),
        ({"type": "any"}, ["locate", "other"]),
    ],
)
async def test_the_choice_of_tools_is_what_the_agent_may_call(choice: Any, offered: list[str]) -> None:
    app, seen = listening()
    tools = [TOOL, {"type": "function", "function": {"name": "other"}}]
    assert (await chat(app, "hi", tools=tools, tool_choice=choice)).status == 200
    assert [tool.name for tool in seen[0][2]] == offered


# ---------------------------------------------------------------- one call, and the older form


def caller(*, memory: bool) -> Any:
    """Calls `locate` twice at once, and says which results it has; asked again, it calls it anew."""

    def script(messages: Any) -> Any:
        if messages[-1].type == "human":
            n = len(messages)
            return ["Hm. ", tool_calls_part(("locate", {"n": n}, f"c{n}"), ("locate", {"n": -n}, f"d{n}"))]
        results = [message.text for message in messages[-2:] if message.type == "tool"]
        return [f"It is {next(text for text in results if not text.startswith('There is no result'))}."]

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await ScriptedChatModel(script=script).ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node(agent).add_edge(START, "agent")
    return graph.compile(checkpointer=InMemorySaver() if memory else None)


async def spoken(client: Any, messages: list[Any], *, stream: bool, **more: Any) -> tuple[dict[str, Any], str]:
    """The message of an answer as a client keeps it, and the reason of its end."""
    asked = {"model": "model", "messages": messages, "user": "ann", **more}
    if not stream:
        answer = await client.chat.completions.create(**asked)
        return answer.choices[0].message.model_dump(exclude_none=True), answer.choices[0].finish_reason
    text, name, arguments, reason = "", "", "", ""
    async for chunk in await client.chat.completions.create(**asked, stream=True):
        [choice] = chunk.choices
        text, reason = text + (choice.delta.content or ""), choice.finish_reason or reason
        if called := choice.delta.function_call:
            name, arguments = name + (called.name or ""), arguments + (called.arguments or "")
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return message | ({"function_call": {"name": name, "arguments": arguments}} if name else {}), reason


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", ["locate", ""])
async def test_functions_are_tools_in_the_older_form(stream: bool, memory: bool, name: str) -> None:
    """`name`: of the result's message; Dify leaves it empty."""
    app = chats_with(caller(memory=memory))
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app=app))
    async with openai.AsyncOpenAI(base_url="http://server/v1", api_key="k", http_client=http, max_retries=0) as client:
        messages: list[Any] = []
        for turn in ("one", "two"):
            messages.append({"role": "user", "content": turn})
            called, reason = await spoken(client, messages, stream=stream, functions=[FUNCTION])
            assert (called["content"], reason) == ("Hm. ", "function_call")
            assert (called["function_call"]["name"], "tool_calls" in called) == ("locate", False)
            messages += [called, {"role": "function", "name": name, "content": f"there, {turn}"}]
            answer, reason = await spoken(client, messages, stream=stream, functions=[FUNCTION])
            assert (answer, reason) == ({"role": "assistant", "content": f"It is there, {turn}."}, "stop")
            messages.append(answer)
        if memory:
            threads = (await http.get("http://server/model/threads")).json()
            assert len(threads) == 1, "the conversation stays in its thread"


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("gone", [False, True])
async def test_results_count_though_their_tool_may_not_be_called_any_more(older: bool, gone: bool) -> None:
    offered: list[Any] = []

    def script(messages: Any) -> Any:
        return (
            [f"It is {messages[-1].content}."]
            if messages[-1].type == "tool"
            else [tool_calls_part(("locate", {}, "c"))]
        )

    async def agent(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        offered.append([tool["function"]["name"] for tool in client_tools(config)])
        return {"messages": [await ScriptedChatModel(script=script).ainvoke(state["messages"])]}

    app = chats_with(StateGraph(MessagesState).add_node(agent).add_edge(START, "agent").compile(InMemorySaver()))
    tools: Any = {"functions": [FUNCTION]} if older else {"tools": [TOOL]}
    forbidden = {} if gone else {**tools, "function_call" if older else "tool_choice": "none"}
    message = message_of(await chat(app, "hi", user="ann", **tools))
    result = {"role": "function", "name": "locate"} if older else {"role": "tool", "tool_call_id": "c"}
    messages = [*said("hi"), message, {**result, "content": "there"}]
    assert message_of(await chat(app, messages, user="ann", **forbidden))["content"] == "It is there."
    assert offered == [["locate"], []]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_caller_that_takes_one_call_gets_one(stream: bool) -> None:
    app = chats_with(caller(memory=True))
    here = {"X-Conversation-Id": "c"}
    answer = await chat(app, "hi", here, tools=[TOOL], parallel_tool_calls=False, stream=stream)
    assert answer.body.decode().count('"id":"c1"') == 1
    assert "d1" not in answer.body.decode()
    if not stream:
        message = message_of(answer)
        [call] = message["tool_calls"]
        result = {"role": "tool", "tool_call_id": call["id"], "content": None}
        assert message_of(await chat(app, [*said("hi"), message, result], here, tools=[TOOL]))["content"] == "It is ."
