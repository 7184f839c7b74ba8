"""Pure. Whether plain objects and lists are as they were, although somebody may have changed them in place."""

from __future__ import annotations

from collections.abc import Iterable
from gc import get_referents
from itertools import chain
from operator import is_
from typing import Any

__all__ = ["Watch"]

_CONTAINERS = frozenset({dict, list})


class Watch:
    """The containers in these values, with what each of them holds: known by identity, without a look at texts.

    It keeps all that alive. Objects of other classes, subclasses included, are not looked into.
    """

    __slots__ = ("_containers", "_inside", "_names", "_objects", "_sizes")

    def __init__(self, values: Iterable[Any]) -> None:
        found: dict[int, Any] = {}
        inside: list[Any] = []
        level: Iterable[Any] = values
        while new := {id(item): item for item in level if type(item) in _CONTAINERS}:
            for known in found.keys() & new.keys():
                del new[known]
            found.update(new)
            level = get_referents(*new.values())  # values of objects with text as names; items of lists
            inside += level
        self._containers, self._inside = [*found.values()], inside
        self._objects = [item for item in self._containers if type(item) is dict]
        self._sizes = [*map(len, self._containers)]
        self._names = [*chain.from_iterable(self._objects)]

    def holds(self) -> bool:
        """Nothing was added, taken away or replaced by another object, an equal one included."""
        return (
            [*map(len, self._containers)] == self._sizes
            and [*chain.from_iterable(self._objects)] == self._names
            and all(map(is_, get_referents(*self._containers), self._inside))
        )
