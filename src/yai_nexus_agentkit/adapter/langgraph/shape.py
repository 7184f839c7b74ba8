"""A graph's channels: which of them clients see and may set, and which values they can hold."""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from ag_ui.core import Context, Tool
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.channels import BaseChannel, BinaryOperatorAggregate, DeltaChannel, EphemeralValue, Topic, UntrackedValue
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Overwrite
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from yai_nexus_agentkit.adapter.langgraph.messages.written import are_messages, read_messages
from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.json.patch import pointer

__all__ = ["MESSAGES", "Graph", "GraphShape", "Reducer", "saver_of", "tool_objects"]

Graph = Pregel[Any, Any, Any, Any]
_logger = logging.getLogger(__name__)
MESSAGES = "messages"
_FLEETING = (EphemeralValue, Topic, UntrackedValue)
_ENTRIES = {"tools": {"name", "description", "parameters"}, "context": {"description", "value"}}
"""The channels that a request fills, and the keys of the entries it brings."""


def saver_of(graph: Graph) -> BaseCheckpointSaver[Any] | None:
    """The checkpointer of a graph; None if it has none of its own (a subgraph's may be ``True``)."""
    saver = graph.checkpointer
    return saver if isinstance(saver, BaseCheckpointSaver) else None


@dataclass(frozen=True, slots=True)
class GraphShape:
    """A graph as its builder and channels show it: known in microseconds, before it runs."""

    inputs: frozenset[str] = frozenset()
    """Keys of the input schema that are channels."""
    public: frozenset[str] = frozenset()
    """Keys of the output schema that are shared state. Messages are not."""
    requested: frozenset[str] = frozenset()
    """``tools`` and ``context``, where their type allows what a request brings: the request fills them, unless they
    hold something of the graph's own. Clients have what a request brought from themselves."""
    reducers: Mapping[str, Reducer] = field(default_factory=dict)
    """Of the channels that combine what is written with what they hold; to set one, its value goes in as
    ``Overwrite``."""
    fleeting: frozenset[str] = frozenset()
    """Channels whose value may change without a write (`EphemeralValue`, `Topic` and the like)."""
    messages: bool = False
    """The graph keeps a conversation."""
    bare: bool = False
    """The graph's whole state is the list of messages (``StateGraph(Annotated[list, add_messages])``)."""
    incremental: bool = False
    """The conversation is a `DeltaChannel`: a checkpoint alone does not hold it."""
    replayed: bool = False
    """Some channel is a `DeltaChannel`, the conversation or another: a checkpoint alone does not hold the state."""
    schemas: tuple[type[BaseModel], ...] = ()
    """The pydantic models in which nodes read the state: they refuse wrong values."""
    growing: frozenset[str] = frozenset()
    """Channels that can only be added to (`Topic` with `accumulate`); LangGraph has no ``Overwrite`` for them."""
    verbatim: bool = False
    """The conversation may hold other things than messages with ids, since not ``add_messages`` keeps it."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of channels that nobody wrote. Checkpoints lack it, but ``values`` chunks show it to clients."""
    stops: bool = False
    """The graph or a subgraph has static interrupts (``interrupt_before``, ``interrupt_after``)."""
    functional: bool = False
    """Made by ``@entrypoint``: no channels, a return value."""
    listed: bool = False
    """A functional graph whose argument is declared as the list of messages."""
    tools: frozenset[str] = frozenset()
    """Names of the tools that its tool nodes run, subgraphs' included."""

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
            public=names - {MESSAGES},
            requested=frozenset(key for key in inputs & _ENTRIES.keys() if _takes_entries(channels[key], key)),
            reducers={
                key: Reducer(channel)
                for key, channel in channels.items()
                if isinstance(channel, BinaryOperatorAggregate | DeltaChannel)
            },
            fleeting=names & frozenset(key for key, channel in channels.items() if isinstance(channel, _FLEETING)),
            messages=bare or MESSAGES in names,
            bare=bare,
            incremental=isinstance(conversation, DeltaChannel),
            replayed=any(isinstance(channel, DeltaChannel) for channel in channels.values()),
            growing=frozenset(
                key for key, channel in channels.items() if isinstance(channel, Topic) and channel.accumulate
            ),
            verbatim=getattr(conversation, "operator", None) is not add_messages,
            schemas=tuple(one for one in dict.fromkeys(read) if isinstance(one, type) and issubclass(one, BaseModel)),
            defaults=_defaults(channels),
            stops=_stops(graph) or any(_stops(inner) for _, inner in graph.get_subgraphs(recurse=True)),
            functional=builder is None,
            listed=builder is None and _is_list_of_messages(_argument(graph)),
            tools=frozenset(tool.name for tool in tool_objects(graph)),
        )

    def fitted(self, changed: Mapping[str, Any], held: Any) -> dict[str, Any]:
        """Values from a client as the channels can hold them; `held`: the present ones.

        Raises `RunInputError`, whose path begins with the key, for one that the graph could not read: LangGraph would
        store it, and the thread could not be used any more.
        """
        for schema in self.schemas:
            _validate(schema, changed, held if isinstance(held, Mapping) else {})
        found: dict[str, Any] = {}
        for key, value in changed.items():
            try:
                found[key] = self.reducers[key].fitted(value) if key in self.reducers else value
            except ValueError as error:
                raise RunInputError(str(error), path=pointer(key)) from error
        return found

    def emptied(self, keys: Iterable[str]) -> dict[str, Any]:
        """Of channels to be emptied, those that need a write for it: what to write."""
        return {key: self.reducers[key].empty() for key in keys if key in self.reducers and self.reducers[key].replayed}

    def needs(self, key: str) -> bool:
        """The state cannot be read without this key."""
        return any(key in schema.model_fields and schema.model_fields[key].is_required() for schema in self.schemas)

    def is_requests(self, key: str, value: Any) -> bool:
        """The channel ``tools`` or ``context`` holds what a request brought, or nothing."""
        if not value:
            return True
        return isinstance(value, list) and all(
            isinstance(one, Mapping) and one.keys() == _ENTRIES[key] for one in value
        )

    def setting(self, key: str, held: Any, value: Any, pending: Sequence[Any] = ()) -> Any:
        """The write after which the channel, which holds `held`, holds `value`: past its reducer.

        `pending`: writes of finished tasks, which come on top. Raises ValueError where there is no way.
        """
        if pending:
            if key not in self.reducers:
                raise ValueError(f"{key!r} was written in a step that waits for an answer")
            value = self.reducers[key].beneath(value, pending)
        if key in self.growing and isinstance(held, list):
            if not isinstance(value, list) or value[: len(held)] != held:
                raise ValueError(f"{key!r} can only be added to")
            return value[len(held) :]
        return Overwrite(value) if key in self.reducers else value

    def messages_of(self, values: Any) -> Sequence[BaseMessage]:
        """The conversation in a ``values`` chunk; `UNREADABLE` if what is there is none."""
        if not self.messages:
            return ()
        keyed = type(values) is dict or isinstance(values, Mapping)  # the first is much faster
        found = values if self.bare else values.get(MESSAGES) if keyed else None
        if found is None:
            return ()
        # Also with add_messages: a saver returns dicts for messages of a class that it does not know.
        plain = self.verbatim or not isinstance(found, list) or not are_messages(found)
        return read_messages(found) if plain else found

    @property
    def replaces(self) -> bool:
        """The conversation's channel has no reducer: what is written takes the place of what it holds."""
        return ("__root__" if self.bare else MESSAGES) not in self.reducers

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
        if type(values) is not dict and not isinstance(values, Mapping):
            return {}
        wanted = self.public if keys is None else self.public.intersection(keys)
        found = {key: values[key] for key in values if key in wanted}
        for key in self.requested & found.keys():
            if self.is_requests(key, found[key]):
                del found[key]
        return found


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
    """Managed values are neither channels nor state."""
    return {key: it.get() for key, it in channels.items() if isinstance(it, BaseChannel) and it.is_available()}


_JSON = (dict, list, str, int, float, bool)


class Reducer:
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
        """The value is made again from all earlier writes: it cannot be taken out of a checkpoint."""

    def empty(self) -> Any:
        """The value of the channel at first."""
        return self._kind() if self._kind is not None else None

    def beneath(self, value: Any, writes: Sequence[Any]) -> Any:
        """The value that these writes turn into `value`; of lists, the same items in some
        order. Raises ValueError if that cannot be found."""
        rest = list(value) if isinstance(value, list) else []
        for item in [one for write in writes for one in (write if isinstance(write, list) else [write])]:
            if item in rest:
                rest.remove(item)
        for candidate in (rest, value) if isinstance(value, list) else (value,):
            made = copy.deepcopy(candidate)
            for write in writes:
                made = self._combine(made, copy.deepcopy(write))
            if made == value or (isinstance(value, list) and _same_items(made, value)):
                return candidate
        raise ValueError("the value does not fit what was written in a step that waits for an answer")

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


def _same_items(one: Any, other: list[Any]) -> bool:
    left = list(other)
    for item in one if isinstance(one, list) else ():
        if item not in left:
            return False
        left.remove(item)
    return isinstance(one, list) and not left


def _takes_entries(channel: Any, key: str) -> bool:
    """The channel is a plain list, and may hold what a request brings: mappings with the keys of an entry."""
    if isinstance(channel, BinaryOperatorAggregate | DeltaChannel):
        return False
    for kind in _alternatives(getattr(channel, "typ", None)):
        if kind is not list and get_origin(kind) not in (list, Sequence):
            continue
        item = (get_args(kind) or (Any,))[0]
        item = get_origin(item) or item
        if item in (Any, dict, Mapping, Tool, Context):
            return True
        if is_typeddict(item) and item.__annotations__.keys() <= _ENTRIES[key]:
            return True
    return False


def _argument(graph: Graph) -> Any:
    """The declared type of a functional graph's argument."""
    kind: Any = getattr(graph.channels.get(START), "typ", None)
    if not isinstance(kind, str):
        return kind
    [node] = graph.nodes.values()  # its module has ``from __future__ import annotations``
    made: Any = node.bound
    try:
        return next(iter(get_type_hints(made.func or made.afunc, include_extras=True).values()), None)
    except Exception:  # a name that only type checkers know
        return None


def _is_list_of_messages(kind: Any) -> bool:
    """A declared argument that is a list, and not one of something else than messages."""
    for one in _alternatives(kind):
        if one is list:
            return True
        if get_origin(one) in (list, Sequence):
            items = [get_origin(item) or item for item in _alternatives(*get_args(one))]
            return all(isinstance(item, type) and issubclass(item, BaseMessage) for item in items if item is not Any)
    return False


def _alternatives(kind: Any = None) -> tuple[Any, ...]:
    """The types of a union, without what ``Annotated`` adds."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(one for part in get_args(kind) for one in _alternatives(part))
    return (kind,)


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
        except Exception:  # a validator of the whole model that misses what is not there yet: the graph will find out
            continue


def _made(kind: Any) -> Any:
    try:
        return kind()
    except Exception:  # no type that can be empty
        return None


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


_NAMES = {list: "a list", dict: "an object", str: "a string", int: "a number", float: "a number", bool: "true or false"}
