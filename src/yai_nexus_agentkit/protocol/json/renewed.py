"""JSON data of values that change a little now and then. Pure.

Only the parts that changed are converted. A part is recognised by its bytes in Python's own format, `marshal`, which
are made in a third of the time that conversion takes. A part with the bytes of the JSON data *is* that data: types,
texts and order count in them, and whatever JSON does not know has other bytes, or none. Only what equals the data is
written so: a value that contains itself has no end.
"""

from __future__ import annotations

from marshal import dumps
from operator import is_
from typing import Any, TypeAlias

from yai_nexus_agentkit.protocol.json.json_safe import CYCLE, REPEATED, TOO_DEEP, json_safe

__all__ = ["Mark", "renewed"]

Mark: TypeAlias = bytes | dict[str, Any] | list[Any] | None
"""The bytes of JSON data; of a large object or list the marks of its parts. None: not known."""

_FORMAT = 2
"""Without references: those depend on which objects are the same."""
_LARGE = 2_000
"""Bytes from which on the parts of a value have marks of their own, ..."""
_PART = 50
"""... if they have so many on average: smaller parts are converted as fast as they are looked at."""
_ABSENT = object()
_FEW = 20
"""Values up to which each is converted by itself, in the way that is best for it."""

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
        marks = [dumps(part, _FORMAT) for part in (old.values() if type(old) is dict else old)]
        mark = dict(zip(old, marks, strict=True)) if type(old) is dict else marks
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
    return type(mark) is not bytes or len(mark) >= max(_LARGE, _PART * len(data))


def _converted(values: list[Any]) -> list[tuple[Any, Mark]]:
    made = json_safe(values) if len(values) > _FEW else list(map(json_safe, values))
    marks = [dumps(item, _FORMAT) for item in made]
    whole = b"".join(marks)
    if any(cut in whole for cut in _CUT):
        raise ValueError("where a value is cut depends on what is around it")
    return list(zip(made, marks, strict=True))


def _parts(known: list[tuple[Any, Mark]], values: list[Any]) -> list[tuple[Any, Mark]]:
    """Parts that are not what they were: the large ones by their own parts, the others at once."""
    large = [
        type(value) is type(old) and _has_parts(old, mark) for (old, mark), value in zip(known, values, strict=True)
    ]
    others = iter(_converted([value for value, by_part in zip(values, large, strict=True) if not by_part]))
    made = []
    for (old, mark), value, by_part in zip(known, values, large, strict=True):
        part = _renewed(old, mark, value) if by_part else next(others)
        made.append((old, mark) if part[1] == mark else part)
    return made


def _members(old: dict[str, Any], marks: dict[str, Any], value: dict[Any, Any]) -> tuple[Any, Mark]:
    others: dict[Any, Any] = {}
    for name, item in value.items():
        mark = marks.get(name)
        try:
            if type(mark) is bytes and item == old[name] and dumps(item, _FORMAT) == mark:
                continue
        except Exception:  # there is an object in it
            pass
        others[name] = item
    if not {str}.issuperset(map(type, others)):
        raise ValueError("a name is another one in JSON")
    "".join(others).encode()  # as one with half of a surrogate pair is
    gone = old.keys() - value.keys()
    made, marks = dict(old), dict(marks)
    for name in gone:
        del made[name], marks[name]
    known = [(old.get(name), marks.get(name)) for name in others]
    for name, (item, mark) in zip(others, _parts(known, list(others.values())), strict=True):
        made[name], marks[name] = item, mark
    same = not gone and all(made[name] is old.get(name, _ABSENT) for name in others)
    return (old if same else made), marks


def _items(old: list[Any], marks: list[Any], value: list[Any]) -> tuple[Any, Mark]:
    known = list(zip(old, marks, strict=True))
    if len(value) == len(old):
        changed = [n for n, (one, mark) in enumerate(known) if type(mark) is not bytes or not _is(one, mark, value[n])]
        for n, part in zip(changed, _parts([known[n] for n in changed], [value[n] for n in changed]), strict=True):
            known[n] = part
    else:
        head = _common(known, value)
        tail = _common(known[head:][::-1], value[head:][::-1])
        between = _converted(value[head : len(value) - tail])
        known[head : len(known) - tail] = between
    made = [item for item, _ in known]
    same = len(made) == len(old) and all(map(is_, made, old))
    return (old if same else made), [mark for _, mark in known]


def _common(known: list[tuple[Any, Mark]], value: list[Any]) -> int:
    """How many items, from the first on, are the same."""
    pairs = zip(known, value, strict=False)
    return next(
        (n for n, ((old, mark), item) in enumerate(pairs) if not _is(old, mark, item)), min(len(known), len(value))
    )
