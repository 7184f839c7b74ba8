"""Pure. The AI SDK over a web socket: frames of ``WebSocketChatTransport`` (ai 7), and those of older transports.

Official frames name a request: the client sends ``send``, ``resume`` and ``abort``; the server ``start``, ``chunk``
with a sequence from 0 without gaps, ``end``, ``error`` and ``no-active``. A frame without a ``requestId`` closes that
client's socket. A socket whose first frame is ``submit`` speaks the older ones instead: one chunk a frame, ``[DONE]``
at the end of a turn, one turn at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from yai_nexus_agentkit.transport.ai_sdk.conversation import reply_id

__all__ = [
    "DONE",
    "OfficialFrames",
    "answered_part",
    "error_chunk",
    "is_older",
    "no_active",
    "older_frames",
    "refused",
    "with_answers",
]

DONE = "[DONE]"
"""The end of a turn: a frame of the older kind, and the last server-sent event of an encoder."""


def is_older(data: Any) -> bool:
    """The first frame of a socket is of the older kind."""
    return isinstance(data, Mapping) and data.get("type") == "submit"


def _chunks(body: bytes) -> Iterator[str]:
    """The JSON of the server-sent events in the bytes of an encoder."""
    for event in body.decode().split("\n\n"):
        if event.startswith("data: "):
            yield event[6:]


class OfficialFrames:
    """The frames of one request."""

    def __init__(self, request_id: str) -> None:
        self._named = f'"requestId":{to_json(request_id).decode()}'
        self._sequence = 0
        self._begun = False

    def __call__(self, body: bytes, last: bool) -> Iterator[str]:
        """The frames for the bytes of an encoder; with `last` nothing follows."""
        if not self._begun:
            self._begun = True
            yield f'{{"type":"start",{self._named}}}'
        for chunk in _chunks(body):
            if chunk != DONE:
                yield f'{{"type":"chunk",{self._named},"sequence":{self._sequence},"chunk":{chunk}}}'
                self._sequence += 1
        if last:
            yield f'{{"type":"end",{self._named}}}'


def older_frames(body: bytes, last: bool) -> Iterator[str]:
    """The frames for the bytes of an encoder, which end with ``[DONE]``."""
    return _chunks(body)


def answered_part(call_id: str, tool: str, message_id: str, frame: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a message that says the same as a ``tool-approval-response`` or ``tool-output`` about a call."""
    facts = {"callProviderMetadata": {"agui": {"messageId": message_id}}}
    part = {"type": "dynamic-tool", "toolCallId": call_id, "toolName": tool, "input": {}, **facts}
    if frame["type"] == "tool-approval-response":
        approval = {"id": frame["approvalId"], "approved": frame.get("approved") is True, "reason": frame.get("reason")}
        return {**part, "state": "approval-responded", "approval": approval}
    if "errorText" in frame:
        return {**part, "state": "output-error", "errorText": frame["errorText"]}
    return {**part, "state": "output-available", "output": frame.get("output")}


def with_answers(submit: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An accepted ``submit`` again, with the answer that it got so far: these parts."""
    messages = list(submit["messages"])
    while messages and messages[-1]["role"] != "user":
        messages.pop()
    turn = messages[-1]["id"] if messages else ""
    return {**submit, "messages": [*messages, {"id": reply_id(turn), "role": "assistant", "parts": list(parts)}]}


def refused(request_id: str, text: str) -> str:
    """The request is refused."""
    return to_json({"type": "error", "requestId": request_id, "errorText": text}).decode()


def no_active(request_id: str) -> str:
    """There is no run to resume."""
    return to_json({"type": "no-active", "requestId": request_id}).decode()


def error_chunk(text: str) -> str:
    """An error as a chunk of the older kind."""
    return to_json({"type": "error", "errorText": text}).decode()
