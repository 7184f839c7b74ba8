"""Pure. The text and reasoning of each model call (*lane*), and the messages that the client knows them by.

A lane's text, reasoning and calls belong to one model call: they close each other and nobody else's, and carry the
same owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    Message,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from yai_nexus_agentkit.protocol.deltas import deltas, ending
from yai_nexus_agentkit.protocol.entities import OpenEntities, Subagents
from yai_nexus_agentkit.protocol.events import REASONING, TEXT
from yai_nexus_agentkit.protocol.message_ids import MessageIds, usable
from yai_nexus_agentkit.protocol.reasoning import ReasoningWriter

__all__ = ["Lane", "Lanes"]

_NOTHING = object()
"""Equal to no id: the value of `Lane.ready` when text cannot simply go on."""


def _unopened(delta: str) -> Any:
    raise AssertionError("no text message is open")


@dataclass(slots=True)
class Lane:
    """One model call.

    Its text goes by the translator's id (the *wish*); where that is taken, the client knows it by another.
    """

    owner: str | None
    within: tuple[str, ...] = ()
    """Named spans around the call; they close before its first text or tool call."""
    speaker: str | None = None
    """The name of the agent whose words these are; it goes with the start of a text."""
    ready: object = _NOTHING
    """The wish under which text may go on with nothing to close or open before."""
    text: str = ""
    """Id of the open text message; empty if none is open."""
    event_with: Callable[[str], BaseEvent] = field(default=_unopened)
    """The event of a delta of the open text message."""
    wish: str = ""
    """The open text message's wish."""
    message: str | None = None
    """Id of the lane's newest text message, open or not; without text, of the message its first call made."""
    messages: dict[str, str] = field(default_factory=dict)
    """First message of each wish: its text and all its calls belong together."""
    reasoning: str = ""
    """Id of the open reasoning message; empty if none is open."""
    reasoning_wish: str = ""
    thinking: object = _NOTHING
    """The wish under which reasoning may go on with nothing to open before."""
    thoughts: Callable[[str], list[BaseEvent]] = field(default=_unopened)
    """The events of a delta of the open reasoning message."""
    sent: dict[str, Any] | None = None
    known: dict[str, Any] | None = None
    """Metadata of the open reasoning message: as sent with its start, and as known by now."""
    calls: list[str] = field(default_factory=list)
    """Calls of the lane that are still open."""


@dataclass(slots=True, eq=False)
class Lanes:
    """The model calls of one run, from their first fact to their end."""

    _ids: MessageIds
    _open: OpenEntities
    _subagents: Subagents
    _writer: ReasoningWriter | None
    _close_span: Callable[[str], list[BaseEvent]]
    chunks: bool
    by_name: dict[str, Lane] = field(default_factory=dict)
    """The lanes that were declared or said something, until their end."""
    _textless: set[str] = field(default_factory=set)
    """Messages that calls of this run made and that have no text yet: the only known ids that text may go to."""
    _reasoned: dict[tuple[str, str], str] = field(default_factory=dict)
    """Newest reasoning message by lane and wish, kept after its end: its encrypted content may come later."""

    def declare(self, name: str, owner: str | None, within: tuple[str, ...], speaker: str | None) -> None:
        """Make a lane, unless it is there already; then only the speaker is noted."""
        lane = self.by_name.setdefault(name, Lane(usable(owner), within))
        lane.speaker = usable(speaker)

    def get(self, name: str) -> Lane:
        """The lane of this name; one that nobody declared belongs to the parent agent."""
        lane = self.by_name.get(name)
        if lane is None:
            lane = self.by_name[name] = Lane(None)
        return lane

    def forget(self, name: str) -> None:
        """The model call is over, and what it left open was closed."""
        self.by_name.pop(name, None)

    def restate(self, messages: Iterable[Message]) -> None:
        """These messages are complete: text under their ids would be appended."""
        if self._textless:
            self._textless.difference_update(message.id for message in messages)

    def make_room(self, name: str, lane: Lane) -> list[BaseEvent]:
        """End reasoning and the spans around the lane before its text or calls, or UIs go on showing "thinking"."""
        events = self.end_reasoning(name)
        for span in lane.within:
            events += self._close_span(span)
        return events

    def open_text(self, name: str, wish: str) -> list[BaseEvent]:
        """The events before a text delta of this message. Afterwards the lane is `ready` for `wish`."""
        lane = self.get(name)
        if lane.ready == wish:
            return []
        if lane.text and lane.wish == wish:
            lane.ready = wish
            return self.make_room(name, lane)
        events = [*self.end_text(name), *self.make_room(name, lane), *self._subagents.introduce(lane.owner)]
        lane.text = lane.message = self._text_id(name, lane, wish)
        lane.ready = lane.wish = wish
        fields: dict[str, Any] = {"message_id": lane.text, "subagent_run_id": lane.owner}
        if self.chunks:
            lane.event_with = deltas(TextMessageChunkEvent, **fields, name=lane.speaker)
        else:
            lane.event_with = deltas(TextMessageContentEvent, **fields)
        self._open.add(TEXT, name, lane.owner, self.end_text)
        if self.chunks:
            return events
        return [*events, TextMessageStartEvent(**fields, role="assistant", name=lane.speaker)]

    def end_text(self, name: str, metadata: dict[str, Any] | None = None) -> list[BaseEvent]:
        """Close the lane's text message, if one is open."""
        lane = self.by_name.get(name)
        if lane is None or not lane.text:
            return []
        message_id, lane.text, lane.ready = lane.text, "", _NOTHING
        self._open.remove(TEXT, name)
        if metadata is not None:
            event = TextMessageChunkEvent if self.chunks else TextMessageEndEvent
            return [event(message_id=message_id, subagent_run_id=lane.owner, metadata=metadata)]
        return [] if self.chunks else [ending(TextMessageEndEvent, message_id=message_id, subagent_run_id=lane.owner)]

    def parent(self, lane: Lane, wish: str | None, call_id: str) -> str:
        """Id of the message that a call of this lane belongs to. It need not have text (AG-UI 1.0, tool calls)."""
        wish = usable(wish)
        known = lane.message if wish is None else lane.messages.get(wish)
        if known is not None and self._ids.admits(known, "assistant", lane.owner):
            return known
        if wish is not None and self._ids.admits(wish, "assistant", lane.owner):
            self._ids.own(wish, "assistant", lane.owner)
            message_id = wish
        else:
            message_id = self._ids.claim(wish, "assistant", lane.owner, spare=f"{call_id}-message")
            self._textless.add(message_id)
        lane.messages[wish or ""] = message_id
        lane.message = lane.message or message_id
        return message_id

    def _text_id(self, name: str, lane: Lane, wish: str) -> str:
        """The id for text that the translator knows as `wish`. A message that had its text gets no more."""
        known = lane.messages.get(wish, wish)
        if known in self._textless and self._ids.admits(known, "assistant", lane.owner):
            message_id = known
        else:
            message_id = self._ids.claim(wish, "assistant", lane.owner, spare=f"{name}-message")
        self._textless.discard(message_id)
        lane.messages.setdefault(wish, message_id)
        return message_id

    def reasoning(self, name: str, wish: str, delta: str, metadata: dict[str, Any] | None = None) -> list[BaseEvent]:
        """Reasoning of a lane; an empty delta only opens the message. One that was closed goes on."""
        if self._writer is None:
            return []
        wish, delta = usable(wish) or "", usable(delta) or ""
        lane = self.get(name)
        events: list[BaseEvent] = []
        if not lane.reasoning or lane.reasoning_wish != wish:
            events = [*self.end_reasoning(name), *self._subagents.introduce(lane.owner)]
            lane.reasoning, lane.reasoning_wish = self._reasoning_id(name, lane, wish), wish
            lane.ready, lane.thinking = _NOTHING, wish
            lane.thoughts = self._writer.content(lane.reasoning, lane.owner)
            self._open.add(REASONING, name, lane.owner, self.end_reasoning)
            events += self._writer.open_message(lane.reasoning, lane.owner, metadata)
            lane.sent = lane.known = metadata
        elif metadata is not None:
            lane.known = metadata
        if not delta:
            return events
        return [*events, *lane.thoughts(delta)]

    def _reasoning_id(self, name: str, lane: Lane, wish: str) -> str:
        """The id for reasoning that the translator knows as `wish`."""
        known = self._reasoned.get((name, wish))
        if known is None or not self._ids.admits(known, "reasoning", lane.owner):
            known = self._ids.claim(wish, "reasoning", lane.owner, spare=f"{name}-reasoning")
            self._reasoned[name, wish] = known
        return known

    def encrypted(self, name: str, wish: str, value: str) -> list[BaseEvent]:
        """Encrypted content of a reasoning message, open or closed; opens the message if there is none."""
        if self._writer is None or not usable(value):
            return []
        key = (name, usable(wish) or "")
        events = [] if key in self._reasoned else self.reasoning(name, wish, "")
        message_id = self._reasoned[key]
        if self._ids.kind(message_id) != "reasoning":
            return events  # a snapshot put another kind of message in its place
        owner = self._ids.owner(message_id)
        return [*events, *self._subagents.introduce(owner), *self._writer.encrypted(message_id, owner, value)]

    def encrypted_call(self, call_id: str, owner: str | None, value: str) -> list[BaseEvent]:
        """Encrypted content of a tool call."""
        if self._writer is None or not usable(value):
            return []
        return self._writer.encrypted(call_id, owner, value, "tool-call")

    def end_reasoning(self, name: str) -> list[BaseEvent]:
        """Close the lane's reasoning message, if one is open."""
        lane = self.by_name.get(name)
        if lane is None or not lane.reasoning or self._writer is None:
            return []
        message_id, lane.reasoning, lane.thinking = lane.reasoning, "", _NOTHING
        self._open.remove(REASONING, name)
        late = lane.known if lane.known != lane.sent else None
        return self._writer.close_message(message_id, lane.owner, late)
