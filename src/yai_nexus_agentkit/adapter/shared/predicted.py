"""Pure. Predictive state: a state key is filled from a tool call's argument while the model still writes it.

JSON Patch cannot append to a string, so the value is sent again when it has grown by a fixed share: a text of n
characters costs a small multiple of n bytes, not its square.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ag_ui.core import BaseEvent, ToolCallArgsEvent, ToolCallChunkEvent, ToolCallEndEvent, ToolCallStartEvent
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.shared.state import SharedState
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["Predictor"]

_FIRST = 24
"""Argument characters after which a value is sent for the first time."""
_GROWTH = 1.25
"""Factor by which the arguments must have grown before the value is sent again."""


@dataclass(slots=True)
class _Prediction:
    call_id: str
    keys: list[tuple[str, str]]
    """(state key, argument) filled from this call."""
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    due: int = _FIRST


class Predictor:
    """Watches the calls of one run. `fields`: state key → (tool, argument)."""

    def __init__(
        self, fields: Mapping[str, tuple[str, str]], life: RunLifecycle, state: SharedState, *, announce: bool
    ) -> None:
        self._life, self._state = life, state
        self._tools: dict[str, list[tuple[str, str]]] = {}
        for key, (tool, argument) in fields.items():
            self._tools.setdefault(tool, []).append((key, argument))
        self._calls: dict[str, _Prediction] = {}
        self._announce = announce

    def watch(self, events: list[BaseEvent]) -> list[BaseEvent]:
        """The events with the predicted state among them."""
        found: list[BaseEvent] = []
        for event in events:
            if isinstance(event, ToolCallStartEvent | ToolCallChunkEvent) and event.tool_call_id not in self._calls:
                found += self._begin(event.tool_call_id or "", event.tool_call_name or "")
            found.append(event)
            if isinstance(event, ToolCallArgsEvent | ToolCallChunkEvent):
                found += self._grow(event.tool_call_id or "", event.delta or "")
            elif isinstance(event, ToolCallEndEvent):
                found += self._show(self._calls.pop(event.tool_call_id, None))
        return found

    def lose(self, calls: Collection[str]) -> None:
        """The model of these calls failed."""
        for call_id in calls:
            self._calls.pop(call_id, None)
        self._state.release(calls)

    def _begin(self, call_id: str, tool: str) -> list[BaseEvent]:
        keys = self._tools.get(tool)
        if not keys:
            return []
        self._calls[call_id] = _Prediction(call_id, keys)
        if not self._announce:
            return []
        self._announce = False
        described = [
            {"state_key": key, "tool": name, "tool_argument": argument}
            for name, fields in self._tools.items()
            for key, argument in fields
        ]
        return self._life.custom("PredictState", described)

    def _grow(self, call_id: str, delta: str) -> list[BaseEvent]:
        prediction = self._calls.get(call_id)
        if prediction is None:
            return []
        prediction.pieces.append(delta)
        prediction.length += len(delta)
        if prediction.length < prediction.due:
            return []
        prediction.due = int(prediction.length * _GROWTH) + 1
        return self._show(prediction)

    def _show(self, prediction: _Prediction | None) -> list[BaseEvent]:
        if prediction is None:
            return []
        try:
            arguments = from_json("".join(prediction.pieces), allow_partial="trailing-strings")
        except ValueError:
            return []  # not JSON so far, or never
        if not isinstance(arguments, dict):
            return []
        values = {key: arguments[argument] for key, argument in prediction.keys if argument in arguments}
        return self._state.ahead(values, call=prediction.call_id) if values else []
