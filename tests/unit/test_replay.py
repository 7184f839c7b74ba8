"""`Replay`: what a viewer gets who comes while a run goes on."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import BaseEvent, CustomEvent, Event, MessagesSnapshotEvent, StateSnapshotEvent, UserMessage
from pydantic import BaseModel, TypeAdapter, field_serializer

from yai_nexus_agentkit.errors import EncodingError
from yai_nexus_agentkit.protocol.replay import Replay, in_its_order
from yai_nexus_agentkit.testing import run_input
from yai_nexus_agentkit.transport.agui_sse import SSEEncoder

_EVENT: TypeAdapter[BaseEvent] = TypeAdapter(Event)


def events(*given: dict[str, Any]) -> list[BaseEvent]:
    return [_EVENT.validate_python(one) for one in given]


def replayed(given: list[BaseEvent], state: Any = None) -> list[dict[str, Any]]:
    replay = Replay(run_input("hi", state=state))
    for event in given:
        replay.put(event)
    return [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in replay.events()]


def started() -> dict[str, Any]:
    return {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1"}


def text(message: str, delta: str, **more: Any) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta, **more}


def begun(message: str) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}


def shape(found: list[dict[str, Any]]) -> list[str]:
    """Types, with the delta of each text."""
    return [one["type"] + (f":{one['delta']}" if isinstance(one.get("delta"), str) else "") for one in found]


def test_it_begins_with_the_start_the_state_and_the_messages_before_the_run() -> None:
    found = replayed(events(started(), begun("m1")), state={"a": 1})
    assert shape(found) == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]
    assert found[1]["snapshot"] == {"a": 1}
    assert [message["role"] for message in found[2]["messages"]] == ["user"]


def test_pieces_of_texts_that_alternate_are_one_piece_each() -> None:
    pieces = [text("m1", "a"), text("m2", "1"), text("m1", "b"), text("m2", "2")]
    found = replayed(events(started(), begun("m1"), begun("m2"), *pieces))
    assert shape(found)[-2:] == ["TEXT_MESSAGE_CONTENT:ab", "TEXT_MESSAGE_CONTENT:12"]


def test_a_piece_with_metadata_of_its_own_stays_itself_and_in_its_place() -> None:
    pieces = [text("m1", "a"), text("m1", "b", metadata={"x": 1}), text("m1", "c"), text("m1", "d")]
    found = replayed(events(started(), begun("m1"), *pieces))
    assert [one["delta"] for one in found[3:]] == ["a", "b", "cd"]


def test_what_a_snapshot_removed_does_not_come_back_behind_it() -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": []}
    given = [begun("m1"), text("m1", "a"), snapshot, begun("m1"), text("m1", "b")]
    found = replayed(events(started(), *given))
    assert [one["delta"] for one in found if "delta" in one] == ["a", "b"]


def test_a_state_that_was_replaced_is_left_out() -> None:
    given = [
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 2}},
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/a", "value": 3}]},
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 4}},
    ]
    found = replayed(events(started(), *given), state={"a": 1})
    assert [one["snapshot"] for one in found if one["type"] == "STATE_SNAPSHOT"] == [{"a": 4}]


@pytest.mark.parametrize(
    ("first", "patch", "key", "value"),
    [
        (
            {"type": "STATE_SNAPSHOT", "snapshot": {"n": 0}},
            lambda n: {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": n}]},
            "snapshot",
            999,
        ),
        (
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "bar", "content": {"n": 0}},
            lambda n: {
                "type": "ACTIVITY_DELTA",
                "messageId": "p",
                "activityType": "bar",
                "patch": [{"op": "replace", "path": "/n", "value": n}],
            },
            "content",
            999,
        ),
    ],
    ids=["state", "activity"],
)
def test_a_thousand_patches_are_applied_along_the_way(first: Any, patch: Any, key: str, value: int) -> None:
    found = replayed(events(started(), first, *map(patch, range(1000))))
    assert len(found) < 250
    held: dict[str, Any] = {}
    for one in found:
        if key in one:
            held = dict(one[key])
        for operation in one.get("patch") or (one["delta"] if one["type"] == "STATE_DELTA" else ()):
            held[operation["path"].removeprefix("/")] = operation["value"]
    assert held == {"n": value}


def test_half_a_thought_of_a_stale_tab_is_removed_first() -> None:
    thought = {"type": "REASONING_MESSAGE_START", "messageId": "th", "role": "reasoning"}
    found = replayed(events(started(), thought))
    (snapshot,) = [one for one in found if one["type"] == "MESSAGES_SNAPSHOT"]
    assert snapshot["messages"][-1] == {"id": "th", "role": "reasoning", "content": ""}


def test_what_is_open_can_be_closed_from_the_inside_out() -> None:
    replay = Replay(run_input("hi"))
    step = {"type": "STEP_STARTED", "stepName": "node"}
    call = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "look"}
    done = {"type": "TOOL_CALL_END", "toolCallId": "c1"}
    for event in events(started(), step, call, done, begun("m1")):
        replay.put(event)
    assert [event.type.value for event in replay.closing()] == ["TEXT_MESSAGE_END", "STEP_FINISHED"]


class _Twice(BaseModel):
    n: int

    @field_serializer("n")
    def twice(self, n: int) -> int:
        return 2 * n


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"metadata": {"agent": {"node": "work"}, "n": None}, "subagent_run_id": "s"},
        {"timestamp": 1},
        {"raw_event": {"n": None}},
        {"value": [None, True, 1.0, 10**30, float("nan"), "\ud800", {"é": []}]},
        {"value": {"model": _Twice(n=2)}},
        {"value": object()},
    ],
    ids=lambda changes: "+".join(changes) or "plain",
)
def test_an_event_of_the_application_says_to_a_later_viewer_what_it_said(changes: dict[str, Any]) -> None:
    event = CustomEvent(name="row", value=None).model_copy(update=changes)
    extra = CustomEvent(name="row", value={"n": 1}, more="fields")
    replay = Replay(run_input("hi"))
    for one in (event, extra):
        replay.put(one)

    def frame(one: BaseEvent) -> bytes | str:
        try:
            return SSEEncoder().encode(one)
        except EncodingError as error:
            return str(error)

    assert [frame(one) for one in replay.sent()[-2:]] == [frame(event), frame(extra)]


def test_its_size_follows_the_text_and_not_the_number_of_pieces() -> None:
    replay = Replay(run_input("hi"))
    for event in events(started(), begun("m1"), *(text("m1", "x") for _ in range(5000))):
        replay.put(event)
    assert replay.size < 5000 + 2000
    for event in events(*({"type": "STATE_SNAPSHOT", "snapshot": {"n": n}} for n in range(1000))):
        replay.put(event)
    assert replay.size < 5000 + 3000
    assert isinstance(replay.events()[1], StateSnapshotEvent) is False


@pytest.mark.parametrize(
    ("held", "wanted", "sent"),
    [
        ("", "abc", ["abc"]),
        ("ab", "abc", ["abc"]),
        ("xaby", "abc", ["abc"]),
        ("ac", "abc", ["a", "abc"]),
        ("c", "abc", ["", "abc"]),
        ("ba", "abc", ["", "abc"]),
        ("abdc", "abcd", ["ab", "abcd"]),
        ("aab", "abc", ["abc"]),
        ("a", "", [""]),
    ],
)
def test_a_snapshot_comes_in_its_order_to_a_client_that_merges(held: str, wanted: str, sent: list[str]) -> None:
    snapshot = MessagesSnapshotEvent(messages=[UserMessage(id=one, content=one) for one in wanted])
    found = in_its_order(snapshot, held)
    assert ["".join(m.id for m in one.messages) for one in found] == sent
    for one in found:  # as a client merges each
        ids = [m.id for m in one.messages]
        held = "".join(dict.fromkeys([*(h for h in held if h in ids), *ids]))
    assert held == wanted
