"""Requests as real clients send them: cleaned, validated, or refused with the place of the fault."""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Message, RunAgentInput, UserMessage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.request import RequestLimits, parse_request, peer_declares

BASE: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


def user(content: Any, message_id: str = "u", **more: Any) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": content, **more}


def request(*messages: Any, **more: Any) -> dict[str, Any]:
    return {**BASE, "messages": list(messages), **more}


def parts_of(*parts: Any) -> Any:
    """The parts of a user message as the server gets them."""
    [message] = parse_request(request(user(list(parts)))).messages
    return message.model_dump(by_alias=True)["content"]


FULL: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "protocolVersion": "1.0",
    "parentRunId": "p",
    "state": {"a": [None, 1]},
    "messages": [
        {"id": "s", "role": "system", "content": "s"},
        {"id": "d", "role": "developer", "content": "d", "name": "n"},
        user([{"type": "text", "text": "x", "id": "p1", "metadata": {"k": None}}]),
        {"id": "th", "role": "reasoning", "content": "r", "encryptedValue": "e", "metadata": {"x": None}},
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"id": "t1", "role": "tool", "content": "x", "toolCallId": "c", "error": "e"},
    ],
    "tools": [{"name": "f", "description": "d", "parameters": {"type": "object"}}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": {"x": None},
    "resume": [{"interruptId": "i", "status": "resolved", "payload": {"ok": None}}],
}


@pytest.mark.parametrize(
    "form", [lambda x: x, json.dumps, lambda x: json.dumps(x).encode(), RunAgentInput.model_validate]
)
def test_a_complete_request_is_kept_whole(form: Any) -> None:
    warnings: list[str] = []
    result = parse_request(form(copy.deepcopy(FULL)), warnings=warnings)
    assert result.model_dump(by_alias=True) == FULL
    assert warnings == []


def test_snake_case_is_accepted() -> None:
    result = parse_request(
        {
            "thread_id": "t",
            "run_id": "r",
            "messages": [{"id": "a", "role": "assistant", "tool_calls": None}],
            "forwarded_props": 1,
        }
    )
    assert (result.thread_id, result.run_id, result.forwarded_props) == ("t", "r", 1)


def test_a_validated_request_passes_at_once() -> None:
    parsed = parse_request(request(*[user("hello", f"u{number}") for number in range(3000)]))
    best = 1.0
    for _ in range(50):
        start = time.perf_counter()
        assert parse_request(parsed) is parsed
        best = min(best, time.perf_counter() - start)
    assert best < 50e-6


def read(raw: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The rest of a request, and the warnings about the parts that were left out."""
    warnings: list[str] = []
    parsed = parse_request(raw, warnings=warnings)
    return parsed.model_dump(by_alias=True, exclude_unset=True), warnings


def test_nulls_are_absent() -> None:
    nulls = dict.fromkeys(("state", "tools", "context", "forwardedProps", "resume", "parentRunId", "protocolVersion"))
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}, "metadata": None}
    messages = [
        {"id": "a", "role": "assistant", "content": None, "toolCalls": [call], "name": None, "encryptedValue": None},
        {"id": "b", "role": "assistant", "content": "x", "toolCalls": None, "metadata": None, "subagentRunId": None},
    ]
    cleaned, warnings = read(request(*messages, **nulls))
    assert warnings == []
    assert cleaned.keys() == BASE.keys()
    assert [message.keys() for message in cleaned["messages"]] == [
        {"id", "role", "toolCalls"},
        {"id", "role", "content"},
    ]
    assert cleaned["messages"][0]["toolCalls"][0].keys() == {"id", "type", "function"}


def test_nulls_that_are_data_stay() -> None:
    cleaned, _ = read({**FULL, "state": {"a": None}, "forwardedProps": {"b": None}})
    assert (cleaned["state"], cleaned["forwardedProps"]) == ({"a": None}, {"b": None})


def test_unknown_roles_and_activities_are_dropped() -> None:
    raw = request(
        user("a", "1"),
        {"id": "2", "role": "narrator", "content": {"any": "thing"}},
        {"id": "3", "role": "activity", "activityType": "plan", "content": {}},
        user("b", "4"),
    )
    before = copy.deepcopy(raw)
    cleaned, warnings = read(raw)
    assert [message["id"] for message in cleaned["messages"]] == ["1", "4"]
    assert len(warnings) == 1
    assert "/messages/1" in warnings[0]
    assert "narrator" in warnings[0]
    assert raw == before
    sent: list[str] = []
    parse_request(raw, warnings=sent)
    assert sent == warnings


def test_unknown_parts_and_sources_are_dropped() -> None:
    warnings: list[str] = []
    raw = request(
        user([{"type": "text", "text": "a"}, {"type": "hologram"}, {"type": "image", "source": {"type": "beam"}}]),
    )
    parsed = parse_request(raw, warnings=warnings)
    assert parsed.model_dump(by_alias=True)["messages"][0]["content"] == [{"type": "text", "text": "a"}]
    assert [warning.partition(":")[0] for warning in warnings] == ["/messages/0/content/1", "/messages/0/content/2"]


def test_a_result_whose_parts_were_all_dropped_is_empty() -> None:
    tool = {"id": "t", "role": "tool", "toolCallId": "c", "content": [{"type": "hologram"}]}
    [message] = parse_request(request(tool)).messages
    assert message.content == ""


def test_null_members_of_parts_are_absent() -> None:
    image = {"type": "image", "id": None, "metadata": None, "source": {"type": "url", "value": "u", "mimeType": None}}
    text = {"type": "text", "text": "x", "metadata": None}
    assert parts_of(image, text) == [
        {"type": "image", "source": {"type": "url", "value": "u"}},
        {"type": "text", "text": "x"},
    ]


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/png", "image"),
        ("audio/wav", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "document"),
        ("", "document"),
    ],
)
def test_binary_parts_are_converted(mime: str, kind: str) -> None:
    named = {"type": "binary", "mimeType": mime, "filename": "f.x"}
    assert parts_of({**named, "data": "QUJD"}) == [
        {
            "type": kind,
            "source": {"type": "data", "value": "QUJD", "mimeType": mime or "application/octet-stream"},
            "metadata": {"filename": "f.x"},
        }
    ]
    [by_url] = parts_of({**named, "url": "https://example.com/f"})
    assert by_url["source"] == {"type": "url", "value": "https://example.com/f"} | ({"mimeType": mime} if mime else {})


def test_a_binary_part_with_only_an_id_is_dropped() -> None:
    assert parts_of({"type": "text", "text": "x"}, {"type": "binary", "mimeType": "image/png", "id": "file-1"}) == [
        {"type": "text", "text": "x"}
    ]


@pytest.mark.parametrize(("data", "mime"), [("iVBORw0KGgo=", "image/png"), ("AAAA", "application/octet-stream")])
def test_data_whose_type_is_empty_gets_one(data: str, mime: str) -> None:
    """Browsers say so of files that they do not know, and models refuse it, in each further turn of the thread."""
    [part] = parts_of({"type": "document", "source": {"type": "data", "value": data, "mimeType": ""}})
    assert part["source"]["mimeType"] == mime


def test_of_twins_the_modern_part_stays() -> None:
    modern = {"type": "image", "source": {"type": "data", "value": "AA", "mimeType": "image/png"}, "id": "keep"}
    legacy = {"type": "binary", "mimeType": "image/png", "data": "AA"}
    other = {"type": "binary", "mimeType": "image/png", "data": "BB"}
    for parts in ((modern, legacy, other), (legacy, other, modern)):
        result = parts_of(*parts)
        assert [part["source"]["value"] for part in result if part.get("id") == "keep"] == ["AA"]
        assert sorted(part["source"]["value"] for part in result) == ["AA", "BB"]
    assert len(parts_of(legacy, legacy)) == 2  # twice the same picture is the user's will


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("just text", {"type": "text", "text": "just text"}),
        ({"type": "input_text", "text": "x"}, {"type": "text", "text": "x"}),
        (
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
            {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
        ),
        (
            {"type": "image_url", "image_url": "data:image/gif;base64,R0lG"},
            {"type": "image", "source": {"type": "data", "value": "R0lG", "mimeType": "image/gif"}},
        ),
        (
            {"type": "input_image", "image_url": "data:image/gif;base64,R0lG"},
            {"type": "image", "source": {"type": "data", "value": "R0lG", "mimeType": "image/gif"}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}},
            {"type": "audio", "source": {"type": "data", "value": "UklG", "mimeType": "audio/mp3"}},
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,UERG", "filename": "a.pdf"}},
            {
                "type": "document",
                "source": {"type": "data", "value": "UERG", "mimeType": "application/pdf"},
                "metadata": {"filename": "a.pdf"},
            },
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
            {"type": "image", "source": {"type": "data", "value": "iVBO", "mimeType": "image/png"}},
        ),
        (
            {"type": "image", "url": "https://example.com/a.png"},
            {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
        ),
    ],
)
def test_foreign_parts_are_converted(part: Any, expected: dict[str, Any]) -> None:
    assert parts_of(part) == [expected]


def test_of_equal_ids_the_last_message_counts() -> None:
    warnings: list[str] = []
    parsed = parse_request(request(user("a", "1"), user("b", "2"), user("c", "1")), warnings=warnings)
    assert [(message.id, message.content) for message in parsed.messages] == [("2", "b"), ("1", "c")]
    assert len(warnings) == 1
    assert "/messages/0" in warnings[0]


def test_model_instances_in_a_mapping() -> None:
    message = UserMessage(id="u", content="x")
    answer = AssistantMessage(id="a", content="y")
    assert parse_request(request(message, answer)).messages == [message, answer]


def test_half_a_surrogate_pair_is_no_reason_to_refuse() -> None:
    raw = request(user("cut \ud83d", "1"), user("\ud83d\ude00", "2"), state={"x": "\udc00"})
    for form in (raw, json.dumps(raw), json.dumps(raw).encode()):
        parsed = parse_request(form)
        assert [message.content for message in parsed.messages] == ["cut \ufffd", "\U0001f600"]
        assert parsed.state == {"x": "\ufffd"}


class Named(str):
    """A text of an application's own class."""


@pytest.mark.parametrize(
    ("state", "clean"),
    [
        (["a", "\ud83d"], ["a", "\ufffd"]),
        (["\ud83d", "\ude00"], ["\ufffd", "\ufffd"]),
        ([1, "\ud83d", 2.5, None], [1, "\ufffd", 2.5, None]),
        ({"x": ("\ud83d", {"y": ["\udc00"]})}, {"x": ["\ufffd", {"y": ["\ufffd"]}]}),
        ([Named("\ud83d"), True], ["\ufffd", True]),
        ({"x": Named("ü")}, {"x": "ü"}),
    ],
)
def test_half_a_surrogate_pair_is_found_wherever_it_stands(state: Any, clean: Any) -> None:
    assert parse_request(request(state=state)).state == clean


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("raw", "path", "reason"),
    [
        (b"\xff\xfe", "", "UTF-8"),
        ("{", "", "JSON"),
        ("", "", "empty"),
        (b'{"threadId": NaN}', "", "JSON"),
        (b'{"threadId": "\\u12"}', "", "JSON"),
        ("[]", "", "object"),
        ("null", "", "object"),
        (5, "", "object"),
        ({**BASE, "state": {"x": [float("nan")]}}, "", "NaN"),
        ({**BASE, "state": ["text", 1, {"x": ("text", float("inf"))}]}, "", "NaN"),
        ({**BASE, "state": nested(300)}, "", "200"),
        (json.dumps({**BASE, "state": nested(300)}), "", "nested deeper"),
        (json.dumps({**BASE, "state": ["\ud83d", nested(300)]}), "", "200"),
        ({}, "/threadId", "required"),
        ({"threadId": "t", "runId": 1, "messages": []}, "/runId", "string"),
        ({"thread_id": 1, "runId": "r", "messages": []}, "/thread_id", "string"),
        ({**BASE, "messages": {}}, "/messages", "list"),
        (request(7), "/messages/0", "dictionary"),
        (request({"id": "u", "content": "no role"}), "/messages/0", "role"),
        (request({"id": "u", "role": ["user"]}), "/messages/0", "role"),
        (request(user("a", "1"), {"id": "x", "role": "odd"}, user(5, "2")), "/messages/2/content", "string"),
        (request({"role": "user", "content": "x"}), "/messages/0/id", "required"),
        (
            request(user([{"type": "text", "text": "x"}, {"type": "image", "source": {"type": "data", "value": "x"}}])),
            "/messages/0/content/1/source/mimeType",
            "required",
        ),
        (request({"id": "t", "role": "tool", "content": "x"}), "/messages/0/toolCallId", "required"),
        (
            request(
                {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "function": {"name": "f", "arguments": {}}}]}
            ),
            "/messages/0/toolCalls/0/function/arguments",
            "string",
        ),
        ({**BASE, "tools": [{"name": "f"}]}, "/tools/0/description", "required"),
        ({**BASE, "context": [{"description": "d", "value": {}}]}, "/context/0/value", "string"),
        ({**BASE, "resume": [{"interruptId": "i", "status": "maybe"}]}, "/resume/0/status", "resolved"),
        ({**BASE, "protocolVersion": 1.0}, "/protocolVersion", "string"),
    ],
)
def test_refusals_say_where_and_why(raw: Any, path: str, reason: str) -> None:
    with pytest.raises(RunInputError) as caught:
        parse_request(raw)
    assert caught.value.path == path
    assert reason.lower() in caught.value.reason.lower()
    assert path in str(caught.value)


class Own(str):
    """Text of a class of its own."""


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer", "tool", "reasoning", 5, ["user"], None])
@pytest.mark.parametrize(
    "members",
    [
        {"id": "m", "content": "text"},
        {"id": "m", "content": "text", "name": "n"},
        {"id": "m", "content": "text", "extra": {"x": None}},
        {"id": "m", "content": "text", "subagentRunId": None},
        {"id": "", "content": ""},
        {"id": Own("m"), "content": Own("text")},
        {"id": "m", "name": "n"},
        {"id": "m", "text": "no content"},
        {"content": "text", "name": "no id"},
        {"id": 5, "content": "text"},
        {"id": "m", "content": 5},
        {"id": "m", "content": True},
        {"id": "m", "content": {"text": "text"}},
        {"id": "m", "content": b"text"},
    ],
    ids=repr,
)
def test_messages_without_a_check_are_what_pydantic_makes_of_them(role: Any, members: dict[str, Any]) -> None:
    """A message of text alone is made without pydantic's validation, and none that it would change or refuse."""
    raw = {"role": role, **members}
    present = {key: value for key, value in raw.items() if value is not None}
    try:
        expected = TypeAdapter(Message).validate_python(present)
    except ValidationError:
        with pytest.raises(RunInputError):
            parse_request(request(raw))
        return
    [made] = parse_request(request(raw)).messages
    assert made == expected
    assert made.model_fields_set == expected.model_fields_set
    assert made.model_dump_json(by_alias=True) == expected.model_dump_json(by_alias=True)
    assert made.model_extra == expected.model_extra


@pytest.mark.parametrize("dropped", [(), (0,), (0, 2, 3)])
@pytest.mark.parametrize("place", range(5))
def test_a_fault_between_messages_without_one_has_its_place(place: int, dropped: tuple[int, ...]) -> None:
    """Also beside messages that are dropped, and those of which a later one has the id."""
    messages: list[Any] = [user("said", f"m{n}") for n in range(5)]
    for n in dropped:
        messages[n] = {"id": f"m{n}", "role": "activity"} if n else user("again", "m4")
    messages.insert(place, {"id": "wrong", "role": "assistant", "content": 5})
    with pytest.raises(RunInputError) as caught:
        parse_request(request(*messages))
    assert caught.value.path == f"/messages/{place}/content"


@pytest.mark.parametrize(
    ("version", "declares"),
    [
        ("1.0", True),
        ("1.7", True),
        ("2.0", True),
        ("1", True),
        ("next", True),
        ("0.9", False),
        ("", False),
        (None, False),
    ],
)
def test_peer_declares(version: str | None, declares: bool) -> None:
    assert peer_declares(parse_request({**BASE, "protocolVersion": version})) is declares


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.sampled_from(
    [
        "id",
        "role",
        "content",
        "type",
        "source",
        "text",
        "value",
        "mimeType",
        "data",
        "url",
        "toolCalls",
        "image_url",
        "name",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "activity",
        "text",
        "image",
        "binary",
        "file",
        "data",
        "url",
        "image_url",
        "input_audio",
    ]
)
NEARLY = st.recursive(
    WORDS | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=15,
)


@given(st.lists(NEARLY, max_size=4) | NEARLY, JSON)
def test_any_request_is_read_or_refused(messages: Any, state: Any) -> None:
    """Nothing but `RunInputError` leaves the parser, and it does not change what it is given."""
    raw = {**BASE, "messages": messages, "state": state}
    before = copy.deepcopy(raw)
    for form in (raw, json.dumps(raw).encode()):
        try:
            parsed = parse_request(form)
        except RunInputError:
            continue
        ids = [message.id for message in parsed.messages]
        assert len(ids) == len(set(ids))
        assert parse_request(parsed.model_dump(by_alias=True, exclude_none=True)) == parsed
    assert raw == before


@given(JSON)
def test_any_json_is_read_or_refused(data: Any) -> None:
    with pytest.raises(RunInputError):
        parse_request(json.dumps(data))


LIMITS = RequestLimits(messages=3, entries=2, id=5)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (request(*[user("x", f"m{n}") for n in range(4)]), "/messages"),
        ({**BASE, "tools": [1, 2, 3]}, "/tools"),
        ({**BASE, "context": [{}] * 3}, "/context"),
        ({**BASE, "resume": [None] * 3}, "/resume"),
        (request(user("x", "1"), user([{}] * 3)), "/messages/1/content"),
        (request({"id": "a", "role": "assistant", "toolCalls": [{}] * 3}), "/messages/0/toolCalls"),
        (request({"id": "a", "role": "assistant", "tool_calls": [{}] * 3}), "/messages/0/tool_calls"),
        ({**BASE, "threadId": "x" * 6}, "/threadId"),
        ({**BASE, "run_id": "x" * 6}, "/run_id"),
        ({**BASE, "parentRunId": "x" * 6}, "/parentRunId"),
    ],
)
def test_more_than_the_limits_allow_is_refused_before_it_is_validated(raw: Any, path: str) -> None:
    with pytest.raises(RunInputError, match=r"at most \d are accepted") as caught:
        parse_request(raw, limits=LIMITS)
    assert caught.value.path == path


def test_up_to_the_limits_all_is_read() -> None:
    raw = request(*[user([{"type": "text", "text": "x"}] * 2, f"m{n}") for n in range(3)], threadId="x" * 5)
    assert len(parse_request(raw, limits=LIMITS).messages) == 3


def test_the_first_fault_is_found_without_collecting_the_others() -> None:
    messages = [*[user("x", f"m{n}") for n in range(2_000)], *[{"id": "w", "role": "user"}] * 20_000]
    began = time.process_time()
    with pytest.raises(RunInputError) as caught:
        parse_request(request(*messages, *[{"role": "user"}] * 20_000))
    assert time.process_time() - began < 2
    assert caught.value.path == "/messages/21999/content"


def test_losses_are_reported_up_to_twenty() -> None:
    warnings: list[str] = []
    parse_request(request(*[{"id": str(n), "role": "r" * 1_000} for n in range(100)]), warnings=warnings)
    assert len(warnings) == 20
    assert max(map(len, warnings)) < 200
    assert warnings[-1] == "further losses are not reported"
