"""LangChain messages as a client holds them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core import messages as lc
from langchain_core.messages import AIMessage, HumanMessage

from tests.support.messages import as_agui, lc_call
from yai_nexus_agentkit.adapter.langgraph.messages.content import calls_of, message_id
from yai_nexus_agentkit.adapter.langgraph.messages.convert import tool_content
from yai_nexus_agentkit.orchestration.client_tools import PENDING


def test_a_conversation() -> None:
    assert as_agui(
        lc.SystemMessage("be brief", id="s"),
        lc.SystemMessage("d", id="d", additional_kwargs={"__openai_role__": "developer"}),
        HumanMessage("hi", id="u", name="ann"),
        AIMessage("Let me look.", id="a", name="agent", tool_calls=[lc_call("c1", city="Öslo")]),
        lc.ToolMessage("sunny", tool_call_id="c1", id="t"),
        AIMessage("It is sunny.", id="b"),
    ) == [
        {"id": "s", "role": "system", "content": "be brief"},
        {"id": "d", "role": "developer", "content": "d"},
        {"id": "u", "role": "user", "content": "hi", "name": "ann"},
        {
            "id": "a",
            "role": "assistant",
            "name": "agent",
            "content": "Let me look.",
            "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city":"Öslo"}'}}],
        },
        {"id": "t", "role": "tool", "content": "sunny", "toolCallId": "c1"},
        {"id": "b", "role": "assistant", "content": "It is sunny."},
    ]


def test_what_is_left_out() -> None:
    class Odd(lc.BaseMessage):
        type: str = "odd"

    pending = lc.ToolMessage("", tool_call_id="c", id="p", additional_kwargs={PENDING: True})
    assert as_agui(lc.RemoveMessage(id="x"), Odd(content="x", id="o"), pending) == []


def test_empty_assistant_content_is_absent_and_a_message_of_nothing_is_none() -> None:
    for content in ("", [], [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]):
        [message] = as_agui(AIMessage(content, id="a", tool_calls=[{"name": "f", "args": {}, "id": "c"}]))
        assert message.keys() == {"id", "role", "toolCalls"}
        assert as_agui(AIMessage(content, id="a")) == []


def test_block_content_of_an_answer_is_joined_text() -> None:
    content: Any = [
        {"type": "text", "text": "It is "},
        "sunny",
        {"type": "image", "url": "u"},
        {"type": "text", "text": "."},
    ]
    shown, picture = as_agui(AIMessage(content, id="a"))
    assert shown["content"] == "It is sunny\n\n.", "a picture parts the text"
    assert picture["content"] == {
        "messageId": "a",
        "parts": [{"type": "image", "source": {"type": "url", "value": "u"}}],
    }


def test_invalid_calls_keep_their_text() -> None:
    message = AIMessage(
        "",
        id="a",
        tool_calls=[lc_call("c1")],
        invalid_tool_calls=[
            {"name": "g", "args": '{"cut', "id": "c2", "error": "x"},
            {"name": None, "args": None, "id": None, "error": None},
        ],
    )
    assert as_agui(message)[0]["toolCalls"] == [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": '{"cut'}},
        {"id": "a-call-2", "type": "function", "function": {"name": "", "arguments": ""}},
    ]


def test_arguments_are_json_whatever_they_hold() -> None:
    message = AIMessage("", id="a", tool_calls=[lc_call("c")])
    message.tool_calls[0]["args"] = {"set": {2, 1}, "nan": float("nan"), "half": "\ud83d"}
    [sent] = as_agui(message)[0]["toolCalls"]
    assert json.loads(sent["function"]["arguments"]) == {"set": [1, 2], "nan": None, "half": "\ufffd"}


def test_messages_without_id_get_a_stable_one() -> None:
    messages = [HumanMessage("a"), AIMessage("b"), HumanMessage("a"), AIMessage([{"type": "text", "text": "x"}])]
    first = [message["id"] for message in as_agui(*messages)]
    assert first == [message["id"] for message in as_agui(*messages)]
    assert len(set(first)) == 4
    assert first[0] == message_id(messages[0], 0)
    assert all(first)


def test_failed_tools_have_an_error() -> None:
    [message] = as_agui(lc.ToolMessage("broken", tool_call_id="c", id="t", status="error"))
    assert (message["content"], message["error"]) == ("broken", "broken")
    [message] = as_agui(lc.ToolMessage("", tool_call_id="c", id="t", status="error"))
    assert message["error"]


def test_tool_content() -> None:
    def content(value: Any, declared: bool = True) -> Any:
        [message] = as_agui(lc.ToolMessage(value, tool_call_id="c", id="t"), declared=declared)
        return message["content"]

    image = {"type": "image", "base64": "AA", "mime_type": "image/png"}
    look = {"type": "text", "text": "look"}
    assert content("text") == "text"
    assert content([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]) == "one\ntwo"
    assert content(["one", "two"]) == '["one", "two"]'  # as ToolNode stores it, which the result must equal
    assert content([{"type": "json", "json": {"a": 1}}]) == '{"type":"json","json":{"a":1}}'
    assert content([]) == ""
    assert content([look, image]) == [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}},
    ]
    assert content([look, image], declared=False) == "look"
    assert content([image], declared=False) == ""
    assert tool_content(lc.ToolMessage([look], tool_call_id="c")) == "look"


def test_old_peers_get_no_file_handles() -> None:
    content: Any = [{"type": "text", "text": "x"}, {"type": "image", "url": "u"}, {"type": "file", "file_id": "f"}]
    [message] = as_agui(HumanMessage(content, id="u"), declared=False)
    assert [part["type"] for part in message["content"]] == ["text", "image"]
    [message] = as_agui(HumanMessage(content[2:], id="u"), declared=False)
    assert message["content"] == ""


def test_reasoning_can_be_left_out() -> None:
    message = AIMessage(
        [{"type": "thinking", "thinking": "x", "signature": "S"}, {"type": "text", "text": "y"}], id="a"
    )
    assert [one["role"] for one in as_agui(message)] == ["reasoning", "assistant"]
    assert as_agui(message, reasoning=False) == [{"id": "a", "role": "assistant", "content": "y"}]


def test_legacy_kinds_of_message() -> None:
    assert as_agui(
        lc.FunctionMessage("42", name="f", id="1"),
        lc.ChatMessage("hi", role="user", id="2"),
        lc.ChatMessage("yes", role="assistant", id="3"),
        lc.ChatMessage("be brief", role="developer", id="4"),
        lc.ChatMessage("hm", role="critic", id="5"),
        lc.ChatMessage("rule", role="system", id="6"),
    ) == [
        {"id": "1", "role": "tool", "content": "42", "toolCallId": "f"},
        {"id": "2", "role": "user", "content": "hi"},
        {"id": "3", "role": "assistant", "content": "yes"},
        {"id": "4", "role": "developer", "content": "be brief"},
        {"id": "5", "role": "assistant", "content": "hm", "name": "critic"},
        {"id": "6", "role": "system", "content": "rule"},
    ]


def test_chunks_are_messages() -> None:
    chunks = [lc.HumanMessageChunk(content="a", id="1"), lc.AIMessageChunk(content="b", id="2")]
    chunks += [lc.ToolMessageChunk(content="c", id="3", tool_call_id="x"), lc.SystemMessageChunk(content="d", id="4")]
    assert [message["role"] for message in as_agui(*chunks)] == ["user", "assistant", "tool", "system"]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ("text", {"type": "text", "text": "text"}),
        ({"type": "text", "text": "x", "id": "lc_1", "extras": {}}, {"type": "text", "text": "x"}),
        (
            {"type": "image", "base64": "iVBORw", "extras": {"filename": "a.png"}},
            {
                "type": "image",
                "source": {"type": "data", "value": "iVBORw", "mimeType": "image/png"},
                "metadata": {"filename": "a.png"},
            },
        ),
        ({"type": "image", "url": "u"}, {"type": "image", "source": {"type": "url", "value": "u"}}),
        (
            {"type": "video", "file_id": "f", "mime_type": "video/mp4"},
            {"type": "video", "source": {"type": "file", "value": "f", "mimeType": "video/mp4"}},
        ),
        (
            {"type": "audio", "source_type": "base64", "data": "AA", "mime_type": "audio/wav"},
            {"type": "audio", "source": {"type": "data", "value": "AA", "mimeType": "audio/wav"}},
        ),
        (
            {"type": "image", "source_type": "url", "url": "u"},
            {"type": "image", "source": {"type": "url", "value": "u"}},
        ),
        (
            {"type": "file", "source_type": "id", "id": "f"},
            {"type": "document", "source": {"type": "file", "value": "f"}},
        ),
        ({"type": "file", "source_type": "text", "text": "plain"}, {"type": "text", "text": "plain"}),
        ({"type": "text-plain", "text": "plain", "mime_type": "text/plain"}, {"type": "text", "text": "plain"}),
        (
            {"type": "text-plain", "base64": "AA", "mime_type": "text/plain", "title": "notes"},
            {
                "type": "document",
                "source": {"type": "data", "value": "AA", "mimeType": "text/plain"},
                "metadata": {"filename": "notes"},
            },
        ),
        (
            {"type": "file", "base64": "UERG", "mime_type": "application/pdf"},
            {"type": "document", "source": {"type": "data", "value": "UERG", "mimeType": "application/pdf"}},
        ),
        (
            {"type": "file", "base64": "AA", "mime_type": "video/mp4"},
            {"type": "video", "source": {"type": "data", "value": "AA", "mimeType": "video/mp4"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            {"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg/%3E"}},
            {
                "type": "image",
                "source": {"type": "url", "value": "data:image/svg+xml,%3Csvg/%3E", "mimeType": "image/svg+xml"},
            },
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            {"type": "audio", "source": {"type": "data", "value": "AA", "mimeType": "audio/wav"}},
        ),
        (
            {"type": "file", "file": {"file_id": "f", "filename": "a.pdf"}},
            {
                "type": "document",
                "source": {"type": "file", "value": "f", "provider": "openai"},
                "metadata": {"filename": "a.pdf"},
            },
        ),
        (
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
            {"type": "document", "source": {"type": "url", "value": "https://example.com/a.pdf"}},
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"}},
            {"type": "image", "source": {"type": "data", "value": "/9j/", "mimeType": "image/jpeg"}},
        ),
        (
            {"type": "document", "title": "doc", "source": {"type": "file", "file_id": "f"}},
            {
                "type": "document",
                "source": {"type": "file", "value": "f", "provider": "anthropic"},
                "metadata": {"filename": "doc"},
            },
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
            {"type": "text", "text": "plain"},
        ),
        (
            {"type": "media", "mime_type": "audio/mp3", "file_uri": "gs://x"},
            {
                "type": "audio",
                "source": {"type": "file", "value": "gs://x", "provider": "google", "mimeType": "audio/mp3"},
            },
        ),
    ],
)
def test_every_media_block_becomes_a_part(block: Any, part: dict[str, Any]) -> None:
    assert as_agui(HumanMessage([block], id="u"))[0]["content"] == [part]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image"},
        {"type": "image", "source": {"type": "beam"}},
        {"type": "image_url"},
        {"type": "input_audio", "input_audio": 5},
        {"type": "tool_use", "id": "x"},
        {"type": 5},
        {},
    ],
)
def test_other_blocks_are_skipped(block: Any) -> None:
    assert as_agui(HumanMessage([block, "x"], id="u"))[0]["content"] == [{"type": "text", "text": "x"}]


def test_call_ids_that_recur_are_unique_on_the_wire() -> None:
    messages = []
    for turn in "abc":
        messages += [AIMessage("", id=turn, tool_calls=[lc_call("call_0"), lc_call("call_1")])]
        messages += [lc.ToolMessage(turn, tool_call_id=f"call_{number}", id=f"{turn}{number}") for number in (1, 0)]
    sent = as_agui(*messages)
    calls = [one["id"] for message in sent for one in message.get("toolCalls", ())]
    assert calls == ["call_0", "call_1", "call_0-b", "call_1-b", "call_0-c", "call_1-c"]
    answers = [(message["content"], message["toolCallId"]) for message in sent if message["role"] == "tool"]
    assert answers == [
        ("a", "call_1"),
        ("a", "call_0"),
        ("b", "call_1-b"),
        ("b", "call_0-b"),
        ("c", "call_1-c"),
        ("c", "call_0-c"),
    ]
    known = calls_of(messages)
    assert known.made("b", "call_0").id == "call_0-b"
    assert sorted(call.id for call in known) == sorted(calls)


def test_call_ids_extend_a_thread() -> None:
    calls = calls_of([AIMessage("", id="a", tool_calls=[lc_call("call_0"), lc_call(None)])])
    first, second = calls.made("a", "call_0"), calls.made("b", "call_0", scope="inner")
    assert (first.id, second.id) == ("call_0", "call_0-b")
    assert calls.made("b", "call_0") is second is calls.get("call_0-b") is calls.meant("call_0", ["inner", ""])
    assert calls.meant("call_0") is first
    assert (calls.get("unknown"), calls.meant("unknown")) == (None, None)
    assert [call.raw for call in calls] == ["call_0", "a-call-1", "call_0"]
    assert calls.answer("call_0", "t") is first
    assert (first.result, second.result) == ("t", None)
    assert calls.made("c", "call_0-b").id == "call_0-b-c"  # a model that invents the very id


def test_two_calls_with_one_id_in_a_message() -> None:
    [message] = as_agui(AIMessage("", id="a", tool_calls=[lc_call("c", x=1), lc_call("c", x=2)]))
    assert [one["id"] for one in message["toolCalls"]] == ["c", "a-call-1"]
