"""The recordings come back as the objects that LangGraph yielded."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.errors import GraphInterrupt, GraphRecursionError
from langgraph.types import Command, Interrupt, StateSnapshot

from tests.recordings import FILES, HERE, load


@pytest.mark.parametrize("file", FILES)
def test_every_recorded_event_is_loaded(file: str) -> None:
    runs = load(file)
    with (HERE / f"{file}.jsonl").open() as lines:
        records = [json.loads(line) for line in lines]
    for label, run in runs.items():
        assert run.label == label
        assert len(run) == sum(record["rec"] == "event" and record["run"] == label for record in records)
        assert (run.error is None) == (not any(r["rec"] == "raised" and r["run"] == label for r in records))
        assert run.api != "astream_events" or all({"event", "run_id", "data"} <= event.keys() for event in run)
        assert "__class__" not in repr([*run, *run.notes])


def test_messages_are_real() -> None:
    run = load("agents")["create_agent_sequential"]
    chunk = next(event["data"]["chunk"] for event in run if event["event"] == "on_chat_model_stream")
    assert isinstance(chunk, AIMessageChunk)
    output = next(event["data"]["output"] for event in run if event["event"] == "on_tool_end")
    assert isinstance(output, ToolMessage)
    assert (output.id, output.tool_call_id) == (None, "call_1")
    answer = run[-1]["data"]["output"]["messages"][1]
    assert isinstance(answer, AIMessage)
    assert answer.tool_calls[0]["args"] == {"city": "Oslo"}


def test_a_message_is_one_object_within_a_run() -> None:
    chunks = [
        event["data"]["chunk"]
        for event in load("root_stream_modes")["values"]
        if event["event"] == "on_chain_stream" and not event["parent_ids"]
    ]
    first, last = chunks[0]["messages"][0], chunks[-1]["messages"][0]
    assert first.id is not None
    assert first is last


def test_interrupts_commands_and_errors_are_real() -> None:
    runs = load("interrupts")
    tool = next(event for event in runs["tool_first"] if event["event"] == "on_tool_error")
    assert isinstance(tool["data"]["error"], GraphInterrupt)
    chunk = next(event["data"]["chunk"] for event in runs["node_first"] if "__interrupt__" in str(event["data"]))
    [interrupt] = chunk["__interrupt__"]
    assert isinstance(interrupt, Interrupt)
    assert isinstance(runs["node_resume_1"].input, Command)
    snapshots = [note["snapshot"] for run in load("cancellation").values() for note in run.notes if "snapshot" in note]
    assert snapshots
    assert all(isinstance(snapshot, StateSnapshot) for snapshot in snapshots)
    error = load("errors")["recursion_limit"].error
    assert isinstance(error, GraphRecursionError)
    assert str(error).startswith("Recursion limit of 3")


def test_errors_of_unknown_classes_keep_name_and_text() -> None:
    error = load("resume_edge_cases")["typed_bad_answer"].error
    assert isinstance(error, ValueError)
    assert type(error).__name__ == "ValidationError"
    assert "Field required" in str(error)
