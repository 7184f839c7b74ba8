"""Pure. Models of the protocol as JSON, as ``model_dump_json(by_alias=True)`` writes them.

The protocol's package leaves out fields without a value by a function in Python around each model, which first makes
dicts of all that is inside. Here that is looked up once per class, and pydantic's serialiser gets the values as they
are. An instance of an application's own class, inside of a model, is written by that class.

A model without models inside, as most events are, is written by a serialiser for its class and for the fields that have
a value: in half the time of a dict of its members.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, get_args

from ag_ui.core import EventType
from pydantic import BaseModel
from pydantic_core import SchemaSerializer, core_schema, to_json

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["clean_json", "model_json"]

_PACKAGE = "ag_ui."
_FLAT = frozenset({str, type(None)})


class _Shape(NamedTuple):
    """How the instances of a class are written. Their fields are in the order of the class."""

    wire: dict[str, str]
    """Names on the wire, by field."""
    kept: frozenset[str]
    """Fields that are written where they are None; others are left out then (AG-UI 1.0, versions: no ``null`` for an
    absent field)."""
    members: Callable[[BaseModel], dict[str, Any]]
    """The members that are written of a model, by the names of the wire."""
    nested: tuple[str, ...]
    """Fields that may hold other models."""
    absent: Callable[[dict[str, Any]], tuple[bool, ...]]
    """Which of the fields that may be left out are None."""
    writers: dict[tuple[bool, ...], Callable[..., bytes]]
    """Serialisers of models without others inside, by that."""


def model_json(model: BaseModel) -> bytes:
    """The model as UTF-8 JSON, by the names of the wire. Raises what pydantic's serialiser raises."""
    shape = _shape(type(model))
    if shape is None:
        return model.__pydantic_serializer__.to_json(model, by_alias=True)
    values, flat = model.__dict__, not model.__pydantic_extra__
    for name in shape.nested:
        flat = flat and values[name].__class__ in _FLAT
    if not flat:
        return to_json(shape.members(model), by_alias=True, inf_nan_mode="null")
    absent = shape.absent(values)
    write = shape.writers.get(absent)
    if write is None:
        write = shape.writers[absent] = _writer(type(model), shape, values)
    return write(model, by_alias=True)


def clean_json(model: BaseModel) -> bytes:
    """The same with lone surrogates replaced by U+FFFD. Raises what pydantic's serialiser raises."""
    try:
        return model_json(model)
    except Exception:  # user code runs in here; a second failure is reported
        pass
    plain = model.__pydantic_serializer__.to_python(model, by_alias=True)
    return to_json(_cleaned(plain), inf_nan_mode="null")


def _cleaned(value: Any) -> Any:
    """`value` with its text made fit for UTF-8. What is not text or a plain container stays as it is."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_cleaned(item) for item in value]
        case _:
            return value


def _value(value: Any) -> Any:
    if type(value) is list:
        return [item if (shape := _shape(item.__class__)) is None else shape.members(item) for item in value]
    shape = _shape(value.__class__)
    return value if shape is None else shape.members(value)


def _text(value: Any) -> Any:
    """The text of an `EventType`: pydantic's serialiser takes longer to find it than to write the rest of an event."""
    return getattr(value, "_value_", value)


@cache
def _shape(kind: type) -> _Shape | None:
    """None for a class that is no model of the protocol's own: it may have a serialiser of its own."""
    if not kind.__module__.startswith(_PACKAGE) or not issubclass(kind, BaseModel):
        return None
    fields = kind.model_fields
    converted = {name: convert for name, field in fields.items() if (convert := _converter(name, field.annotation))}
    wire = {name: field.serialization_alias or field.alias or name for name, field in fields.items()}
    kept = frozenset(name for name, field in fields.items() if field.is_required() or field.default is not None)
    tests = [f"values[{name!r}] is None" for name in fields if name not in kept]
    return _Shape(
        wire=wire,
        kept=kept,
        members=_reader(wire, kept, converted),
        nested=tuple(name for name, convert in converted.items() if convert is _value),
        absent=eval(f"lambda values: ({''.join(f'{test}, ' for test in tests)})"),  # a loop takes three times as long
        writers={},
    )


def _reader(
    wire: dict[str, str], kept: frozenset[str], converted: dict[str, Callable[[Any], Any]]
) -> Callable[[BaseModel], dict[str, Any]]:
    """The function `members` of a class: a line for each field, since a loop takes three times as long."""
    lines = ["def members(model):", " values, found = model.__dict__, {}"]
    for name, alias in wire.items():
        value = f"value if value.__class__ in flat else to_{name}(value)" if name in converted else "value"
        when = "" if name in kept else "if value is not None: "
        lines += [f" value = values[{name!r}]", f" {when}found[{alias!r}] = {value}"]
    lines += [" if model.__pydantic_extra__: found.update(model.__pydantic_extra__)", " return found"]
    made: dict[str, Any] = {"flat": _FLAT} | {f"to_{name}": convert for name, convert in converted.items()}
    exec("\n".join(lines), made)
    return made["members"]  # type: ignore[no-any-return]


def _writer(kind: type[BaseModel], shape: _Shape, values: dict[str, Any]) -> Callable[..., bytes]:
    """Writes the models of this class that have the fields of `values`, if no field holds a model."""
    fields = {
        name: core_schema.model_field(
            core_schema.str_schema() if name == "type" else core_schema.any_schema(), serialization_alias=wire
        )
        for name, wire in shape.wire.items()
        if values[name] is not None or name in shape.kept
    }
    return SchemaSerializer(core_schema.model_schema(kind, core_schema.model_fields_schema(fields))).to_json


def _converter(name: str, annotation: Any) -> Callable[[Any], Any] | None:
    """The conversion of a field's values; None for most fields."""
    if annotation is EventType or any(isinstance(choice, EventType) for choice in get_args(annotation)):
        return _text
    return _value if _holds_models(annotation) else None


def _holds_models(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return any(_holds_models(part) for part in get_args(annotation))
