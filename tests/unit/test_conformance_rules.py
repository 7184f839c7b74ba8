"""The rules of `testing.rules`, one wrong stream and its nearest right one at a time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from yai_nexus_agentkit.testing import conformance_problems
from yai_nexus_agentkit.testing.rules import ADVICE, RULES

Events = list[dict[str, Any]]
START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
FINISH = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def run(*events: dict[str, Any], finish: dict[str, Any] | None = None) -> Events:
    return [START, *events, {**FINISH, **(finish or {})}]


def text(mid: str, role: str = "assistant") -> Events:
    return [
        event("TEXT_MESSAGE_START", messageId=mid, role=role),
        event("TEXT_MESSAGE_CONTENT", messageId=mid, delta="x"),
        event("TEXT_MESSAGE_END", messageId=mid),
    ]


def call(cid: str, parent: str = "a") -> Events:
    return [
        event("TOOL_CALL_START", toolCallId=cid, toolCallName="add", parentMessageId=parent),
        event("TOOL_CALL_END", toolCallId=cid),
    ]


def result(cid: str, mid: str) -> dict[str, Any]:
    return event("TOOL_CALL_RESULT", toolCallId=cid, messageId=mid, content="3", role="tool")


def success(*pending: str) -> dict[str, Any]:
    return {"outcome": {"type": "success", "pendingToolCallIds": list(pending)}}


def interrupt(*interrupts: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"type": "interrupt", "interrupts": [{"reason": "r", **given} for given in interrupts]}}


def snapshot(*ids: str) -> dict[str, Any]:
    return event("MESSAGES_SNAPSHOT", messages=[{"id": mid, "role": "assistant", "content": "x"} for mid in ids])


def rules_in(runs: list[Any], *, advice: bool = False) -> list[str]:
    """The names of the rule layer's findings, in order."""
    found = [re.findall(r"\[([a-z-]+)\]", problem) for problem in conformance_problems(runs, advice=advice)]
    return [name for names in found for name in names if name in {**RULES, **ADVICE}]


def subagent(kind: str, **fields: Any) -> dict[str, Any]:
    return event(f"SUBAGENT_{kind}", subagentRunId="s", **fields)


CASES: dict[str, tuple[str, Events, Events]] = {
    # rule, wrong, right
    "no beginning": ("start", run()[1:], run()),
    "an event before the beginning": (
        "start",
        [event("RAW", event=1), *run()],
        [event("RUN_ERROR", message="a lone error has no run")],
    ),
    "two beginnings": ("start", [START, *run()], [*run(), *run()]),
    "a text that does not end": ("text", run(*text("m")[:2]), run(*text("m"))),
    "a text that did not begin": (
        "text",
        run(text("m")[1]),
        run(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")),
    ),
    "the end of a text that did not begin": ("text", run(text("m")[2]), run(*text("m"))),
    "a text that begins while open": (
        "text",
        run(text("m")[0], *text("m")),
        run(*text("m")[:2], *text("n"), text("m")[2]),
    ),
    "a text that begins again": ("text", run(*text("m"), *text("m")), [*run(*text("m")), *run(*text("m"))]),
    "a text goes on after a snapshot": (
        "text",
        run(*text("m"), snapshot("m"), text("m")[1]),
        run(*text("m")[:2], snapshot("m"), *text("m")[1:]),
    ),
    "a chunk of an open text": (
        "text",
        run(text("m")[0], event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"), text("m")[2]),
        run(*text("m"), event("TEXT_MESSAGE_CHUNK", messageId="n", delta="x"), event("TEXT_MESSAGE_CHUNK", delta="x")),
    ),
    "a call that does not end": (
        "calls",
        run(call("c")[0]),
        [START, call("c")[0], event("RUN_ERROR", message="x")],
    ),
    "arguments of no call": (
        "calls",
        run(event("TOOL_CALL_ARGS", toolCallId="c", delta="{}")),
        run(event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="add", parentMessageId="a", delta="{}")),
    ),
    "a call that begins again": ("calls", run(*call("c"), *call("c")), run(*call("c"), *call("d"))),
    "a result of no call": ("result-id", run(result("c", "x")), run(*call("c"), result("c", "x"))),
    "a subagent that does not end": (
        "subagents",
        run(subagent("STARTED", name="n")),
        run(subagent("STARTED", name="n"), subagent("FINISHED")),
    ),
    "a subagent that did not begin": (
        "subagents",
        run(subagent("ERROR", message="x")),
        run(subagent("STARTED", name="n"), subagent("ERROR", message="x")),
    ),
    "a subagent that begins again": (
        "subagents",
        run(*[subagent("STARTED", name="n"), subagent("FINISHED")] * 2),
        [*run(subagent("STARTED", name="n"), subagent("FINISHED"))] * 2,
    ),
    "a subagent of nobody": (
        "subagents",
        run(subagent("STARTED", name="n", parentSubagentRunId="p"), subagent("FINISHED")),
        run(subagent("STARTED", name="n"), subagent("FINISHED"), event("RAW", event=1)),
    ),
    "thoughts that did not begin": (
        "reasoning",
        run(event("REASONING_MESSAGE_CONTENT", messageId="m", delta="x")),
        run(event("REASONING_MESSAGE_CHUNK", messageId="m", delta="x")),
    ),
    "result twice": (
        "result-id",
        run(*call("c"), result("c", "x"), result("c", "y")),
        run(*call("c"), result("c", "x")),
    ),
    "result with a taken id": (
        "result-id",
        run(*text("m"), *call("c", "m"), result("c", "m")),
        run(*text("m"), *call("c", "m"), result("c", "m2")),
    ),
    "pending leaves one out": (
        "pending",
        run(*call("c1"), *call("c2"), finish=success("c1")),
        run(*call("c1"), *call("c2"), finish=success("c1", "c2")),
    ),
    "pending in another order": (
        "pending",
        run(*call("c1"), *call("c2"), finish=success("c2", "c1")),
        run(*call("c1"), *call("c2"), result("c1", "x"), finish=success("c2")),
    ),
    "interrupt ids twice": (
        "interrupts",
        run(finish=interrupt({"id": "i"}, {"id": "i"})),
        run(finish=interrupt({"id": "i"}, {"id": "j"})),
    ),
    "interrupt of no call": (
        "interrupts",
        run(finish=interrupt({"id": "i", "toolCallId": "c"})),
        run(*call("c"), finish=interrupt({"id": "i", "toolCallId": "c"})),
    ),
    "snapshot with an id twice": ("snapshot", run(snapshot("m", "m")), run(snapshot("m", "n"))),
    "snapshot without what is streaming": (
        "snapshot",
        run(*text("m")[:2], snapshot("n"), *text("m")[2:]),
        run(*text("m")[:2], snapshot("m"), *text("m")[2:]),
    ),
    "one id for a text and a reasoning": (
        "id-reuse",
        run(
            event("REASONING_MESSAGE_START", messageId="m", role="reasoning"),
            event("REASONING_MESSAGE_END", messageId="m"),
            *text("m"),
        ),
        run(
            event("REASONING_MESSAGE_START", messageId="n", role="reasoning"),
            event("REASONING_MESSAGE_END", messageId="n"),
            *text("m"),
        ),
    ),
    "one id for an activity and a text": (
        "id-reuse",
        run(*text("m"), event("ACTIVITY_SNAPSHOT", messageId="m", activityType="a", content={})),
        run(*text("m"), event("ACTIVITY_SNAPSHOT", messageId="n", activityType="a", content={})),
    ),
    "reasoning span twice": (
        "reasoning",
        run(*[event("REASONING_START", messageId="s")] * 2, event("REASONING_END", messageId="s")),
        run(event("REASONING_START", messageId="s"), event("REASONING_END", messageId="s")),
    ),
    "reasoning message left open": (
        "reasoning",
        run(event("REASONING_MESSAGE_START", messageId="m", role="reasoning")),
        [START, event("REASONING_MESSAGE_START", messageId="m", role="reasoning"), event("RUN_ERROR", message="x")],
    ),
    "step twice for one owner": (
        "steps",
        run(*[event("STEP_STARTED", stepName="s")] * 2, event("STEP_FINISHED", stepName="s")),
        run(event("STEP_STARTED", stepName="s"), event("STEP_FINISHED", stepName="s")),
    ),
    "step left open": (
        "steps",
        run(event("STEP_STARTED", stepName="s")),
        [START, event("STEP_STARTED", stepName="s"), event("RUN_ERROR", message="x")],
    ),
    "chunk of another kind": (
        "chunk",
        run(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"), event("REASONING_MESSAGE_CHUNK", delta="y")),
        run(event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"), event("TEXT_MESSAGE_CHUNK", delta="y")),
    ),
    "chunk after what closed it": (
        "chunk",
        run(
            event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"), snapshot("m"), event("TEXT_MESSAGE_CHUNK", delta="y")
        ),
        run(
            event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x"),
            event("RAW", event=1),
            event("TEXT_MESSAGE_CHUNK", delta="y"),
        ),
    ),
    "a timestamp that is no integer": (
        "timestamp",
        run(event("RAW", event=1, timestamp=True)),
        run(event("RAW", event=1, timestamp=1)),
    ),
    "no version": ("version", [{k: v for k, v in START.items() if k != "protocolVersion"}, FINISH], run()),
    "something after the end": (
        "terminal",
        [*run(), event("RAW", event=1)],
        [*run(), event("RUN_ERROR", message="late")],
    ),
    "no end": ("terminal", [START], run()),
    "another run at the end": ("identity", run(finish={"runId": "x"}), run()),
    "activity delta without base": (
        "delta",
        run(event("ACTIVITY_DELTA", messageId="m", activityType="a", patch=[])),
        run(
            event("ACTIVITY_SNAPSHOT", messageId="m", activityType="a", content={}),
            event("ACTIVITY_DELTA", messageId="m", activityType="a", patch=[]),
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_finds_the_wrong_stream_and_passes_the_right_one(name: str) -> None:
    rule, wrong, right = CASES[name]
    assert rules_in([wrong]) == [rule]
    assert conformance_problems([right]) == []


def test_every_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES.values()} == set(RULES)


def test_the_request_is_what_ids_are_checked_against() -> None:
    asked = {"threadId": "t", "runId": "r", "messages": []}
    assert rules_in([{"events": run(), "input": asked}]) == []
    assert rules_in([{"events": run(), "input": {**asked, "runId": "other"}}]) == ["identity"]
    assert rules_in([{"events": run(), "input": {**asked, "threadId": "other"}}]) == ["identity"]
    # Two runs in one response: only the last one is the requested one.
    assert (
        rules_in([{"events": [{**START, "runId": "first"}, {**FINISH, "runId": "first"}, *run()], "input": asked}])
        == []
    )


def test_the_runs_of_a_thread_know_each_other() -> None:
    pending = run(*call("c"), finish=success("c"))
    assert conformance_problems([pending, run(result("c", "x"))]) == []
    assert rules_in([run(result("c", "x"))]) == ["result-id"]
    assert rules_in([run(*text("m"), *call("c", "m")), run(result("c", "m"))]) == ["result-id"]
    assert rules_in([{"events": run(*text("u1")), "input": {"messages": [{"id": "u1", "role": "user"}]}}]) == [
        "id-reuse"
    ]


def test_a_result_that_the_request_has_already_is_unwise() -> None:
    history = [
        {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "type": "function"}]},
        {"id": "x", "role": "tool", "toolCallId": "c", "content": "3"},
    ]
    again = {"events": run(result("c", "y")), "input": {"messages": history}}
    assert rules_in([again]) == []
    assert rules_in([again], advice=True) == ["answered"]


def test_names_in_brackets_can_be_ignored() -> None:
    wrong = run(*call("c"), result("c", "x"), result("c", "y"))
    assert conformance_problems([wrong], ignore=["result-id"]) == []
    broken = run(event("TEXT_MESSAGE_START", messageId=7))
    assert all("[model]" not in problem for problem in conformance_problems([broken], ignore=["model"]))
    assert any("[model]" in problem for problem in conformance_problems([broken]))
