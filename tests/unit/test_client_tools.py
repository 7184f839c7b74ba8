"""The parts of a request for graph authors: its tools, its context, and who executes which call."""

from __future__ import annotations

import copy
import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END
from langgraph.types import Send
from pydantic import BaseModel

from yai_nexus_agentkit.orchestration.client_tools import (
    CONTEXT_KEY,
    PENDING,
    TOOLS_KEY,
    client_tool_names,
    client_tools,
    context_entries,
    context_text,
    is_pending,
    pending_calls,
    route_after_model,
    route_after_tools,
    tool_name,
    tool_routes,
)

COLOR = {
    "name": "pick_color",
    "description": "Let the user pick a color.",
    "parameters": {"type": "object", "properties": {"hint": {"type": "string"}}, "required": ["hint"]},
}
EMPTY = {"type": "object", "properties": {}}


def request(*tools: Any, context: Any = ()) -> RunnableConfig:
    return {"configurable": {TOOLS_KEY: list(tools), CONTEXT_KEY: context}}


def call(name: str, id: str | None = None, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id or name, "type": "tool_call"}


def turn(*names: str, answered: tuple[str, ...] = ()) -> list[AnyMessage]:
    calls = [call(name) for name in names]
    results = [ToolMessage("ok", tool_call_id=name) for name in answered]
    return [HumanMessage("hi"), AIMessage("", tool_calls=calls), *results]


def test_tools_have_the_format_that_bind_tools_takes() -> None:
    assert client_tools(request(COLOR)) == [{"type": "function", "function": COLOR}]


def test_anthropic_takes_the_tools_as_they_are() -> None:
    provider = pytest.importorskip("langchain_anthropic")
    bound = provider.ChatAnthropic(model_name="m", api_key="k").bind_tools(client_tools(request(COLOR, {"name": "go"})))
    assert [(t["name"], t["input_schema"]) for t in bound.kwargs["tools"]] == [
        ("pick_color", COLOR["parameters"]),
        ("go", EMPTY),
    ]


def test_gemini_takes_the_tools_as_they_are() -> None:
    provider = pytest.importorskip("langchain_google_genai")
    model = provider.ChatGoogleGenerativeAI(model="m", api_key="k")
    text = str(model.bind_tools(client_tools(request(COLOR, {"name": "go"}))).kwargs["tools"])
    assert "pick_color" in text
    assert "'go'" in text or '"go"' in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, EMPTY),
        ({}, EMPTY),
        ("{}", EMPTY),
        ([], EMPTY),
        ({"type": "string"}, EMPTY),
        ({"type": "object"}, EMPTY),
        ({"type": "object", "properties": None}, EMPTY),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "object", "additionalProperties": True}, {**EMPTY, "additionalProperties": True}),
    ],
)
def test_parameters_are_always_an_object_schema(given: Any, expected: Any) -> None:
    tools = client_tools(request({"name": "f", "description": "d", "parameters": given}))
    assert tools[0]["function"] == {"name": "f", "description": "d", "parameters": expected}


def test_the_request_stays_as_it_was() -> None:
    config = request({"name": "f", "parameters": {"type": "object"}})
    before = copy.deepcopy(config)
    client_tools(config)
    assert config == before


def test_entries_without_a_name_and_second_ones_of_a_name_are_left_out() -> None:
    config = request(
        COLOR, {"description": "no name"}, {"name": ""}, {"name": 3}, "junk", {**COLOR, "description": "2"}
    )
    assert client_tools(config) == [{"type": "function", "function": COLOR}]
    assert client_tool_names(config) == {"pick_color"}


@pytest.mark.parametrize("values", [None, {}, "junk", 3, {"configurable": None}])
def test_other_shapes_are_no_tools_and_no_context(values: Any) -> None:
    config: RunnableConfig = {"configurable": {TOOLS_KEY: values, CONTEXT_KEY: values}}
    assert client_tools(config) == []
    assert context_entries(config) == []
    assert context_text(config) is None


def test_outside_a_run_there_is_nothing() -> None:
    assert client_tools() == []
    assert client_tool_names() == frozenset()
    assert context_entries() == []
    assert context_text() is None


def test_the_servers_tool_of_a_name_wins_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def only_in_this_test(x: int) -> int:
        """A server tool."""
        return x

    config = request(COLOR, {"name": "only_in_this_test"})
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert [t["function"]["name"] for t in client_tools(config, exclude=[only_in_this_test])] == ["pick_color"]
            assert client_tool_names(config, exclude=["only_in_this_test"]) == {"pick_color"}
    assert [r.getMessage() for r in caplog.records if "only_in_this_test" in r.getMessage()] == [
        "The client's tool 'only_in_this_test' has the name of a server tool and is ignored."
    ]


def test_every_kind_of_tool_has_a_name() -> None:
    @tool
    def a_tool() -> str:
        """."""
        return ""

    def function() -> None: ...

    assert [tool_name(t) for t in ("text", a_tool, function)] == ["text", "a_tool", "function"]
    assert tool_name({"type": "function", "function": {"name": "f"}}) == "f"
    assert tool_name({"type": "web_search_20250305", "name": "web_search"}) == "web_search"
    assert tool_name({"type": "web_search"}) == ""


def test_context_entries_are_texts() -> None:
    context = [
        {"description": "Time zone", "value": "Europe/Oslo"},
        {"description": "Cart", "value": {"items": ["tea"], "café": True}},
        {"value": "alone"},
        "junk",
    ]
    assert context_entries(request(context=context)) == [
        {"description": "Time zone", "value": "Europe/Oslo"},
        {"description": "Cart", "value": '{"items": ["tea"], "café": true}'},
        {"description": "", "value": "alone"},
    ]


def test_the_context_text_has_every_entry() -> None:
    context = [{"description": "Time zone", "value": "Europe/Oslo"}, {"value": "alone"}]
    assert context_text(request(context=context)) == (
        "Context from the user's application:\n\nTime zone:\nEurope/Oslo\n\nContext:\nalone"
    )


def test_calls_belong_to_the_client_only_if_the_request_has_the_tool() -> None:
    server, client = pending_calls(turn("price", "pick_color", "invented"), request(COLOR))
    assert [c["name"] for c in server] == ["price", "invented"]
    assert [c["name"] for c in client] == ["pick_color"]


def test_answered_calls_are_not_pending_but_a_placeholder_is_no_answer() -> None:
    held = ToolMessage("", tool_call_id="pick_color", additional_kwargs={PENDING: True})
    messages = [*turn("price", "pick_color", answered=("price",)), held]
    server, client = pending_calls(messages, request(COLOR))
    assert server == []
    assert [c["name"] for c in client] == ["pick_color"]
    assert [is_pending(m) for m in messages] == [False, False, False, True]


def test_only_the_last_ai_message_counts() -> None:
    messages = [*turn("price"), *turn("pick_color")]
    assert [[c["name"] for c in calls] for calls in pending_calls(messages, request(COLOR))] == [[], ["pick_color"]]
    assert pending_calls([], request(COLOR)) == ([], [])
    assert pending_calls([HumanMessage("hi")], request(COLOR)) == ([], [])


@pytest.mark.parametrize(
    ("messages", "after_model", "after_tools"),
    [
        pytest.param(turn(), END, "agent", id="no calls"),
        pytest.param(turn("price"), [["price"]], "agent", id="a server call"),
        pytest.param(turn("price", "tax"), [["price"], ["tax"]], "agent", id="two server calls"),
        pytest.param(turn("pick_color"), END, END, id="a client call"),
        pytest.param(turn("pick_color", "price"), [["price"]], END, id="both"),
        pytest.param(turn("price", "pick_color", answered=("price",)), END, END, id="server answered"),
        pytest.param(turn("pick_color", answered=("pick_color",)), END, "agent", id="client answered"),
    ],
)
def test_the_routers(messages: list[AnyMessage], after_model: Any, after_tools: str) -> None:
    config = request(COLOR)
    routed = route_after_model({"messages": messages}, config)
    if isinstance(routed, list):
        assert {send.node for send in routed} == {"tools"}
        assert [[c["name"] for c in send.arg] for send in routed] == after_model
    else:
        assert routed == after_model
    assert route_after_tools({"messages": messages}, config) == after_tools


class Chat(BaseModel):
    talk: list[Any]


@pytest.mark.parametrize(
    "state", [{"talk": turn("price", "mine")}, Chat(talk=turn("price", "mine")), turn("price", "mine")]
)
def test_routers_for_other_names_and_shapes(state: Any) -> None:
    def mine() -> None: ...

    after_model, after_tools = tool_routes("work", "think", messages_key="talk", server_tools=[mine])
    config = request(COLOR, {"name": "mine"})
    assert after_model(state, config) == [Send("work", [call("price")]), Send("work", [call("mine")])]
    assert after_tools(state, config) == "think"
    assert route_after_model({"messages": turn("mine")}, config) == END
