"""Pure. A run so far, in a short form: for viewers that come while it goes on, and for whoever ends it in its place.

A viewer that comes later has another past than the one who started the run: none at all (a reloaded page), or half a
message (a tab whose connection broke). Both end with the same messages if they first get a snapshot of what was there
before the run, then its events from the first one on. Clients from before 1.0 read this, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningMessage,
    RunAgentInput,
    StateDeltaEvent,
    StateSnapshotEvent,
)
from pydantic_core import from_json, to_json

from yai_nexus_agentkit.errors import StatePatchError
from yai_nexus_agentkit.protocol.events import EVENTS, REASONING, RUN, Entity, EventRow, row_of, type_of
from yai_nexus_agentkit.protocol.fetched_media import messages_as_sent
from yai_nexus_agentkit.protocol.json.patch import apply_patch

__all__ = ["Compacted", "Replay", "in_its_order"]

_PIECES: Mapping[type[BaseEvent], str] = {
    row.model: row.entity.id for row in EVENTS.values() if row.per_token and row.move == "continues"
}
"""Events that carry a piece of a longer text, with the field that names the text."""
_VALUES = frozenset({StateSnapshotEvent, StateDeltaEvent, ActivitySnapshotEvent, ActivityDeltaEvent})
"""Events that set or change a value: the state, an activity."""
_SPANS = {row.model: row for row in EVENTS.values() if row.move in ("opens", "closes")}
"""Events that open or close something."""
_LARGE: Mapping[type[BaseEvent], str] = {
    CustomEvent: "value",
    RawEvent: "event",
    ActivitySnapshotEvent: "content",
    ActivityDeltaEvent: "patch",
}
"""Events with data of any size, and the field that has it."""
_OVERHEAD = 300
"""Bytes that an event costs in addition to its text."""
_FOLD = 200
"""Patches of one value after which they are applied, so that a run of any length stays short."""

_Position = int


class Compacted:
    """Events of a run in order. All pieces of a text are one event; values that a later snapshot replaced are left
    out."""

    def __init__(self, *, packed: bool = False) -> None:
        """`packed`: keep what an application emits as JSON, for as long as a run lasts. An event consists of six
        objects, which each garbage collection visits."""
        self._packed = packed
        self._count = 0
        self._events: dict[_Position, BaseEvent | bytes] = {}
        self._pieces: dict[_Position, list[str]] = {}
        """The text of each event that stands for several."""
        self._growing: dict[tuple[type[BaseEvent], str, str | None], list[str]] = {}
        """The pieces to which further ones of the same text belong."""
        self._values: dict[str, list[_Position]] = {}
        """The events that make a value, by the activity's id, ``""`` for the state: a snapshot and patches."""
        self.size = 0
        """About how many bytes of memory the events take."""

    def put(self, event: BaseEvent) -> bool:
        """Take the next event. Nobody may change it afterwards. True if it is a piece of a text."""
        kind, fields = type(event), event.__dict__
        named = _PIECES.get(kind)
        if named is not None:
            key = kind, fields[named], fields["subagent_run_id"]
            delta = fields["delta"]
            bare = fields["metadata"] is fields["raw_event"] is fields["timestamp"] is None
            if bare and not event.__pydantic_extra__:
                if (pieces := self._growing.get(key)) is None:
                    pieces = self._growing[key] = self._pieces[self._count] = []
                    self._add(event)
                pieces.append(delta)
            else:
                self._growing.pop(key, None)  # later pieces come after this one
                self._add(event)
            self.size += len(delta)
            return True
        if kind not in _VALUES:
            if self._packed and kind is CustomEvent and (json := _pack(event)) is not None:
                self._events[self._count] = json
                self._count += 1
                self.size += _OVERHEAD + len(json)
                return False
            if kind is MessagesSnapshotEvent:
                self._growing.clear()  # what it removed must not come back behind it
            self._add(event)
            return False
        match event:
            case StateSnapshotEvent():
                self._replace("", event)
            case StateDeltaEvent():
                self._patch("", event)
            case ActivitySnapshotEvent() if event.replace is not False:
                self._replace(event.message_id, event)
            case ActivitySnapshotEvent() | ActivityDeltaEvent():
                self._patch(event.message_id, event)
        return False

    def events(self) -> list[BaseEvent]:
        """The events."""
        return [self._whole(position, event) for position, event in self._events.items()]

    def __bool__(self) -> bool:
        return bool(self._events)

    def _add(self, event: BaseEvent) -> _Position:
        position = self._count
        self._events[position] = event
        self._count += 1
        self.size += _weight(event)
        return position

    def _drop(self, positions: Iterable[_Position]) -> None:
        for position in positions:
            self.size -= _weight(cast(BaseEvent, self._events.pop(position)))

    def _replace(self, value: str, event: BaseEvent) -> None:
        self._drop(self._values.get(value, ()))
        self._values[value] = [self._add(event)]

    def _patch(self, value: str, event: BaseEvent) -> None:
        positions = self._values.setdefault(value, [])
        positions.append(self._add(event))
        if len(positions) < _FOLD:
            return
        folded = _folded([cast(BaseEvent, self._events[position]) for position in positions])
        if folded is not None:
            self._replace(value, folded)

    def _whole(self, position: _Position, event: BaseEvent | bytes) -> BaseEvent:
        if isinstance(event, bytes):
            name, value, owner, metadata = from_json(event)
            return CustomEvent(name=name, value=value, subagent_run_id=owner, metadata=metadata)
        pieces = self._pieces.get(position)
        return event if pieces is None or len(pieces) == 1 else event.model_copy(update={"delta": "".join(pieces)})


Shown: TypeAlias = Callable[[MessagesSnapshotEvent], Iterable[BaseEvent]]
"""Makes of a snapshot what clients may see of it."""


class Replay:
    """A run so far, for viewers who come now."""

    def __init__(self, run_input: RunAgentInput) -> None:
        """`run_input`: the request, with the messages and the state of the client that started the run."""
        self._base = messages_as_sent(run_input.messages)
        self._events = Compacted(packed=True)
        self._open: dict[tuple[Entity, str, str | None], None] = {}
        self.thoughts: list[str] = []
        """Ids of the run's reasoning messages."""
        if run_input.state is not None:
            self._events.put(StateSnapshotEvent(snapshot=run_input.state))

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return self._events.size

    def put(self, event: BaseEvent) -> None:
        """Take the next event of the run. Nobody may change it afterwards."""
        if not self._events.put(event) and (row := _SPANS.get(type(event))) is not None:
            self._note(event, row)

    def events(self, shown: Shown | None = None) -> list[BaseEvent]:
        """For a viewer who comes now: ``RUN_STARTED``, the state, the messages before the run, then its events.
        `shown`: what clients may see of these messages; the run's own events are what its client was sent."""
        own = self._events.events()
        start = next((n for n, event in enumerate(own) if row_of(event.type).entity is RUN), None)
        first = [] if start is None else [own.pop(start)]
        messages = self._base
        if self.thoughts:
            # A snapshot removes half a thought of a client only if it holds reasoning itself.
            messages = [*messages, ReasoningMessage(id=self.thoughts[0], content="")]
        state = [own.pop(0)] if own and isinstance(own[0], StateSnapshotEvent) else []
        before = MessagesSnapshotEvent(messages=messages)
        return [*first, *state, *([before] if shown is None else shown(before)), *own]

    def sent(self) -> list[BaseEvent]:
        """The run's own events."""
        return self._events.events()

    def closing(self) -> list[BaseEvent]:
        """The events that close what is open, the last opened first."""
        return [_end(entity, name, owner) for entity, name, owner in reversed(self._open) if entity is not RUN]

    def _note(self, event: BaseEvent, row: EventRow) -> None:
        name = str(getattr(event, row.entity.id)) if row.entity.id else ""
        owner = getattr(event, "subagent_run_id", None) if row.entity.owned else None
        if row.move == "closes":
            self._open.pop((row.entity, name, owner), None)
            return
        self._open[row.entity, name, owner] = None
        if row.entity is REASONING:
            self.thoughts.append(name)


def in_its_order(snapshot: MessagesSnapshotEvent, held: Iterable[str]) -> list[MessagesSnapshotEvent]:
    """The snapshot for a client that holds messages with the ids `held`. It keeps them where they are and appends the
    others (AG-UI 1.0 §11), so one that must move is taken away first, by a snapshot without it."""
    wanted = [message.id for message in snapshot.messages]
    known = set(wanted)
    stays = [one for one in dict.fromkeys(held) if one in known]
    same = next((n for n, one in enumerate(stays) if one != wanted[n]), len(stays))
    if same == len(stays):
        return [snapshot]
    return [snapshot.model_copy(update={"messages": snapshot.messages[:same]}), snapshot]


def _folded(events: Sequence[BaseEvent]) -> BaseEvent | None:
    """A snapshot and the patches of it as one snapshot; None where that cannot be said."""
    first = events[0]
    if not isinstance(first, StateSnapshotEvent | ActivitySnapshotEvent):
        return None
    name = "snapshot" if isinstance(first, StateSnapshotEvent) else "content"
    operations: list[Any] = []
    for event in events[1:]:
        if not isinstance(event, StateDeltaEvent | ActivityDeltaEvent):
            return None
        field = event.delta if isinstance(event, StateDeltaEvent) else event.patch
        operations += [one if isinstance(one, Mapping) else one.model_dump(by_alias=True) for one in cast(Any, field)]
    try:
        return first.model_copy(update={name: apply_patch(getattr(first, name), operations)})
    except (StatePatchError, TypeError, AttributeError):
        return None


def _pack(event: BaseEvent) -> bytes | None:
    """An event of the application as JSON, which clients get anyway; None where it has more than these fields, or a
    value that JSON does not have."""
    fields = event.__dict__
    if fields["raw_event"] is not None or fields["timestamp"] is not None or event.__pydantic_extra__:
        return None
    try:
        said = fields["name"], fields["value"], fields["subagent_run_id"], fields["metadata"]
        return to_json(said, inf_nan_mode="null")
    except Exception:  # user code runs in here
        return None


def _weight(event: BaseEvent) -> int:
    """A snapshot of the state or of messages counts little: the agent holds its content anyway."""
    fields = event.__dict__
    if (field := _LARGE.get(type(event))) is not None:
        try:
            return _OVERHEAD + len(to_json(fields[field]))
        except Exception:  # user code runs in here
            return _OVERHEAD
    content = fields.get("content")
    return _OVERHEAD + len(content) if isinstance(content, str) else _OVERHEAD


def _end(entity: Entity, name: str, owner: str | None) -> BaseEvent:
    fields = {entity.id: name} if entity.id else {}
    if owner is not None:
        fields["subagent_run_id"] = owner
    return EVENTS[type_of(entity, "closes")].model.model_validate(fields)
