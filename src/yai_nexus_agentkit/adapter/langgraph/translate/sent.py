"""Pure. A message that was streamed in this run, and whether the client would show another one alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.messages.content import calls_made
from yai_nexus_agentkit.adapter.langgraph.messages.convert import tool_content
from yai_nexus_agentkit.adapter.native_run import NativeRun

__all__ = ["Sent", "alike", "said"]


@dataclass(slots=True)
class Sent:
    """A message that was streamed in this run."""

    run: NativeRun
    """The run that made it."""
    message: BaseMessage | None = None
    """The model's final output, or the tool's message; None while it streams, and for ever if the model failed."""
    content: Any = None
    calls: Any = None
    """The message's content and calls at that time, by identity: a later node may change the message in place."""
    lost: bool = False
    """The model failed before its end."""
    shown: Any = None
    """The content that was sent of a tool's message. ToolNode rewrites some contents in place, into the same."""
    speaker: str | None = None
    """The name that a text started with."""

    def complete(self, message: BaseMessage, speaker: str | None) -> None:
        """The message is there as a whole."""
        self.speaker = speaker
        self.message, self.content, self.calls = message, message.content, calls_made(message)
        self.shown = tool_content(message) if isinstance(message, ToolMessage) else None

    def still(self, message: BaseMessage) -> bool:
        """The client would show this message as it was sent."""
        if self.shown is not None and isinstance(message, ToolMessage) and isinstance(self.message, ToolMessage):
            return tool_content(message) == self.shown and message.status == self.message.status
        if message is not self.message:
            return alike(self.message, message)
        return message.content is self.content and calls_made(message) is self.calls

    @property
    def text(self) -> str:
        """The text of an answer that is whole."""
        whole = self.message
        if whole is None or whole.type != "ai":
            return ""
        return str(whole.text if whole.content is self.content else AIMessage(self.content).text)


def alike(one: BaseMessage | None, other: BaseMessage) -> bool:
    """The client would show both alike."""
    if one is other:
        return True
    if one is None:
        return False
    return one.content == other.content and _answers(one) == _answers(other) and _calls(one) == _calls(other)


def said(message: BaseMessage | None) -> tuple[str, str] | None:
    """The text and the calls of an answer, which others may say too, whatever their ids and blocks are. None for a
    message of another kind."""
    if message is None or message.type != "ai":
        return None
    return str(message.text), repr(calls) if (calls := _calls(message)) else ""


def _answers(message: BaseMessage) -> tuple[str, str] | None:
    return (message.tool_call_id, message.status) if isinstance(message, ToolMessage) else None


def _calls(message: BaseMessage) -> list[tuple[Any, Any, Any]]:
    if not isinstance(message, AIMessage):
        return []
    calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    return [(call.get("id"), call.get("name"), call.get("args")) for call in calls]
