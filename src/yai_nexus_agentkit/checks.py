"""Pure. Whether a dataclass of options holds what its type hints say: a wrong value is refused where it is written, not
at the run that meets it."""

from __future__ import annotations

import builtins
import math
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

__all__ = ["check_options"]


class _Check(NamedTuple):
    """What a value must be, in words, and whether one is that."""

    wanted: str
    fits: Callable[[Any], bool]


_known: dict[type, Mapping[str, _Check]] = {}
"""What was made of the type hints of a class."""


def check_options(options: Any, *, positive: Collection[str] = ()) -> None:
    """Check every field of a dataclass against its type hint. Numbers are finite and not negative; those in `positive`
    are above zero.

    Raises ValueError that names the option, what it may be, and what was given.
    """
    cls = type(options)
    if cls not in _known:
        _known[cls] = {name: _check(hint, above=name in positive) for name, hint in _hints(cls)}
    for name, check in _known[cls].items():
        value = getattr(options, name)
        if not check.fits(value):
            shown = repr(value)
            shown = shown if len(shown) <= 200 else f"{shown[:197]}..."
            raise ValueError(f"{cls.__name__}.{name} is {check.wanted}, not {shown}")


def _hints(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """The fields' types. A name that is imported for type checking only may be anything, as far as can be told here."""
    known = {**vars(builtins), **vars(sys.modules[cls.__module__])}
    for field in fields(cls):
        hint: Any = field.type
        if isinstance(hint, str):
            code = compile(hint, cls.__module__, "eval")
            hint = eval(code, {**dict.fromkeys(code.co_names, Any), **known})
        if not field.name.startswith("_"):
            yield field.name, hint


def _check(hint: Any, *, above: bool = False) -> _Check:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return _Check("anything", lambda value: True)
    if origin in (Union, types.UnionType):
        return _any_of([_check(arg, above=above) for arg in args])
    if origin is Literal:
        return _any_of([_constant(arg) for arg in args])
    if origin is tuple:
        return _tuple([_check(arg) for arg in args])
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(*(_check(arg) for arg in args))
    if origin is not None and issubclass(origin, Collection):
        return _collection(_check(args[0]))
    return _simple(origin or hint, above=above)


def _simple(kind: Any, *, above: bool) -> _Check:
    bound = "above 0" if above else "from 0 on"
    if kind is types.NoneType:
        return _Check("None", lambda value: value is None)
    if kind is bool:
        return _Check("True or False", lambda value: isinstance(value, bool))
    if kind is int:
        return _Check(f"a whole number {bound}", lambda value: isinstance(value, Integral) and _in(value, above))
    if kind is float:
        return _Check(f"a number {bound}", lambda value: isinstance(value, Real) and _in(value, above))
    if kind is Callable:
        return _Check("a function", callable)
    if getattr(kind, "_is_protocol", False):
        methods = [name for name, method in vars(kind).items() if callable(method) and not name.startswith("_")]
        return _Check(f"a {kind.__name__}", lambda value: all(hasattr(value, name) for name in methods))
    return _Check(f"a {kind.__name__}", lambda value: isinstance(value, kind))


def _in(value: Any, above: bool) -> bool:
    if isinstance(value, bool) or not math.isfinite(value):
        return False
    return bool(value > 0 if above else value >= 0)


def _constant(constant: Any) -> _Check:
    return _Check(repr(constant), lambda value: type(value) is type(constant) and value == constant)


def _any_of(checks: list[_Check]) -> _Check:
    *first, last = (check.wanted for check in checks)
    wanted = f"{', '.join(first)}{', or' if last == 'None' else ' or'} {last}" if first else last
    return _Check(wanted, lambda value: any(check.fits(value) for check in checks))


def _tuple(checks: list[_Check]) -> _Check:
    wanted = f"({', '.join(check.wanted for check in checks)})"

    def fits(value: Any) -> bool:
        same = isinstance(value, tuple) and len(value) == len(checks)
        return same and all(check.fits(item) for check, item in zip(checks, value, strict=True))

    return _Check(wanted, fits)


def _mapping(key: _Check, item: _Check) -> _Check:
    def fits(value: Any) -> bool:
        return isinstance(value, Mapping) and all(key.fits(k) and item.fits(v) for k, v in value.items())

    return _Check(f"a mapping of {key.wanted} to {item.wanted}", fits)


def _collection(item: _Check) -> _Check:
    """A text is a collection of texts too, and never meant as one; the values of a mapping would be lost."""

    def fits(value: Any) -> bool:
        several = isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
        return several and all(item.fits(one) for one in value)

    return _Check(f"a list or set, each item {item.wanted}", fits)
