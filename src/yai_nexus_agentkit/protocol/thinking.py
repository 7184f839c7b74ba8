"""Pure. The ``THINKING_*`` events of AG-UI before 0.0.45, which `ag_ui.core` no longer has (AG-UI 1.0, deprecations).

They carry no ids, nest strictly and are open one at a time. A deployment that must serve clients 0.0.37 to 0.0.44
chooses them by ``AdapterOptions(reasoning="thinking")``; a stream never has both families, since a 1.0 client would
show the reasoning twice.
"""

from __future__ import annotations

from typing import Literal

from ag_ui.core import BaseEvent

__all__ = [
    "ThinkingEndEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
]


class _ThinkingEvent(BaseEvent):
    subagent_run_id: str | None = None
    """Whose thoughts these are. Clients of that time strip it, a 1.0 client keeps it."""


class ThinkingStartEvent(_ThinkingEvent):
    """``THINKING_START``; `title` is what a UI shows above the thoughts."""

    type: Literal["THINKING_START"] = "THINKING_START"  # type: ignore[assignment]
    title: str | None = None


class ThinkingTextMessageStartEvent(_ThinkingEvent):
    type: Literal["THINKING_TEXT_MESSAGE_START"] = "THINKING_TEXT_MESSAGE_START"  # type: ignore[assignment]


class ThinkingTextMessageContentEvent(_ThinkingEvent):
    """``THINKING_TEXT_MESSAGE_CONTENT``; `delta` is never empty."""

    type: Literal["THINKING_TEXT_MESSAGE_CONTENT"] = "THINKING_TEXT_MESSAGE_CONTENT"  # type: ignore[assignment]
    delta: str


class ThinkingTextMessageEndEvent(_ThinkingEvent):
    type: Literal["THINKING_TEXT_MESSAGE_END"] = "THINKING_TEXT_MESSAGE_END"  # type: ignore[assignment]


class ThinkingEndEvent(_ThinkingEvent):
    type: Literal["THINKING_END"] = "THINKING_END"  # type: ignore[assignment]
