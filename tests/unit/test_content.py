"""Text and reasoning out of what providers really send."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from tests.recordings import load
from tests.support.messages import wire
from yai_nexus_agentkit.adapter.langgraph.messages.content import Text, minted_call_id, read_content, read_whole
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.provider_blocks import BY_NAME
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning import Reasoning, reasoning_id
from yai_nexus_agentkit.adapter.langgraph.messages.reasoning_shapes import SHAPES, Block, Form, Shape
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain

Piece = Text | Reasoning
PROVIDERS = [
    (file, label)
    for file in ("provider_anthropic", "provider_google", "provider_openai_chat", "provider_openai_responses")
    for label in load(file)
]


def recorded(file: str, label: str) -> tuple[list[AIMessageChunk], BaseMessage]:
    """The chunks of a recorded model run, and the message at its end."""
    run = load(file)[label]
    chunks = [event["data"]["chunk"] for event in run if event["event"] == "on_chat_model_stream"]
    return chunks, next(event["data"]["output"] for event in run if event["event"] == "on_chat_model_end")


def streamed(messages: Iterable[BaseMessage]) -> list[Piece]:
    return [piece for message in messages for piece in read_content(message)]


def sent(pieces: Iterable[Piece]) -> tuple[str, dict[Hashable, tuple[dict[int, str], str | None, str | None]]]:
    """The client's end result: the text, and per block its sections, encrypted value and kind."""
    text = ""
    blocks: dict[Hashable, tuple[dict[int, str], str | None, str | None]] = {}
    for piece in pieces:
        if isinstance(piece, Text):
            text += piece.text
        elif isinstance(piece, Reasoning):
            sections, encrypted, kind = blocks.get(piece.key, ({}, None, None))
            if piece.text:
                sections = {**sections, piece.section: sections.get(piece.section, "") + piece.text}
            blocks[piece.key] = (sections, piece.encrypted or encrypted, piece.kind or kind)
    return text, blocks


@pytest.mark.parametrize(("file", "label"), PROVIDERS)
def test_chunks_and_whole_message_have_the_same_content(file: str, label: str) -> None:
    chunks, whole = recorded(file, label)
    assert sent(streamed(chunks)) == sent(read_content(whole))
    assert sent(read_content(reduce(add, chunks))) == sent(read_content(whole))


@pytest.mark.parametrize(
    ("file", "label", "text", "blocks"),
    [
        ("provider_anthropic", "text_no_tools", "Hello", []),
        (
            "provider_anthropic",
            "thinking_tools",
            "Checking now.",
            [({0: "Let me think."}, "EqQBCgIYAhIM", "signature"), ({}, "EmwKAhgBEgy3", "redacted")],
        ),
        (
            "provider_anthropic",
            "thinking_tools_v1",
            "Checking now.",
            [({0: "Let me think."}, "EqQBCgIYAhIM", "signature"), ({}, "EmwKAhgBEgy3", "redacted")],
        ),
        ("provider_anthropic", "server_tool", "It is sunny", []),
        ("provider_google", "gemini", "Checking now.", [({0: "Let me think."}, None, None)]),
        ("provider_openai_chat", "text", "Hello", []),
        ("provider_openai_chat", "tools", "", []),
        ("provider_openai_chat", "deepseek", "Checking", [({0: "Let me think."}, None, None)]),
        ("provider_openai_chat", "openai_class_drops_reasoning", "Checking", []),
        *[
            (
                "provider_openai_responses",
                label,
                "Checking now.",
                [({0: "Let me think.", 1: "Then act."}, "gAAAA-full", "encrypted")],
            )
            for label in ("responses", "output_version_v1", "output_version_v0")
        ],
    ],
)
def test_recorded_providers(file: str, label: str, text: str, blocks: list[Any]) -> None:
    chunks, _ = recorded(file, label)
    found_text, found = sent(streamed(chunks))
    assert (found_text, list(found.values())) == (text, blocks)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_every_shape_is_read_as_it_is_written(shape: Shape) -> None:
    """Text of a message in this shape is recognised when the message comes again."""
    block = Block(("Hm.",), None if shape.outside else "E", shape.kind or None, Form(shape.name))
    written = shape.write(block)
    message = AIMessage([] if shape.outside else written)
    if shape.outside:
        message.additional_kwargs[shape.where] = written
    [found] = read_whole(message).blocks
    assert found.form.name == shape.name
    assert found.text or found.encrypted


def test_order_within_one_chunk_is_kept() -> None:
    chunk = AIMessageChunk(
        content=[
            {"type": "thinking", "thinking": "a", "index": 0},
            {"type": "thinking", "thinking": "", "signature": "S", "index": 0},
            {"type": "text", "text": "b", "index": 1},
            {"type": "thinking", "thinking": "c", "index": 2},
            "d",
        ]
    )
    assert read_content(chunk) == [
        Reasoning(0, 0, "a", None, None, Form("thinking")),
        Reasoning(0, 0, "", "S", "signature", Form("thinking")),
        Text("b"),
        Reasoning(2, 0, "c", None, None, Form("thinking")),
        Text("d"),
    ]


def test_reasoning_outside_the_content_comes_first() -> None:
    chunk = AIMessageChunk(content="b", additional_kwargs={"reasoning_content": "a"})
    assert read_content(chunk) == [
        Reasoning("reasoning_content", 0, "a", None, None, Form("kwargs.reasoning_content")),
        Text("b"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "",
        [],
        [""],
        [{"type": "text", "text": ""}, {"type": "text", "text": None}],
        [{"type": "thinking", "thinking": "", "index": 0}, {"type": "reasoning", "id": "rs_1", "summary": []}],
        [{"type": "tool_use", "name": "f", "input": {}}, {"type": "computer_call", "id": "cu"}],
        [{"type": "image"}, {"type": "non_standard", "value": {"type": "other", "data": "x"}}],
        [{"no": "type"}, {"type": 5}, {"type": ["text"], "text": "x"}, {"type": None}],
    ],
)
def test_everything_else_is_skipped(content: Any) -> None:
    assert read_content(AIMessageChunk.model_construct(content=content, additional_kwargs={})) == []


def test_blocks_without_index_end_with_their_signature() -> None:
    """Anthropic's answer without streaming."""
    whole = AIMessage(
        [
            {"type": "thinking", "thinking": "a", "signature": "S1"},
            {"type": "redacted_thinking", "data": "D"},
            {"type": "thinking", "thinking": "b", "signature": "S2"},
            {"type": "text", "text": "c"},
        ]
    )
    text, blocks, *_ = read_whole(whole)
    assert text == "c"
    assert [(block.text, block.encrypted, block.kind, block.form.name) for block in blocks] == [
        ("a", "S1", "signature", "thinking"),
        ("", "D", "redacted", "redacted_thinking"),
        ("b", "S2", "signature", "thinking"),
    ]


def test_blocks_streamed_without_index_are_one() -> None:
    chunks = [AIMessageChunk(content=[{"type": "thinking", "thinking": text}]) for text in ("a", "b")]
    chunks += [AIMessageChunk(content=[{"type": "thinking", "signature": "S"}]), AIMessageChunk(content="answer")]
    assert sent(streamed(chunks)) == sent(read_content(reduce(add, chunks)))
    assert [block.text for block in read_whole(reduce(add, chunks)).blocks] == ["ab"]


def test_standard_blocks_with_one_id_are_sections() -> None:
    """The answer of OpenAI's Responses API without streaming, as standard blocks."""
    whole = AIMessage(
        [
            {"type": "reasoning", "id": "rs_1", "reasoning": "a", "extras": {"encrypted_content": "E"}},
            {"type": "reasoning", "id": "rs_1", "reasoning": "b"},
            {"type": "reasoning", "id": "rs_2", "reasoning": "c"},
        ]
    )
    blocks = read_whole(whole).blocks
    assert [(block.sections, block.text, block.encrypted, block.form) for block in blocks] == [
        (("a", "b"), "a\n\nb", "E", Form("reasoning", "rs_1")),
        (("c",), "c", None, Form("reasoning", "rs_2")),
    ]


@pytest.mark.parametrize("index", ["lc_rs_zz", "lc_rs_", "lc_rs_30", "other", "lc_rs_612062"])
def test_an_index_of_another_kind_is_the_key(index: str) -> None:
    chunk = AIMessageChunk(content=[{"type": "reasoning", "reasoning": "a", "index": index}])
    assert read_content(chunk) == [Reasoning(index, 0, "a", None, None, Form("reasoning"))]


def test_other_places_of_reasoning() -> None:
    chunk = AIMessageChunk(content="", additional_kwargs={"reasoning": "plain"})
    assert read_content(chunk) == [Reasoning("reasoning", 0, "plain", None, None, Form("kwargs.text"))]
    chunk = AIMessageChunk(content=[{"type": "reasoning", "reasoning": "a", "signature": "S", "index": 0}])
    assert read_content(chunk) == [Reasoning(0, 0, "a", "S", "signature", Form("reasoning"))]


def test_ids() -> None:
    assert reasoning_id("m", 0) == "m-reasoning-0"
    assert minted_call_id("m", 1) == "m-call-1"
    assert len({reasoning_id("m", 0), reasoning_id("m", 1), minted_call_id("m", 0), minted_call_id("m", 1), "m"}) == 5


MEMBERS = st.sampled_from(
    [
        "type",
        "text",
        "thinking",
        "reasoning",
        "signature",
        "data",
        "summary",
        "index",
        "id",
        "extras",
        "value",
        "encrypted_content",
        "annotations",
        "args",
        "arguments",
        "input",
        "action",
        "output",
        "status",
        "content",
        "partial_json",
        "tool_use_id",
        "tool_call_id",
        "base64",
        "image_url",
        "result",
    ]
)
WORDS = st.sampled_from(
    ["text", "thinking", "redacted_thinking", "reasoning", "non_standard", "lc_rs_305f30", "x", "", *BY_NAME]
)
ANY = st.recursive(
    WORDS | st.none() | st.integers(0, 2) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=12,
)


@given(
    ANY | st.lists(ANY, max_size=3),
    st.dictionaries(st.sampled_from(["reasoning", "reasoning_content", "audio", "tool_outputs", "citations"]), ANY),
)
def test_any_content_is_read(content: Any, extra: dict[str, Any]) -> None:
    content = content if isinstance(content, str | list) else [content]
    message = AIMessage.model_construct(content=content, additional_kwargs=extra)
    pieces = read_content(message)
    for piece in pieces:
        if isinstance(piece, Text):
            assert piece.text
        if isinstance(piece, Reasoning):
            assert piece.text or piece.encrypted
            hash(piece.key)
            assert (piece.encrypted is None) == (piece.kind is None)
    text, blocks, *_ = read_whole(message)
    assert text.replace("\n\n", "") == sent(pieces)[0]
    assert len(blocks) == len(sent(pieces)[1])
    message.id, message.response_metadata = "a", {}
    wire(to_agui([message]))
    to_langchain(to_agui([message]))
