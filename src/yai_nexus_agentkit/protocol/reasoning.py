"""Pure. How reasoning is told: as ``REASONING_*`` (AG-UI 1.0 §reasoning), as the older ``THINKING_*``, or not at all.

A writer knows which spans and messages are open and returns the events that keep them paired. Two kinds of thing are told: the
reasoning of a model (a message with text), and a titled span around the work of a chain that somebody named.
"""

from __future__ import annotations

from typing import Literal, Protocol

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
)

from .thinking import (
    ThinkingEndEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
)

__all__ = ["ReasoningMode", "ReasoningWriter", "reasoning_writer"]

ReasoningMode = Literal["standard", "thinking", "off"]


class ReasoningWriter(Protocol):
    """Tells reasoning in one family of events. It does not know lanes, messages of other kinds, or when a run ends."""

    def open_span(self, span_id: str, owner: str | None, title: str | None) -> list[BaseEvent]: ...

    def close_span(self, span_id: str) -> list[BaseEvent]: ...

    def open_message(self, message_id: str, owner: str | None) -> list[BaseEvent]: ...

    def content(self, message_id: str, delta: str) -> list[BaseEvent]: ...

    def encrypted(
        self, entity_id: str, subtype: Literal["message", "tool-call"], value: str, owner: str | None
    ) -> list[BaseEvent]: ...

    def close_message(self, message_id: str) -> list[BaseEvent]: ...


class _Standard:
    """``REASONING_*``: any number of spans and messages may be open, each with its own id."""

    def __init__(self) -> None:
        self._owners: dict[str, str | None] = {}
        """Owner of every open message and span, since each event of an entity carries the same tag (AG-UI 1.0 §subagents)."""

    def open_span(self, span_id: str, owner: str | None, title: str | None) -> list[BaseEvent]:
        self._owners[span_id] = owner
        metadata = {"title": title} if title else None
        return [ReasoningStartEvent(message_id=span_id, subagent_run_id=owner, metadata=metadata)]

    def close_span(self, span_id: str) -> list[BaseEvent]:
        return [ReasoningEndEvent(message_id=span_id, subagent_run_id=self._owners.pop(span_id, None))]

    def open_message(self, message_id: str, owner: str | None) -> list[BaseEvent]:
        self._owners[message_id] = owner
        return [
            ReasoningStartEvent(message_id=message_id, subagent_run_id=owner),
            ReasoningMessageStartEvent(message_id=message_id, role="reasoning", subagent_run_id=owner),
        ]

    def content(self, message_id: str, delta: str) -> list[BaseEvent]:
        owner = self._owners[message_id]
        return [ReasoningMessageContentEvent(message_id=message_id, delta=delta, subagent_run_id=owner)]

    def encrypted(
        self, entity_id: str, subtype: Literal["message", "tool-call"], value: str, owner: str | None
    ) -> list[BaseEvent]:
        return [
            ReasoningEncryptedValueEvent(
                subtype=subtype, entity_id=entity_id, encrypted_value=value, subagent_run_id=owner
            )
        ]

    def close_message(self, message_id: str) -> list[BaseEvent]:
        owner = self._owners.pop(message_id, None)
        return [
            ReasoningMessageEndEvent(message_id=message_id, subagent_run_id=owner),
            ReasoningEndEvent(message_id=message_id, subagent_run_id=owner),
        ]


class _Thinking:
    """``THINKING_*``: one span with one text in it at a time, so a second lane takes over from the first."""

    def __init__(self) -> None:
        self._spans: list[str] = []
        """Open titled spans and, above them, the span a message opened for itself; only the outermost is on the wire."""
        self._message: str | None = None
        """The message whose text is open. A delta of another message closes it first."""

    def open_span(self, span_id: str, owner: str | None, title: str | None) -> list[BaseEvent]:
        self._spans.append(span_id)
        return [ThinkingStartEvent(title=title)] if len(self._spans) == 1 else []

    def close_span(self, span_id: str) -> list[BaseEvent]:
        if span_id not in self._spans:
            return []
        self._spans.remove(span_id)
        return [] if self._spans else [*self._close_text(), ThinkingEndEvent()]

    def open_message(self, message_id: str, owner: str | None) -> list[BaseEvent]:
        return self.open_span(message_id, owner, None)

    def content(self, message_id: str, delta: str) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        if self._message != message_id:
            events = [*self._close_text(), ThinkingTextMessageStartEvent()]
            self._message = message_id
        return [*events, ThinkingTextMessageContentEvent(delta=delta)]

    def encrypted(
        self, entity_id: str, subtype: Literal["message", "tool-call"], value: str, owner: str | None
    ) -> list[BaseEvent]:
        return []

    def close_message(self, message_id: str) -> list[BaseEvent]:
        closing = self._close_text() if self._message == message_id else []
        return [*closing, *self.close_span(message_id)]

    def _close_text(self) -> list[BaseEvent]:
        if self._message is None:
            return []
        self._message = None
        return [ThinkingTextMessageEndEvent()]


class _Silent:
    """No reasoning on the wire."""

    def open_span(self, span_id: str, owner: str | None, title: str | None) -> list[BaseEvent]:
        return []

    def close_span(self, span_id: str) -> list[BaseEvent]:
        return []

    def open_message(self, message_id: str, owner: str | None) -> list[BaseEvent]:
        return []

    def content(self, message_id: str, delta: str) -> list[BaseEvent]:
        return []

    def encrypted(
        self, entity_id: str, subtype: Literal["message", "tool-call"], value: str, owner: str | None
    ) -> list[BaseEvent]:
        return []

    def close_message(self, message_id: str) -> list[BaseEvent]:
        return []


_WRITERS: dict[ReasoningMode, type[ReasoningWriter]] = {"standard": _Standard, "thinking": _Thinking, "off": _Silent}


def reasoning_writer(mode: ReasoningMode) -> ReasoningWriter:
    """A fresh writer for one run."""
    return _WRITERS[mode]()
