"""The state that the client holds: snapshots, deltas, values sent ahead of the agent, redaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Protocol

from ag_ui.core import BaseEvent
from pydantic_core import from_json

from yai_nexus_agentkit.protocol.json.json_numbers import unrounded
from yai_nexus_agentkit.protocol.json.json_safe import json_safe, json_text
from yai_nexus_agentkit.protocol.json.patch import Operation
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.state import StateTracker, key_name

__all__ = ["OpenState", "SharedState", "StateShape", "client_changes"]


_logger = logging.getLogger(__name__)
_ABSENT = object()


class StateShape(Protocol):
    """The keys of an agent's state, as far as clients see them."""

    @property
    def fleeting(self) -> frozenset[str]:
        """Keys whose value may change although nobody wrote it."""

    @property
    def functional(self) -> bool:
        """The agent declares no keys and never shows its values: whatever it emits is sent."""

    def shows(self, key: str, /) -> bool:
        """Clients see this key."""

    def state_of(self, values: Any, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """The public state (or these keys of it) in the agent's values; values as they are."""


@dataclass(frozen=True, slots=True)
class OpenState:
    """The shape of a state whose keys nobody declares. `shows`: whether clients see a key; default: every key."""

    shows: Callable[[str], bool] = lambda key: True
    fleeting: frozenset[str] = frozenset()
    functional: bool = False

    def state_of(self, values: Any, keys: Iterable[str] | None = None) -> dict[str, Any]:
        wanted = values.keys() if keys is None else set(keys)
        return {key: values[key] for key in values if key in wanted and self.shows(key)}


def client_changes(sent: Mapping[str, Any], shown: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The keys of a request's state that the client set to another value than it was shown: key, wanted value, and the
    shown value as JSON data (None for a key that was not shown)."""
    for key, value in sent.items():
        if key not in shown:
            if value is not None:
                yield key, value, None
        elif not _equal(shown[key], value):  # most clients send back what they were shown: nothing to convert
            known = json_safe(shown[key])
            if known != value and known != (wanted := unrounded(known, value)):
                yield key, wanted, known


def _equal(known: Any, value: Any) -> bool:
    try:
        return bool(known == value)
    except Exception:  # the application's own `__eq__`, or one that gives no truth value (arrays)
        return False


class SharedState:
    """The state that the client holds. Only keys that the agent wrote are compared, with JSON copies of what was last
    sent: the agent's values are live, and may have been changed in place.

    `unsent`: keys that turned out to be too large to be sent; nothing of them is sent any more. `held`: the request's
    state, which the client holds until another is sent. An agent that has not shown its values
    yet (or never does: a functional one) is taken to agree with it. `redact`: the `on_state` hook; returns None if it
    failed.
    """

    def __init__(
        self,
        shape: StateShape,
        life: RunLifecycle,
        redact: Callable[[dict[str, Any]], dict[str, Any] | None] | None,
        held: Any = None,
        unsent: Set[str] = frozenset(),
    ) -> None:
        self._shape, self._life, self._redact, self._unsent = shape, life, redact, unsent
        self._held = held
        # A functional agent gets the request's state as its argument, and may change it in place.
        self._copy = json_text(held) if shape.functional and isinstance(held, Mapping) and held else None
        self._tracker = StateTracker()
        self._begun = False
        """The snapshot at the start was made."""
        self._baseless = False
        """Nothing was sent, and the client holds no object that a patch could change."""
        self._written: set[str] = set()
        """Keys written since the last `step`."""
        self._awaited: dict[str, str] = {}
        """Keys predicted from a tool call, and the call: the real value may come only with the call's result."""
        self._ahead: set[str] = set()
        """Keys that were sent before the agent had them (emitted or predicted); the real value follows at `step`."""
        self._unredacted: dict[str, Any] = {}
        """Values of such keys before redaction; `_ABSENT` for a removed one."""
        self._refused: set[str] = set()
        """Hidden keys that were emitted; logged once each."""
        self._values: Any = {}
        """The agent's values at the last step, live."""
        self.changed = False
        """A delta was sent in this run."""

    def begin(self, values: Any) -> list[BaseEvent]:
        """``STATE_SNAPSHOT`` of the agent's values, after the request's state was merged into them; nothing for an
        agent without state. Values that were sent before (by an edge that leaves the start) stay until the first step.
        """
        self._values = values
        if not isinstance(values, Mapping) or self._shape.functional:
            return []
        self._begun = True
        self._written.clear()
        shown = {key: self._tracker.current[key] for key in self._ahead if key in self._tracker.current}
        self._ahead = set(shown)
        return self._sent_whole(shown)

    def wrote(self, keys: Iterable[str]) -> None:
        """The agent wrote these keys; `step` brings their values."""
        self._written.update(keys)

    def step(self, values: Any) -> list[BaseEvent]:
        """``STATE_DELTA`` for the keys that were written, with their values now."""
        self._values = values
        if not self._begun or not isinstance(values, Mapping):
            return []
        waiting = {key for key, call in self._awaited.items() if not self._life.calls.is_answered(call)}
        # Some keys go without a write: LangGraph's channels that empty themselves.
        gone = self._tracker.current.keys() - values.keys() - self._ahead
        keys = {key for key in self._written | self._shape.fleeting if self._shape.shows(key)}
        keys |= gone | (self._ahead - waiting)
        self._written.clear()
        return self._correct(keys)

    def finish(self) -> list[BaseEvent]:
        """Correct the keys that were sent early and that the agent never wrote."""
        return self._correct(self._ahead)

    def ahead(self, values: Mapping[Any, Any], *, call: str | None = None) -> list[BaseEvent]:
        """Send values before the agent has them: until the step ends, or until `call` has its result.

        Keys that clients do not see are left out, with a warning.
        """
        return self._send(self._shown(values, call))

    def _shown(self, values: Mapping[Any, Any], call: str | None = None) -> list[Operation]:
        named = {name: value for key, value in values.items() if (name := key_name(key)) is not None}
        named = {name: value for name, value in named.items() if self._may_show(name)}
        if not named:
            return []
        self._open()
        shown = named if self._redact is None else self._redact(dict(named))
        if shown is None:
            return []
        if self._redact is not None:
            self._unredacted.update(named)
        self._ahead.update(named, shown)
        if call is not None:
            self._awaited.update(dict.fromkeys(shown, call))
        return self._tracker.delta(shown)

    @property
    def awaited_calls(self) -> frozenset[str]:
        """The calls whose results predicted values wait for."""
        return frozenset(self._awaited.values()) if self._awaited else frozenset()

    def release(self, calls: Collection[str]) -> None:
        """These calls will have no result: values predicted from them stay until the step ends."""
        for key in [key for key, call in self._awaited.items() if call in calls]:
            del self._awaited[key]

    def ahead_patch(self, operations: list[Operation]) -> list[BaseEvent]:
        """Like `ahead`, as RFC 6902 operations. Raises ValueError if they do not apply to the client's state."""
        operations = [operation for operation in operations if all(map(self._may_show, _top_keys(operation)))]
        if not operations:
            return []
        self._open()
        if self._redact is not None or any("" in _paths(operation) for operation in operations):
            return self._ahead_document(operations)
        applied = self._tracker.apply(operations)
        self._ahead.update(key for operation in applied for key in _top_keys(operation))
        return self._send(applied)

    def _ahead_document(self, operations: list[Operation]) -> list[BaseEvent]:
        """Like `ahead_patch`, by the values that the operations result in. The operations themselves may not be sent if
        the state is redacted, or if they replace it as a whole with its hidden keys.

        The operations refer to the agent's own state, not to the redacted one.
        """
        before = dict(self._tracker.current) if self._redact is None else self._own_document(operations)
        draft = StateTracker()
        draft.assume(before)
        draft.apply(operations)
        after = draft.current
        gone = [key for key in before if key not in after]
        self._ahead.update(gone)
        self._unredacted.update(dict.fromkeys(gone, _ABSENT))
        shown = self._shown({key: value for key, value in after.items() if value is not before.get(key, _ABSENT)})
        return self._send([*shown, *self._tracker.remove(gone)])

    def _own_document(self, operations: list[Operation]) -> dict[str, Any]:
        """The keys that these operations touch, of the public state with the emitted values, before redaction."""
        whole = any("" in _paths(operation) for operation in operations)
        keys = None if whole else {key for operation in operations for key in _top_keys(operation)}
        own = {**self._real(keys), **self._unredacted}
        return {
            key: json_safe(value)
            for key, value in own.items()
            if value is not _ABSENT and (keys is None or key in keys)
        }

    def _may_show(self, key: str) -> bool:
        """Clients may see the key. A functional agent declares no keys: whatever it emits is shown."""
        if (self._shape.functional or self._shape.shows(key)) and key not in self._unsent:
            return True
        if key not in self._refused:
            self._refused.add(key)
            _logger.warning("the state key %r is hidden from clients: not sent early", key)
        return False

    def snapshot(self) -> list[BaseEvent]:
        """``STATE_SNAPSHOT`` of the agent's public state now."""
        if not isinstance(self._values if self._begun else self._held, Mapping):
            return self.finish()
        self._ahead.clear()
        self._awaited.clear()
        self._unredacted.clear()
        return self._sent_whole()

    def _sent_whole(self, shown: Mapping[str, Any] | None = None) -> list[BaseEvent]:
        public = self._public()
        if public is None:
            return []
        return self._life.state_snapshot(self._tracker.snapshot({**public, **(shown or {})}))

    def _open(self) -> None:
        """Until something is sent, the client holds the request's state."""
        if not self._tracker.sent:
            self._tracker.assume(self._real())
            self._baseless = not isinstance(self._held, Mapping)

    def _correct(self, keys: Iterable[str]) -> list[BaseEvent]:
        keys = set(keys)
        self._ahead -= keys
        keys -= self._unsent
        for key in keys & self._awaited.keys():
            del self._awaited[key]
        for key in keys & self._unredacted.keys():
            del self._unredacted[key]
        if not keys:
            return []
        values = self._public(keys)
        if values is None:
            return []
        gone = [key for key in self._tracker.current if key in keys and key not in values]
        return self._send([*self._tracker.delta(values), *self._tracker.remove(gone)])

    def _real(self, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """The state (or these keys of it) that the client must end with, before redaction."""
        if self._begun:
            return self._shape.state_of(self._values, keys)
        held = self._held if self._copy is None else from_json(self._copy)
        wanted = None if keys is None else set(keys)
        own = json_safe(held) if isinstance(held, Mapping) else {}
        return {key: value for key, value in own.items() if wanted is None or key in wanted}

    def _public(self, keys: Iterable[str] | None = None) -> dict[str, Any] | None:
        """The same after redaction. None: the hook failed, and nothing may be sent."""
        real = self._real(keys)
        return real if self._redact is None or not self._begun else self._redact(real)  # not begun: the client's own

    def _send(self, operations: list[Operation]) -> list[BaseEvent]:
        if operations and self._baseless:
            self._baseless = False
            events = self._life.state_snapshot(dict(self._tracker.current))
        else:
            events = self._life.state_delta(operations)
        self.changed = self.changed or bool(events)
        return events


def _paths(operation: Operation) -> list[Any]:
    return [operation[name] for name in ("path", "from") if name in operation]


def _top_keys(operation: Operation) -> list[str]:
    """The top-level keys that an operation reads or writes; none for the whole document, and for a wrong pointer."""
    paths = [path for path in _paths(operation) if isinstance(path, str) and "/" in path]
    return [path.split("/")[1].replace("~1", "/").replace("~0", "~") for path in paths]
