"""Pure. Stored messages as the events that a run would have sent of them, and the turns of a conversation.

A turn is one user message and all that follows it up to the next. Its answer, however many messages of the agent that
are, is one message of the AI SDK.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import (
    ActivityMessage,
    ActivitySnapshotEvent,
    AssistantMessage,
    BaseEvent,
    Message,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

__all__ = ["events_of", "last_user", "now_named", "reply_id", "since", "thinker"]

_THOUGHTS = "-reasoning-"
"""Between the id of a message and the number of its reasoning."""


def reply_id(turn: str) -> str:
    """The id of the answer to a user message: the same while it is streamed and whenever it is read later."""
    return f"re-{turn}"


def last_user(messages: Sequence[Message]) -> str:
    """The id of the newest user message; ``""`` without one."""
    return next((message.id for message in reversed(messages) if message.role == "user"), "")


def since(messages: Sequence[Message], turn: str) -> Sequence[Message]:
    """The messages behind the user message `turn`, all for ``""``; none if it is not there."""
    if not turn:
        return messages
    at = next((n for n, message in enumerate(messages) if message.id == turn), len(messages))
    return messages[at + 1 :]


def thinker(reasoning: str) -> str | None:
    """The id of the message that a thought belongs to."""
    owner, marked, _ = reasoning.rpartition(_THOUGHTS)
    return owner if marked else None


def now_named(own: str, renamed: Mapping[str, str]) -> str:
    """The id that a message or its reasoning has now. `renamed`: new ids of messages, by the streamed ones."""
    if own in renamed:
        return renamed[own]
    owner = thinker(own)
    return own if owner is None or owner not in renamed else f"{renamed[owner]}{own.removeprefix(owner)}"


def events_of(messages: Iterable[Message]) -> Iterator[BaseEvent]:
    """The events of what the agent said, thought, called and showed, in order."""
    for message in messages:
        match message:
            case AssistantMessage():
                yield from _answer(message)
            case ReasoningMessage() if message.content or message.encrypted_value:
                yield from _thought(message)
            case ToolMessage():
                facts = message.metadata
                if message.error is not None:
                    facts = {**(facts or {}), "agui": {"status": "error"}}
                yield ToolCallResultEvent(
                    message_id=message.id,
                    tool_call_id=message.tool_call_id,
                    content=message.content,
                    role="tool",
                    subagent_run_id=message.subagent_run_id,
                    metadata=facts,
                )
            case ActivityMessage():
                yield ActivitySnapshotEvent(
                    message_id=message.id,
                    activity_type=message.activity_type,
                    content=message.content,
                    subagent_run_id=message.subagent_run_id,
                    metadata=message.metadata,
                )


def _answer(message: AssistantMessage) -> Iterator[BaseEvent]:
    mine: dict[str, Any] = {"message_id": message.id, "subagent_run_id": message.subagent_run_id}
    if message.content:
        yield TextMessageStartEvent(**mine, role="assistant", name=message.name)
        yield TextMessageContentEvent(**mine, delta=message.content)
        yield TextMessageEndEvent(**mine, metadata=message.metadata)
    for call in message.tool_calls or ():
        own: dict[str, Any] = {"tool_call_id": call.id, "subagent_run_id": message.subagent_run_id}
        yield ToolCallStartEvent(
            **own, tool_call_name=call.function.name, parent_message_id=message.id, metadata=call.metadata
        )
        if call.encrypted_value:
            yield _encrypted("tool-call", call.id, call.encrypted_value)
        if call.function.arguments:
            yield ToolCallArgsEvent(**own, delta=call.function.arguments)
        yield ToolCallEndEvent(**own)


def _thought(message: ReasoningMessage) -> Iterator[BaseEvent]:
    mine: dict[str, Any] = {"message_id": message.id, "subagent_run_id": message.subagent_run_id}
    yield ReasoningMessageStartEvent(**mine, role="reasoning", metadata=message.metadata)
    if message.content:
        yield ReasoningMessageContentEvent(**mine, delta=message.content)
    if message.encrypted_value:
        yield _encrypted("message", message.id, message.encrypted_value)
    yield ReasoningMessageEndEvent(**mine)


def _encrypted(subtype: Any, entity: str, value: str) -> BaseEvent:
    return ReasoningEncryptedValueEvent(subtype=subtype, entity_id=entity, encrypted_value=value)
