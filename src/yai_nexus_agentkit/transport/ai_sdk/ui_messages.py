"""Pure. Chunks as the message that a client makes of them, and a whole thread as the messages of a chat.

A thread is shown through the same stream as a run, so a page that is reloaded has what it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from yai_nexus_agentkit.protocol.endings import PastQuestion
from yai_nexus_agentkit.protocol.request import empty_request
from yai_nexus_agentkit.transport.ai_sdk.chunks import UIMessageStream, Version
from yai_nexus_agentkit.transport.ai_sdk.conversation import events_of
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk
from yai_nexus_agentkit.transport.wire import Posted

__all__ = ["UIHistory", "UIMessage", "parts_of"]

UIMessage = dict[str, Any]
"""A message of the AI SDK, as JSON data."""


class UIHistory:
    """A thread as it is now. An `Encoder` for the events of a run that does nothing; it collects, and sends nothing."""

    status = 200
    headers: Mapping[str, str] = {"content-type": "application/json"}
    keep_alive = b""

    def __init__(self, version: Version) -> None:
        self._version: Version = version
        self.asked: Sequence[PastQuestion] = ()
        """The questions of the thread's runs."""
        self._messages: Sequence[Message] = ()
        self._state: list[BaseEvent] = []
        self._kept: dict[str, list[CustomEvent]] = {}
        """Events of the application, by the message that they stood behind."""
        self._end: list[RunFinishedEvent] = []
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
        """Nothing."""
        return b""

    def messages(self, running: Sequence[Message] | None = None) -> list[UIMessage]:
        """The messages of the chat. `running`: those of an active run's request, whose answer is left out: a page joins
        the run for it."""
        turns: list[_Turn] = [(None, [])]
        for message in self._messages:
            if message.role == "user":
                turns.append((message, []))
            else:
                turns[-1][1].append(message)
        newest = turns[-1]
        if running is not None:
            turns = _unanswered(turns, [message for message in running if message.role == "user"])
        return [shown for turn in turns for shown in self._turn(*turn, newest=turn is newest)]

    def _turn(self, asked: Message | None, answer: Sequence[Message], *, newest: bool) -> list[UIMessage]:
        """A message of the user, and the answer."""
        own = asked.id if asked else ""
        waits = {one.id for end in self._end if newest for one in getattr(end.outcome, "interrupts", None) or ()}
        past = [one for one in self.asked if one.turn == own and one.question.id not in waits]
        stream = UIMessageStream(5 if self._version == 5 else 7, own, earlier=self._messages, asked=past)
        chunks = [*self._shown(stream, asked, ())]
        for message in answer:
            chunks += self._shown(stream, message, events_of([message]))
        if newest:
            chunks += [chunk for end in self._end for chunk in stream.feed(end)]
            chunks += [chunk for state in self._state if chunks for chunk in stream.feed(state)]
        else:
            chunks += stream.over()
        parts = parts_of(chunks)
        shown = [{"id": stream.id, "role": "assistant", "parts": parts}] if parts else []
        return [*([_user(asked)] if asked is not None else ()), *shown]

    def _shown(self, stream: UIMessageStream, message: Message | None, events: Iterable[BaseEvent]) -> Iterator[Chunk]:
        """The chunks of a message, and those of what the application showed and the agent asked behind it."""
        for event in [*events, *self._behind(message)]:
            yield from stream.feed(event)
        yield from stream.asked(message.id if message is not None else "")

    def _behind(self, message: Message | None) -> list[BaseEvent]:
        """The events of the application that stood behind a message, now without a note of it."""
        kept = self._kept.get(message.id if message is not None else "", ())
        return [event.model_copy(update={"metadata": {**(event.metadata or {}), AFTER: None}}) for event in kept]


_Turn = tuple[Message | None, list[Message]]
"""A user message, and the agent's messages up to the next one."""


def _unanswered(turns: list[_Turn], asked: Sequence[Message]) -> list[_Turn]:
    """The turns before that of a run whose request has these user messages, and its own without the answer. Without any
    user message the run goes on with the answer to the newest one."""
    if not asked:
        return [*turns[:-1], (turns[-1][0], [])]
    ids, own = [message.id if message is not None else "" for message, _ in turns], [message.id for message in asked]
    known = [n for n, one in enumerate(ids) if one in own]
    if own[-1] in ids:
        turns = turns[: ids.index(own[-1])]
    elif known:  # else the page sends its last message only
        turns = turns[: known[-1] + 1]
    return [*turns, (asked[-1], [])]


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
                if (own := chunk.get("toolCallId") or _call_of(chunk["approvalId"], calls)) not in calls:
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


def _call_of(approval: str, calls: Mapping[str, Mapping[str, Any]]) -> str:
    return next(own for own, part in calls.items() if part.get("approval", {}).get("id") == approval)


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
        case "approval-response":
            said = {name: chunk[name] for name in ("approved", "reason") if name in chunk}
            part |= {"state": "approval-responded", "approval": {**part["approval"], **said}}
        case "output-available":
            part |= {"state": "output-available", "output": chunk["output"]}
        case "output-error":
            part |= {"state": "output-error", "errorText": chunk["errorText"]}
        case "output-denied":  # a client's schema wants an approval, also where the question is gone
            approval = part.get("approval", {"id": part["toolCallId"]})
            part |= {"state": "output-denied", "approval": {**approval, "approved": False}}


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
