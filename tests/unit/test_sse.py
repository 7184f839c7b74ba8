"""SSE frames: byte for byte what the models write, whatever way an event takes, and readable for every client."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import ag_ui.core as agui
import pytest
from ag_ui.core import BaseEvent, CustomEvent, EventType, TextMessageContentEvent, ToolCallArgsEvent
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, field_serializer

from tests.support.verifier import Verifier
from yai_nexus_agentkit.errors import Code, EncodingError
from yai_nexus_agentkit.protocol import thinking
from yai_nexus_agentkit.transport.agui_sse import CONTENT_TYPE, KEEP_ALIVE, MAX_FRAME, SSEEncoder

MESSAGE = {"message_id": "m1"}
CALL = {"tool_call_id": "c1"}
RUN = {"thread_id": "t", "run_id": "r"}
PATCH = [{"op": "add", "path": "/k", "value": None}, {"op": "move", "from": "/a", "path": "/b"}]
DELTA_KINDS: list[Callable[..., BaseEvent]] = [
    lambda **k: TextMessageContentEvent(**{**MESSAGE, "delta": "x", **k}),
    lambda **k: agui.TextMessageChunkEvent(**{**MESSAGE, "delta": "x", **k}),
    lambda **k: ToolCallArgsEvent(**{**CALL, "delta": "x", **k}),
    lambda **k: agui.ReasoningMessageContentEvent(**{**MESSAGE, "delta": "x", **k}),
]
SAMPLES: list[BaseEvent] = [
    agui.RunStartedEvent(
        **RUN,
        protocol_version="1.0",
        input=agui.RunAgentInput(**RUN, messages=[], state={"n": None}, tools=[], context=[], forwarded_props=None),
    ),
    agui.RunFinishedEvent(
        **RUN, outcome=agui.RunFinishedSuccessOutcome(pending_tool_call_ids=["c1"]), result={"r": None}
    ),
    agui.RunErrorEvent(message="no", code=Code.AGENT_ERROR, usage=[agui.TokenUsage(model="m", input_tokens=1)]),
    agui.StepStartedEvent(step_name="node"),
    agui.StepFinishedEvent(step_name="node"),
    agui.TextMessageStartEvent(**MESSAGE, role="assistant"),
    *(make() for make in DELTA_KINDS),
    agui.TextMessageChunkEvent(**MESSAGE, role="assistant", delta="x"),
    agui.TextMessageChunkEvent(**MESSAGE, name="bot", delta="x"),
    agui.TextMessageChunkEvent(**MESSAGE),
    agui.TextMessageChunkEvent(delta="x"),
    agui.TextMessageEndEvent(**MESSAGE),
    agui.ToolCallStartEvent(**CALL, tool_call_name="search", parent_message_id="m1"),
    agui.ToolCallEndEvent(**CALL),
    agui.ToolCallChunkEvent(**CALL, tool_call_name="search", delta="{"),
    agui.ToolCallResultEvent(**MESSAGE, **CALL, content="ok", role="tool"),
    agui.ToolCallResultEvent(**MESSAGE, **CALL, content=[agui.TextPart(text="ok")]),
    agui.ReasoningStartEvent(**MESSAGE),
    agui.ReasoningMessageStartEvent(**MESSAGE, role="reasoning"),
    agui.ReasoningMessageEndEvent(**MESSAGE),
    agui.ReasoningMessageChunkEvent(**MESSAGE, delta="x"),
    agui.ReasoningEndEvent(**MESSAGE),
    agui.ReasoningEncryptedValueEvent(subtype="message", entity_id="m1", encrypted_value="="),
    agui.StateSnapshotEvent(snapshot=None),
    agui.StateDeltaEvent(delta=PATCH),
    agui.MessagesSnapshotEvent(messages=[agui.AssistantMessage(id="m1"), agui.UserMessage(id="u", content="hi")]),
    agui.ActivitySnapshotEvent(**MESSAGE, activity_type="plan", content={"n": None}),
    agui.ActivityDeltaEvent(**MESSAGE, activity_type="plan", patch=PATCH),
    agui.SubagentStartedEvent(subagent_run_id="s", name="researcher"),
    agui.SubagentFinishedEvent(subagent_run_id="s"),
    agui.SubagentErrorEvent(subagent_run_id="s", message="no"),
    agui.RawEvent(event=None, source="langgraph"),
    CustomEvent(
        name="app.values", value={"f": float("nan"), "d": Decimal("1.5"), "at": datetime(2026, 1, 2, tzinfo=UTC)}
    ),
    CustomEvent(name="app.values", value=[UUID(int=1), {1}, (1, 2), b"bytes", {3: "x"}]),
    thinking.ThinkingStartEvent(title="Plan"),
    thinking.ThinkingTextMessageStartEvent(),
    thinking.ThinkingTextMessageContentEvent(delta="x"),
    thinking.ThinkingTextMessageEndEvent(),
    thinking.ThinkingEndEvent(),
]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"timestamp": 1},
    {"raw_event": {"n": None}},
    {"metadata": {"app": None}},
    {"subagent_run_id": "s1"},
    {"an_extra": "field"},
    {"timestamp": 0, "raw_event": False, "metadata": {}, "subagent_run_id": "s2"},
]
DELTA_VARIANTS = [*VARIANTS, {"role": "assistant"}, {"name": "bot"}]
words = st.text() | st.text(alphabet=st.sampled_from('\r\n\0"\\/\u2028\u2029\ufeff\x1b\x7fé🙂a '))
any_words = st.text(alphabet=st.characters(exclude_categories=()))  # surrogates included


def written(event: BaseEvent) -> bytes:
    return f"data: {event.model_dump_json(by_alias=True)}\n\n".encode()


def varied(event: BaseEvent, variant: dict[str, Any]) -> BaseEvent:
    return event.model_copy(update=variant)


def test_the_samples_are_all_events() -> None:
    kinds = {getattr(event.type, "value", event.type) for event in SAMPLES}
    assert kinds == {kind.value for kind in EventType} | {
        name for cls in thinking.__all__ for name in [getattr(thinking, cls).model_fields["type"].default]
    }


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "+".join(variant) or "plain")
def test_a_frame_is_what_the_model_writes(event: BaseEvent, variant: dict[str, Any]) -> None:
    varied_event = varied(event, variant)
    encoder = SSEEncoder()
    assert encoder.encode(varied_event) == written(varied_event)
    assert encoder.encode(event) == written(event)  # the same message, now perhaps from a template
    assert encoder.encode(varied_event) == written(varied_event)


class Shouted(agui.TextPart):
    """An application's own class, with a serialiser of its own."""

    @field_serializer("text")
    def shout(self, text: str) -> str:
        return text.upper()


def test_models_inside_of_models_are_what_they_write() -> None:
    function = agui.FunctionCall(name="look", arguments="{}")
    image = agui.ImagePart(source=agui.UrlSource(value="http://x/y.png", mime_type="image/png"), note=None)
    event = agui.MessagesSnapshotEvent(
        messages=[
            agui.UserMessage(id="1", content=[agui.TextPart(text="what?"), image], name="ann"),
            agui.AssistantMessage(id="2", tool_calls=[agui.ToolCall(id="c", function=function)], metadata={"a": None}),
            agui.ToolMessage(id="3", tool_call_id="c", content=[agui.TextPart(text="this")], error=None),
            agui.ActivityMessage(id="4", activity_type="plan", content={"steps": [None, agui.TextPart(text="x")]}),
            agui.ReasoningMessage(id="5", content="hm", encrypted_value="="),
        ]
    )
    assert SSEEncoder().encode(event) == written(event)
    own = agui.UserMessage(id="1", content=[Shouted(text="hey")])
    assert b'"text":"HEY"' in SSEEncoder().encode(agui.MessagesSnapshotEvent(messages=[own]))


@given(
    st.lists(
        st.tuples(st.sampled_from(DELTA_KINDS), words, words, st.none() | words, st.sampled_from(DELTA_VARIANTS)),
        max_size=8,
    )
)
def test_deltas_of_any_text_are_what_the_model_writes(
    rows: list[tuple[Callable[..., BaseEvent], str, str, str | None, dict[str, Any]]],
) -> None:
    encoder = SSEEncoder()
    for make, name, delta, owner, variant in rows:
        for message in ("m1", name):
            named = {"message_id": message, "tool_call_id": message}
            event = make(delta=delta, subagent_run_id=owner)
            event = varied(event, {key: value for key, value in named.items() if key in type(event).model_fields})
            assert encoder.encode(event) == written(event)
            changed = varied(event, variant)
            assert encoder.encode(changed) == written(changed)


def test_fields_changed_after_the_first_frame_are_written() -> None:
    encoder = SSEEncoder()
    event = TextMessageContentEvent(message_id="m1", delta="a")
    encoder.encode(event)
    event.metadata = {"late": True}
    event.delta = "b"
    assert encoder.encode(event) == written(event)


ORIGINS: list[Any] = [
    None,
    {},
    {"langgraph": {"node": "work", "path": "work"}},
    {"langgraph": {"path": "work", "node": "work"}},
    *({"app": {"n": value}} for value in (1, True, 1.0, "1", None, ["1"], float("nan"), Decimal(1))),
    {"1": "1"},
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.just(UUID(int=1)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(ORIGINS), values, st.sampled_from(VARIANTS))))
def test_events_of_an_application_are_what_the_model_writes(
    rows: list[tuple[str, Any, Any, dict[str, Any]]],
) -> None:
    encoder = SSEEncoder()
    for name, origin, value, variant in rows:
        event = CustomEvent(name=name, value=value).model_copy(update={"metadata": copy.deepcopy(origin)})
        for one in (event, event, varied(event, variant), event):
            assert encoder.encode(one) == written(one)
        if event.metadata:  # a hook changes it in place: frames of other events stay as they are
            for own in event.metadata.values():
                if isinstance(own, dict):
                    own.clear()
            assert encoder.encode(event) == written(event)


def test_more_messages_than_templates_are_kept() -> None:
    encoder = SSEEncoder()
    for round_ in range(2):
        for n in range(600):
            event = TextMessageContentEvent(message_id=f"m{n}", delta=str(round_))
            assert encoder.encode(event) == written(event)


@given(any_words, any_words)
@example("\ud83d", "\udc00")
@example("\ud83d\ude42 \udfff", "a")
def test_lone_surrogates_are_replaced_and_pairs_joined(delta: str, name: str) -> None:
    clean = delta.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    encoder = SSEEncoder()
    for event in (
        TextMessageContentEvent(message_id="m1", delta=delta),
        ToolCallArgsEvent(tool_call_id=name, delta=delta),
        CustomEvent(name="app", value={"list": [delta, (delta,)], delta: {"deep": delta}}),
    ):
        frame = encoder.encode(event)
        assert frame.startswith(b"data: {")
        assert frame.endswith(b"}\n\n")
        assert b"\n" not in frame[:-2]
        data = json.loads(frame[6:])
        if event.type == EventType.CUSTOM:
            assert data["value"] == {"list": [clean, [clean]], clean: {"deep": clean}}
        else:
            assert data["delta"] == clean


def test_the_halves_of_a_character_in_two_deltas_do_not_end_the_stream() -> None:
    encoder = SSEEncoder()
    frames = [encoder.encode(TextMessageContentEvent(message_id="m1", delta=half)) for half in ("\ud83d", "\ude42")]
    assert [json.loads(frame[6:])["delta"] for frame in frames] == ["\ufffd", "\ufffd"]


class Unwritable:
    pass


class Profile(BaseModel):
    first_name: str


@dataclass
class Point:
    label: str


def test_surrogates_deep_in_objects_are_replaced() -> None:
    event = CustomEvent(
        name="app",
        value=[
            Profile(first_name="\ud800"),
            Point("\ud800"),
            {"\udc00"},
            datetime(2026, 1, 2, tzinfo=UTC),
            float("nan"),
        ],
    )
    assert json.loads(SSEEncoder().encode(event)[6:])["value"] == [
        {"first_name": "\ufffd"},
        {"label": "\ufffd"},
        ["\ufffd"],
        "2026-01-02T00:00:00Z",
        None,
    ]


def cycle() -> list[Any]:
    knot: list[Any] = []
    knot.append(knot)
    return knot


def too_deep() -> list[Any]:
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]
    return nest


@pytest.mark.parametrize("make", [Unwritable, cycle, too_deep, lambda: {"\ud800": Unwritable()}, lambda: b"\xff"])
def test_what_is_not_json_is_an_encoding_error_that_names_the_event(make: Callable[[], Any]) -> None:
    encoder = SSEEncoder()
    event = CustomEvent(name="app", value=None)
    event.value = make()
    with pytest.raises(EncodingError, match=r"^CUSTOM ") as caught:
        encoder.encode(event)
    assert caught.value.code is Code.ENCODING_ERROR
    after = TextMessageContentEvent(message_id="m1", delta="on")
    assert encoder.encode(after) == written(after)


@pytest.mark.parametrize("character", ["a", "語", "🙂"])
def test_a_frame_that_clients_give_up_on_is_an_encoding_error(character: str) -> None:
    units = len(character.encode("utf-16-le")) // 2
    around = len(written(TextMessageContentEvent(message_id="m1", delta="")))
    fits = character * ((MAX_FRAME - around) // units)
    encoder = SSEEncoder()
    for event in (
        TextMessageContentEvent(message_id="m1", delta=fits),
        CustomEvent(name="x", value=fits[: -100 // units]),
    ):
        assert len(encoder.encode(event)) > MAX_FRAME - around - 200
    over = fits + character * (around // units + 1)
    with pytest.raises(EncodingError, match="TEXT_MESSAGE_CONTENT has 10485"):
        encoder.encode(TextMessageContentEvent(message_id="m1", delta=over))
    with pytest.raises(EncodingError, match="CUSTOM has 10485"):
        encoder.encode(CustomEvent(name="x", value=over))


def test_event_lines_for_standard_consumers() -> None:
    encoder = SSEEncoder(event_lines=True)
    text = TextMessageContentEvent(message_id="m1", delta="a\r\nb")
    first, second, third = encoder.encode(text), encoder.encode(thinking.ThinkingEndEvent()), encoder.encode(text)
    assert first == b"event: TEXT_MESSAGE_CONTENT\nid: 1\n" + written(text)
    assert second == b'event: THINKING_END\nid: 2\ndata: {"type":"THINKING_END"}\n\n'
    assert third == b"event: TEXT_MESSAGE_CONTENT\nid: 3\n" + written(text)


def test_nothing_follows_the_last_event() -> None:
    assert SSEEncoder().finish() == b""
    assert (CONTENT_TYPE, KEEP_ALIVE) == ("text/event-stream", b": keep-alive\n\n")


@pytest.mark.parametrize("event_lines", [False, True])
@pytest.mark.parametrize("client", ["1.0.0", "0.0.59"])
def test_clients_read_the_frames(verifier: Verifier, client: str, event_lines: bool) -> None:
    said = 'line\nbreak\r\n"quoted" \u2028 \0 語 🙂'
    events: list[BaseEvent] = [
        agui.RunStartedEvent(**RUN, protocol_version="1.0"),
        agui.TextMessageStartEvent(message_id="m1", role="assistant"),
        *(TextMessageContentEvent(message_id="m1", delta=character) for character in said),
        agui.TextMessageEndEvent(message_id="m1"),
        agui.RunFinishedEvent(**RUN),
    ]
    encoder = SSEEncoder(event_lines=event_lines)
    body = KEEP_ALIVE.join([*(encoder.encode(event) for event in events), encoder.finish()])
    [view] = verifier.replay([{"sse": body.decode(), "contentType": CONTENT_TYPE}], client)
    assert view["ok"]
    assert not view["warnings"]
    assert [m["content"] for m in view["messages"]] == [said]
