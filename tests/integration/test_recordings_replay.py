"""All recorded event streams through the translator, without a graph and without an event loop.

The recordings hold what real graphs and providers sent, also in versions and situations that are hard to build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from ag_ui.core import BaseEvent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnablePassthrough

from tests.conftest import Judge
from tests.recordings import FILES, Run, load
from tests.support.verifier import Verifier
from yai_nexus_agentkit import AdapterOptions, RunContext
from yai_nexus_agentkit.adapter.langgraph.native.side_handler import RunNotes
from yai_nexus_agentkit.adapter.langgraph.request.plan import Run as PlannedRun
from yai_nexus_agentkit.adapter.langgraph.shape import GraphShape
from yai_nexus_agentkit.adapter.langgraph.translate.translator import LangGraphTranslator
from yai_nexus_agentkit.adapter.shared.reports import Reports
from yai_nexus_agentkit.protocol.lifecycle import run_started
from yai_nexus_agentkit.testing import conformance_problems, run_input, wire
from yai_nexus_agentkit.transport.agui_sse import SSEEncoder

T = TypeVar("T")

NOTHING: frozenset[str] = frozenset()
WAYS: dict[str, dict[str, Any]] = {
    "as they come": {},
    "everything on": {
        "chain_spans": "all",
        "custom_events": "all",
        "messages_snapshot": "always",
        "final_state_snapshot": True,
        "interrupts": "both",
    },
    "chunks": {"text_chunks": True, "chain_spans": "off", "reasoning": "off", "messages_snapshot": "never"},
}
CUT_OFF = ["AGUI204"]
"""Arguments that the model left invalid are passed on."""
AGAIN = ["AGUI104", "AGUI205"]
"""Chunks of parallel lanes open each other's messages and calls again; clients append."""


def shape() -> GraphShape:
    """Of the recorded graphs only this is known: they keep a conversation."""
    empty = GraphShape()
    fields = {name: getattr(empty, name) for name in empty.__dataclass_fields__}
    return GraphShape(**{**fields, "messages": True, "functional": False})


def replayed(run: Run, *, declared: bool, **options: Any) -> list[dict[str, Any]]:
    return list(sent(run, wire, declared=declared, **options))


def sent(run: Run, to_wire: Callable[[BaseEvent], T], *, declared: bool, **options: Any) -> Iterator[T]:
    """The run's events on a wire, each before the next native event is looked at."""
    chosen = AdapterOptions(**options)
    asked = run_input([], thread_id="thread", run_id="run")
    context = RunContext(asked, declared=declared, options=chosen)
    reports = Reports(context, source="langgraph", shape=shape())
    plan = PlannedRun(agent=RunnablePassthrough(), config={})
    translator = LangGraphTranslator(plan, reports, RunNotes(complete=False), shape=shape())
    yield from map(to_wire, [run_started("thread", "run", None), *translator.start()])
    for native in run:
        yield from map(to_wire, translator.feed(native))
    last = translator.finish() if run.error is None else reports.fail(str(run.error), "AGENT_ERROR")
    yield from map(to_wire, last)


def recorded(file: str) -> Iterator[Run]:
    return (run for run in load(file).values() if run.api == "astream_events")


def test_there_are_many() -> None:
    assert sum(1 for file in FILES for _ in recorded(file)) > 150


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", [file for file in FILES if any(recorded(file))])
def test_every_recording_is_a_conformant_run(verifier: Verifier, file: str, way: str) -> None:
    """For each layer of checks, and for both generations of clients."""
    labels = [run.label for run in recorded(file)]
    ignore = [*CUT_OFF, *(AGAIN if "text_chunks" in WAYS[way] else [])]
    for client, declared in (("1.0.0", True), ("0.0.59", False)):
        streams = [replayed(run, declared=declared, **WAYS[way]) for run in recorded(file)]
        for label, events in zip(labels, streams, strict=True):
            assert conformance_problems([events], ignore=ignore) == [], label
        for label, view in zip(labels, verifier.replay(streams, client, chain=False), strict=True):
            assert (view["ok"], view["warnings"], view.get("error")) == (True, [], None), label


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", [file for file in FILES if any(recorded(file))])
def test_the_frames_say_what_the_models_would_write(file: str, way: str) -> None:
    def written(event: BaseEvent) -> bytes:
        return b"data: %b\n\n" % event.model_dump_json(by_alias=True).encode()

    for run in recorded(file):
        plain = list(sent(run, written, declared=True, **WAYS[way]))
        assert list(sent(run, SSEEncoder().encode, declared=True, **WAYS[way])) == plain


def final_messages(run: Run) -> list[BaseMessage] | None:
    """The conversation in the last ``values`` chunk of the root graph, if it was recorded."""
    root = next((native["run_id"] for native in run if native["event"] == "on_chain_start"), None)
    for native in reversed(run):
        chunk = native["data"].get("chunk") if isinstance(native["data"], dict) else None
        if native["run_id"] != root or not isinstance(chunk, tuple) or len(chunk) != 3 or chunk[:2] != ((), "values"):
            continue
        found = chunk[2].get("messages") if isinstance(chunk[2], dict) else None
        return found if isinstance(found, list) and all(isinstance(m, BaseMessage) for m in found) else None
    return None


@pytest.mark.parametrize("file", FILES)
def test_the_client_ends_with_the_recorded_answers(judge: Judge, file: str) -> None:
    """Where the recording shows the thread's messages: each of them once, with its text and its calls."""
    for run in recorded(file):
        stored = final_messages(run)
        if stored is None or run.error is not None:
            continue
        before = {m.id for m in given(run)}
        view = judge([replayed(run, declared=True)], ignore=CUT_OFF)
        shown = {m["id"]: m for m in view.messages if not m.get("subagentRunId")}
        for message in stored:
            if message.id in before or not isinstance(message, AIMessage) or message.id is None:
                continue
            assert message.id in shown, run.label
            mine = shown[message.id]
            assert (mine.get("content") or "") == message.text, run.label
            assert len(mine.get("toolCalls", ())) == len(message.tool_calls) + len(message.invalid_tool_calls), (
                run.label
            )


def given(run: Run) -> list[BaseMessage]:
    """The messages of the first ``values`` chunk."""
    for native in run:
        chunk = native["data"].get("chunk") if isinstance(native["data"], dict) else None
        if isinstance(chunk, tuple) and len(chunk) == 3 and chunk[:2] == ((), "values") and isinstance(chunk[2], dict):
            return [m for m in chunk[2].get("messages", ()) if isinstance(m, BaseMessage)]
    return []
