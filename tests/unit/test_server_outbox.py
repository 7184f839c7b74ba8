"""Frames that wait for a slow reader: the order stays, deltas are merged, errors are reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from yai_nexus_agentkit.errors import EncodingError
from yai_nexus_agentkit.server.outbox import Outbox
from yai_nexus_agentkit.testing import parse_sse
from yai_nexus_agentkit.transport.agui_sse import SSEEncoder


def text(delta: str, message: str = "m", **fields: Any) -> BaseEvent:
    return TextMessageContentEvent(message_id=message, delta=delta, **fields)


def taken(outbox: Outbox) -> list[dict[str, Any]]:
    return parse_sse(outbox.take().decode())


def busy() -> Outbox:
    outbox = Outbox(SSEEncoder())
    outbox.busy = True
    return outbox


def test_a_reader_that_keeps_up_gets_every_event() -> None:
    outbox = Outbox(SSEEncoder())
    assert not outbox
    outbox.put(text("a"))
    outbox.put(text("b"))
    assert outbox
    assert [event["delta"] for event in taken(outbox)] == ["a", "b"]
    assert not outbox
    assert outbox.take() == b""
    assert outbox.waiting == 0


def test_adjacent_deltas_of_one_message_are_merged_while_the_writer_is_busy() -> None:
    outbox = busy()
    for delta in "abc":
        outbox.put(text(delta))
    outbox.put(ToolCallArgsEvent(tool_call_id="c", delta="{"))
    outbox.put(ToolCallArgsEvent(tool_call_id="c", delta="}"))
    outbox.put(ReasoningMessageContentEvent(message_id="m", delta="x"))
    outbox.put(ReasoningMessageContentEvent(message_id="m", delta="y"))
    outbox.put(TextMessageEndEvent(message_id="m"))
    assert [(e["type"], e.get("delta")) for e in taken(outbox)] == [
        ("TEXT_MESSAGE_CONTENT", "abc"),
        ("TOOL_CALL_ARGS", "{}"),
        ("REASONING_MESSAGE_CONTENT", "xy"),
        ("TEXT_MESSAGE_END", None),
    ]


@pytest.mark.parametrize(
    "other",
    [
        text("b", "other"),
        text("b", subagent_run_id="s"),
        text("b", metadata={"k": 1}),
        text("b", raw_event={"k": 1}),
        TextMessageContentEvent.model_validate({"messageId": "m", "delta": "b", "extra": 1}),
        ToolCallArgsEvent(tool_call_id="m", delta="b"),
        CustomEvent(name="n", value=1),
    ],
)
def test_what_is_not_the_same_message_or_says_more_is_not_merged(other: BaseEvent) -> None:
    outbox = busy()
    outbox.put(text("a"))
    outbox.put(other)
    assert len(taken(outbox)) == 2


def test_what_waits_is_counted_and_what_was_encoded_too() -> None:
    outbox = busy()
    for _ in range(100):
        outbox.put(text("x" * 10))
    assert outbox.waiting == 1000
    assert outbox.total == 0
    frames = outbox.take()
    assert outbox.waiting == 0
    assert outbox.total == len(frames)
    assert len(frames) < 1100


def test_an_event_that_cannot_be_encoded_raises_at_once() -> None:
    outbox = Outbox(SSEEncoder())
    with pytest.raises(EncodingError):
        outbox.put(CustomEvent(name="n", value=object()))
    outbox.put(text("a"))
    assert len(taken(outbox)) == 1


def test_a_merged_delta_that_cannot_be_encoded_raises_with_the_next_event() -> None:
    class Picky:
        def encode(self, event: BaseEvent) -> bytes:
            if getattr(event, "delta", "") == "ab":
                raise EncodingError("no")
            return SSEEncoder().encode(event)

    outbox = Outbox(Picky())
    outbox.busy = True
    outbox.put(text("a"))
    outbox.put(text("b"))
    assert outbox.take() == b""
    with pytest.raises(EncodingError):
        outbox.put(text("c"))
    outbox.put(text("d"))
    assert [event["delta"] for event in taken(outbox)] == ["d"]


EVENTS = st.one_of(
    st.builds(text, st.text(min_size=1, max_size=3), st.sampled_from("mn")),
    st.builds(ToolCallArgsEvent, tool_call_id=st.sampled_from("mn"), delta=st.text(min_size=1, max_size=3)),
    st.builds(CustomEvent, name=st.just("n"), value=st.integers()),
)


@given(st.lists(st.one_of(EVENTS, st.sampled_from(["take", "busy", "free"]))))
def test_nothing_is_lost_or_reordered_whenever_the_writer_comes(steps: list[Any]) -> None:
    def content(events: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
        """Everything said, character by character, with what it belongs to."""
        return [
            (event["type"], event.get("messageId") or event.get("toolCallId") or "", piece)
            for event in events
            for piece in (event["delta"] if "delta" in event else [json.dumps(event["value"])])
        ]

    outbox, plain, received = Outbox(SSEEncoder()), SSEEncoder(), ""
    expected = ""
    for step in steps:
        if step == "take":
            received += outbox.take().decode()
        elif isinstance(step, str):
            outbox.busy = step == "busy"
        else:
            outbox.put(step)
            expected += plain.encode(step).decode()
    received += outbox.take().decode()
    assert content(parse_sse(received)) == content(parse_sse(expected))
    assert not outbox
