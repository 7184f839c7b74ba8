"""Everything a run shows next to the conversation that a reload must bring back: activities, custom events that the
application keeps, questions with their answers. It goes to the journal. Activities and events come back with a snapshot
of the messages; questions only on wires whose pages show them as a part of the conversation."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivityMessage,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    TextMessageChunkEvent,
    TextMessageStartEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from yai_nexus_agentkit.errors import Code, StatePatchError
from yai_nexus_agentkit.protocol.activities import AFTER, CITATIONS, KEPT, MEDIA, SCOPE
from yai_nexus_agentkit.protocol.endings import PastQuestion, answered
from yai_nexus_agentkit.protocol.events import TERMINAL
from yai_nexus_agentkit.protocol.json.model_json import model_json
from yai_nexus_agentkit.protocol.json.patch import apply_patch
from yai_nexus_agentkit.protocol.replay import in_its_order
from yai_nexus_agentkit.runs.journal import JournalEntry, ThreadJournal
from yai_nexus_agentkit.runs.outage import log_failure

__all__ = ["NOTED", "Keeper", "Kept"]

_logger = logging.getLogger(__name__)

NOTED: frozenset[type[BaseEvent]] = frozenset(
    {
        ActivityDeltaEvent,
        ActivitySnapshotEvent,
        CustomEvent,
        MessagesSnapshotEvent,
        TextMessageChunkEvent,
        TextMessageStartEvent,
        ToolCallChunkEvent,
        ToolCallResultEvent,
        ToolCallStartEvent,
    }
)
"""The events that a `Keeper` looks at."""
_PASSING = frozenset({"tool_output", MEDIA, CITATIONS})
"""Activities that the conversation itself says again: a call's result, an answer."""
_FOLD = 100
"""Operations after which they are applied."""
_MOST = 500
"""Entries of one run."""
_LARGEST = 1024 * 1024
"""Characters of one entry."""
_MADE = 8
"""Messages by which the answer of a run is known again."""
_QUESTION, _ANSWER = "agentkit.question", "agentkit.answer"
"""Names of the events, which no client is sent, that stand for a question of a run, and for an answer that it got."""


class _Shown:
    """One activity or event, and the message that it comes after."""

    def __init__(self, after: str, what: ActivityMessage | CustomEvent) -> None:
        self.after, self.what = after, what
        self._operations: list[Any] = []

    def patch(self, operations: Sequence[Any]) -> None:
        """Change the content of an activity."""
        self._operations += operations
        if len(self._operations) >= _FOLD:
            self.fold()

    def fold(self) -> None:
        """Apply the changes so far. Clients skip those that do not apply."""
        if self._operations and isinstance(self.what, ActivityMessage):
            plain = [one if isinstance(one, Mapping) else one.model_dump(by_alias=True) for one in self._operations]
            try:
                self.what = self.what.model_copy(update={"content": apply_patch(self.what.content, plain)})
            except (StatePatchError, TypeError, AttributeError) as error:
                _logger.warning("a kept activity %r misses changes: %s", self.what.id, error)
        self._operations = []


class Keeper:
    """Notes what one run shows. No thread stores what subagents say, so nothing is placed after their messages."""

    def __init__(self, run_input: RunAgentInput) -> None:
        messages = run_input.messages
        self._turn = next((one.id for one in reversed(messages) if one.role == "user"), "")
        self._after = messages[-1].id if messages else ""
        self._seen: dict[str, None] = {}
        """Ids of the messages that the run began, and of those that a snapshot showed behind the user's."""
        self._shown: dict[str, _Shown] = {}
        self._run, self._answers = run_input.run_id, run_input.resume or ()

    def note(self, event: BaseEvent) -> None:
        """Take an event of a type in `NOTED`, in the run's order."""
        match event:
            case CustomEvent():  # first, since there may be thousands
                own = (event.metadata or {}).get(KEPT)
                if isinstance(own, str):
                    self._keep(own, event.model_copy(update={"subagent_run_id": None, "timestamp": None}))
            case ActivityDeltaEvent():
                if (known := self._shown.get(event.message_id)) is not None:
                    known.patch(event.patch)
            case ActivitySnapshotEvent():
                if event.activity_type not in _PASSING and (event.replace is not False or not self._has(event)):
                    message = ActivityMessage(
                        id=event.message_id,
                        activity_type=event.activity_type,
                        content=event.content,
                        metadata=event.metadata,
                    )
                    self._keep(event.message_id, message)
            case MessagesSnapshotEvent():
                self._restate([message.id for message in event.messages if message.role != "activity"])
            case TextMessageStartEvent() | TextMessageChunkEvent() | ToolCallResultEvent():
                self._begun(event.message_id, event.subagent_run_id)
            case ToolCallStartEvent() | ToolCallChunkEvent():
                self._begun(event.parent_message_id or event.tool_call_id, event.subagent_run_id)

    def end(self, terminal: BaseEvent) -> None:
        """Take the terminal event, with the run's questions. The answers that the run got count unless it refused
        them."""
        refused = isinstance(terminal, RunErrorEvent) and terminal.code == Code.INVALID_RESUME
        asked: Sequence[Interrupt] = getattr(getattr(terminal, "outcome", None), "interrupts", None) or ()
        each = [(_ANSWER, one.interrupt_id, one) for one in (() if refused else self._answers)]
        for name, own, what in [*each, *((_QUESTION, one.id, one) for one in asked)]:
            value = {"run": self._run, "what": what.model_dump(by_alias=True, exclude_none=True)}
            self._keep(f"{name}:{self._run}:{own}", CustomEvent(name=name, value=value))

    def entries(self) -> list[JournalEntry]:
        """The entries to keep. One that is too large is left out."""
        found: list[JournalEntry] = []
        run = f'"turn":{json.dumps(self._turn)},"made":{json.dumps(list(self._seen)[-_MADE:])}'
        for own, shown in self._shown.items():
            shown.fold()
            data = f'{{{run},"shown":{model_json(shown.what).decode()}}}'
            if len(data) > _LARGEST:
                _logger.warning("%r is too large to be kept: %d characters", own, len(data))
            else:
                found.append(JournalEntry(own, shown.after, data))
        return found

    async def store(self, journal: ThreadJournal, thread: str) -> None:
        """Write it to the journal, if there is something. A journal that is away costs no run."""
        try:
            if entries := self.entries():
                await journal.keep(thread, entries)
        except Exception as error:
            log_failure(_logger, "what a run showed could not be kept", error)

    def _has(self, event: ActivitySnapshotEvent) -> bool:
        return event.message_id in self._shown

    def _keep(self, own: str, what: ActivityMessage | CustomEvent) -> None:
        known = self._shown.get(own)
        if known is not None:
            self._shown[own] = _Shown(known.after, what)
        elif len(self._shown) < _MOST:
            self._shown[own] = _Shown(self._after, what)
        else:
            _logger.warning("a run has kept %d activities and events; the others are not kept", _MOST)

    def _begun(self, message_id: str | None, owner: str | None) -> None:
        if message_id and owner is None and message_id not in self._seen:
            self._seen[message_id] = None
            self._after = message_id

    def _restate(self, ids: Sequence[str]) -> None:
        """The thread has these messages, perhaps under other ids than they were streamed."""
        known, last = set(ids), ids[-1] if ids else ""
        for shown in self._shown.values():
            if shown.after and shown.after not in known:
                shown.after = last
        behind = ids[ids.index(self._turn) + 1 :] if self._turn in known else ids
        self._seen |= dict.fromkeys(behind)
        self._after = last or self._after  # a run may show stored messages again, and ask behind them


def _alone(what: ActivityMessage | CustomEvent) -> BaseEvent:
    if isinstance(what, CustomEvent):
        return what
    return ActivitySnapshotEvent(message_id=what.id, activity_type=what.activity_type, content=what.content)


class _Place(NamedTuple):
    turn: str
    after: str
    made: Sequence[str]
    """The last messages of the run."""
    what: ActivityMessage | CustomEvent


class Kept:
    """The entries that earlier runs of a thread kept."""

    def __init__(
        self, places: Sequence[_Place] = (), held: Sequence[str] = (), questions: Sequence[PastQuestion] = ()
    ) -> None:
        self._places, self._held = places, held
        self.questions = questions
        """The questions of the thread's runs, in order."""

    @classmethod
    def of(cls, entries: Sequence[JournalEntry], held: Sequence[str] = ()) -> Self:
        """The content of these entries of the journal, for a page that holds the messages `held`."""
        places: list[_Place] = []
        asked: list[PastQuestion] = []
        going: dict[str, PastQuestion | None] = {}
        """By the id of a run that went on with an answer, the question."""
        for entry in entries:
            data = json.loads(entry.data)
            turn, after, shown = data["turn"], entry.after, data["shown"]
            kind = entry.id.partition(":")[0]
            if kind not in (_ANSWER, _QUESTION):
                model = CustomEvent if shown.get("type") == "CUSTOM" else ActivityMessage
                places.append(_Place(turn, after, data.get("made", ()), model.model_validate(shown)))
                continue
            run, what = shown["value"]["run"], shown["value"]["what"]
            if kind == _ANSWER:
                answer = ResumeEntry.model_validate(what)
                asked = answered(asked, [answer])
                going[run] = next((one for one in reversed(asked) if one.answer is answer), None)
                continue
            if run not in going:  # its answer is a new one: what an earlier one asked is gone
                asked = [one for one in asked if one.turn != turn or one.run == run]
            elif not turn and (before := going[run]) is not None:  # its client sent no messages
                turn, after = before.turn, after or before.after
            asked.append(PastQuestion(run, turn, after, Interrupt.model_validate(what)))
        return cls(places, held, asked)

    def placed(self, snapshot: MessagesSnapshotEvent) -> MessagesSnapshotEvent:
        """The snapshot with the activities where they stood; those of turns that the user took back are left out. It
        has all the activities that there are."""
        messages = snapshot.messages
        behind: dict[int, list[Message]] = {}
        for index, what in self._found(messages):
            if isinstance(what, ActivityMessage):
                behind.setdefault(index, []).append(what)
        if not behind:
            return snapshot
        found = behind.get(-1, [])
        for index, message in enumerate(messages):
            found += [message, *behind.get(index, ())]
        rest = {key: value for key, value in (snapshot.metadata or {}).items() if key != SCOPE}
        return snapshot.model_copy(update={"messages": found, "metadata": rest or None})

    def restated(self, snapshot: MessagesSnapshotEvent) -> list[BaseEvent]:
        """The snapshot with the activities, in its order for the page, and the custom events behind it, which say where
        they stood."""
        messages = snapshot.messages
        customs: list[BaseEvent] = []
        newest: dict[int, str] = {}
        """Of the activities behind each message, the id of the last one so far."""
        for index, what in self._found(messages):
            if isinstance(what, ActivityMessage):
                newest[index] = what.id
            else:
                place = {AFTER: newest.get(index) or (messages[index].id if index >= 0 else "")}
                customs.append(what.model_copy(update={"metadata": {**(what.metadata or {}), **place}}))
        return [*in_its_order(self.placed(snapshot), self._held), *customs]

    def wire(self, encode: Callable[[BaseEvent], bytes]) -> Callable[[BaseEvent], bytes]:
        """`encode` for the events of a thread as it is now, with these. A thread without a conversation has no
        snapshot."""
        due = True

        def written(event: BaseEvent) -> bytes:
            nonlocal due
            more: Sequence[BaseEvent] = (event,)
            if due and isinstance(event, MessagesSnapshotEvent):
                more = self.restated(event)
            elif due and event.type in TERMINAL:
                more = [*(_alone(what) for _, what in self._found(())), event]
            frames = b"".join(map(encode, more))  # raises for what is too large, which comes again in pieces
            due = due and not isinstance(event, MessagesSnapshotEvent)
            return frames

        return written

    def _found(self, messages: Sequence[Message]) -> list[tuple[int, ActivityMessage | CustomEvent]]:
        """The entries to show with these messages, by the index of the message that they come after; -1 is the start.
        Entries whose message is missing come at the end of its turn; those of an answer that another one replaced are
        gone."""
        indexes, ends = {"": -1}, {"": -1}
        answered = set()
        turn = ""
        for index, message in enumerate(messages):
            if message.role == "user":
                turn = message.id
            else:
                answered.add(turn)
            indexes[message.id] = ends[turn] = index
        found: list[tuple[int, ActivityMessage | CustomEvent]] = []
        for place in self._places:
            at = indexes.get(place.after, ends.get(place.turn))
            replaced = place.turn in answered and place.made and indexes.keys().isdisjoint(place.made)
            if at is not None and not replaced:
                found.append((at, place.what))
        return found
