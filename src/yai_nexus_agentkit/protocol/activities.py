"""Pure. The activities that a client has: progress widgets among its messages (AG-UI 1.0, activity)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivityMessage,
    ActivitySnapshotEvent,
    BaseEvent,
    Message,
    MessagesSnapshotEvent,
)

from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable
from yai_nexus_agentkit.protocol.subagents import Subagents

__all__ = ["CITATIONS", "MEDIA", "Activities"]

MEDIA, CITATIONS = "media", "citations"
"""Types of the activities that an answer has: a snapshot of the conversation restates them."""
_OF_ANSWERS = frozenset({MEDIA, CITATIONS})
_SCOPE = "@ag-ui/client"
"""Key of the official client's convention for a snapshot that has some of the activities, and not all."""


def _scope(messages: Sequence[Message]) -> dict[str, Any] | None:
    """Metadata for a snapshot with these messages. Without it, clients remove every activity that the snapshot lacks,
    the application's too. The snapshot removes those of answers that are gone; not of subagents', which it may lack."""
    types = {message.activity_type for message in messages if isinstance(message, ActivityMessage)}
    if not types or not types <= _OF_ANSWERS:
        return None
    foreign = any(message.subagent_run_id is not None for message in messages)
    return {_SCOPE: {"authoritativeActivityTypes": [] if foreign else sorted(_OF_ANSWERS)}}


@dataclass(slots=True, eq=False)
class Activities:
    """The activities of one run's client. They never return to the server, so most begin in the run."""

    _ids: MessageIds
    _subagents: Subagents
    _known: set[str]
    """Ids of the activities that the client has: others cannot be patched."""

    def put(
        self,
        message_id: str,
        activity_type: str,
        content: Mapping[str, Any],
        owner: str | None,
        metadata: dict[str, Any] | None,
    ) -> list[BaseEvent]:
        """``ACTIVITY_SNAPSHOT``, unless the id belongs to another kind of message, which it would overwrite."""
        if not usable(message_id) or self._ids.kind(message_id) not in (None, "activity"):
            return []
        owner = usable(owner)
        event = ActivitySnapshotEvent(
            message_id=message_id,
            activity_type=activity_type,
            content=dict(content),
            subagent_run_id=owner,
            metadata=metadata,
        )
        self._ids.own(message_id, "activity", owner)  # a snapshot makes the activity its owner's
        self._known.add(message_id)
        return [*self._subagents.introduce(owner), event]

    def patch(self, message_id: str, activity_type: str, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        """``ACTIVITY_DELTA`` against what was last sent."""
        if message_id not in self._known or not operations:
            return []
        owner = self._ids.owner(message_id)
        event = ActivityDeltaEvent(
            message_id=message_id,
            activity_type=activity_type,
            patch=operations,  # type: ignore[arg-type]
            subagent_run_id=owner,
        )
        return [*self._subagents.introduce(owner), event]

    def snapshot(self, messages: Sequence[Message], *, declared: bool) -> list[BaseEvent]:
        """``MESSAGES_SNAPSHOT``. Peers from before 1.0 get the activities of answers behind it, if they lack them."""
        metadata = _scope(messages)
        if metadata is None or declared:
            self._restate(messages)
            return [MessagesSnapshotEvent(messages=list(messages), metadata=metadata)]
        rest: list[Message] = [message for message in messages if not isinstance(message, ActivityMessage)]
        self._restate(rest)
        events: list[BaseEvent] = [MessagesSnapshotEvent(messages=rest)]
        for one in messages:
            if isinstance(one, ActivityMessage) and one.id not in self._known:
                events += self.put(one.id, one.activity_type, one.content, one.subagent_run_id, one.metadata)
        return events

    def _restate(self, messages: Iterable[Message]) -> None:
        """Forget what a snapshot removes. One without any activity leaves the client's alone (AG-UI 1.0, messages)."""
        roles = {message.id: message.role for message in messages}
        if "activity" in roles.values():
            self._known &= roles.keys()
        self._known.difference_update(message_id for message_id, role in roles.items() if role != "activity")
