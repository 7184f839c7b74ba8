"""Pure. Strict reading of JSON text. Time grows with its length."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

__all__ = ["read_json"]


def read_json(data: bytes | str, *, max_depth: int) -> Any:
    """JSON data of UTF-8 text.

    Raises `ValueError` for bad UTF-8, empty text, ``NaN``, numbers beyond doubles such as ``1e400``, a key that occurs
    twice in an object, and nesting deeper than `max_depth` levels.
    """
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"is not UTF-8: byte {error.start} cannot be read") from None
    if not data.strip():
        raise ValueError("is empty")
    try:
        found = json.loads(data, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"is nested deeper than {max_depth} levels") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    if _is_deeper(found, max_depth):
        raise ValueError(f"is nested deeper than {max_depth} levels")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key!r} occurs twice in an object")
            seen.add(key)
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _is_deeper(data: Any, limit: int) -> bool:
    level = [data]
    for _ in range(limit):
        inside: list[Any] = []
        for item in level:
            values = item.values() if type(item) is dict else item if type(item) is list else ()
            inside += (value for value in values if type(value) is dict or type(value) is list)
        if not inside:
            return False
        level = inside
    return True
