"""The grammar of a run, fact by fact: calls, steps, subagents, snapshots and the application's events."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    EventType,
    FunctionCall,
    MessagesSnapshotEvent,
    ReasoningMessage,
    TextMessageContentEvent,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic import ValidationError

from tests.support.grammar import brief, live, thread_calls, wire

TEXT_START, TEXT_END = "TEXT_MESSAGE_START", "TEXT_MESSAGE_END"


# ---------------------------------------------------------------- calls


def test_text_and_calls_of_a_model_call_are_one_message() -> None:
    life = live(taken={"m": "user"})
    assert wire(life.tool_call("L", "c1", "search", "m"))[0]["parentMessageId"] == "m-2"
    assert brief(life.text("L", "m", "x"))[0] == f"{TEXT_START} m-2"
    life.end_text("L")
    assert brief(life.text("L", "m", "x"))[0] == f"{TEXT_START} m-3"
    assert wire(life.tool_call("L", "c2", "search", "m"))[0]["parentMessageId"] == "m-2"
    assert wire(life.tool_call("L", "c3", "search"))[0]["parentMessageId"] == "m-3"


def test_a_snapshot_gives_the_message_of_calls_its_text() -> None:
    life = live()
    life.tool_call("L", "c", "search", "m")
    life.end_call("c")
    life.messages_snapshot([AssistantMessage(id="m", content="stored")])
    assert brief(life.text("L", "m", "x"))[0] == f"{TEXT_START} m-2"


def test_a_call_may_belong_to_an_old_message_but_not_to_another_owners() -> None:
    life = live(taken={"old": "assistant", "u": "user"}, announce_subagents=False)
    life.text("L", "m", "x")
    life.lane("S", owner="s")
    assert wire(life.tool_call("hand", "c1", "search", "m"))[0]["parentMessageId"] == "m"
    assert wire(life.tool_call("hand", "c2", "search", "old"))[0]["parentMessageId"] == "old"
    assert wire(life.tool_call("hand", "c3", "search", "u"))[0]["parentMessageId"] == "u-2"
    [event] = wire(life.tool_call("S", "c4", "search", "m"))
    assert (event["parentMessageId"], event["subagentRunId"]) == ("m-2", "s")
    assert wire(life.tool_call("S", "c5", "search", "old"))[0]["parentMessageId"] == "old-2"


def test_a_call_is_announced_once_per_thread() -> None:
    life = live(calls=thread_calls("old", "open", answered=["old", "lost"]))
    for call in ("old", "open", "lost"):
        assert life.tool_call("L", call, "search", "m") == []
    assert life.calls.is_announced("open")
    assert not life.calls.is_announced("lost")
    life.tool_call("L", "c", "search", "m")
    assert life.tool_call("L", "c", "search", "m") == []
    assert brief(life.args("c", "{}")) == ["TOOL_CALL_ARGS c"]
    assert life.args("c", "") == life.args("unknown", "{}") == life.end_call("unknown") == []
    assert brief(life.end_call("c")) == ["TOOL_CALL_END c"]
    assert life.end_call("c") == life.args("c", "{}") == []


def test_a_result_ends_its_call_and_comes_once() -> None:
    life = live(calls=thread_calls("old"), taken={"t": "tool"})
    life.tool_call("L", "c", "search", "m")
    assert wire(life.result("c", "t", "done", metadata={"n": None})) == [
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "t-2",
            "toolCallId": "c",
            "content": "done",
            "role": "tool",
            "metadata": {"n": None},
        },
    ]
    assert life.calls.is_answered("c")
    assert life.result("c", "t9", "again") == life.result("unknown", "t9", "x") == []
    assert brief(life.result("old", "t3", "late")) == ["TOOL_CALL_RESULT t3"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([], ""),
        ([TextPart(text="a"), {"type": "text", "text": "b"}], "ab"),
        ([{"type": "image", "source": {"type": "url", "value": "http://p"}}], ""),
    ],
)
def test_parts_become_text_for_peers_from_before_1_0(content: Any, text: str) -> None:
    old, new = live(declared=False, calls=thread_calls("c")), live(calls=thread_calls("c"))
    assert wire(old.result("c", "t", content))[0]["content"] == text
    sent = wire(new.result("c", "t", content))[0]["content"]
    assert isinstance(sent, list) is isinstance(content, list)


# ---------------------------------------------------------------- steps and subagents


def test_step_names_are_unique_while_open() -> None:
    life = live(announce_subagents=False)
    assert wire(life.start_step("1", "node", metadata={"langgraph": {"node": "node"}})) == [
        {"type": "STEP_STARTED", "stepName": "node", "metadata": {"langgraph": {"node": "node"}}}
    ]
    assert brief(life.start_step("2", "node", owner="s")) == ["STEP_STARTED node#2"]
    assert life.start_step("2", "node") == []
    assert wire(life.finish_step("2")) == [{"type": "STEP_FINISHED", "stepName": "node#2", "subagentRunId": "s"}]
    assert life.finish_step("2") == []
    assert brief(life.start_step("3", "node")) == ["STEP_STARTED node#2"]


def test_a_subagents_end_closes_what_is_open_inside() -> None:
    life = live()
    life.tool_call("L", "c", "task", "m")
    assert wire(life.start_subagent("s", "researcher", parent="unknown", call_id="c")) == [
        {
            "type": "SUBAGENT_STARTED",
            "subagentRunId": "s",
            "name": "researcher",
            "parentToolCallId": "c",
            "parentMessageId": "m",
        }
    ]
    assert wire(life.start_subagent("inner", "", parent="s", call_id="unknown")) == [
        {"type": "SUBAGENT_STARTED", "subagentRunId": "inner", "name": "subagent", "parentSubagentRunId": "s"}
    ]
    assert life.start_subagent("s", "again") == []
    life.lane("I", owner="inner")
    life.start_step("1", "node", owner="s")
    life.text("I", "m2", "x")
    assert wire(life.end_subagent("s", suspended=["i1", ""])) == [
        {"type": "STEP_FINISHED", "stepName": "node", "subagentRunId": "s"},
        {"type": TEXT_END, "messageId": "m2", "subagentRunId": "inner"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "inner"},
        {
            "type": "SUBAGENT_FINISHED",
            "subagentRunId": "s",
            "outcome": {"type": "suspended", "interruptIds": ["i1"]},
        },
    ]
    assert life.end_subagent("s") == life.start_subagent("s", "again") == []


def test_the_ends_of_a_subagent() -> None:
    life = live()
    for subagent in ("a", "b", "c"):
        life.start_subagent(subagent, "researcher")
    assert wire(life.end_subagent("a", error="broken")) == [
        {"type": "SUBAGENT_ERROR", "subagentRunId": "a", "message": "broken"}
    ]
    assert wire(life.end_subagent("b", suspended=[]))[0]["outcome"] == {"type": "suspended"}
    assert "outcome" not in wire(life.end_subagent("c"))[0]


def test_a_tag_that_nobody_announced_is_announced() -> None:
    life = live()
    life.lane("L", owner="a")
    life.lane("M", owner="b")
    life.lane("N", owner="c")
    life.tool_call("P", "p", "task", "m")
    for subagent, events in {
        "a": life.text("L", "m1", "x"),
        "b": life.tool_call("M", "c", "search", "m2"),
        "c": life.reasoning("N", "r", "hm"),
        "d": life.result("p", "t", "done", owner="d"),
        "e": life.start_step("1", "node", owner="e"),
        "f": life.open_span("plan", "Planning", owner="f"),
        "g": life.custom("app.event", None, owner="g"),
        "h": life.activity("act", "plan", {}, owner="h"),
    }.items():
        sent = [e for e in wire(events) if e["type"] != "TOOL_CALL_END"]
        assert sent[0] == {"type": "SUBAGENT_STARTED", "subagentRunId": subagent, "name": "subagent"}
        assert {e["subagentRunId"] for e in sent} == {subagent}
    assert life.start_subagent("a", "too late") == []
    assert brief(life.finish()).count("SUBAGENT_FINISHED") == 8


def test_a_tag_that_only_a_snapshot_named_is_announced() -> None:
    life = live()
    life.reasoning("L", "r", "hm")
    life.activity("a", "plan", {})
    life.end_lane("L")
    life.messages_snapshot(
        [
            ReasoningMessage(id="r", content="hm", subagent_run_id="s1"),
            ActivityMessage(id="a", activity_type="plan", content={}, subagent_run_id="s2"),
        ]
    )
    assert brief(life.encrypted_reasoning("L", "r", "=")) == [
        "SUBAGENT_STARTED subagent",
        "REASONING_ENCRYPTED_VALUE r",
    ]
    patch = [{"op": "add", "path": "/k", "value": 1}]
    assert brief(life.activity_delta("a", "plan", patch)) == ["SUBAGENT_STARTED subagent", "ACTIVITY_DELTA a"]


def test_a_finished_subagent_still_owns_what_comes_late() -> None:
    life = live()
    life.start_subagent("s", "researcher")
    life.end_subagent("s")
    assert wire(life.custom("app.event", 1, owner="s")) == [
        {"type": "CUSTOM", "name": "app.event", "value": 1, "subagentRunId": "s"}
    ]


def test_without_announcement_tags_stay() -> None:
    life = live(announce_subagents=False)
    assert life.start_subagent("s", "researcher") == []
    life.lane("L", owner="s")
    assert {e["subagentRunId"] for e in wire(life.text("L", "m", "x"))} == {"s"}
    assert wire(life.end_subagent("s", error="broken")) == [{"type": TEXT_END, "messageId": "m", "subagentRunId": "s"}]


# ---------------------------------------------------------------- state, messages, application events


def test_state_and_application_events_pass() -> None:
    life = live()
    assert wire(life.state_snapshot(None)) == [{"type": "STATE_SNAPSHOT", "snapshot": None}]
    assert life.state_delta([]) == []
    patch = [{"op": "move", "from": "/a", "path": "/b"}]
    assert wire(life.state_delta(patch)) == [{"type": "STATE_DELTA", "delta": patch}]
    assert wire(life.custom("app.event", None)) == [{"type": "CUSTOM", "name": "app.event", "value": None}]


def test_a_snapshot_waits_for_what_streams() -> None:
    life = live()
    for opened, closed in (
        (life.text("L", "m", "x"), life.end_text),
        (life.reasoning("L", "r", "x"), life.end_reasoning),
        (life.tool_call("L", "c", "search", "m"), life.end_lane),
    ):
        assert opened
        assert not life.quiet
        assert life.messages_snapshot([]) == []
        closed("L")
    assert life.quiet
    life.open_span("plan", "Planning")
    assert wire(life.messages_snapshot([])) == [{"type": "MESSAGES_SNAPSHOT", "messages": []}]


def test_a_snapshot_holds_each_id_once_and_none_that_is_empty() -> None:
    messages = [UserMessage(id="a", content="1"), UserMessage(id="", content="2"), UserMessage(id="a", content="3")]
    assert wire(live().messages_snapshot(messages))[0]["messages"] == [{"id": "a", "role": "user", "content": "3"}]


class Titled(UserMessage):
    """An application's own class of message: pydantic takes it as one of the protocol's."""

    title: str = ""


class Stranger:
    """Has what a message has, and is none."""

    id, role, content, subagent_run_id = "s", "user", "hi", None


def test_only_messages_of_the_protocol_are_not_checked() -> None:
    plain = [UserMessage(id="u", content="1"), AssistantMessage(id="a")]
    for messages in (plain, [], [*plain, Titled(id="t", content="2", title="T")]):
        [made] = live().messages_snapshot(messages)
        expected = MessagesSnapshotEvent(messages=messages)
        assert made == expected
        assert made.model_fields_set == expected.model_fields_set
        assert made.model_dump_json(by_alias=True) == expected.model_dump_json(by_alias=True)
    with pytest.raises(ValidationError):
        live().messages_snapshot([*plain, Stranger()])  # type: ignore[list-item]


def test_results_of_a_snapshot_are_sent_before_it() -> None:
    life = live()
    life.tool_call("L", "c", "search", "m")
    life.end_lane("L")
    call = ToolCall(id="unseen", function=FunctionCall(name="search", arguments="{}"))
    events = life.messages_snapshot(
        [
            AssistantMessage(id="m2", tool_calls=[call]),
            ToolMessage(id="t", tool_call_id="c", content="hidden"),
            ToolMessage(id="t2", tool_call_id="unseen", content="x"),
        ]
    )
    assert brief(events) == ["TOOL_CALL_RESULT t", "MESSAGES_SNAPSHOT"]
    assert life.calls.is_answered("c")
    assert life.calls.is_answered("unseen")
    assert life.calls.is_announced("unseen")
    assert "outcome" not in wire(life.finish())[-1]


def test_a_snapshot_ends_the_span_whose_id_it_uses() -> None:
    life = live()
    life.open_span("x", "Planning")
    life.open_span("y", "Planning")
    assert brief(life.messages_snapshot([UserMessage(id="x", content="hi")])) == [
        "REASONING_END x",
        "MESSAGES_SNAPSHOT",
    ]


def test_an_id_with_two_kinds_of_message_takes_nothing_more() -> None:
    life = live()
    life.tool_call("L", "c", "search", "m")
    life.end_lane("L")
    life.messages_snapshot([UserMessage(id="m", content="hi")])
    assert wire(life.tool_call("L", "c2", "search", "m"))[0]["parentMessageId"] == "m-2"
    assert life.activity("m", "plan", {}) == []


def test_activities_are_patched_only_where_the_client_has_them() -> None:
    patch = [{"op": "add", "path": "/k", "value": 1}]
    life = live(taken={"held": "activity", "u": "user"}, announce_subagents=False)
    assert life.activity("u", "plan", {}) == life.activity_delta("a", "plan", patch) == []
    assert brief(life.activity_delta("held", "plan", patch)) == ["ACTIVITY_DELTA held"]
    for activity in ("a", "b"):
        life.activity(activity, "plan", {"k": 0}, owner="s")
    assert wire(life.activity_delta("a", "plan", patch)) == [
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": patch, "subagentRunId": "s"}
    ]
    assert life.activity_delta("a", "plan", []) == []
    life.messages_snapshot([UserMessage(id="b", content="hi")])
    assert life.activity_delta("b", "plan", patch) == []
    assert life.activity_delta("a", "plan", patch) != []
    life.activity("c", "plan", {})
    life.messages_snapshot([ActivityMessage(id="c", activity_type="plan", content={})])
    assert life.activity_delta("a", "plan", patch) == []
    assert "subagentRunId" not in wire(life.activity_delta("c", "plan", patch))[0]


def test_a_value_of_a_wrong_type_changes_nothing() -> None:
    life = live(reasoning="thinking")
    bad: Any = 5
    for attempt in (
        lambda: life.start_step("1", bad, owner="s"),
        lambda: life.start_subagent("s", bad),
        lambda: life.open_span("plan", bad, owner="s"),
        lambda: life.custom(bad, None, owner="s"),
        lambda: life.activity("a", bad, {}, owner="s"),
    ):
        with pytest.raises(ValidationError):
            attempt()
    assert life.text("L", "m", bad) == life.reasoning("L", "r", bad) == []
    assert brief(life.finish()) == ["RUN_FINISHED"]


def test_the_short_way_makes_the_same_events() -> None:
    life = live()
    life.text("L", "m", "x")
    [event] = life.text("L", "m", "y")
    assert type(event) is TextMessageContentEvent
    assert event.type is EventType.TEXT_MESSAGE_CONTENT
    assert event == TextMessageContentEvent(message_id="m", delta="y")
    assert life.text("L", "m", 5) == []  # type: ignore[arg-type]


def test_deltas_of_one_message_share_nothing() -> None:
    life = live()
    life.text("L", "m", "x")
    [one], [other] = life.text("L", "m", "y"), life.text("L", "m", "z")
    one.timestamp = 5
    one.note = "an extra"  # type: ignore[attr-defined]
    assert other == TextMessageContentEvent(message_id="m", delta="z")
    assert other.model_fields_set == {"message_id", "delta"}
    assert one.model_copy().model_dump(by_alias=True) == {
        "type": "TEXT_MESSAGE_CONTENT",
        "timestamp": 5,
        "messageId": "m",
        "delta": "y",
        "note": "an extra",
    }
