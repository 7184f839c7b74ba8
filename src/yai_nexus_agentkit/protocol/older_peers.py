"""Pure. Events of a run as clients from before AG-UI 1.0 read them. The client that started it may know more."""

from __future__ import annotations

from ag_ui.core import (
    BaseEvent,
    Message,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    ToolCallResultEvent,
    ToolMessage,
    UserMessage,
)

from yai_nexus_agentkit.errors import Code
from yai_nexus_agentkit.protocol.activities import SCOPE
from yai_nexus_agentkit.protocol.parts import for_old_peer, parts_text

__all__ = ["for_older_peer"]


def for_older_peer(event: BaseEvent) -> BaseEvent:
    """The event itself, or a copy without what such clients refuse (AG-UI 1.0, versions)."""
    match event:
        case RunFinishedEvent(outcome=RunFinishedCancelledOutcome()):
            return RunErrorEvent(message="the run was cancelled", code=Code.CANCELLED, usage=event.usage)
        case RunFinishedEvent(outcome=RunFinishedInterruptOutcome() as outcome):
            lasting = [one.model_copy(update={"expires_at": None}) for one in outcome.interrupts]
            return event.model_copy(update={"outcome": outcome.model_copy(update={"interrupts": lasting})})
        case RunFinishedEvent():
            return event.model_copy(update={"outcome": None})
        case ToolCallResultEvent(content=list() as parts):
            return event.model_copy(update={"content": parts_text(parts, "\n")})
        case MessagesSnapshotEvent():
            # With some activities in it, it would take away all others.
            some = event.metadata is not None and SCOPE in event.metadata
            kept = [one for one in event.messages if not (some and one.role == "activity")]
            return event.model_copy(update={"messages": list(map(_message, kept))})
        case _:
            return event


def _message(message: Message) -> Message:
    match message:
        case UserMessage(content=list() as parts):
            return message.model_copy(update={"content": for_old_peer(parts) or ""})
        case ToolMessage(content=list() as parts):
            return message.model_copy(update={"content": parts_text(parts, "\n")})
        case _:
            return message
