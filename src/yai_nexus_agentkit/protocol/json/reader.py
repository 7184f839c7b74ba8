"""Pure. Strict reading of JSON text. Time and memory grow with its length, and with the values that it may hold."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

__all__ = ["TooManyValuesError", "read_json"]

_CONTAINERS = frozenset({dict, list})
_DIGITS = 1_000
"""Characters of a number. Python reads whole numbers in time by the square of their length."""


class TooManyValuesError(ValueError):
    """The text holds more values than the limit."""


def read_json(data: bytes | str, *, max_depth: int, max_values: int | None = None) -> Any:
    """JSON data of UTF-8 text. `max_values`: members and items that it may hold, where it is bytes. An empty list takes
    two bytes of text, and fifty of memory.

    Raises `ValueError` for bad UTF-8, empty text, ``NaN``, numbers beyond doubles such as ``1e400``, a key that occurs
    twice in an object, numbers of more than a thousand digits, and nesting deeper than `max_depth` levels;
    `TooManyValuesError` for more values.
    """
    if isinstance(data, bytes):
        if max_values is not None and _has_more_values(data, max_values):
            raise TooManyValuesError(f"holds more than {max_values} values")
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"is not UTF-8: byte {error.start} cannot be read") from None
    if not data.strip():
        raise ValueError("is empty")
    try:
        found = json.loads(
            data, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_whole
        )
    except RecursionError:
        raise ValueError(f"is nested deeper than {max_depth} levels") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    if _is_deeper(found, max_depth):
        raise ValueError(f"is nested deeper than {max_depth} levels")
    return found


def _has_more_values(text: bytes, limit: int) -> bool:
    """A value follows each comma and each opening bracket. Counting them is much faster than reading."""
    if _separators(text) < limit:  # even with those inside of strings
        return False
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * (limit + 1):  # more strings than values and names
        return True
    return _separators(b"".join(plain.split(b'"')[::2])) >= limit


def _separators(text: bytes) -> int:
    return len(text) - len(text.translate(None, b",[{"))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:100]!r} occurs twice in an object")
            seen.add(key)
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _finite(digits: str) -> float:
    if len(digits) > _DIGITS:
        raise ValueError("a number has too many digits")
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _is_deeper(data: Any, limit: int) -> bool:
    level = [data] if type(data) is dict or type(data) is list else []
    for _ in range(limit):
        inside: list[Any] = []
        for item in level:
            inside.extend(item.values() if type(item) is dict else item)
        if _CONTAINERS.isdisjoint(map(type, inside)):
            return False
        level = [item for item in inside if type(item) is dict or type(item) is list]
    return True
