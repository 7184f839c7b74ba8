"""Pure. Whether a channel can hold a value that came from a client as JSON data.

LangGraph stores any value. One that the schema or the reducer cannot read would fail every later run of the thread.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langgraph.channels import BinaryOperatorAggregate, DeltaChannel
from langgraph.channels.base import BaseChannel
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.state import pointer

__all__ = ["Fitting", "Reducing"]

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
