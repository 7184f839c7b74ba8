"""A wire of one's own: `AGUIAdapter.stream`, and events that are used again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import (
    BaseEvent,
    EventType,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from tests.support.graphs import Graph, chat, scripted
from yai_nexus_agentkit import AdapterOptions, AGUIAdapter, Hooks
from yai_nexus_agentkit.errors import EncodingError
from yai_nexus_agentkit.testing import (
    ScriptedChatModel,
    interleave,
    parse_sse,
    reasoning_part,
    run_input,
    text_part,
    tool_call_part,
    tool_call_parts,
    wire,
)

WORDS = ["Häl", "", "lo ", "\ud83d", "\ude00 ", "wor", "ld"]
SOURCES = ["events", "callbacks"]
TEXT = {"query": "the longest of all questions, with ünïcödé 😀", "limit": 10}


def thoughts(**form: Any) -> list[AIMessageChunk]:
    return [reasoning_part(piece, **form) for piece in ("Let ", "me ", "see: ", "ünï", "cödé", " 😀.")]


SCRIPTS: dict[str, list[Any]] = {
    "text": WORDS,
    "text in blocks": [text_part(word) for word in WORDS],
    "text in blocks, with thinking": [
        *thoughts(),
        reasoning_part(signature="s"),
        *(text_part(w, index=1) for w in WORDS),
    ],
    "thinking": [*thoughts(), reasoning_part(signature="sig"), *WORDS],
    "two blocks of thinking": [
        *thoughts(index=0),
        reasoning_part(signature="one", index=0),
        *thoughts(index=1),
        reasoning_part(signature="two", index=1),
        *WORDS,
    ],
    "thinking between words": ["one ", "two ", *thoughts(index=1), "three ", "four ", *thoughts(index=3), "five"],
    "thinking outside of the content": [*thoughts(provider="deepseek"), *WORDS],
    "a summary of two parts": [
        *thoughts(provider="openai", id="rs_1", summary_index=0),
        *thoughts(provider="openai", id="rs_1", summary_index=1),
        reasoning_part(provider="openai", id="rs_1", encrypted="gAAA"),
        *WORDS,
    ],
    "thinking of Gemini": [*thoughts(provider="gemini"), *WORDS],
    "arguments": tool_call_parts("search", TEXT, "call_1", pieces=9),
    "arguments of two calls in turn": interleave(
        tool_call_parts("search", TEXT, "call_1", index=0, pieces=7),
        tool_call_parts("search", {"query": "b", "limit": 2}, "call_2", index=1, pieces=5),
    ),
    "arguments with the id in each piece": tool_call_parts("search", TEXT, "call_1", pieces=6, ids="all"),
    "arguments with empty ids": tool_call_parts("search", TEXT, "call_1", pieces=6, ids="empty"),
    "arguments cut between the halves of a character": [
        *tool_call_parts("search", '{"query": "', "call_1", pieces=1),
        *(tool_call_part(None, piece, None) for piece in ("a\ud83d", "\ude00b", '"}')),
    ],
    "everything": [
        *thoughts(),
        reasoning_part(signature="sig"),
        *WORDS,
        *tool_call_parts("search", TEXT, "call_1", index=0, pieces=5),
        *tool_call_parts("search", TEXT, "call_2", index=1, pieces=5),
    ],
}


def in_blocks(part: AIMessageChunk, kind: str, field: str) -> AIMessageChunk:
    """Arguments that are in the content, too: as Anthropic and OpenAI Responses send them."""
    args = part.tool_call_chunks[0]["args"]
    return part.model_copy(update={"content": [{"type": kind, field: args, "index": 1}]})


for _name, _kind, _field in (
    ("arguments as Anthropic sends them", "input_json_delta", "partial_json"),
    ("arguments of OpenAI Responses", "function_call", "arguments"),
):
    SCRIPTS[_name] = ["I will ", "look.", *(in_blocks(part, _kind, _field) for part in SCRIPTS["arguments"])]


def talking(script: str = "text") -> Graph:
    return chat(ScriptedChatModel(script=lambda messages: SCRIPTS[script]))


def asked() -> Any:
    return run_input("hi", thread_id=str(uuid4()), run_id="run")  # always the first turn


def same(event: BaseEvent) -> BaseEvent:
    return event


async def streamed(adapter: AGUIAdapter, to_wire: Callable[[BaseEvent], Any], **how: Any) -> list[Any]:
    return [sent async for sent in adapter.stream(asked(), to_wire, **how)]


def got(events: list[dict[str, Any]]) -> list[Any]:
    """Without ids, which each run has of its own."""
    return [(event["type"], event.get("delta")) for event in events]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("source", SOURCES)
async def test_a_wire_is_given_every_event_once_and_in_order(source: Any, script: str) -> None:
    predicted = {"draft": ("search", "query")}
    adapter = AGUIAdapter(talking(script), options=AdapterOptions(source=source, predict_state=predicted))
    plain = got([wire(event) async for event in adapter.run(asked())])
    assert got(await streamed(adapter, wire)) == plain
    frames = [frame async for frame in adapter.stream_sse(asked())]
    assert got(parse_sse(b"".join(frames).decode())) == plain


@pytest.mark.parametrize("source", SOURCES)
async def test_every_event_is_an_object_of_its_own(source: Any) -> None:
    adapter = AGUIAdapter(talking("everything"), options=AdapterOptions(source=source))

    def objects(events: list[BaseEvent], kind: type[BaseEvent]) -> tuple[int, int]:
        found = [id(event) for event in events if isinstance(event, kind)]
        return len(found), len(set(found))

    counts = {TextMessageContentEvent: 5, ReasoningMessageContentEvent: 6, ToolCallArgsEvent: 10}
    events = await streamed(adapter, same)
    for kind, count in counts.items():
        assert objects(events, kind) == (count, count)


class Kept:
    """A hook that keeps what it sees."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def on_event(self, event: BaseEvent, run: Any) -> list[BaseEvent]:
        self.events.append(event)
        return [event]

    def record(self, item: Any, run: Any) -> None:
        self.events.append(item)

    def text(self) -> str:
        return "".join(event.delta for event in self.events if isinstance(event, TextMessageContentEvent))


@pytest.mark.parametrize("hook", ["on_event", "record"])
async def test_what_a_hook_keeps_stays_as_it_was(hook: str) -> None:
    kept = Kept()
    adapter = AGUIAdapter(talking(), hooks=Hooks(**{hook: getattr(kept, hook)}))
    async for _ in adapter.stream_sse(asked()):
        pass
    assert kept.text() == "Hällo 😀 world"


async def test_raw_events_belong_to_one_event_each() -> None:
    adapter = AGUIAdapter(talking(), options=AdapterOptions(raw_events=True))
    raw = [
        (event["delta"], event["rawEvent"]["data"]["chunk"]["content"])
        for event in parse_sse(b"".join([frame async for frame in adapter.stream_sse(asked())]).decode())
        if event["type"] == "TEXT_MESSAGE_CONTENT"
    ]
    assert [delta for delta, _ in raw] == ["Häl", "lo ", "😀 ", "wor", "ld"]
    assert [delta for delta, content in raw if delta == content] == ["Häl", "lo ", "wor", "ld"]


async def test_the_provider_may_be_named_late() -> None:
    """By a chunk of plain text: reasoning that comes later needs it to be given back."""
    named = AIMessageChunk(content="two ", response_metadata={"model_provider": "openai"})
    model = scripted(["one ", named, "three ", *thoughts(index=1)])
    events = parse_sse(b"".join([f async for f in AGUIAdapter(chat(model)).stream_sse(asked())]).decode())
    [start] = [event for event in events if event["type"] == "REASONING_MESSAGE_START"]
    assert start["metadata"]["langgraph"]["provider"] == "openai"


async def test_sections_are_as_long_as_they_were_sent() -> None:
    """Also those that hold blank lines themselves."""
    pieces = [("ab", 0), ("\n\ncd", 0), ("z", 1), ("\n\n", 1), ("end", 1)]
    parts = [reasoning_part(text, provider="openai", id="rs_1", summary_index=n) for text, n in pieces]
    events = parse_sse(
        b"".join([f async for f in AGUIAdapter(chat(scripted([*parts, "Done."]))).stream_sse(asked())]).decode()
    )
    got = "".join(event["delta"] for event in events if event["type"] == "REASONING_MESSAGE_CONTENT")
    assert got == "ab\n\ncd\n\nz\n\nend"
    [end] = [event for event in events if event["type"] == "REASONING_MESSAGE_END"]
    assert end["metadata"]["langgraph"]["sections"] == [6, 6]


async def test_several_pieces_in_one_chunk_are_several_events() -> None:
    blocks = [{"type": "text", "text": piece, "index": 0} for piece in ("one ", "two ", "three")]
    model = scripted(["zero ", AIMessageChunk(content=blocks), " four"])
    frames = [frame async for frame in AGUIAdapter(chat(model)).stream_sse(asked())]
    events = parse_sse(b"".join(frames).decode())
    assert "".join(event.get("delta", "") for event in events) == "zero one two three four"


async def test_parallel_models_keep_their_messages_apart() -> None:
    """Tokens of ten models one by one in turn: each message has an event of its own."""

    async def worker(state: MessagesState) -> dict[str, Any]:
        name = state["messages"][-1].content
        pieces = [part for n in range(5) for part in (0.001, f"{name}.{n} ")]
        return {"messages": [await scripted(pieces).ainvoke(state["messages"])]}

    async def spread(state: MessagesState) -> dict[str, Any]:
        return {}

    builder = StateGraph(MessagesState).add_node("spread", spread).add_edge(START, "spread")
    builder.add_node("worker", worker)
    builder.add_conditional_edges(
        "spread", lambda state: [Send("worker", {"messages": [HumanMessage(f"w{n}")]}) for n in range(10)], ["worker"]
    )
    frames = [frame async for frame in AGUIAdapter(builder.compile()).stream_sse(asked())]
    said: dict[str, str] = {}
    for event in parse_sse(b"".join(frames).decode()):
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            said[event["messageId"]] = said.get(event["messageId"], "") + event["delta"]
    assert sorted(said.values()) == sorted("".join(f"w{n}.{m} " for m in range(5)) for n in range(10))


async def test_an_event_that_the_wire_refuses_ends_the_run() -> None:
    count = itertools.count()

    def refusing(event: BaseEvent) -> dict[str, Any]:
        if event.type == EventType.TEXT_MESSAGE_CONTENT and next(count) == 2:
            raise EncodingError("no third word")
        return wire(event)

    events = await streamed(AGUIAdapter(talking()), refusing)
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Häl", "lo "]
    assert [event["type"] for event in events[-3:]] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]
    assert (events[-1]["code"], events[-1]["message"]) == ("ENCODING_ERROR", "no third word")


async def test_one_adapter_many_streams_at_once() -> None:
    async def one(n: int) -> str:
        frames = [frame async for frame in adapter.stream_sse(run_input("hi", thread_id=f"t{n}"))]
        return "".join(event.get("delta", "") for event in parse_sse(b"".join(frames).decode()))

    adapter = AGUIAdapter(talking())
    assert set(await asyncio.gather(*map(one, range(50)))) == {"Hällo 😀 world"}


async def test_run_started_comes_before_the_configuration_is_asked_for() -> None:
    order: list[str] = []
    hooks = Hooks(
        before_run=lambda run: order.append("before_run"),
        config=lambda run: order.append("config"),
        on_event=lambda event, run: [order.append(event.type), event][1:],
    )
    async for _ in AGUIAdapter(talking(), hooks=hooks).run(asked()):
        pass
    assert order[:3] == ["before_run", "RUN_STARTED", "config"]
    assert order.count("RUN_STARTED") == 1
