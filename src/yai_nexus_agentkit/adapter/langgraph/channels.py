"""Pure. The graph's channels as the client's shared state: which are public, and what of them was sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent
from langchain_core.messages import BaseMessage
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel, EphemeralValue, Topic, UntrackedValue
from langgraph.pregel import Pregel
from pydantic import BaseModel, ValidationError

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.state import StateTracker

__all__ = ["GraphShape", "SharedState"]

_logger = logging.getLogger(__name__)
MESSAGES = "messages"
_FLEETING = (EphemeralValue, Topic, UntrackedValue)
_REQUEST_CHANNELS = frozenset({"tools", "context"})
"""Channels that a request fills; the client has them from itself."""


@dataclass(frozen=True, slots=True)
class GraphShape:
    """What can be said of a graph before it runs, from its builder and channels alone (microseconds, no schema
    generation)."""

    inputs: frozenset[str]
    """Keys of the input schema that are channels."""
    public: frozenset[str]
    """Keys of the output schema that are shared state: neither messages nor what a request fills."""
    reducing: frozenset[str]
    """Channels that combine what is written with what they hold; to set one, its value goes in as ``Overwrite``."""
    fleeting: frozenset[str]
    """Channels whose value may change without a write (`EphemeralValue`, `Topic` and the like)."""
    messages: bool
    """The graph keeps a conversation."""
    bare: bool
    """The graph's whole state is the list of messages (``StateGraph(Annotated[list, add_messages])``)."""
    incremental: bool
    """The conversation is a `DeltaChannel`: a checkpoint alone does not hold it."""
    schema: type[BaseModel] | None = None
    """The input schema, where it is a model that refuses wrong values."""
    functional: bool = False
    """Made by ``@entrypoint``: no channels, a return value."""

    @classmethod
    def none(cls) -> GraphShape:
        """Of what is no graph: a plain runnable."""
        empty: frozenset[str] = frozenset()
        return cls(empty, empty, empty, empty, messages=False, bare=False, incremental=False, functional=True)

    @classmethod
    def of(cls, graph: Pregel[Any, Any, Any, Any]) -> GraphShape:
        """The shape of a compiled graph; a functional one (``@entrypoint``) has no channels to speak of."""
        channels = graph.channels
        builder = getattr(graph, "builder", None)
        outputs = graph.output_channels
        bare = outputs == "__root__"
        schemas = builder.schemas.get(builder.input_schema, {}) if builder is not None else {}
        schema = builder.input_schema if builder is not None else None
        inputs = frozenset(key for key in schemas if key in channels)
        names = frozenset() if isinstance(outputs, str) else frozenset(outputs)
        return cls(
            inputs=inputs,
            public=names - {MESSAGES} - _REQUEST_CHANNELS,
            reducing=frozenset(
                key for key, channel in channels.items() if isinstance(channel, BinaryOperatorAggregate | DeltaChannel)
            ),
            fleeting=names & frozenset(key for key, channel in channels.items() if isinstance(channel, _FLEETING)),
            messages=bare or MESSAGES in names,
            bare=bare,
            incremental=isinstance(channels.get("__root__" if bare else MESSAGES), DeltaChannel),
            schema=schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None,
            functional=builder is None,
        )

    def check(self, key: str, value: Any) -> None:
        """Raise `RunInputError` for a value that the input schema refuses. LangGraph would store it first, and the
        thread could not be used any more."""
        if self.schema is None:
            return
        try:
            self.schema.__pydantic_validator__.validate_assignment(self.schema.model_construct(), key, value)
        except ValidationError as error:
            path = "/".join(["/state", *(str(part) for part in error.errors()[0]["loc"])])
            raise RunInputError(error.errors()[0]["msg"], path=path) from error

    def messages_of(self, values: Any) -> Sequence[BaseMessage]:
        """The conversation in a ``values`` chunk."""
        if not self.messages:
            return ()
        found = values if self.bare else values.get(MESSAGES) if isinstance(values, Mapping) else None
        if not isinstance(found, list):
            return ()
        return found if all(isinstance(m, BaseMessage) for m in found[-8:]) else ()

    def state_of(self, values: Any, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """The public state (or these keys of it) in a ``values`` chunk; values as they are."""
        if not isinstance(values, Mapping):
            return {}
        wanted = self.public if keys is None else self.public.intersection(keys)
        return {key: values[key] for key in values if key in wanted}


class SharedState:
    """What the client holds of the state. Only keys that a node wrote are compared, with JSON copies of what was last
    sent: LangGraph's objects are live, and a node may have changed them in place."""

    def __init__(
        self, shape: GraphShape, life: RunLifecycle, redact: Callable[[dict[str, Any]], dict[str, Any] | None] | None
    ) -> None:
        self._shape, self._life, self._redact = shape, life, redact
        self._tracker = StateTracker()
        self._written: set[str] = set()
        """Keys written since the last ``values`` chunk."""
        self._awaited: dict[str, str] = {}
        """Of those, the keys predicted from a tool call: the real value may come only with the call's result."""
        self._ahead: set[str] = set()
        """Keys the client was shown before the graph had them (emitted or predicted); the real value comes at the end
        of the step."""
        self._refused: set[str] = set()
        """Keys that were to be shown ahead and are none of the client's; logged once each."""
        self._values: Any = {}
        """The last ``values`` chunk, live."""
        self.changed = False
        """A delta was sent in this run."""

    @property
    def begun(self) -> bool:
        """The snapshot at the start was made."""
        return self._tracker.sent

    def begin(self, values: Any) -> list[BaseEvent]:
        """``STATE_SNAPSHOT`` of what the server holds, after the request's state was merged. Graphs without state have
        none."""
        self._values = values
        if not isinstance(values, Mapping) or self._shape.functional:
            return []
        self._written.clear()
        self._ahead.clear()
        return self._sent_whole(values)

    def wrote(self, keys: Iterable[str]) -> None:
        """A node wrote these channels; their new values come with the next ``values`` chunk."""
        self._written.update(keys)

    def step(self, values: Any) -> list[BaseEvent]:
        """``STATE_DELTA`` for what the superstep wrote, reducers applied."""
        self._values = values
        if not self.begun or not isinstance(values, Mapping):
            return []
        waiting = {key for key, call in self._awaited.items() if not self._life.is_answered(call)}
        # Some channels empty themselves in the step after, without a write.
        gone = self._tracker.current.keys() - values.keys() - self._ahead
        keys = ((self._written | self._shape.fleeting) & self._shape.public) | gone | (self._ahead - waiting)
        self._written.clear()
        return self._correct(keys)

    def finish(self) -> list[BaseEvent]:
        """Whatever the client was shown ahead of the graph and the graph never wrote."""
        return self._correct(self._ahead)

    def ahead(self, values: Mapping[str, Any], *, call: str | None = None) -> list[BaseEvent]:
        """Show values before the graph has them: until the step ends, or (`call`) until that call has its result.

        Keys that the graph does not show to clients are left out, with a warning.
        """
        values = {key: value for key, value in values.items() if self._may_show(key)}
        if not values:
            return []
        events = [] if self.begun else self.snapshot()
        shown = values if self._redact is None else self._redact(values)
        if shown is None:
            return events
        self._ahead.update(shown)
        if call is not None:
            self._awaited.update(dict.fromkeys(shown, call))
        return [*events, *self._send(self._tracker.delta(shown))]

    @property
    def awaited_calls(self) -> frozenset[str]:
        """The calls whose results the client's predicted values wait for."""
        return frozenset(self._awaited.values()) if self._awaited else frozenset()

    def release(self, calls: Collection[str]) -> None:
        """These calls will have no result: what was predicted from them is good until the step ends."""
        for key in [key for key, call in self._awaited.items() if call in calls]:
            del self._awaited[key]

    def ahead_patch(self, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        """The same, as RFC 6902 operations; raises ValueError if they do not apply to what the client holds."""
        operations = [operation for operation in operations if all(map(self._may_show, _top_keys(operation)))]
        if not operations:
            return []
        events = [] if self.begun else self.snapshot()
        keys = list(dict.fromkeys(key for operation in operations for key in _top_keys(operation)))
        if self._redact is None:
            applied = self._tracker.apply(operations)
            self._ahead.update(keys)
            return [*events, *self._send(applied)]
        patched = self._tracker.patched(operations)
        gone = [key for key in keys if key not in patched]
        self._ahead.update(gone)
        shown = self.ahead({key: patched[key] for key in keys if key in patched})
        return [*events, *shown, *self._send(self._tracker.remove(gone))]

    def _may_show(self, key: str) -> bool:
        """A functional graph says nothing of its keys: what it emits is shown."""
        if self._shape.functional or key in self._shape.public:
            return True
        if key not in self._refused:
            self._refused.add(key)
            what = f"state key {key!r}" if key else "whole state at once"
            _logger.warning("the %s is nothing that the graph shows to clients: not sent early", what)
        return False

    def snapshot(self) -> list[BaseEvent]:
        """``STATE_SNAPSHOT`` of the graph's public state as it is now."""
        if not isinstance(self._values, Mapping):
            return []
        self._ahead.clear()
        return self._sent_whole(self._values)

    def _correct(self, keys: Iterable[str]) -> list[BaseEvent]:
        keys = set(keys)
        self._ahead -= keys
        for key in keys & self._awaited.keys():
            del self._awaited[key]
        if not keys:
            return []
        values = self._public(self._values, keys)
        if values is None:
            return []
        gone = [key for key in self._tracker.current if key in keys and key not in values]
        return self._send([*self._tracker.delta(values), *self._tracker.remove(gone)])

    def _sent_whole(self, values: Any) -> list[BaseEvent]:
        public = self._public(values)
        return [] if public is None else self._life.state_snapshot(self._tracker.snapshot(public))

    def _public(self, values: Any, keys: Iterable[str] | None = None) -> dict[str, Any] | None:
        """None: the application's hook failed, and nothing may be sent."""
        public = self._shape.state_of(values, keys)
        return public if self._redact is None else self._redact(public)

    def _send(self, operations: list[dict[str, Any]]) -> list[BaseEvent]:
        events = self._life.state_delta(operations)
        self.changed = self.changed or bool(events)
        return events


def _top_keys(operation: Mapping[str, Any]) -> list[str]:
    """The top-level keys that an operation reads or writes; "" for the whole document, and for what is no pointer."""
    paths = [str(operation[name]) for name in ("path", "from") if name in operation]
    return [path.split("/")[1].replace("~1", "/").replace("~0", "~") if "/" in path else "" for path in paths]
