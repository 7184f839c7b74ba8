"""Pure. JSON data of values that change a little now and then.

Only the parts that changed are converted. A part is recognised by its bytes in Python's own format, `marshal`, which
are made in a third of the time that conversion takes. A part with the bytes of the JSON data *is* that data: types,
texts and order count in them, and whatever JSON does not know has other bytes, or none. Only what equals the data is
written so: a value that contains itself has no end.

The objects that the parts were made of are watched: of those that come again, whether something inside was changed in
place is known in a third of that time. As soon as something was, all parts are recognised by their bytes again.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, count, repeat, takewhile
from marshal import dumps
from operator import is_, is_not
from typing import Any, NamedTuple, TypeAlias

from yai_nexus_agentkit.protocol.json.json_safe import CYCLE, REPEATED, TOO_DEEP, json_safe
from yai_nexus_agentkit.protocol.json.watch import Watch

__all__ = ["Mark", "renewed"]


class _Parts(NamedTuple):
    """The members or items of a large value, in order."""

    data: list[Any]
    marks: list[Mark]
    seen: list[Any]
    """The objects that the data was made of. `_UNKNOWN` for one that is not the data itself."""
    watches: tuple[Watch, ...] | None = ()
    """On these objects. None: no longer, since somebody changes them in place, or copies them."""


Mark: TypeAlias = bytes | _Parts | None
"""The bytes of JSON data; of a large object or list the marks of its parts. None: not known."""

_FORMAT = 2
"""Without references: those depend on which objects are the same."""
_LARGE = 2_000
"""Bytes from which on the parts of a value have marks of their own, ..."""
_PART = 50
"""... if they have so many on average: smaller parts are converted as fast as they are looked at."""
_UNKNOWN, _GONE = object(), object()
_FEW = 20
"""Values up to which each is converted by itself, in the way that is best for it."""
_WATCHES = 20
"""Watches that become a single one: the older ones hold on to objects that are gone."""

_CUT = [text.encode() for text in (CYCLE, REPEATED, TOO_DEEP)]


def renewed(old: Any, mark: Mark, value: Any) -> tuple[Any, Mark]:
    """`json_safe(value)`, made of the same objects as `old` where both are the same, and its mark.

    `old`: JSON data, with the mark that it came with. Neither is changed.
    """
    if type(value) is type(old) and type(value) in (dict, list):
        try:
            mark = mark or dumps(old, _FORMAT)
            if type(mark) is bytes and _is(old, mark, value):
                return old, mark
            if _has_parts(old, mark):
                return _renewed(old, mark, value)
        except Exception:  # user code runs in here (`__eq__`, serialisers), and other threads may change the value
            pass
    return json_safe(value), None


def _renewed(old: Any, mark: Any, value: Any) -> tuple[Any, Mark]:
    """The same by parts, of two large objects or two large lists. Raises something if `json_safe` might make another
    thing of the value as a whole."""
    if type(mark) is bytes:
        data = list(old.values() if type(old) is dict else old)
        mark = _Parts(data, [dumps(part, _FORMAT) for part in data], [_UNKNOWN] * len(data))
    return _members(old, mark, value) if type(old) is dict else _items(old, mark, value)


def _is(old: Any, mark: Mark, value: Any) -> bool:
    """The value is the JSON data."""
    if type(mark) is not bytes:
        return type(value) is type(old) and _renewed(old, mark, value)[0] is old
    try:
        return bool(value == old) and dumps(value, _FORMAT) == mark
    except Exception:  # there is an object in it
        return False


def _has_parts(data: Any, mark: Mark) -> bool:
    """Its parts have marks of their own."""
    if type(data) is not dict and type(data) is not list:
        return False
    return type(mark) is _Parts or len(mark or b"") >= max(_LARGE, _PART * len(data))


def _members(old: dict[str, Any], parts: _Parts, value: dict[Any, Any]) -> tuple[Any, Mark]:
    names = list(old)
    if list(value) == names:
        new = _in_places(parts, list(value.values()))
        return (old if all(map(is_, new.data, parts.data)) else dict(zip(names, new.data, strict=True))), new
    added = [name for name in value if name not in old]
    if not {str}.issuperset(map(type, added)):
        raise ValueError("a name is another one in JSON")
    "".join(added).encode()  # as one with half of a surrogate pair is
    new = _in_places(parts, list(map(value.get, names, repeat(_GONE))))
    new = _spliced(new, len(new.data), 0, [value[name] for name in added])
    return dict(zip([*(name for name in names if name in value), *added], new.data, strict=True)), new


def _items(old: list[Any], parts: _Parts, value: list[Any]) -> tuple[Any, Mark]:
    if len(value) == len(old):
        new = _in_places(parts, list(value))
        return (old if all(map(is_, new.data, old)) else new.data), new
    parts = _trusted(parts)
    head = _common(map(is_, parts.seen, value))
    tail = _common(map(is_, parts.seen[head:][::-1], value[head:][::-1]))
    new = _spliced(parts, head, tail, value[head : len(value) - tail])
    return new.data, new


def _trusted(parts: _Parts) -> _Parts:
    """The parts with those objects as seen whose data is known without another look at them."""
    watches = parts.watches
    if watches is not None:
        fewer = (Watch(parts.seen),) if len(watches) > _WATCHES else watches
        if all(watch.holds() for watch in watches):
            return parts._replace(watches=fewer)
    return parts._replace(seen=[_UNKNOWN] * len(parts.seen), watches=None)


def _watching(parts: _Parts, values: list[Any]) -> _Parts:
    """The parts with a watch on further values, unless most are replaced each time. It begins before these are looked
    at: another thread may change them right after."""
    if parts.watches is None or not values:
        return parts
    often = bool(parts.watches) and 2 * len(values) > len(parts.data)
    return parts._replace(watches=None if often else (*parts.watches, Watch(values)))


def _in_places(parts: _Parts, values: list[Any]) -> _Parts:
    """These values, of which some may be gone, in the places of the parts."""
    parts = _trusted(parts)
    places = [*compress(count(), map(is_not, values, parts.seen))]
    parts = _watching(parts, [values[n] for n in places if type(parts.marks[n]) is bytes])
    data, marks, seen = list(parts.data), list(parts.marks), list(values)
    places = [n for n in places if type(marks[n]) is not bytes or not _is(data[n], marks[n], values[n])]
    others = [n for n in places if values[n] is not _GONE]
    made = _others([(data[n], marks[n]) for n in others], [values[n] for n in others])
    for n, part in zip(others, made, strict=True):
        data[n], marks[n] = part
        seen[n] = _if_data(part, values[n]) if parts.watches else _UNKNOWN
    for n in reversed(places):
        if values[n] is _GONE:
            del data[n], marks[n], seen[n]
    return _Parts(data, marks, seen, parts.watches)


def _spliced(parts: _Parts, head: int, tail: int, values: list[Any]) -> _Parts:
    """These values in place of the parts between the first `head` and the last `tail`."""
    parts = _watching(parts, values)
    data, marks, seen, watches = parts
    end = len(data) - tail
    between = list(zip(data[head:end], marks[head:end], strict=True))
    first = _common(map(_is_known, between, values))
    last = _common(map(_is_known, between[first:][::-1], values[first:][::-1]))
    between[first : len(between) - last] = _converted(values[first : len(values) - last])
    data = [*data[:head], *(part for part, _ in between), *data[end:]]
    marks = [*marks[:head], *(mark for _, mark in between), *marks[end:]]
    seen = [*seen[:head], *(map(_if_data, between, values) if watches else values), *seen[end:]]
    return _Parts(data, marks, seen, watches)


def _is_known(known: tuple[Any, Mark], value: Any) -> bool:
    return _is(*known, value)


def _if_data(known: tuple[Any, Mark], value: Any) -> Any:
    return value if type(known[1]) is bytes and _is(*known, value) else _UNKNOWN


def _common(alike: Iterable[bool]) -> int:
    """How many are alike, from the first on."""
    return len(list(takewhile(bool, alike)))


def _others(known: list[tuple[Any, Mark]], values: list[Any]) -> list[tuple[Any, Mark]]:
    """Parts that are not what they were: the large ones by their own parts, the others at once."""
    large = [
        type(value) is type(old) and _has_parts(old, mark) for (old, mark), value in zip(known, values, strict=True)
    ]
    others = iter(_converted([value for value, by_part in zip(values, large, strict=True) if not by_part]))
    made = []
    for (old, mark), value, by_part in zip(known, values, large, strict=True):
        part = _renewed(old, mark, value) if by_part else next(others)
        made.append((old, mark) if not by_part and part[1] == mark else part)
    return made


def _converted(values: list[Any]) -> list[tuple[Any, Mark]]:
    made = json_safe(values) if len(values) > _FEW else list(map(json_safe, values))
    marks = [dumps(item, _FORMAT) for item in made]
    whole = b"".join(marks)
    if any(cut in whole for cut in _CUT):
        raise ValueError("where a value is cut depends on what is around it")
    return list(zip(made, marks, strict=True))
