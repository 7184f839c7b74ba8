"""Pure. Checks that a dataclass of options holds values of the declared types: a wrong value is refused where it is
written, not by the run that uses it. Pydantic checks strictly and converts nothing."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection, Mapping
from dataclasses import Field, fields
from functools import cache
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

__all__ = ["check_options"]

_Item = TypeVar("_Item")
_EXPECTED = "Input should be "
_LONGEST = 200
"""Characters of a wrong value that the message shows."""


def _strings(value: Collection[str]) -> Collection[str]:
    if isinstance(value, (str, bytes, Mapping)) or not all(isinstance(item, str) for item in value):
        raise PydanticCustomError("strings", f"{_EXPECTED}a list or set of strings")
    return value


_SEVERAL = Annotated[Collection[_Item], AfterValidator(_strings)]
"""Stands for ``Collection[str]``. One string is a collection of strings too, but nobody means its characters."""


def check_options(options: Any) -> None:
    """Check every public field of a dataclass against its type hint. Numbers must be finite.

    Raises ValueError that names the option, the values it takes, and the value it got.
    """
    cls: Any = type(options)
    hints, adapter = _checks(cls)
    try:
        adapter.validate_python({name: getattr(options, name) for name in hints})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        expected = next(str(field.type) for field in fields(cls) if field.name == name)
        if first["loc"] == (name,) and first["msg"].startswith(_EXPECTED):
            expected = first["msg"].removeprefix(_EXPECTED) + " or None" * (type(None) in get_args(hints[name]))
        given = repr(getattr(options, name))
        given = given if len(given) <= _LONGEST else f"{given[:_LONGEST]}..."
        raise ValueError(f"{cls.__name__}.{name} must be {expected}, not {given}") from None


@cache
def _checks(cls: Any) -> tuple[dict[str, Any], TypeAdapter[Any]]:
    """The type hints of the public fields, and what checks a dict of their values."""
    hints = {field.name: _hint(cls, field) for field in fields(cls) if not field.name.startswith("_")}
    shape: Any = TypedDict("shape", hints)  # type: ignore[misc]
    config = ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)
    return hints, TypeAdapter(with_config(config)(shape))


def _hint(cls: Any, field: Field[Any]) -> Any:
    """A field's type. A name that is imported for type checking only stands for any value."""
    if not isinstance(field.type, str):
        return field.type
    code = compile(field.type, cls.__module__, "eval")
    known = {**vars(builtins), **vars(sys.modules[cls.__module__]), "Collection": _SEVERAL}
    return eval(code, {**dict.fromkeys(code.co_names, Any), **known})
