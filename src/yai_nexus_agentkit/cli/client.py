"""Pure. An AG-UI client of one thread: its messages and state, and the requests that it makes from them.

A client sends its whole history with every request. A graph without a checkpointer has no other memory, so that the
command line needs the history to continue after a question.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias
from uuid import uuid4

import jsonpatch
from jsonpointer import JsonPointerException

from yai_nexus_agentkit.cli.changed import Change, changes
from yai_nexus_agentkit.cli.chunks import Event

__all__ = ["Client"]

Json: TypeAlias = dict[str, Any]


class Client:
    """One thread's messages and state (AG-UI 1.0 §10, §11)."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        """`request`: the first request's fields, wire names. Missing ones get defaults; `threadId` a new id."""
        self._base: Json = {"tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0", **request}
        self._base.setdefault("threadId", f"cli-{uuid4().hex[:12]}")
        self.messages: list[Json] = copy.deepcopy(self._base.pop("messages", []))
        self.state: Any = self._base.pop("state", {})
        self._calls: dict[str, Json] = {}
        """Tool calls of the messages by id."""
        self._streaming: set[str] = set()
        """Answers that are being streamed."""
        self._streamed: set[str] = set()
        """Answers that were streamed in this run and are complete."""
        self.changed: list[Change] = []
        """Answers that the newest ``MESSAGES_SNAPSHOT`` changed."""

    @property
    def thread(self) -> str:
        """The thread's id."""
        return str(self._base["threadId"])

    def request(self, messages: Iterable[Json] = (), *, resume: Sequence[Json] = ()) -> Json:
        """The next request, with new messages, or with answers to the open questions."""
        self.messages += messages
        first: Json = {key: self._base.pop(key) for key in ("runId", "resume") if key in self._base}
        sent = [message for message in self.messages if message["role"] != "activity"]
        fields: Json = {"messages": copy.deepcopy(sent), "state": self.state, "runId": f"run-{uuid4().hex[:12]}"}
        if resume:
            fields["resume"] = list(resume)
        return {**self._base, **fields, **first}

    def call(self, call_id: str) -> Json | None:
        """A tool call's name and arguments (JSON text) under ``name`` and ``arguments``; None for an unknown call."""
        return self._calls[call_id]["function"] if call_id in self._calls else None

    def apply(self, event: Event) -> None:
        """Apply an event that is not a chunk."""
        self._follow(event)
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._message(event["messageId"], event.get("role", "assistant"))
            case "REASONING_MESSAGE_START":
                self._message(event["messageId"], "reasoning")
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                message = self._message(event["messageId"], "assistant")
                message["content"] = message.get("content", "") + event["delta"]
            case "TOOL_CALL_START":
                self._start_call(event)
            case "TOOL_CALL_ARGS":
                if (call := self._calls.get(event["toolCallId"])) is not None:
                    call["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                result = {"toolCallId": event["toolCallId"], "content": event["content"]}
                self.messages.append({"id": event["messageId"], "role": "tool", **result})
            case "REASONING_ENCRYPTED_VALUE":
                self._encrypt(event)
            case "MESSAGES_SNAPSHOT":
                self._replace(copy.deepcopy(event["messages"]))
            case "STATE_SNAPSHOT":
                self.state = event["snapshot"]
            case "STATE_DELTA":
                # The official client skips a patch that does not apply, too (AG-UI 1.0 §10).
                with suppress(jsonpatch.JsonPatchException, JsonPointerException):
                    self.state = jsonpatch.apply_patch(self.state, event["delta"])

    def _message(self, message_id: str, role: str) -> Json:
        found = next((m for m in reversed(self.messages) if m["id"] == message_id), None)
        if found is None:
            found = {"id": message_id, "role": role} | ({"content": ""} if role == "reasoning" else {})
            self.messages.append(found)
        return found

    def _start_call(self, event: Event) -> None:
        function = {"name": event["toolCallName"], "arguments": ""}
        call = {"id": event["toolCallId"], "type": "function", "function": function}
        owner = self._message(event.get("parentMessageId") or event["toolCallId"], "assistant")
        owner.setdefault("toolCalls", []).append(call)
        self._calls[event["toolCallId"]] = call

    def _encrypt(self, event: Event) -> None:
        by_id = self._calls if event["subtype"] == "tool-call" else {m["id"]: m for m in self.messages}
        if (entity := by_id.get(event["entityId"])) is not None:
            entity["encryptedValue"] = event["encryptedValue"]

    def _follow(self, event: Event) -> None:
        """Which answers were streamed, and which of them a snapshot changes."""
        match event["type"]:
            case "RUN_STARTED":
                self._streaming.clear()
                self._streamed.clear()
            case "TEXT_MESSAGE_START" if not event.get("subagentRunId"):
                self._streaming.add(event["messageId"])
            case "TEXT_MESSAGE_END" if event["messageId"] in self._streaming:
                self._streaming.remove(event["messageId"])
                self._streamed.add(event["messageId"])
            case "MESSAGES_SNAPSHOT":
                answers = (m for m in self.messages if m["role"] == "assistant" and m["id"] not in self._streaming)
                texts = {m["id"]: text for m in answers if (text := m.get("content")) and isinstance(text, str)}
                self.changed = list(changes(texts, event, self._streamed))

    def _replace(self, messages: list[Json]) -> None:
        self.messages = messages
        self._calls |= {call["id"]: call for message in messages for call in message.get("toolCalls") or ()}
