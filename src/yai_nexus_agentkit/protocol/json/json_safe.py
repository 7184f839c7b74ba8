"""Pure. Any Python value as strict JSON data. Never raises.

State, tool output and event payloads hold whatever the graph's author put there, and an unknown object met while a
response is being encoded would end the run (AG-UI 1.0, section 1: no ``NaN``, no lone surrogates, strict JSON in
UTF-8). Two ways lead to the same data: pydantic's C serialiser for what it treats as wanted, and a slow walker for the
rest. A value goes to the walker as a whole, but only the walker's odd leaves are treated one by one.

Deliberate differences from pydantic's own conversion: sets are sorted (equal sets give equal JSON in every process),
bytes are standard base64, iterators are not consumed, models use the names of their Python fields, unknown objects are
their ``repr`` without the memory address.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from base64 import b64encode
from collections import OrderedDict, UserList, UserString, defaultdict, deque
from collections.abc import Iterable, KeysView, Mapping, ValuesView
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import from_json, to_json, to_jsonable_python

__all__ = ["CYCLE", "MAX_DEPTH", "REPEATED", "TOO_DEEP", "Joiner", "clean_text", "json_safe", "json_text"]

MAX_DEPTH = 200
"""Levels of nesting that are kept. Below the limits of pydantic's serialiser (255) and of common JSON parsers."""

CYCLE = "<cycle>"
"""Stands where a container would contain itself."""

TOO_DEEP = "<too deep>"
"""Stands for what lies below `MAX_DEPTH`."""

REPEATED = "<repeated>"
"""Stands for a container that was written out before, when there are too many such places to write out each."""

_REPEATS = 200_000
"""Containers and members that are written out again where they are referenced again. Objects that all know each other
have as many paths as there are orders of them: ten of them would already be millions of containers."""

_SHARED = 1_000
"""How many times longer than the objects themselves their JSON may be for the fast way."""

_MANY = 100
"""Values inside of a value from which on the look at all its texts pays."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LONE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_MAPPINGS = frozenset({dict, OrderedDict, defaultdict})
_SEQUENCES = frozenset({list, tuple, deque})
_SCALARS = frozenset({type(None), bool, int, float, str})
_LEAVES = _SCALARS | {datetime, date, time, timedelta, UUID, Decimal}
"""Types that pydantic's serialiser turns into what is wanted here, without looking inside."""


def clean_text(text: str) -> str:
    """`text` as an exact ``str`` that UTF-8 can encode: surrogate pairs are joined, lone surrogates become U+FFFD."""
    if text.isascii():
        return text if type(text) is str else str.__str__(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE.sub("\ufffd", text).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return text if type(text) is str else str.__str__(text)


def json_safe(value: Any) -> Any:
    """`value` as JSON data (dict with ``str`` keys, list, str, int, float, bool, None). Never raises.

    The result shares no mutable object with `value`. ``NaN`` and infinities become None; whole numbers stay whole
    however large they are (clients lose digits beyond 2^53).
    """
    kind = type(value)
    if kind is str:
        return clean_text(value)
    if kind in _SCALARS and kind is not float:
        return value
    try:
        if _room_after(value, _MANY) > 0:
            return from_json(to_json(value, inf_nan_mode="null"))
        way = _way(value)
        if way == "copy":
            return to_jsonable_python(value, by_alias=False, inf_nan_mode="null")
        if way == "encode":
            return from_json(to_json(value, by_alias=False, inf_nan_mode="null"))
    except Exception:  # user code runs in here: serialisers, properties, dicts changed by another thread
        pass
    return _Walk().value(value, 0)


def json_text(value: Any) -> str:
    """`json_safe(value)` as compact JSON text; characters outside ASCII stand for themselves."""
    try:
        if _room_after(value, _MANY) > 0 or _way(value) != "walk":
            return to_json(value, by_alias=False, inf_nan_mode="null").decode()
    except Exception:  # as above, or half of a surrogate pair
        pass
    return json.dumps(_Walk().value(value, 0), ensure_ascii=False, separators=(",", ":"))


_Way = Literal["copy", "encode", "walk"]
"""How a value becomes JSON data, the fastest way first.

- copy: many containers, numbers and texts that UTF-8 can encode: pydantic's serialiser copies them.
- encode: what its serialiser writes as wanted: as JSON, and back. The objects in it may write anything.
- walk: one object at a time.
"""


def _way(value: Any) -> _Way:
    """The fastest way that gives what is wanted, for what occurs within `MAX_DEPTH` levels; not the fast ones where
    objects that occur again and again would make the JSON endless.

    Level by level and each object once per level, so that a structure full of cycles ends too.
    """
    level = [value]
    longer, count = 1.0, 0
    mappings: list[Mapping[Any, Any]] = []
    levels: list[list[Any]] = []
    by_code = False
    for _ in range(MAX_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            kind = type(item)
            if kind in _MAPPINGS:
                inside.extend(item.values())
                mappings.append(item)
            elif kind in _SEQUENCES:
                inside.extend(item)
            elif kind not in _LEAVES:
                fields = _fields(item)
                if fields is None:
                    return "walk"
                inside.extend(fields)
                by_code = True
        levels.append(inside)
        count += len(inside)
        if _LEAVES.issuperset(map(type, inside)):
            return "encode" if by_code or count < _MANY or not _is_clean(levels, mappings) else "copy"
        found = [item for item in inside if type(item) not in _LEAVES]
        level = list({id(item): item for item in found}.values())
        longer *= len(found) / len(level)
        if longer > _SHARED:
            return "walk"
    return "walk"


def _room_after(value: Any, room: int) -> int:
    """The rest of `room` after a place for each value inside of this one; negative if there are too many, or if not
    all are in the plainest containers. Most values fit, and looking for the way would take several times as long."""
    kind = type(value)
    if kind is dict:
        inside = value.values()
    elif kind is list or kind is tuple:
        inside = value
    else:
        return -1
    room -= len(inside)
    if room > 0:
        for item in inside:
            if type(item) not in _LEAVES and (room := _room_after(item, room)) < 0:
                break
    return room


def _fields(item: Any) -> list[Any] | None:
    """The values in an object of a class that pydantic's serialiser knows; None for any other."""
    if isinstance(item, BaseModel):
        return [*item.__dict__.values(), *(item.__pydantic_extra__ or {}).values()]
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, field.name) for field in dataclasses.fields(item)]
    return None


def _is_clean(levels: list[list[Any]], mappings: list[Mapping[Any, Any]]) -> bool:
    """All names are texts, and UTF-8 can encode them and the other texts: joined, they are checked in a fraction of the
    time that it takes to write them."""
    names = set[Any]().union(*mappings)
    if not {str}.issuperset(map(type, names)):
        return False
    try:
        return all(text.isascii() or text.encode() for text in ("".join(names), *map(_texts, levels)))
    except UnicodeEncodeError:
        return False


def _texts(items: list[Any]) -> str:
    try:
        return "".join(items)
    except TypeError:  # not all are text
        return "".join([item for item in items if type(item) is str])


class _Walk:
    """The slow way: one value at a time, each failure confined to the leaf where it happens."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        """Ids of the containers around the current value, to find cycles."""
        self._done: dict[int, Any] = {}
        """Containers by id that were written out. Kept alive: an id may be used again when its object is gone."""
        self._again = 0
        """Containers and members that were written out again."""

    def value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return clean_text(value)
        if kind in _SCALARS:
            return value if kind is not float or math.isfinite(value) else None
        if depth > MAX_DEPTH:
            return TOO_DEEP
        if id(value) in self._open:
            return CYCLE
        again = id(value) in self._done
        if again and self._again > _REPEATS:
            return REPEATED
        self._open.add(id(value))
        try:
            result = self._object(value, depth)
            if isinstance(result, dict | list):
                self._done[id(value)] = value
                self._again += (1 + len(result)) * again
            return result
        except RecursionError:
            return TOO_DEEP
        except Exception:  # whatever the object's own methods raise
            return _describe(value)
        finally:
            self._open.discard(id(value))

    def _object(self, value: Any, depth: int) -> Any:
        match value:
            case Enum():
                return self.value(value.value, depth)
            case str():
                return clean_text(str.__str__(value))
            case bool() | int():
                return int.__int__(value)
            case float():
                return self.value(float.__float__(value), depth)
            case bytes() | bytearray() | memoryview():
                return b64encode(value).decode()
            case BaseModel():
                return self._model(value, depth)
            case Mapping():
                return self._mapping(value, depth)
            case list() | tuple() | deque() | UserList() | KeysView() | ValuesView():
                return self._list(value, depth)
            case set() | frozenset():
                return self._set(value, depth)
            case UserString():
                return clean_text(value.data)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            missing = dataclasses.MISSING
            fields = {field.name: getattr(value, field.name, missing) for field in dataclasses.fields(value)}
            return self._mapping({name: item for name, item in fields.items() if item is not missing}, depth)
        return self._leaf(value, depth)

    def _leaf(self, value: Any, depth: int) -> Any:
        if isinstance(value, BaseException | type) or hasattr(type(value), "__next__"):
            return _describe(value)
        if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self.value(value.tolist(), depth)  # arrays and scalars; unknown to pydantic, frequent in state
        result = to_jsonable_python(value, fallback=_describe, inf_nan_mode="null", by_alias=False)
        return result if result is value else self.value(result, depth)

    def _model(self, value: BaseModel, depth: int) -> Any:
        try:
            data: Any = value.model_dump(mode="python", by_alias=False, warnings=False)
        except Exception:  # a cycle, or a serialiser that fails: at least the fields
            data = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return self.value(data, depth)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        return {_key(key): self.value(item, depth + 1) for key, item in list(value.items())}

    def _list(self, value: Iterable[Any], depth: int) -> list[Any]:
        return [self.value(item, depth + 1) for item in list(value)]

    def _set(self, value: Iterable[Any], depth: int) -> list[Any]:
        items = self._list(value, depth)
        try:
            return sorted(items)
        except TypeError:
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _key(key: Any) -> str:
    """A dict key as text, as pydantic would write it where it writes one at all."""
    match key:
        case Enum():
            return _key(key.value)
        case str():
            return clean_text(key)
        case bool():
            return "true" if key else "false"
        case None:
            return "None"
        case tuple():
            return ",".join(map(_key, key))
        case set() | frozenset():
            return ",".join(sorted(map(_key, key)))
    safe = _Walk().value(key, 0)
    return safe if isinstance(safe, str) else json.dumps(safe, ensure_ascii=False)


def _describe(value: Any) -> str:
    """The object's ``repr`` without its memory address, or its class's name where ``repr`` fails."""
    try:
        return clean_text(_ADDRESS.sub("", repr(value)))
    except Exception:  # whatever __repr__ raises
        return f"<{type(value).__name__}>"


class Joiner:
    """Joins surrogate pairs that a provider split across chunks; a half that stays alone becomes a replacement
    character."""

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half = ""
        """The first half of a pair, which waits for the second."""

    def join(self, text: str) -> str:
        """The text with the half before it, without a half at its end."""
        if text.isascii() and not self.half:
            return text
        text, self.half = self.half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self.half, text = text[-1], text[:-1]
        return clean_text(text)

    def rest(self) -> str:
        """The half that nothing followed."""
        half, self.half = self.half, ""
        return clean_text(half)
