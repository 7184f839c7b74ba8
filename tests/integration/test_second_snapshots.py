"""A new client's run begins and ends with a snapshot. What did not change meanwhile is converted once; what somebody
changes in one of them is not changed in the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ag_ui.core import BaseEvent, MessagesSnapshotEvent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.testing import parse_sse, run_input

CALL = {"name": "search", "args": {"query": "q"}, "id": "call-1", "type": "tool_call"}
HELD = ["go", "", "found", "done"]
Edit = Callable[[list[BaseMessage]], None]


def held() -> list[BaseMessage]:
    return [
        HumanMessage("go", id="u1"),
        AIMessage("", id="a1", tool_calls=[CALL]),
        ToolMessage("found", tool_call_id="call-1", id="t1"),
        AIMessage("done", id="a2", response_metadata={"finish_reason": "stop"}),
    ]


async def adapter(
    edit: Edit = lambda messages: None, *, source: Any = "events", hooks: Hooks | None = None
) -> AGUIAdapter:
    """An adapter whose node edits the thread's messages in place, and answers."""

    def node(state: MessagesState) -> dict[str, Any]:
        edit(state["messages"])
        return {"messages": [AIMessage("hello", id="a3")]}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(InMemorySaver())
    await graph.aupdate_state({"configurable": {"thread_id": "t"}}, {"messages": held()}, "node")
    return AGUIAdapter(graph, options=AdapterOptions(source=source), hooks=hooks or Hooks())


REQUEST = run_input([{"id": "u2", "role": "user", "content": "and now?"}], thread_id="t")


async def written(made: AGUIAdapter) -> list[list[dict[str, Any]]]:
    """The messages of the snapshots that are not empty, as they are written."""
    data = b"".join([frame async for frame in made.stream_sse(REQUEST)])
    return [
        event["messages"]
        for event in parse_sse(data.decode())
        if event["type"] == "MESSAGES_SNAPSHOT" and event["messages"]
    ]


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [message.get("content", "") for message in messages]


def reworded(messages: list[BaseMessage]) -> None:
    messages[0].content = "went"


def called_otherwise(messages: list[BaseMessage]) -> None:
    assert isinstance(messages[1], AIMessage)
    messages[1].tool_calls = [{**CALL, "name": "other"}]  # type: ignore[typeddict-item]


def ended_otherwise(messages: list[BaseMessage]) -> None:
    messages[3].response_metadata = {"finish_reason": "length"}


@pytest.mark.parametrize("source", ["events", "callbacks"])
async def test_both_have_the_thread_and_the_last_has_the_answer(source: str) -> None:
    first, last = await written(await adapter(source=source))
    assert said(first) == [*HELD, "and now?"]
    assert last == [*first, {"id": "a3", "role": "assistant", "content": "hello"}]


@pytest.mark.parametrize("edit", [reworded, called_otherwise, ended_otherwise])
async def test_what_a_node_changed_in_place_is_in_the_last(edit: Edit) -> None:
    first, last = await written(await adapter(edit))
    changed = [before["id"] for before, after in zip(first, last, strict=False) if before != after]
    assert changed == [{reworded: "u1", called_otherwise: "a1", ended_otherwise: "a2"}[edit]]


async def test_what_a_hook_changes_in_an_event_is_changed_once() -> None:
    def marking(event: BaseEvent, run: Any) -> Iterator[BaseEvent]:
        for message in event.messages if isinstance(event, MessagesSnapshotEvent) else ():
            message.content = f"{message.content or ''}!"
        yield event

    first, last = await written(await adapter(hooks=Hooks(on_event=marking)))
    assert said(first) == [f"{text}!" for text in (*HELD, "and now?")]
    assert said(last) == [*said(first), "hello!"]


async def test_what_a_hook_for_messages_changes_is_changed_once() -> None:
    def marking(messages: list[Any], run: Any) -> list[Any]:
        for message in messages:
            message.content = f"{message.content or ''}!"
        return messages

    first, last = await written(await adapter(hooks=Hooks(on_messages=marking)))
    assert said(last) == [*said(first), "hello!"] == [f"{text}!" for text in (*HELD, "and now?", "hello")]


async def test_who_gets_the_events_themselves_may_change_them() -> None:
    texts: list[list[str]] = []
    async for event in (await adapter()).run(REQUEST):
        if isinstance(event, MessagesSnapshotEvent) and event.messages:
            texts.append([str(message.content or "") for message in event.messages])
            for message in event.messages:
                message.content = "changed"
    assert texts == [[*HELD, "and now?"], [*HELD, "and now?", "hello"]]
