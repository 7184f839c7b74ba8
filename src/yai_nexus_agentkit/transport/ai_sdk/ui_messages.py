"""Pure. Chunks as the message that a client makes of them, and a whole thread as the messages of a chat.

A thread is shown through the same stream as a run, so a page that is reloaded has what it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ContentPart,
    CustomEvent,
    Message,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedEvent,
    StateSnapshotEvent,
    TextPart,
)

from yai_nexus_agentkit.protocol.activities import AFTER
from yai_nexus_agentkit.protocol.request import empty_request
from yai_nexus_agentkit.transport.ai_sdk.chunks import UIMessageStream, Version
from yai_nexus_agentkit.transport.ai_sdk.conversation import events_of
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk, values_json
from yai_nexus_agentkit.transport.wire import Posted

__all__ = ["UIHistory", "UIMessage", "parts_of"]

UIMessage = dict[str, Any]
"""A message of the AI SDK, as JSON data."""


class UIHistory:
    """A thread as it is now, as one JSON document. An `Encoder` for the events of a run that does nothing."""

    status = 200
    headers: Mapping[str, str] = {"content-type": "application/json"}
    keep_alive = b""

    def __init__(self, version: Version, *, answered: bool = True) -> None:
        """`answered`: False leaves out the answer to the newest message."""
        self._version: Version = version
        self._answered = answered
        self._messages: Sequence[Message] = ()
        self._state: list[BaseEvent] = []
        self._kept: dict[str, list[CustomEvent]] = {}
        """Events of the application, by the message that they stood behind."""
        self._end: list[BaseEvent] = []
        """The end, with the open questions."""
        self.failure: RunErrorEvent | None = None

    def of(self, chat: str) -> Posted:
        """The request that looks at a thread."""
        return Posted(empty_request(chat), lambda: self)

    def encode(self, event: BaseEvent) -> bytes:
        """Take the next event."""
        match event:
            case MessagesSnapshotEvent():
                self._messages = event.messages
            case StateSnapshotEvent():
                self._state = [event]
            case RunErrorEvent():
                self.failure = event
            case CustomEvent():
                self._kept.setdefault((event.metadata or {}).get(AFTER, ""), []).append(event)
            case RunFinishedEvent():
                self._end = [event]
        return b""

    def finish(self) -> bytes:
        """The messages of the chat."""
        return values_json(self.messages())

    def messages(self) -> list[UIMessage]:
        """The messages of the chat."""
        found: list[UIMessage] = []
        turns: list[tuple[Message | None, list[Message]]] = [(None, [])]
        for message in self._messages:
            if message.role == "user":
                turns.append((message, []))
            else:
                turns[-1][1].append(message)
        for n, (asked, answer) in enumerate(turns):
            if asked is not None:
                found.append(_user(asked))
            newest = n == len(turns) - 1
            if newest and not self._answered:
                break
            stream = UIMessageStream(self._version, asked.id if asked else "", earlier=self._messages)
            events = [*self._behind(asked), *(event for message in answer for event in self._shown(message))]
            chunks = [chunk for event in [*events, *(self._end if newest else ())] for chunk in stream.feed(event)]
            if not newest:
                chunks += stream.over()
            if chunks and newest:
                chunks += [chunk for event in self._state for chunk in stream.feed(event)]
            if parts := parts_of(chunks):
                found.append({"id": stream.id, "role": "assistant", "parts": parts})
        return found

    def _shown(self, message: Message) -> list[BaseEvent]:
        """The events of a message, and those of the application that stood behind it."""
        return [*events_of([message]), *self._behind(message)]

    def _behind(self, message: Message | None) -> list[BaseEvent]:
        """The events of the application that stood behind a message, now without a note of it."""
        kept = self._kept.get(message.id if message is not None else "", ())
        return [event.model_copy(update={"metadata": {**(event.metadata or {}), AFTER: None}}) for event in kept]


def parts_of(chunks: Iterable[Chunk]) -> list[dict[str, Any]]:
    """The parts of the message that a client makes of chunks, without transient ones."""
    parts: list[dict[str, Any]] = []
    open_parts: dict[tuple[str, str], dict[str, Any]] = {}
    calls: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        kind, _, move = chunk["type"].partition("-")
        match kind, move:
            case (("text" | "reasoning"), "start"):
                part = open_parts[kind, chunk["id"]] = {"type": kind, "text": "", "state": "streaming"}
                parts.append(part)
            case (("text" | "reasoning"), "delta"):
                open_parts[kind, chunk["id"]]["text"] += chunk["delta"]
            case (("text" | "reasoning"), "end"):
                open_parts[kind, chunk["id"]]["state"] = "done"
            case "start", "step":
                parts.append({"type": "step-start"})
            case "tool", _:
                if (own := chunk["toolCallId"]) not in calls:
                    calls[own] = {"type": "dynamic-tool", "toolName": chunk["toolName"], "toolCallId": own}
                    parts.append(calls[own])
                _change_call(calls[own], move, chunk)
            case "data", _ if not chunk.get("transient"):
                known = [p for p in parts if p["type"] == chunk["type"] and p.get("id") == chunk.get("id")]
                if known and "id" in chunk:
                    known[0]["data"] = chunk["data"]
                else:
                    parts.append(dict(chunk))
            case (("file" | "source"), _):
                parts.append(dict(chunk))
            case _:
                continue
        if "providerMetadata" in chunk and kind in ("text", "reasoning"):
            open_parts[kind, chunk["id"]]["providerMetadata"] = chunk["providerMetadata"]
    return parts


def _change_call(part: dict[str, Any], move: str, chunk: Chunk) -> None:
    """Apply a ``tool-*`` chunk to the part of its call."""
    if "providerExecuted" in chunk:
        part["providerExecuted"] = chunk["providerExecuted"]
    if "providerMetadata" in chunk:
        name = "resultProviderMetadata" if move.startswith("output") else "callProviderMetadata"
        part[name] = chunk["providerMetadata"]
    match move:
        case "input-start":
            part["state"] = "input-streaming"
        case "input-available":
            part |= {"state": "input-available", "input": chunk["input"]}
        case "input-error":
            part |= {"state": "output-error", "input": chunk["input"], "errorText": chunk["errorText"]}
        case "approval-request":
            part |= {"state": "approval-requested", "approval": {"id": chunk["approvalId"]}}
        case "output-available":
            part |= {"state": "output-available", "output": chunk["output"]}
        case "output-error":
            part |= {"state": "output-error", "errorText": chunk["errorText"]}
        case "output-denied":  # the id of the question is gone with it, and a client's schema wants one
            part |= {"state": "output-denied", "approval": {"id": part["toolCallId"], "approved": False}}


def _user(message: Any) -> UIMessage:
    content: str | Sequence[ContentPart] = message.content
    parts = [TextPart(text=content)] if isinstance(content, str) else content
    facts = {"metadata": message.metadata} if message.metadata else {}
    return {"id": message.id, "role": "user", **facts, "parts": list(filter(None, map(_part, parts)))}


def _part(part: Any) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    source = part.source
    mime = source.mime_type or _MIMES.get(part.type, "application/octet-stream")
    if source.type == "file":
        return None
    name = part.metadata.get("filename") if isinstance(part.metadata, dict) else None
    url = source.value if source.type == "url" else f"data:{mime};base64,{source.value}"
    return {"type": "file", "mediaType": mime, "url": url, **({"filename": name} if name else {})}


_MIMES = {"image": "image/*", "audio": "audio/*", "video": "video/*"}
