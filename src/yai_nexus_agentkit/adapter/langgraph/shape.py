"""Pure. The graph's channels as the client's shared state: which are public, and what of them was sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent
from langchain_core.messages import BaseMessage
from langgraph.channels import BaseChannel, BinaryOperatorAggregate, DeltaChannel, EphemeralValue, Topic, UntrackedValue
from langgraph.graph.message import add_messages
from langgraph.pregel import Pregel
from langgraph.types import Overwrite
from pydantic_core import from_json

from yai_nexus_agentkit.adapter.langgraph.fitting import Fitting
from yai_nexus_agentkit.adapter.langgraph.native.raw_messages import read_messages
from yai_nexus_agentkit.protocol.json.json_safe import json_safe, json_text
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle
from yai_nexus_agentkit.protocol.state import Operation, StateTracker, key_name

__all__ = ["GraphShape", "SharedState"]

_logger = logging.getLogger(__name__)
MESSAGES = "messages"
_ABSENT = object()
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
    replayed: bool = False
    """Some channel is a `DeltaChannel`, the conversation or another: a checkpoint alone does not hold the state."""
    fitting: Fitting = field(default_factory=lambda: Fitting((), {}))
    """What its schemas and reducers ask of values."""
    growing: frozenset[str] = frozenset()
    """Channels that can only be added to (`Topic` with `accumulate`); LangGraph has no ``Overwrite`` for them."""
    verbatim: bool = False
    """The conversation may hold other things than messages with ids, since not ``add_messages`` keeps it."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What a channel holds that nobody wrote. Checkpoints lack it, but ``values`` chunks show it to clients."""
    stops: bool = False
    """The graph or a subgraph has static interrupts (``interrupt_before``, ``interrupt_after``)."""
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
        read = (builder.input_schema, builder.state_schema) if builder is not None else ()
        inputs = frozenset(key for key in schemas if key in channels)
        conversation = channels.get("__root__" if bare else MESSAGES)
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
            incremental=isinstance(conversation, DeltaChannel),
            replayed=any(isinstance(channel, DeltaChannel) for channel in channels.values()),
            growing=frozenset(
                key for key, channel in channels.items() if isinstance(channel, Topic) and channel.accumulate
            ),
            verbatim=getattr(conversation, "operator", None) is not add_messages,
            fitting=Fitting(read, channels),
            defaults=_defaults(channels),
            stops=_stops(graph) or any(_stops(inner) for _, inner in graph.get_subgraphs(recurse=True)),
            functional=builder is None,
        )

    def fitted(self, changed: Mapping[str, Any], held: Any) -> dict[str, Any]:
        """Values from a client as the channels can hold them, `held` being the present ones. Raises `RunInputError` for
        one that the graph could not read: LangGraph would store it, and the thread could not be used any more."""
        return self.fitting.fitted(changed, held)

    def setting(self, key: str, held: Any, value: Any) -> Any:
        """What to write so that the channel, which holds `held`, holds `value`: past its reducer. Raises ValueError
        where there is no way."""
        if key in self.growing and isinstance(held, list):
            if not isinstance(value, list) or value[: len(held)] != held:
                raise ValueError(f"{key!r} can only be added to")
            return value[len(held) :]
        return Overwrite(value) if key in self.reducing else value

    def messages_of(self, values: Any) -> Sequence[BaseMessage]:
        """The conversation in a ``values`` chunk; `UNREADABLE` if what is there is none."""
        if not self.messages:
            return ()
        found = values if self.bare else values.get(MESSAGES) if isinstance(values, Mapping) else None
        if found is None:
            return ()
        return read_messages(found) if self.verbatim or not isinstance(found, list) else found

    @property
    def replaces(self) -> bool:
        """The conversation's channel has no reducer: what is written takes the place of what it holds."""
        return ("__root__" if self.bare else MESSAGES) not in self.reducing

    def kept(self, values: Any) -> Sequence[Any]:
        """A conversation without a reducer holds what was last written, so it goes in with what is new: as it is
        stored, which its nodes rely on. Nothing where a reducer adds to it."""
        if not self.replaces or not self.messages_of(values):
            return ()
        stored: Sequence[Any] = values if self.bare else values[MESSAGES]
        return stored

    def state_of(self, values: Any, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """The public state (or these keys of it) in a ``values`` chunk; values as they are."""
        if not isinstance(values, Mapping):
            return {}
        wanted = self.public if keys is None else self.public.intersection(keys)
        return {key: values[key] for key in values if key in wanted}


def _stops(graph: Any) -> bool:
    return bool(getattr(graph, "interrupt_before_nodes", ()) or getattr(graph, "interrupt_after_nodes", ()))


def _defaults(channels: Mapping[str, Any]) -> dict[str, Any]:
    """Managed values are no channels, and no state."""
    return {key: it.get() for key, it in channels.items() if isinstance(it, BaseChannel) and it.is_available()}


class SharedState:
    """What the client holds of the state. Only keys that a node wrote are compared, with JSON copies of what was last
    sent: LangGraph's objects are live, and a node may have changed them in place.

    `held`: the request's state, which the client holds until it is told another. A graph that has not shown its values
    yet, and a functional one, which never does, is taken to agree with it.
    """

    def __init__(
        self,
        shape: GraphShape,
        life: RunLifecycle,
        redact: Callable[[dict[str, Any]], dict[str, Any] | None] | None,
        held: Any = None,
    ) -> None:
        self._shape, self._life, self._redact = shape, life, redact
        self._held = held
        # A functional graph gets the request's state as its argument, and may change it in place.
        self._copy = json_text(held) if shape.functional and isinstance(held, Mapping) and held else None
        self._tracker = StateTracker()
        self._begun = False
        """The snapshot at the start was made."""
        self._baseless = False
        """Nothing was sent, and what the client holds takes no patch."""
        self._written: set[str] = set()
        """Keys written since the last ``values`` chunk."""
        self._awaited: dict[str, str] = {}
        """Of those, the keys predicted from a tool call: the real value may come only with the call's result."""
        self._ahead: set[str] = set()
        """Keys the client was shown before the graph had them (emitted or predicted); the real value comes at the end
        of the step."""
        self._unredacted: dict[str, Any] = {}
        """Values of such keys before the application's last word on them; `_ABSENT` for a removed one."""
        self._refused: set[str] = set()
        """Keys that were to be shown ahead and are none of the client's; logged once each."""
        self._values: Any = {}
        """The last ``values`` chunk, live."""
        self.changed = False
        """A delta was sent in this run."""

    def begin(self, values: Any) -> list[BaseEvent]:
        """``STATE_SNAPSHOT`` of what the server holds, after the request's state was merged. Graphs without state have
        none. What was shown before (by an edge that leaves the start) stays until the end of the first step."""
        self._values = values
        if not isinstance(values, Mapping) or self._shape.functional:
            return []
        self._begun = True
        self._written.clear()
        shown = {key: self._tracker.current[key] for key in self._ahead if key in self._tracker.current}
        self._ahead = set(shown)
        return self._sent_whole(shown)

    def wrote(self, keys: Iterable[str]) -> None:
        """A node wrote these channels; their new values come with the next ``values`` chunk."""
        self._written.update(keys)

    def step(self, values: Any) -> list[BaseEvent]:
        """``STATE_DELTA`` for what the superstep wrote, reducers applied."""
        self._values = values
        if not self._begun or not isinstance(values, Mapping):
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

    def ahead(self, values: Mapping[Any, Any], *, call: str | None = None) -> list[BaseEvent]:
        """Show values before the graph has them: until the step ends, or (`call`) until that call has its result.

        Keys that the graph does not show to clients are left out, with a warning.
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
        """The calls whose results the client's predicted values wait for."""
        return frozenset(self._awaited.values()) if self._awaited else frozenset()

    def release(self, calls: Collection[str]) -> None:
        """These calls will have no result: what was predicted from them is good until the step ends."""
        for key in [key for key, call in self._awaited.items() if call in calls]:
            del self._awaited[key]

    def ahead_patch(self, operations: list[Operation]) -> list[BaseEvent]:
        """The same, as RFC 6902 operations; raises ValueError if they do not apply to what the client holds."""
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
        """The same, as the values that the operations lead to: they say too much where the application has a last word
        on what clients see, or where they replace the whole state, hidden keys included.

        The application means its own state, not what clients see of it.
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
        """What these operations touch of the public state with what was emitted, as the application knows it."""
        whole = any("" in _paths(operation) for operation in operations)
        keys = None if whole else {key for operation in operations for key in _top_keys(operation)}
        own = {**self._real(keys), **self._unredacted}
        return {
            key: json_safe(value)
            for key, value in own.items()
            if value is not _ABSENT and (keys is None or key in keys)
        }

    def _may_show(self, key: str) -> bool:
        """A functional graph says nothing of its keys: what it emits is shown."""
        if self._shape.functional or key in self._shape.public:
            return True
        if key not in self._refused:
            self._refused.add(key)
            _logger.warning("the state key %r is nothing that the graph shows to clients: not sent early", key)
        return False

    def snapshot(self) -> list[BaseEvent]:
        """``STATE_SNAPSHOT`` of the graph's public state as it is now."""
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
        """Before the first thing sent, the client holds the request's state."""
        if not self._tracker.sent:
            self._tracker.assume(self._real())
            self._baseless = not isinstance(self._held, Mapping)

    def _correct(self, keys: Iterable[str]) -> list[BaseEvent]:
        keys = set(keys)
        self._ahead -= keys
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
        """The state (or these keys of it) that the client is to end with, before the application's last word."""
        if self._begun:
            return self._shape.state_of(self._values, keys)
        held = self._held if self._copy is None else from_json(self._copy)
        wanted = None if keys is None else set(keys)
        own = json_safe(held) if isinstance(held, Mapping) else {}
        return {key: value for key, value in own.items() if wanted is None or key in wanted}

    def _public(self, keys: Iterable[str] | None = None) -> dict[str, Any] | None:
        """None: the application's hook failed, and nothing may be sent."""
        real = self._real(keys)
        return real if self._redact is None or not self._begun else self._redact(real)  # else it is the client's own

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
    """The top-level keys that an operation reads or writes; none for the whole document, and for what is no pointer."""
    paths = [path for path in _paths(operation) if isinstance(path, str) and "/" in path]
    return [path.split("/")[1].replace("~1", "/").replace("~0", "~") for path in paths]
