"""Parts of the package by themselves, beside what one would write without it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ag_ui.core import TextMessageContentEvent, TextMessageStartEvent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, message_to_dict

from benchmarks.registry import Pair, function_case
from yai_nexus_agentkit.adapter.langgraph.messages.convert import to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain
from yai_nexus_agentkit.protocol.json.json_safe import json_safe
from yai_nexus_agentkit.transport.agui_sse import SSEEncoder
from yai_nexus_agentkit.transport.openai.answers import Shown
from yai_nexus_agentkit.transport.openai.writers import Chunks
from yai_nexus_agentkit.transport.wire import Encoder


@function_case("3,000 messages to AG-UI (beside langchain's message_to_dict)")
def messages_out() -> Pair:
    """For a snapshot of a thread."""
    messages = _messages(3_000)
    return Pair(lambda: to_agui(messages), lambda: [message_to_dict(message) for message in messages])


@function_case("3,000 messages to LangChain (beside making the same objects)")
def messages_in() -> Pair:
    """For the history of a graph without a checkpointer."""
    messages = _messages(3_000)
    shown = to_agui(messages)
    data = [message.model_dump() for message in messages]
    return Pair(
        lambda: to_langchain(shown),
        lambda: [type(message)(**fields) for message, fields in zip(messages, data, strict=True)],
    )


@function_case("1 MB of plain data made JSON-safe (beside json, there and back)")
def plain_data() -> Pair:
    """State that is JSON already."""
    data = _rows(2_500)
    return Pair(lambda: json_safe(data), lambda: json.loads(json.dumps(data)))


@function_case("1 MB with dates, UUIDs and messages made JSON-safe (beside json with default=str)")
def rich_data() -> Pair:
    """State as Python programs have it."""
    data = {"rows": _rows(2_000), "at": datetime.now(UTC), "messages": _messages(300), "ids": _ids(500)}
    return Pair(lambda: json_safe(data), lambda: json.loads(json.dumps(data, default=str)))


@function_case("3,000 tokens as chat completion chunks (beside AG-UI's frames)")
def chat_chunks() -> Pair:
    """The wire of OpenAI's clients: a token costs about what it costs on AG-UI's own."""
    events = [TextMessageContentEvent(message_id="m", delta=f"word{n} ") for n in range(3_000)]
    begun = TextMessageStartEvent(message_id="m")

    def through(encoder: Encoder) -> list[bytes]:
        return [encoder.encode(event) for event in (begun, *events)]

    shown = Shown(id="chatcmpl-1", created=0, model="agent", thread_id="t")
    return Pair(lambda: through(Chunks(shown, usage=True)), lambda: through(SSEEncoder()))


def _messages(number: int) -> list[BaseMessage]:
    made: list[BaseMessage] = []
    for n in range(0, number, 4):
        call = {"name": "search", "args": {"query": f"question {n}", "limit": 10}, "id": f"call-{n}"}
        made += [
            HumanMessage(f"question {n} " + "about something " * 8, id=f"user-{n}"),
            AIMessage("", id=f"calling-{n}", tool_calls=[call]),
            ToolMessage("found " * 30, tool_call_id=f"call-{n}", id=f"tool-{n}"),
            AIMessage("answer " * 30, id=f"answer-{n}"),
        ]
    return made[:number]


def _rows(number: int) -> list[dict[str, Any]]:
    return [
        {"id": n, "name": f"row {n}", "tags": ["a", "b", "c"], "score": n / 7, "text": "lorem ipsum dolor sit " * 15}
        for n in range(number)
    ]


def _ids(number: int) -> list[UUID]:
    return [UUID(int=n) for n in range(number)]
