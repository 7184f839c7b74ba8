"""Pure. The activities that a client has: progress widgets among its messages (AG-UI 1.0, activity)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivityMessage,
    ActivitySnapshotEvent,
    BaseEvent,
    Message,
    MessagesSnapshotEvent,
)

from yai_nexus_agentkit.protocol.deltas import unchecked
from yai_nexus_agentkit.protocol.entities import Subagents
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable

__all__ = ["AFTER", "CITATIONS", "KEPT", "MEDIA", "SCOPE", "Activities"]

MEDIA, CITATIONS = "media", "citations"
"""Types of the activities that an answer has: a snapshot of the conversation restates them."""
KEPT = "agentkit.kept"
"""Key in the metadata of a custom event that pages get again: the id under which it is kept."""
AFTER = "agentkit.after"
"""Key in the metadata of such an event when a page gets it again: the id of the message that it comes after; ``""``
for the beginning."""
_OF_ANSWERS = frozenset({MEDIA, CITATIONS})
SCOPE = "@ag-ui/client"
"""Key of the official client's convention for a snapshot that has some of the activities, and not all."""
_KINDS = frozenset(get_args(get_args(Message)[0]))
_unchecked_snapshot: Callable[..., BaseEvent] = unchecked(MessagesSnapshotEvent, "messages")
_MANY = 4 * 1024 * 1024
"""Characters of media above which they are not sent in one event: clients give up at a frame of 10 MiB (AG-UI 1.0,
HTTP and SSE)."""


@dataclass(slots=True, eq=False)
class Activities:
    """The activities of one run's client. They never return to the server, so most begin in the run."""

    _ids: MessageIds
    _subagents: Subagents
    _known: set[str]
    """Ids of the activities that the client has: others cannot be patched."""
    _of_answers: bool = False
    """The client has activities of answers."""

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
        self._of_answers = self._of_answers or activity_type in _OF_ANSWERS
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
        """``MESSAGES_SNAPSHOT``. The activities of answers follow it, where the client lacks them, if it must not have
        some of the activities and not all (peers from before 1.0), or if their media are many."""
        own = [message for message in messages if message.role == "activity"]
        theirs = any(one.activity_type not in _OF_ANSWERS for one in own)
        if theirs or not (own or self._of_answers):
            self._restate(messages)
            return [_snapshot(messages)]
        if declared and sum(map(_size, own)) <= _MANY:
            self._restate(messages)
            # Without it, clients remove each activity that the snapshot lacks, the application's too. It removes those
            # of answers that are gone, but not of subagents', which it may lack.
            types = [] if any(m.subagent_run_id is not None for m in messages) else sorted(_OF_ANSWERS)
            scope = {SCOPE: {"authoritativeActivityTypes": types}}
            return [MessagesSnapshotEvent(messages=list(messages), metadata=scope)]
        rest: list[Message] = [message for message in messages if not isinstance(message, ActivityMessage)]
        self._restate(rest)
        lacking = [one for one in own if one.id not in self._known]
        return [_snapshot(rest), *(event for one in lacking for event in self._restore(one))]

    def _restore(self, one: ActivityMessage) -> list[BaseEvent]:
        """An activity of an answer, in several events if its media are many."""
        first, parts = dict(one.content), list(one.content.get("parts") or ())
        if _size(one) > _MANY:
            first["parts"], parts = parts[:1], parts[1:]
        else:
            parts = []
        events = self.put(one.id, one.activity_type, first, one.subagent_run_id, one.metadata)
        for part in parts:
            events += self.patch(one.id, one.activity_type, [{"op": "add", "path": "/parts/-", "value": part}])
        return events

    def _restate(self, messages: Iterable[Message]) -> None:
        """Forget what a snapshot removes. One without any activity leaves the client's alone (AG-UI 1.0, messages)."""
        if not self._known:
            return
        roles = {message.id: message.role for message in messages}
        if "activity" in roles.values():
            self._known &= roles.keys()
        self._known.difference_update(message_id for message_id, role in roles.items() if role != "activity")


def _snapshot(messages: Sequence[Message]) -> BaseEvent:
    """The event. Messages of the protocol's own classes are not looked at one by one, as pydantic does."""
    make = _unchecked_snapshot if _KINDS.issuperset(map(type, messages)) else MessagesSnapshotEvent
    return make(messages=list(messages))


def _size(activity: ActivityMessage) -> int:
    """Characters of the media in an activity of an answer."""
    sources = [part.get("source") for part in activity.content.get("parts") or () if isinstance(part, dict)]
    return sum(len(source.get("value") or "") for source in sources if isinstance(source, dict))
