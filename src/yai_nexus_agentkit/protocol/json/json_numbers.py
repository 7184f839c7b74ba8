"""Pure. Numbers beyond 2^53, which a client that knows doubles only (every browser) rounds and writes in other digits:
what it sends back untouched is not what it was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

__all__ = ["unrounded"]

_EXACT = 2**53
_ABSENT = object()


def unrounded(sent: Any, back: Any) -> Any:
    """`back` with every number as it was sent that is what the client made of it; both are JSON data.

    A number is looked for at its place first, then anywhere in `sent`: lists change their order, and an answer has
    another form than its question. A number that cannot come from a double is a change: some clients have whole
    numbers of any size.
    """
    if not any(_double(number) is not None or number is None for number in _leaves(back)):
        return back
    known: dict[float, int | float | None] = {}
    endless = False
    for number in filter(_is_large, _leaves(sent)):
        double = _rounded(number)
        endless = endless or double is None
        if double is not None:
            known[double] = number if known.get(double, number) == number else None
    return _restored(sent, back, known) if known or endless else back


def _restored(sent: Any, back: Any, known: Mapping[float, int | float | None]) -> Any:
    if isinstance(back, dict):
        before = sent if isinstance(sent, dict) else {}
        return {name: _restored(before.get(name, _ABSENT), item, known) for name, item in back.items()}
    if isinstance(back, list):
        items = sent if isinstance(sent, list) else []
        return [_restored(items[n] if n < len(items) else _ABSENT, item, known) for n, item in enumerate(back)]
    if back is None:
        return sent if _is_large(sent) and _rounded(sent) is None else None
    double = _double(back)
    if double is None:
        return back
    if _is_large(sent) and _rounded(sent) == double:
        return sent
    found = known.get(double)
    return back if found is None else found


def _is_large(number: Any) -> bool:
    return type(number) in (int, float) and abs(number) > _EXACT


def _rounded(number: int | float) -> float | None:
    """The number as a client with doubles has it; None for infinity, which it writes as null."""
    try:
        return float(number)
    except OverflowError:
        return None


def _double(number: Any) -> float | None:
    """The large double that a client wrote as this number; None for other numbers, and for what is none."""
    if type(number) not in (int, float) or abs(number) < _EXACT:
        return None
    double = _rounded(number)
    if double is None or type(number) is float:
        return double
    # In full, or by the shortest digits that mean this double (JavaScript).
    return double if number in (int(double), int(Decimal(repr(double)))) else None


def _leaves(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
        else:
            yield item
