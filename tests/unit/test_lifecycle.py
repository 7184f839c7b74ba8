"""The grammar of a run, fact by fact: which events carry its text and reasoning, what they close, how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Interrupt,
    ReasoningMessage,
    TextMessageContentEvent,
    TokenUsage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

from tests.support.grammar import brief, live, thread_calls, wire
from yai_nexus_agentkit.protocol.lifecycle import run_started

TEXT_START, TEXT, TEXT_END = "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"


# ---------------------------------------------------------------- the run


def test_the_run_speaks_1_0() -> None:
    assert wire([run_started("t", "r", "p")]) == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": "p", "protocolVersion": "1.0"}
    ]


def test_nothing_is_sent_after_the_end() -> None:
    life = live()
    life.text("L", "m", "hello")
    assert brief(life.finish()) == [f"{TEXT_END} m", "RUN_FINISHED"]
    assert life.ended
    assert life.text("L", "m", "late") == []
    assert life.custom("late", None) == []
    assert life.state_snapshot({}) == []
    assert life.finish() == life.fail("late", "AGENT_ERROR") == life.cancel("late") == []


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


def test_calls_that_nobody_can_answer_are_dropped_before_the_end() -> None:
    life = live()
    for call in ("c1", "c2", "c3"):
        life.tool_call("L", call, "ask", "m")
    life.result("c1", "t", "done")
    [dropped] = wire(life.settle_calls(["c3", "again"], lambda status: {"desk": {"status": status}}))[-1:]
    assert (dropped["type"], dropped["toolCallId"]) == ("TOOL_CALL_RESULT", "c2")
    assert dropped["metadata"] == {"desk": {"status": "dropped"}}
    assert life.settle_calls(["c3", "again"]) == []
    outcome = wire(life.finish())[-1]["outcome"]
    assert outcome["pendingToolCallIds"] == ["c3", "again"], "one is known by another name, after a snapshot"


def test_an_answer_that_the_client_has_is_not_sent_for_a_call_of_the_same_id() -> None:
    """The call of a failed attempt, and the one of the next, which the thread knows by the first one's id."""
    life = live()
    life.tool_call("L", "c", "ask", "m1")
    life.tool_call("M", "c-m2", "ask", "m2")
    life.result("c-m2", "t", "done")
    life.close_all()
    call = ToolCall(id="c", function=FunctionCall(name="ask", arguments="{}"))
    stored = [AssistantMessage(id="m2", tool_calls=[call]), ToolMessage(id="t", tool_call_id="c", content="done")]
    assert brief(life.messages_snapshot(stored)) == ["MESSAGES_SNAPSHOT"]


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
    life = live(calls=thread_calls("old"))
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


def test_off_sends_no_reasoning_and_keeps_nothing_waiting() -> None:
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
