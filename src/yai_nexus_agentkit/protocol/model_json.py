"""Pure. Models of the protocol as JSON, as ``model_dump_json(by_alias=True)`` writes them.

The protocol's package leaves out fields without a value by a function in Python around each model, which first makes
dicts of all that is inside. Here that is looked up once per class, and pydantic's serialiser gets the values as they
are. An instance of an application's own class, inside of a model, is written by that class.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic_core import to_json

__all__ = ["model_json"]

_PACKAGE = "ag_ui."


class _Field(NamedTuple):
    name: str
    wire: str
    optional: bool
    """Left out where it is None (AG-UI 1.0, versions: no ``null`` for an absent field)."""
    models: bool
    """It may hold models of the protocol."""


def model_json(model: BaseModel) -> bytes:
    """The model as UTF-8 JSON, by the names of the wire. Raises what pydantic's serialiser raises."""
    fields = _fields(type(model))
    if fields is None:
        return model.__pydantic_serializer__.to_json(model, by_alias=True)
    return to_json(_members(model, fields), by_alias=True, inf_nan_mode="null")


def _members(model: BaseModel, fields: tuple[_Field, ...]) -> dict[str, Any]:
    values = model.__dict__
    members: dict[str, Any] = {}
    for name, wire, optional, models in fields:
        value = values[name]
        if value is not None:
            members[wire] = _value(value) if models else value
        elif not optional:
            members[wire] = None
    if model.__pydantic_extra__:
        members.update(model.__pydantic_extra__)
    return members


def _value(value: Any) -> Any:
    if isinstance(value, BaseModel):
        fields = _fields(type(value))
        return value if fields is None else _members(value, fields)
    return [_value(item) for item in value] if type(value) is list else value


@cache
def _fields(kind: type[BaseModel]) -> tuple[_Field, ...] | None:
    """None for a class that is not the protocol's own: it may have a serialiser of its own."""
    if not kind.__module__.startswith(_PACKAGE):
        return None
    return tuple(
        _Field(
            name,
            field.serialization_alias or field.alias or name,
            not field.is_required() and field.default is None,
            _holds_models(field.annotation),
        )
        for name, field in kind.model_fields.items()
    )


def _holds_models(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return True
    return any(_holds_models(part) for part in get_args(annotation))
