"""Pure. The graph's channels as the client's shared state: which are public, and what of them was sent."""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.channels import BaseChannel, BinaryOperatorAggregate, DeltaChannel, EphemeralValue, Topic, UntrackedValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Overwrite
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from yai_nexus_agentkit.adapter.langgraph.messages.raw import read_messages
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.json.patch import pointer

__all__ = ["Fitting", "Graph", "GraphShape", "Reducing", "saver_of", "tool_objects"]

Graph = Pregel[Any, Any, Any, Any]
_logger = logging.getLogger(__name__)
MESSAGES = "messages"
_FLEETING = (EphemeralValue, Topic, UntrackedValue)
_REQUEST_CHANNELS = frozenset({"tools", "context"})
"""Channels that a request fills; the client has them from itself."""


def saver_of(graph: Graph) -> BaseCheckpointSaver[Any] | None:
    """The checkpointer of a graph; None if it has none of its own (a subgraph's may be ``True``)."""
    saver = graph.checkpointer
    return saver if isinstance(saver, BaseCheckpointSaver) else None


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
    tools: frozenset[str] = frozenset()
    """Names of the tools that its tool nodes run, subgraphs' included."""

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
            tools=frozenset(tool.name for tool in tool_objects(graph)),
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

    def shows(self, key: str, /) -> bool:
        """Clients see this key."""
        return key in self.public

    def state_of(self, values: Any, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """The public state (or these keys of it) in a ``values`` chunk; values as they are."""
        if not isinstance(values, Mapping):
            return {}
        wanted = self.public if keys is None else self.public.intersection(keys)
        return {key: values[key] for key in values if key in wanted}


def tool_objects(graph: Graph) -> Iterator[BaseTool]:
    """The tools of the graph's tool nodes, its subgraphs' included."""
    for node in graph.nodes.values():
        bound: Any = node.bound
        if isinstance(bound, ToolNode):
            yield from bound.tools_by_name.values()
    for _, subgraph in graph.get_subgraphs():
        if isinstance(subgraph, Pregel):
            yield from tool_objects(subgraph)


def _stops(graph: Any) -> bool:
    return bool(getattr(graph, "interrupt_before_nodes", ()) or getattr(graph, "interrupt_after_nodes", ()))


def _defaults(channels: Mapping[str, Any]) -> dict[str, Any]:
    """Managed values are no channels, and no state."""
    return {key: it.get() for key, it in channels.items() if isinstance(it, BaseChannel) and it.is_available()}


_JSON = (dict, list, str, int, float, bool)


class Reducing:
    """A channel that combines what is written with what it holds. Both have the type of its empty value."""

    __slots__ = ("_combine", "_kind", "replayed")

    def __init__(self, channel: BinaryOperatorAggregate[Any] | DeltaChannel[Any]) -> None:
        self._combine: Callable[[Any, Any], Any]
        empty: Any = None
        if isinstance(channel, DeltaChannel):
            reducer = channel.reducer
            self._combine = lambda held, new: reducer(held, [new])
            empty = _made(channel.typ)
        else:
            self._combine = channel.operator
            empty = channel.value if channel.is_available() else None
        self._kind = type(empty) if empty is not None else None
        self.replayed = isinstance(channel, DeltaChannel)
        """The value is made anew from all earlier writes: it cannot be taken out of a checkpoint."""

    def empty(self) -> Any:
        """What the channel holds at first."""
        return self._kind() if self._kind is not None else None

    def fitted(self, value: Any) -> Any:
        """The value as the channel can hold it: a list of JSON becomes the set that a channel of sets needs. Raises
        ValueError for one that the reducer could combine with nothing."""
        kind = self._kind
        if kind is None or isinstance(value, kind):
            return value
        if kind not in _JSON:
            try:
                return _adapter(kind).validate_python(value)  # type: ignore[arg-type]
            except PydanticUserError:  # no type that pydantic knows
                pass
            except ValidationError as error:
                raise ValueError(error.errors()[0]["msg"]) from error
        try:
            self._combine(copy.deepcopy(value), kind())
        except Exception as error:
            raise ValueError(f"a value of this key is {_NAMES.get(kind, kind.__name__)}") from error
        return value


class Fitting:
    """What a graph asks of the values of its state."""

    __slots__ = ("_reducing", "_schemas")

    def __init__(self, schemas: Sequence[Any], channels: Mapping[str, BaseChannel[Any, Any, Any] | Any]) -> None:
        """`schemas`: in which nodes read the state; those that are pydantic models refuse wrong values."""
        models = dict.fromkeys(one for one in schemas if isinstance(one, type) and issubclass(one, BaseModel))
        self._schemas: tuple[type[BaseModel], ...] = tuple(models)
        self._reducing = {
            name: Reducing(channel)
            for name, channel in channels.items()
            if isinstance(channel, BinaryOperatorAggregate | DeltaChannel)
        }

    def fitted(self, changed: Mapping[str, Any], held: Any) -> dict[str, Any]:
        """The changed values as the channels can hold them; `held`: the state's present ones.

        Raises `RunInputError` whose path begins with the key.
        """
        for schema in self._schemas:
            _validate(schema, changed, held if isinstance(held, Mapping) else {})
        found: dict[str, Any] = {}
        for key, value in changed.items():
            try:
                found[key] = self._reducing[key].fitted(value) if key in self._reducing else value
            except ValueError as error:
                raise RunInputError(str(error), path=pointer(key)) from error
        return found

    def emptied(self, keys: Iterable[str]) -> dict[str, Any]:
        """Of channels to be emptied, those that need a write for it: what to write."""
        return {
            key: self._reducing[key].empty() for key in keys if key in self._reducing and self._reducing[key].replayed
        }

    def needs(self, key: str) -> bool:
        """The state cannot be read without this key."""
        return any(key in schema.model_fields and schema.model_fields[key].is_required() for schema in self._schemas)


def _validate(schema: type[BaseModel], changed: Mapping[str, Any], held: Mapping[str, Any]) -> None:
    """Each changed field among the others as they will be: a model may compare them."""
    fields = schema.model_fields
    whole = schema.model_construct()
    whole.__dict__.update({key: value for key, value in {**held, **changed}.items() if key in fields})
    for key in changed:
        if key not in fields:
            continue
        try:
            schema.__pydantic_validator__.validate_assignment(whole.model_copy(), key, changed[key])
        except ValidationError as error:
            fault = error.errors()[0]
            path = "".join(pointer(str(part)) for part in fault["loc"]) or pointer(key)
            raise RunInputError(fault["msg"], path=path) from error
        except Exception:  # a validator of the whole model that misses what is not there yet: the graph will tell
            continue


def _made(kind: Any) -> Any:
    try:
        return kind()
    except Exception:  # no type that can be empty
        return None


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


_NAMES = {list: "a list", dict: "an object", str: "a text", int: "a number", float: "a number", bool: "true or false"}
