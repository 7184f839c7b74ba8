"""The grammar of a run, fact by fact: which events tell it, and what they close before."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    BaseEvent,
    EventType,
    FunctionCall,
    Interrupt,
    ReasoningMessage,
    TextMessageContentEvent,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic import ValidationError

from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

TEXT_START, TEXT, TEXT_END = "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"


def live(**options: Any) -> RunLifecycle:
    life = RunLifecycle(thread_id="t", run_id="r", **options)
    life.start()
    return life


def wire(events: list[BaseEvent]) -> list[dict[str, Any]]:
    return [event.model_dump(mode="json", by_alias=True) for event in events]


def brief(events: list[BaseEvent]) -> list[str]:
    """``TYPE id`` of each event."""
    names = ("messageId", "toolCallId", "stepName", "entityId", "name")
    return [" ".join([e["type"], *(e[n] for n in names if n in e)][:2]) for e in wire(events)]


# ---------------------------------------------------------------- the run


def test_the_run_is_started_once_and_speaks_1_0() -> None:
    life = RunLifecycle(thread_id="t", run_id="r", parent_run_id="p")
    assert wire(life.start()) == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": "p", "protocolVersion": "1.0"}
    ]
    assert life.start() == []


def test_nothing_is_told_before_the_start_or_after_the_end() -> None:
    life = RunLifecycle(thread_id="t", run_id="r")
    assert life.text("L", "m", "early") == []
    life.start()
    life.text("L", "m", "hello")
    assert brief(life.finish()) == [f"{TEXT_END} m", "RUN_FINISHED"]
    assert life.ended
    assert life.text("L", "m", "late") == []
    assert life.custom("late", None) == []
    assert life.state_snapshot({}) == []
    assert life.finish() == life.fail("late", "AGENT_ERROR") == life.cancel("late") == []


def test_an_end_without_a_start_is_a_whole_run() -> None:
    assert brief(RunLifecycle(thread_id="t", run_id="r").fail("no", "INVALID_INPUT")) == ["RUN_STARTED", "RUN_ERROR"]


def test_the_end_closes_the_innermost_first() -> None:
    life = live()
    life.start_step("1", "node")
    life.start_subagent("s", "researcher")
    life.lane("L", owner="s")
    life.open_span("plan", "Planning")
    life.text("L", "m", "hello")
    life.tool_call("L", "c", "search", "m")
    life.reasoning("L2", "r", "hm")
    assert brief(life.close_all()) == [
        "REASONING_MESSAGE_END r",
        "REASONING_END r",
        "TOOL_CALL_END c",
        f"{TEXT_END} m",
        "REASONING_END plan",
        "SUBAGENT_FINISHED",
        "STEP_FINISHED node",
    ]
    assert life.close_all() == []


def test_a_plain_end_names_nothing() -> None:
    assert wire(live().finish()) == [{"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]


@pytest.mark.parametrize("declared", [True, False])
def test_calls_without_answer_are_pending_for_peers_that_know_the_field(declared: bool) -> None:
    life = live(declared=declared)
    for call in ("c1", "c2", "c3"):
        life.tool_call("L", call, "ask", "m")
    life.result("c2", "t2", "done")
    [*_, end] = wire(life.finish(result=[1]))
    assert end.get("outcome") == ({"type": "success", "pendingToolCallIds": ["c1", "c3"]} if declared else None)
    assert end["result"] == [1]


def test_usage_is_one_entry_per_model() -> None:
    usage = [TokenUsage(model="a", input_tokens=1), TokenUsage(model="b"), TokenUsage(model="a", input_tokens=2)]
    expected = [{"model": "a", "inputTokens": 3}, {"model": "b"}]
    assert wire(live().finish(usage=usage))[-1]["usage"] == expected
    assert wire(live().fail("no", "AGENT_ERROR", usage=usage))[-1]["usage"] == expected
    assert wire(live().cancel("stop", usage=usage))[-1]["usage"] == expected
    assert "usage" not in wire(live().finish(usage=[]))[-1]


@pytest.mark.parametrize(
    ("declared", "end"),
    [
        (True, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}),
        (False, {"type": "RUN_ERROR", "message": "stopped", "code": "CANCELLED"}),
    ],
)
def test_a_stopped_run_is_an_error_for_peers_from_before_1_0(declared: bool, end: dict[str, Any]) -> None:
    assert wire(live(declared=declared).cancel("stopped")) == [end]


def ask(interrupt_id: str, **fields: Any) -> Interrupt:
    return Interrupt(id=interrupt_id, reason="confirmation", **fields)


def test_questions_are_asked_once_and_refer_to_what_the_client_has() -> None:
    life = live(calls=["old"])
    life.start_subagent("s", "researcher")
    [*_, end] = wire(
        life.finish(
            interrupts=[
                ask("i1", tool_call_id="old", subagent_run_id="s"),
                ask("i1", message="again"),
                ask("i2", tool_call_id="unknown", subagent_run_id="unknown"),
                ask(""),
            ]
        )
    )
    assert end["outcome"] == {
        "type": "interrupt",
        "interrupts": [
            {"id": "i1", "reason": "confirmation", "toolCallId": "old", "subagentRunId": "s"},
            {"id": "i2", "reason": "confirmation"},
            {"id": "interrupt", "reason": "confirmation"},
        ],
    }


def test_a_question_does_not_expire_for_peers_that_could_never_answer_it_then() -> None:
    question = ask("i", expires_at="2030-01-01T00:00:00Z")
    for declared in (True, False):
        [interrupt] = wire(live(declared=declared).finish(interrupts=[question]))[-1]["outcome"]["interrupts"]
        assert ("expiresAt" in interrupt) is declared
    assert question.expires_at is not None


# ---------------------------------------------------------------- text


def test_text_opens_at_its_first_word() -> None:
    life = live()
    assert life.text("L", "m", "") == []
    assert wire(life.text("L", "m", "one ")) == [
        {"type": TEXT_START, "messageId": "m", "role": "assistant"},
        {"type": TEXT, "messageId": "m", "delta": "one "},
    ]
    assert life.text("L", "m", "") == []
    assert life.text("L", "m", "two") == [TextMessageContentEvent(message_id="m", delta="two")]
    assert brief(life.end_lane("L")) == [f"{TEXT_END} m"]


def test_lanes_do_not_close_each_other() -> None:
    life = live()
    life.text("A", "m1", "x")
    assert brief(life.text("B", "m2", "x")) == [f"{TEXT_START} m2", f"{TEXT} m2"]
    assert brief(life.text("A", "m1", "x")) == [f"{TEXT} m1"]
    assert brief(life.text("A", "m3", "x")) == [f"{TEXT_END} m1", f"{TEXT_START} m3", f"{TEXT} m3"]


def test_text_never_goes_into_a_message_that_has_its_text() -> None:
    life = live(taken={"m": "assistant", "u": "user"})
    assert brief(life.text("L", "m", "x"))[0] == f"{TEXT_START} m-2"
    assert life.message_id("L") == "m-2"
    life.end_text("L")
    assert brief(life.text("L", "m", "x"))[0] == f"{TEXT_START} m-3"
    assert brief(life.text("L", "m", "y")) == [f"{TEXT} m-3"]
    assert brief(life.text("L", "u", "x"))[1] == f"{TEXT_START} u-2"
    assert life.message_id("L") == "u-2"
    life.end_lane("L")
    assert life.message_id("L") is None


@pytest.mark.parametrize("unusable", ["", None, 5])
def test_an_id_that_is_none_is_made(unusable: Any) -> None:
    life = live()
    assert brief(life.text("L", unusable, "x")) == [f"{TEXT_START} L-message", f"{TEXT} L-message"]
    assert brief(life.text("L", unusable, "x")) == [f"{TEXT} L-message"]
    assert brief(life.reasoning("M", unusable, "x"))[0] == "REASONING_START M-reasoning"
    assert life.tool_call("M", unusable, "search", "m") == []
    assert wire(life.tool_call("M", "c", "", unusable))[-1] == {
        "type": "TOOL_CALL_START",
        "toolCallId": "c",
        "toolCallName": "tool",
        "parentMessageId": "c-message",
    }
    assert brief(life.result("c", unusable, "x"))[-1] == "TOOL_CALL_RESULT c-result"
    assert life.activity(unusable, "plan", {}) == []


def test_chunks_carry_their_id_and_need_no_end() -> None:
    life = live(text_chunks=True)
    assert wire(life.text("L", "m", "x")) == [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "x"}]
    assert wire(life.tool_call("L", "c", "search", "m")) == [
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "search", "parentMessageId": "m"}
    ]
    assert wire(life.args("c", "{}"))[0]["parentMessageId"] == "m"
    assert life.end_lane("L") == []
    assert brief(life.finish()) == ["RUN_FINISHED"]


# ---------------------------------------------------------------- reasoning


def test_reasoning_ends_before_text_and_calls_of_its_lane() -> None:
    life = live()
    assert wire(life.reasoning("L", "r", "hm")) == [
        {"type": "REASONING_START", "messageId": "r"},
        {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"},
    ]
    life.reasoning("other", "r2", "hm")
    closing = ["REASONING_MESSAGE_END r", "REASONING_END r"]
    assert brief(life.text("L", "m", "x")) == [*closing, f"{TEXT_START} m", f"{TEXT} m"]
    assert brief(life.reasoning("L", "r", "more"))[0] == "REASONING_START r"
    assert brief(life.text("L", "m", "x")) == [*closing, f"{TEXT} m"]
    life.reasoning("L", "r", "again")
    assert brief(life.tool_call("L", "c", "search", "m")) == [*closing, "TOOL_CALL_START c"]


def test_metadata_of_reasoning_goes_with_its_start_and_what_comes_late_with_its_end() -> None:
    life = live()
    form = {"langgraph": {"form": "thinking"}}
    assert wire(life.reasoning("L", "r", "hm", form))[1]["metadata"] == form
    late = {"langgraph": {"form": "thinking", "kind": "signature"}}
    assert "metadata" not in wire(life.reasoning("L", "r", "more", late))[0]
    assert wire(life.end_reasoning("L"))[0] == {"type": "REASONING_MESSAGE_END", "messageId": "r", "metadata": late}
    life.reasoning("L", "r2", "hm", form)
    assert "metadata" not in wire(life.end_reasoning("L"))[0], "it was all said at the start"


def test_reasoning_never_goes_into_another_message() -> None:
    life = live(taken={"old": "reasoning"})
    life.text("L", "m", "x")
    assert brief(life.reasoning("L", "m", "hm"))[0] == "REASONING_START m-2"
    assert brief(life.reasoning("L2", "m-2", "hm"))[0] == "REASONING_START m-2-2"
    assert brief(life.reasoning("L3", "old", "hm"))[0] == "REASONING_START old-2"


def test_encrypted_content_finds_its_message_after_the_end() -> None:
    life = live()
    life.lane("L", owner="s")
    life.reasoning("L", "r", "hm")
    life.end_lane("L")
    assert wire(life.encrypted_reasoning("L", "r", "=")) == [
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "subtype": "message",
            "entityId": "r",
            "encryptedValue": "=",
            "subagentRunId": "s",
        }
    ]
    assert brief(life.encrypted_reasoning("M", "redacted", "=")) == [
        "REASONING_START redacted",
        "REASONING_MESSAGE_START redacted",
        "REASONING_ENCRYPTED_VALUE redacted",
    ]
    assert life.encrypted_reasoning("M", "none", "") == []


def test_a_snapshot_takes_reasoning_over() -> None:
    life = live(announce_subagents=False)
    life.lane("L", owner="s")
    life.reasoning("L", "r1", "hm")
    life.reasoning("L", "r2", "hm")
    life.end_reasoning("L")
    life.messages_snapshot([ReasoningMessage(id="r1", content="hm"), UserMessage(id="r2", content="hi")])
    [event] = wire(life.encrypted_reasoning("L", "r1", "="))
    assert "subagentRunId" not in event
    assert life.encrypted_reasoning("L", "r2", "=") == []
    assert brief(life.reasoning("L", "r1", "more"))[0] == "REASONING_START r1-2"


def test_off_tells_no_reasoning_and_keeps_nothing_waiting() -> None:
    life = live(reasoning="off")
    assert life.open_span("plan", "Planning") == life.reasoning("L", "r", "hm") == []
    assert life.encrypted_reasoning("L", "r", "=") == life.close_span("plan") == life.end_reasoning("L") == []
    assert life.quiet
    assert brief(life.text("L", "m", "x")) == [f"{TEXT_START} m", f"{TEXT} m"]


def test_thinking_shows_one_text_at_a_time_in_one_span() -> None:
    life = live(reasoning="thinking", announce_subagents=False)
    assert wire(life.open_span("a", "Plan")) == [{"type": "THINKING_START", "title": "Plan"}]
    assert life.open_span("b", "Inner") == []
    assert brief(life.reasoning("L", "r1", "x")) == ["THINKING_TEXT_MESSAGE_START", "THINKING_TEXT_MESSAGE_CONTENT"]
    assert brief(life.reasoning("M", "r2", "x")) == [
        "THINKING_TEXT_MESSAGE_END",
        "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT",
    ]
    assert life.close_span("a") == life.end_reasoning("L") == life.close_span("b") == []
    assert brief(life.end_reasoning("M")) == ["THINKING_TEXT_MESSAGE_END", "THINKING_END"]
    assert life.encrypted_reasoning("L", "r1", "=") == []
    life.lane("N", owner="s")
    assert {e["subagentRunId"] for e in wire([*life.reasoning("N", "r3", "x"), *life.end_lane("N")])} == {"s"}


def test_named_spans_end_before_the_first_word_inside() -> None:
    life = live()
    assert wire(life.open_span("plan", "Planning")) == [
        {"type": "REASONING_START", "messageId": "plan", "metadata": {"title": "Planning"}}
    ]
    life.open_span("other", "")
    life.lane("L", within=("plan",))
    assert brief(life.reasoning("L", "r", "hm"))[-1] == "REASONING_MESSAGE_CONTENT r"
    assert brief(life.text("L", "m", "x"))[-3:] == ["REASONING_END plan", f"{TEXT_START} m", f"{TEXT} m"]
    assert life.close_span("plan") == []
    assert wire(life.close_span("other")) == [{"type": "REASONING_END", "messageId": "other"}]


def test_a_span_with_the_id_of_a_message_has_another() -> None:
    life = live()
    life.text("L", "x", "hello")
    assert brief(life.open_span("x", "Planning")) == ["REASONING_START x-2"]
    assert life.open_span("x", "Planning") == []
    assert brief(life.reasoning("L", "x-2", "hm"))[0] == "REASONING_START x-2-2"
    assert brief(life.close_span("x")) == ["REASONING_END x-2"]


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


def test_a_call_is_told_once_per_thread() -> None:
    life = live(calls=["old", "open"], answered=["old", "lost"])
    for call in ("old", "open", "lost"):
        assert life.tool_call("L", call, "search", "m") == []
    assert life.knows_call("open")
    assert not life.knows_call("lost")
    life.tool_call("L", "c", "search", "m")
    assert life.tool_call("L", "c", "search", "m") == []
    assert brief(life.args("c", "{}")) == ["TOOL_CALL_ARGS c"]
    assert life.args("c", "") == life.args("unknown", "{}") == life.end_call("unknown") == []
    assert brief(life.end_call("c")) == ["TOOL_CALL_END c"]
    assert life.end_call("c") == life.args("c", "{}") == []


def test_a_result_ends_its_call_and_comes_once() -> None:
    life = live(calls=["old"], taken={"t": "tool"})
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
    assert life.is_answered("c")
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
    old, new = live(declared=False, calls=["c"]), live(calls=["c"])
    assert wire(old.result("c", "t", content))[0]["content"] == text
    told = wire(new.result("c", "t", content))[0]["content"]
    assert isinstance(told, list) is isinstance(content, list)


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
        told = [e for e in wire(events) if e["type"] != "TOOL_CALL_END"]
        assert told[0] == {"type": "SUBAGENT_STARTED", "subagentRunId": subagent, "name": "subagent"}
        assert {e["subagentRunId"] for e in told} == {subagent}
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


def test_what_a_snapshot_answers_is_told_before_it() -> None:
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
    assert life.is_answered("c")
    assert life.is_answered("unseen")
    assert life.knows_call("unseen")
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
    with pytest.raises(ValidationError):
        life.text("L", "m", 5)  # type: ignore[arg-type]
