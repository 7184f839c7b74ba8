"""Pure. Events that the application emits: `EventEmitter`'s envelopes, and the framework's own custom events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.adapter.shared.state import SharedState
from yai_nexus_agentkit.errors import EventTranslationError
from yai_nexus_agentkit.orchestration.envelope import (
    ACTIVITY,
    ACTIVITY_PATCH,
    CUSTOM,
    DISPATCHED,
    STATE,
    STATE_PATCH,
    Envelope,
    is_envelope,
)
from yai_nexus_agentkit.protocol.activities import KEPT
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.state import StateTracker

__all__ = ["Emitted"]


class Emitted:
    """The events of what an agent's code emitted. Their metadata say where in the agent, under the key `source`."""

    def __init__(self, life: RunLifecycle, state: SharedState, *, source: str, everything: bool) -> None:
        self._life, self._state, self._source, self._all = life, state, source, everything
        self._activities: dict[str, tuple[str, StateTracker]] = {}
        """Type and content by id. A patch repeats the type (AG-UI 1.0 §12), and is checked against the content: clients
        skip one that does not apply."""
        self._outputs: set[str] = set()
        """Tool calls whose output has an activity."""
        self._place: tuple[NativeRun | None, str | None, str] = None, None, ""
        """The run of the newest event, with the name and path of its node: an application may emit thousands there."""

    def custom(self, name: str, data: Any, run: NativeRun | None = None, call: str | None = None) -> list[BaseEvent]:
        """An envelope of `EventEmitter`, or a custom event of the framework's own, which the options may hide. `call`:
        id of the tool call that it was emitted in."""
        if is_envelope(data):
            return self._envelope(data, run, call)
        if name == DISPATCHED and isinstance(data, Mapping) and isinstance(data.get("name"), str) and data["name"]:
            name, data = data["name"], data.get("payload")
        elif not self._all:
            return []
        return self._life.custom(clean_text(name), json_safe(data), owner=_owner(run), metadata=self._origin(run))

    def _envelope(self, envelope: Envelope, run: NativeRun | None, call: str | None) -> list[BaseEvent]:
        kind, name, value = envelope["kind"], clean_text(envelope["name"]), envelope["value"]
        if kind == CUSTOM:
            metadata = self._origin(run)
            if "keep" in envelope and isinstance(keep := envelope["keep"], str):
                metadata = {**(metadata or {}), KEPT: clean_text(keep)}
            return self._life.custom(name, json_safe(value), owner=_owner(run), metadata=metadata)
        if kind == STATE:
            return self._state.ahead(value)
        if kind == STATE_PATCH:
            try:
                return self._state.ahead_patch(json_safe(value))
            except ValueError as error:
                raise EventTranslationError(f"emitted state patch: {error}", event_type="state_patch") from error
        if kind not in (ACTIVITY, ACTIVITY_PATCH):
            return []
        activity_id = clean_text(envelope["activity_id"])
        if kind == ACTIVITY:
            content = StateTracker()
            self._activities[activity_id] = name, content
            shown = content.snapshot(value)
            return self._life.activity(activity_id, name, shown, owner=_owner(run), metadata=self._origin(run, call))
        return self._activity_patch(activity_id, name, json_safe(value))

    def tool_output(self, call_id: str, delta: Any, run: NativeRun) -> list[BaseEvent]:
        """A piece of the output of a tool that is running: one activity per call, which grows."""
        activity_id, name, piece = f"{call_id}-output", "tool_output", json_safe(delta)
        if call_id in self._outputs:
            return self._life.activity_delta(activity_id, name, [{"op": "add", "path": "/output/-", "value": piece}])
        self._outputs.add(call_id)
        content = {"toolCallId": call_id, "output": [piece]}
        return self._life.activity(activity_id, name, content, owner=_owner(run), metadata=self._origin(run))

    def _activity_patch(self, activity_id: str, name: str, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        """A patch of an activity. It cannot be checked if the activity is from an earlier run."""
        known = self._activities.get(activity_id)
        if known is not None:
            name, content = known
            try:
                operations = content.apply(operations)
            except ValueError as error:
                raise EventTranslationError(f"emitted activity patch: {error}", event_type="activity_patch") from error
        return self._life.activity_delta(activity_id, name, operations)

    def _origin(self, run: NativeRun | None, call: str | None = None) -> dict[str, Any] | None:
        """Node and subgraph of an event, as a path, and the tool call around it."""
        if run is not self._place[0]:
            node = run.node if run is not None else None
            self._place = (run, None, "") if node is None else (run, node.name, "/".join(node.path))
        _, name, path = self._place
        if name is None:
            return None
        place = {"node": name, "path": path}
        if call is not None:
            place["toolCallId"] = call
        return {self._source: place}


def _owner(run: NativeRun | None) -> str | None:
    return run.owner if run is not None else None
