"""Pure. What a stream says, and what a client that applied it shows."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import jsonpatch

__all__ = [
    "Events",
    "Message",
    "expand",
    "index",
    "interrupts",
    "of",
    "plain",
    "results",
    "roles",
    "shape",
    "size",
    "snapshot",
    "spoken",
    "state",
    "states",
    "texts",
    "thoughts",
    "tool_calls",
    "view",
]

Event: TypeAlias = dict[str, Any]
Events: TypeAlias = list[Event]
Message: TypeAlias = dict[str, Any]


def of(events: Events, *types: str) -> Events:
    """The events of these types."""
    return [event for event in events if event["type"] in types]


def index(events: Events, type_: str, **match: Any) -> int:
    """Position of the first event of this type with these fields, or -1."""
    for position, event in enumerate(events):
        if event["type"] == type_ and all(event.get(key) == value for key, value in match.items()):
            return position
    return -1


class _Chunks:
    """Spells ``*_CHUNK`` events out as start, content and end."""

    _KINDS = {
        "TEXT_MESSAGE_CHUNK": ("TEXT_MESSAGE", "messageId", "TEXT_MESSAGE_CONTENT"),
        "TOOL_CALL_CHUNK": ("TOOL_CALL", "toolCallId", "TOOL_CALL_ARGS"),
        "REASONING_MESSAGE_CHUNK": ("REASONING_MESSAGE", "messageId", "REASONING_MESSAGE_CONTENT"),
    }

    def __init__(self) -> None:
        self._open: tuple[str, str, str] | None = None

    def feed(self, event: Event) -> Iterator[Event]:
        spec = self._KINDS.get(event["type"])
        if spec is None:
            yield from self.close()
            yield event
            return
        kind, key, content = spec
        id = event.get(key) or (self._open[2] if self._open else "")
        if self._open != (kind, key, id):
            yield from self.close()
            self._open = (kind, key, id)
            yield {**event, "type": f"{kind}_START"}
        if event.get("delta"):
            yield {"type": content, key: id, "delta": event["delta"]}

    def close(self) -> Iterator[Event]:
        if self._open is not None:
            kind, key, id = self._open
            self._open = None
            yield {"type": f"{kind}_END", key: id}


def expand(events: Events) -> Events:
    """The same stream without chunk events."""
    chunks = _Chunks()
    return [*(made for event in events for made in chunks.feed(event)), *chunks.close()]


def _joined(events: Events, kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for event in expand(events):
        if event["type"] == f"{kind}_START":
            found.setdefault(event["messageId"], "")
        elif event["type"] == f"{kind}_CONTENT":
            found[event["messageId"]] = found.get(event["messageId"], "") + (event.get("delta") or "")
    return found


def texts(events: Events) -> dict[str, str]:
    """Streamed text messages by id, in order of appearance."""
    return _joined(events, "TEXT_MESSAGE")


def thoughts(events: Events) -> dict[str, str]:
    """Streamed reasoning messages by id, in order of appearance."""
    return _joined(events, "REASONING_MESSAGE")


def tool_calls(events: Events) -> dict[str, dict[str, Any]]:
    """Streamed tool calls by id, in order: name, args, parent, starts, ends."""
    found: dict[str, dict[str, Any]] = {}
    for event in of(expand(events), "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"):
        call = found.setdefault(event["toolCallId"], {"name": None, "args": "", "parent": None, "starts": 0, "ends": 0})
        if event["type"] == "TOOL_CALL_START":
            call["name"], call["parent"] = event["toolCallName"], event.get("parentMessageId")
            call["starts"] += 1
        elif event["type"] == "TOOL_CALL_ARGS":
            call["args"] += event.get("delta") or ""
        else:
            call["ends"] += 1
    return found


def plain(content: Any) -> str:
    """Text of a message's or result's content, whether it is a string or a list of parts."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text")


def results(events: Events) -> list[tuple[str, str]]:
    """(tool call id, text) of the results, in order."""
    return [(event["toolCallId"], plain(event["content"])) for event in of(events, "TOOL_CALL_RESULT")]


def snapshot(events: Events) -> list[Message] | None:
    """Messages of the last ``MESSAGES_SNAPSHOT``."""
    found = of(events, "MESSAGES_SNAPSHOT")
    messages: list[Message] | None = found[-1]["messages"] if found else None
    return messages


def roles(messages: Sequence[Message] | None) -> list[str]:
    return [message["role"] for message in messages or []]


def spoken(messages: Sequence[Message] | None) -> list[Message]:
    """The main transcript: without reasoning, activities and subagents."""
    return [m for m in messages or [] if m["role"] not in ("reasoning", "activity") and not m.get("subagentRunId")]


def interrupts(events: Events) -> list[dict[str, Any]]:
    """The questions that a run ended with."""
    outcome = events[-1].get("outcome") if events and events[-1]["type"] == "RUN_FINISHED" else None
    return (outcome or {}).get("interrupts") or []


def states(events: Events, start: Any = None) -> list[Any]:
    """Every state the client holds after a ``STATE_*`` event."""
    current, found = start, []
    for event in of(events, "STATE_SNAPSHOT", "STATE_DELTA"):
        if event["type"] == "STATE_SNAPSHOT":
            current = copy.deepcopy(event["snapshot"])
        else:
            current = jsonpatch.apply_patch(current, event["delta"])
        found.append(copy.deepcopy(current))
    return found


def state(events: Events, start: Any = None) -> Any:
    """The state the client ends with."""
    found = states(events, start)
    return found[-1] if found else None


def size(events: Events) -> int:
    """Characters on the wire, about."""
    return sum(len(json.dumps(event)) for event in events)


class _View:
    """The message list of a client, by the documented rules: streams build messages by id; a call joins the message
    that its parentMessageId names; a result goes behind its call's message; a snapshot edits the list in place."""

    def __init__(self, start: Sequence[Message]) -> None:
        self.messages: list[Message] = copy.deepcopy(list(start))

    def apply(self, event: Event) -> None:
        handler = getattr(self, f"_{event['type'].lower()}", None)
        if handler is not None:
            handler(event)

    def _find(self, id: str | None) -> Message | None:
        return next((message for message in self.messages if message["id"] == id), None)

    def _owner(self, call_id: str) -> Message | None:
        return next((m for m in self.messages if any(c["id"] == call_id for c in m.get("toolCalls") or [])), None)

    def _add(self, event: Event, **fields: Any) -> Message:
        message = {**fields, **({"subagentRunId": event["subagentRunId"]} if event.get("subagentRunId") else {})}
        self.messages.append(message)
        return message

    def _begin(self, event: Event, role: str) -> None:
        if self._find(event["messageId"]) is None:
            self._add(event, id=event["messageId"], role=event.get("role") or role, content="")

    def _text_message_start(self, event: Event) -> None:
        self._begin(event, "assistant")

    def _reasoning_message_start(self, event: Event) -> None:
        self._begin(event, "reasoning")

    def _text_message_content(self, event: Event) -> None:
        message = self._find(event["messageId"])
        if message is not None:
            message["content"] = plain(message.get("content")) + (event.get("delta") or "")

    _reasoning_message_content = _text_message_content

    def _tool_call_start(self, event: Event) -> None:
        call_id, parent = event["toolCallId"], event.get("parentMessageId")
        if self._owner(call_id) is not None:
            return
        message = self._find(parent) if parent else None
        if message is None or message["role"] != "assistant":
            id = call_id if message is not None or not parent else parent
            message = self._add(event, id=id, role="assistant", toolCalls=[])
        function = {"name": event["toolCallName"], "arguments": ""}
        message.setdefault("toolCalls", []).append({"id": call_id, "type": "function", "function": function})

    def _tool_call_args(self, event: Event) -> None:
        for call in (self._owner(event["toolCallId"]) or {}).get("toolCalls", []):
            if call["id"] == event["toolCallId"]:
                call["function"]["arguments"] += event.get("delta") or ""

    def _tool_call_result(self, event: Event) -> None:
        fields = {key: event[key] for key in ("toolCallId", "content")}
        message = self._add(event, id=event["messageId"], role="tool", **fields)
        owner = self._owner(event["toolCallId"])
        if owner is None:
            return
        self.messages.pop()
        at = self.messages.index(owner) + 1
        while at < len(self.messages) and self.messages[at]["role"] == "tool":
            at += 1
        self.messages.insert(at, message)

    def _reasoning_encrypted_value(self, event: Event) -> None:
        calls = (call for message in self.messages for call in message.get("toolCalls") or [])
        entities = self.messages if event["subtype"] == "message" else calls
        for entity in entities:
            if entity["id"] == event["entityId"]:
                entity["encryptedValue"] = event["encryptedValue"]

    def _messages_snapshot(self, event: Event) -> None:
        new = {message["id"]: message for message in event["messages"]}
        listed = {message["role"] for message in event["messages"]}
        kept = [
            new.get(m["id"], m)
            for m in self.messages
            if m["id"] in new or (m["role"] in ("reasoning", "activity") and m["role"] not in listed)
        ]
        known = {message["id"] for message in kept}
        self.messages = copy.deepcopy([*kept, *(m for id, m in new.items() if id not in known)])


def view(events: Events, start: Sequence[Message] = ()) -> list[Message]:
    """The messages a client holds after these events."""
    shown = _View(start)
    for event in expand(events):
        shown.apply(event)
    return shown.messages


def shape(messages: Sequence[Message] | None) -> list[tuple[Any, ...]]:
    """(role, text, (call names,), answered call id): what a person sees, without ids that adapters may choose."""
    return [
        (
            m["role"],
            plain(m.get("content")),
            tuple(c["function"]["name"] for c in m.get("toolCalls") or []),
            m.get("toolCallId"),
        )
        for m in messages or []
    ]
