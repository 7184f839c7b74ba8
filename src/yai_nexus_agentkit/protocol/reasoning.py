"""Pure. Reasoning as events: ``REASONING_*`` (AG-UI 1.0, reasoning), the older ``THINKING_*``, or none.

There are two kinds: the reasoning of a model (a message with text), and a titled span around the work of a named chain.
A writer returns the events of one fact; its caller knows what is open, and whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
)

from yai_nexus_agentkit.protocol.deltas import deltas, ending
from yai_nexus_agentkit.protocol.thinking import (
    ThinkingEndEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
)

__all__ = ["WRITERS", "ReasoningMode", "ReasoningWriter"]

ReasoningMode: TypeAlias = Literal["standard", "thinking", "off"]
Subtype: TypeAlias = Literal["message", "tool-call"]


class ReasoningWriter(Protocol):
    """Writes one family of events. Ids are those on the wire; `owner` is the same for all events of one id."""

    def open_span(self, span_id: str, owner: str | None, title: str) -> list[BaseEvent]: ...

    def close_span(self, span_id: str, owner: str | None) -> list[BaseEvent]: ...

    def open_message(self, message_id: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]: ...

    def content(self, message_id: str, owner: str | None) -> Callable[[str], list[BaseEvent]]:
        """A function from a delta of this message to its events."""

    def encrypted(
        self, entity_id: str, owner: str | None, value: str, subtype: Subtype = "message"
    ) -> list[BaseEvent]: ...

    def close_message(self, message_id: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]: ...


class _Standard:
    """``REASONING_*``: any number of spans and messages may be open, each with its own id."""

    def open_span(self, span_id: str, owner: str | None, title: str) -> list[BaseEvent]:
        metadata = {"title": title} if title else None
        return [ReasoningStartEvent(message_id=span_id, subagent_run_id=owner, metadata=metadata)]

    def close_span(self, span_id: str, owner: str | None) -> list[BaseEvent]:
        return [ending(ReasoningEndEvent, message_id=span_id, subagent_run_id=owner)]

    def open_message(self, message_id: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]:
        return [
            ReasoningStartEvent(message_id=message_id, subagent_run_id=owner),
            ReasoningMessageStartEvent(
                message_id=message_id, role="reasoning", subagent_run_id=owner, metadata=metadata
            ),
        ]

    def content(self, message_id: str, owner: str | None) -> Callable[[str], list[BaseEvent]]:
        event_with = deltas(ReasoningMessageContentEvent, message_id=message_id, subagent_run_id=owner)
        return lambda delta: [event_with(delta)]

    def encrypted(self, entity_id: str, owner: str | None, value: str, subtype: Subtype = "message") -> list[BaseEvent]:
        return [
            ReasoningEncryptedValueEvent(
                subtype=subtype, entity_id=entity_id, encrypted_value=value, subagent_run_id=owner
            )
        ]

    def close_message(self, message_id: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]:
        return [
            ReasoningMessageEndEvent(message_id=message_id, subagent_run_id=owner, metadata=metadata),
            ending(ReasoningEndEvent, message_id=message_id, subagent_run_id=owner),
        ]


class _Thinking:
    """``THINKING_*``: one span with one text in it at a time, so a second message takes over from the first."""

    def __init__(self) -> None:
        self._titled: list[str] = []
        """Titled spans that are open; only the outermost is on the wire."""
        self._text: tuple[str, str | None] | None = None
        """Id and owner of the message whose text is open. A delta of another message closes it first."""
        self._span_owner: str | None = None
        """Owner of the span on the wire, for its end."""

    def open_span(self, span_id: str, owner: str | None, title: str) -> list[BaseEvent]:
        events = [] if self._on_wire else self._start(owner, title or None)
        self._titled.append(span_id)
        return events

    def close_span(self, span_id: str, owner: str | None) -> list[BaseEvent]:
        self._titled.remove(span_id)
        return [] if self._on_wire else self._end()

    def open_message(self, message_id: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]:
        return []  # opened by its first text: one without text has nothing to show here

    def content(self, message_id: str, owner: str | None) -> Callable[[str], list[BaseEvent]]:
        return lambda delta: self._content(message_id, owner, delta)

    def _content(self, message_id: str, owner: str | None, delta: str) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        if self._text is None or self._text[0] != message_id:
            if not self._on_wire:
                events = self._start(owner, None)
            events += self._close_text()
            events.append(ThinkingTextMessageStartEvent(subagent_run_id=owner))
            self._text = (message_id, owner)
        return [*events, ThinkingTextMessageContentEvent(delta=delta, subagent_run_id=owner)]

    def encrypted(self, entity_id: str, owner: str | None, value: str, subtype: Subtype = "message") -> list[BaseEvent]:
        return []  # the old family has no such event

    def close_message(self, message_id: str, owner: str | None, metadata: dict[str, Any] | None) -> list[BaseEvent]:
        if self._text is None or self._text[0] != message_id:
            return []
        events = self._close_text()
        return events if self._on_wire else [*events, *self._end()]

    @property
    def _on_wire(self) -> bool:
        return bool(self._titled) or self._text is not None

    def _start(self, owner: str | None, title: str | None) -> list[BaseEvent]:
        self._span_owner = owner
        return [ThinkingStartEvent(title=title, subagent_run_id=owner)]

    def _end(self) -> list[BaseEvent]:
        return [ThinkingEndEvent(subagent_run_id=self._span_owner)]

    def _close_text(self) -> list[BaseEvent]:
        if self._text is None:
            return []
        owner, self._text = self._text[1], None
        return [ThinkingTextMessageEndEvent(subagent_run_id=owner)]


WRITERS: Mapping[ReasoningMode, Callable[[], ReasoningWriter | None]] = {
    "standard": _Standard,
    "thinking": _Thinking,
    "off": lambda: None,
}
"""Makes a run's writer; None if no reasoning is sent."""
