"""AG-UI messages as a model can be given them, and what went there comes back."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    AudioPart,
    DataSource,
    DeveloperMessage,
    DocumentPart,
    FileSource,
    ImagePart,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextPart,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import messages as lc
from langchain_core.messages import AIMessage

from tests.recordings import FILES, load
from tests.support.messages import as_agui, assert_stable, call, lc_call, there_and_back, wire
from yai_nexus_agentkit.adapter.langgraph.messages.answer import is_derived, own_messages
from yai_nexus_agentkit.adapter.langgraph.messages.content import read_content
from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import BY_NAME
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import Reasoning, form_metadata
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain


def recorded_messages(value: Any) -> list[lc.BaseMessage]:
    if isinstance(value, lc.BaseMessage):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for item in value for one in recorded_messages(item)] if isinstance(value, list | tuple) else []


@pytest.mark.parametrize("file", FILES)
def test_recorded_messages_convert(file: str) -> None:
    for run in load(file).values():
        messages = recorded_messages(list(run))
        sent = to_agui(messages)
        wire(sent)
        shown = [message for message in messages if is_shown(message)]
        assert len([message for message in sent if not is_derived(message)]) == len(shown)
        for message in messages:
            assert_stable([message])


@pytest.mark.parametrize(
    ("file", "label"),
    [
        (file, label)
        for file in ("provider_anthropic", "provider_google", "provider_openai_chat", "provider_openai_responses")
        for label in load(file)
    ],
)
def test_reasoning_comes_back_in_the_providers_form(file: str, label: str) -> None:
    run = load(file)[label]
    answer = next(event["data"]["output"] for event in run if event["event"] == "on_chat_model_end")
    sent = to_agui([answer])
    back = to_langchain(sent)
    assert to_agui(back) == sent

    def form(message: lc.BaseMessage) -> list[Any]:
        kinds = ("thinking", "redacted_thinking", "reasoning", "non_standard")
        content = message.content if isinstance(message.content, list) else []
        blocks = [block for block in content if isinstance(block, dict) and block["type"] in kinds]
        return [{key: value for key, value in block.items() if key != "index"} for block in blocks]

    assert form(back[0]) == form(answer)
    for key in ("reasoning", "reasoning_content"):
        assert back[0].additional_kwargs.get(key) == answer.additional_kwargs.get(key)
    if len(sent) > 1:
        assert back[0].response_metadata["model_provider"] == answer.response_metadata["model_provider"]


def test_all_roles() -> None:
    back = to_langchain(
        [
            SystemMessage(id="s", content="s", name="n"),
            DeveloperMessage(id="d", content="d"),
            UserMessage(id="u", content="hi", name="ann"),
            ActivityMessage(id="x", activity_type="plan", content={}),
            AssistantMessage(
                id="a", content="yes", name="agent", tool_calls=[call("c1", '{"x": 1}'), call("c2", '{"cut')]
            ),
            ToolMessage(id="t", content="ok", tool_call_id="c1"),
            ToolMessage(id="e", content="no", tool_call_id="c2", error="denied"),
            AssistantMessage(id="z", content="hidden", subagent_run_id="sub"),
        ]
    )
    assert [(message.type, message.id, message.name) for message in back] == [
        ("system", "s", "n"),
        ("system", "d", None),
        ("human", "u", "ann"),
        ("ai", "a", "agent"),
        ("tool", "t", "f"),
        ("tool", "e", "f"),
    ]
    answer, ok, failed = back[3:]
    assert isinstance(answer, AIMessage)
    assert answer.tool_calls == [lc_call("c1", x=1)]
    [invalid] = answer.invalid_tool_calls
    assert (invalid["id"], invalid["args"]) == ("c2", '{"cut')
    assert isinstance(ok, lc.ToolMessage)
    assert isinstance(failed, lc.ToolMessage)
    assert (ok.status, failed.status) == ("success", "error")
    assert back[1].additional_kwargs["__openai_role__"] == "developer"


@pytest.mark.parametrize("arguments", ["[1]", "null", "5", '"x"', "{", "NaN", '{"a": NaN}', '{"a": 1} x', "[" * 5000])
def test_arguments_that_are_no_object_are_invalid_calls(arguments: str) -> None:
    message = AssistantMessage(id="a", tool_calls=[call(arguments=arguments)])
    [back] = to_langchain([message])
    assert isinstance(back, AIMessage)
    assert (back.tool_calls, back.invalid_tool_calls[0]["args"]) == ([], arguments)
    assert there_and_back(message) == wire([message])


@pytest.mark.parametrize("arguments", ["", "  ", "{}"])
def test_no_arguments(arguments: str) -> None:
    [back] = to_langchain([AssistantMessage(id="a", tool_calls=[call(arguments=arguments)])])
    assert isinstance(back, AIMessage)
    assert back.tool_calls == [lc_call("c")]


def test_parts_become_standard_blocks() -> None:
    parts: list[Any] = [
        TextPart(text="look", id="p1", metadata={"k": 1}),
        ImagePart(source=DataSource(value="AA", mime_type="image/png")),
        ImagePart(source=UrlSource(value="https://example.com/a.png")),
        AudioPart(source=FileSource(value="f", provider="openai", mime_type="audio/wav")),
        DocumentPart(
            source=DataSource(value="UERG", mime_type="application/pdf"), metadata={"filename": "a.pdf", "x": 1}
        ),
    ]
    message = UserMessage(id="u", content=parts)
    [back] = to_langchain([message])
    assert back.content == [
        {"type": "text", "text": "look"},
        {"type": "image", "base64": "AA", "mime_type": "image/png"},
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "audio", "file_id": "f", "mime_type": "audio/wav", "extras": {"provider": "openai"}},
        {"type": "file", "base64": "UERG", "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
    ]
    assert there_and_back(message) == wire([message])


def test_parts_survive_a_change_by_the_graph() -> None:
    [back] = to_langchain([UserMessage(id="u", content=[TextPart(text="a", id="p"), TextPart(text="b", metadata=1)])])
    back.content = [{"type": "text", "text": "only"}]
    assert as_agui(back)[0]["content"] == [{"type": "text", "text": "only"}]


def test_providers_can_be_sent_the_blocks() -> None:
    parts: list[Any] = [
        TextPart(text="look", id="p1"),
        ImagePart(source=DataSource(value="AA", mime_type="image/png")),
        DocumentPart(source=DataSource(value="UERG", mime_type="application/pdf"), metadata={"filename": "a.pdf"}),
    ]
    [sent] = lc.convert_to_openai_messages(to_langchain([UserMessage(id="u", content=parts)]))
    assert sent["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,UERG", "filename": "a.pdf"}},
    ]


THINKING = {"langgraph": {"form": "thinking", "kind": "signature"}}


def thought(message_id: str, text: str = "hm", metadata: Any = THINKING) -> ReasoningMessage:
    return ReasoningMessage(id=message_id, content=text, encrypted_value="S", metadata=metadata)


def folded(*messages: Any) -> dict[str, list[str]]:
    """Texts of the thinking blocks by the answer that holds them."""
    return {
        str(message.id): [block["thinking"] for block in message.content if block["type"] == "thinking"]
        for message in to_langchain(messages)
        if isinstance(message.content, list)
    }


def test_reasoning_goes_to_its_answer() -> None:
    ask, first, second = (
        UserMessage(id="u", content="x"),
        AssistantMessage(id="a", content="1"),
        AssistantMessage(id="b"),
    )
    assert folded(ask, thought("x", "next"), first, second) == {"a": ["next"]}
    assert folded(ask, thought("x", "lost"), ask, first) == {}
    assert folded(ask, thought("b-reasoning-0", "named"), first, second) == {"b": ["named"]}
    assert folded(thought("a-reasoning-0", "1"), thought("a-reasoning-1", "2"), first) == {"a": ["1", "2"]}
    assert folded(thought("a-reasoning-x", "1"), second) == {"b": ["1"]}


def test_reasoning_without_form_is_dropped() -> None:
    answer = AssistantMessage(id="a", content="1")
    for metadata in (
        None,
        {},
        {"langgraph": 5},
        {"langgraph": {}},
        {"langgraph": {"form": "odd"}},
        {"langgraph": {"form": []}},
    ):
        assert to_langchain([thought("r", metadata=metadata), answer])[0].content == "1"


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("signature", {"type": "thinking", "thinking": "hm", "signature": "S", "index": 0}),
        ("redacted", {"type": "redacted_thinking", "data": "S", "index": 0}),
        (
            "encrypted",
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm", "index": 0}],
                "encrypted_content": "S",
                "index": 0,
            },
        ),
    ],
)
def test_the_kind_alone_is_enough(kind: str, block: dict[str, Any]) -> None:
    """A streamed reasoning message says only the kind of its encrypted value."""
    [back] = to_langchain([thought("r", metadata={"langgraph": {"kind": kind}}), AssistantMessage(id="a", content="1")])
    assert back.content == [block, {"type": "text", "text": "1"}]


@pytest.mark.parametrize(
    ("file", "label"),
    [
        ("provider_anthropic", "thinking_tools"),
        ("provider_anthropic", "thinking_tools_v1"),
        ("provider_google", "gemini"),
        ("provider_openai_chat", "deepseek"),
    ],
)
def test_what_the_first_chunk_says_is_enough(file: str, label: str) -> None:
    """Reasoning messages as a client has them from a stream go back into the provider's form."""
    run = load(file)[label]
    answer = next(event["data"]["output"] for event in run if event["event"] == "on_chat_model_end")
    pieces = [
        (piece, event["data"]["chunk"].response_metadata.get("model_provider"))
        for event in run
        if event["event"] == "on_chat_model_stream"
        for piece in read_content(event["data"]["chunk"])
        if isinstance(piece, Reasoning)
    ]
    held: dict[Any, ReasoningMessage] = {}
    for piece, provider in pieces:
        assert piece.form is not None
        first = ReasoningMessage(id=f"x{len(held)}", content="", metadata=form_metadata(piece.form, provider))
        message = held.setdefault(piece.key, first)
        message.content += piece.text
        message.encrypted_value = piece.encrypted or message.encrypted_value
    shown = [one for one in to_agui([answer]) if not isinstance(one, ReasoningMessage)]
    [streamed] = to_langchain([*held.values(), *shown])
    [stored] = to_langchain(to_agui([answer]))
    assert streamed == stored


def test_what_langchain_has_no_field_for_comes_back() -> None:
    messages: list[Any] = [
        UserMessage(id="u", content="x", metadata={"a": None}, encrypted_value="e"),
        SystemMessage(id="s", content="x", metadata={"a": 1}),
        AssistantMessage(
            id="a", metadata={"b": 1}, encrypted_value="e", tool_calls=[call(metadata={"c": 1}, encrypted_value="f")]
        ),
        ToolMessage(id="t", content=[TextPart(text="x", id="p")], tool_call_id="c", error="E", metadata={"d": 1}),
    ]
    assert there_and_back(*messages) == wire(messages)


# ---------------------------------------------------------------------- what a provider did by itself

SEARCHED = AIMessage(
    [
        {"type": "text", "text": "Look."},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
        {"type": "text", "text": "Sunny."},
    ],
    id="a",
    response_metadata={"model_provider": "anthropic"},
)


def test_a_search_goes_back_in_its_place() -> None:
    [back] = to_langchain(to_agui([SEARCHED]))
    assert back.content == SEARCHED.content
    assert isinstance(back, AIMessage)
    assert not back.tool_calls


def test_clients_that_drop_metadata_send_the_text_back() -> None:
    sent = [m.model_copy(update={"metadata": None}) for m in to_agui([SEARCHED])]
    for message in sent:
        for made in getattr(message, "tool_calls", None) or ():
            made.metadata = None
    [back] = to_langchain(sent)
    assert back.content == "Look.\n\nSunny."
    assert isinstance(back, AIMessage)
    assert not back.tool_calls
    assert [m.id for m in own_messages(sent)] == ["a"]


def test_a_result_with_a_name_like_a_providers_is_the_tools() -> None:
    made = AssistantMessage(id="a", tool_calls=[call("c1", "{}")])
    result = ToolMessage(id="b-provider-0", tool_call_id="c1", content="ok")
    assert [m.type for m in to_langchain([made, result])] == ["ai", "tool"]


ODD = (
    st.none()
    | st.booleans()
    | st.integers(-2, 50)
    | st.sampled_from(["x", "1", "[1]", *BY_NAME])
    | st.lists(st.integers(-3, 99) | st.none(), max_size=3)
)
FACTS = st.dictionaries(
    st.sampled_from(["executor", "form", "at", "provider", "block", "text", "status", "citations"]),
    ODD | st.dictionaries(st.sampled_from(["name", "extras", "stands_in", "type"]), ODD, max_size=3),
)


@given(
    FACTS,
    FACTS,
    FACTS,
    st.sampled_from(["", "{}", "[1]", "{", '{"code": 1}', "NaN"]),
    st.sampled_from(["", "3", "[", '[{"a": 1}]']),
)
def test_any_metadata_is_read(own: Any, made: Any, found: Any, arguments: str, content: str) -> None:
    """A client may send what it likes."""
    one = call("c1", arguments)
    one.metadata = {"langgraph": {**made, "executor": "provider"}}
    messages: list[Message] = [
        AssistantMessage(id="a", content="Look.", tool_calls=[one], metadata={"langgraph": own}),
        ToolMessage(
            id="t", tool_call_id="c1", content=content, metadata={"langgraph": {**found, "executor": "provider"}}
        ),
    ]
    back = to_langchain(messages)
    assert [m.id for m in back] == ["a"]
    wire(to_agui(back))
    messages[1].metadata = {"langgraph": found}
    assert [m.id for m in to_langchain(messages)] == ["a"], "the result of such a call, whatever it says"
