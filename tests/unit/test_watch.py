"""A watch notices whatever is changed in place, and nothing else."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from yai_nexus_agentkit.protocol.json.watch import Watch


class Agreeable:
    """Equal to anything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("name")


class Word(str):
    """Equal to the text it is made of."""

    __slots__ = ()


def record() -> dict[str, Any]:
    shared = [1]
    return {
        "name": "a",
        "number": 1,
        "zero": 0.0,
        "none": None,
        "tags": ["a", 1, {"x": True}],
        "empty": {},
        "one": shared,
        "other": shared,
    }


def put(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda live: live.update({name: value})


def renamed(live: dict[str, Any]) -> None:
    live["called"] = live.pop("name")


def reordered(live: dict[str, Any]) -> None:
    live["name"] = live.pop("name")


def moved(live: dict[str, Any]) -> None:
    live["one"].insert(0, live["tags"].pop())


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "bool": put("number", True),
    "float": put("number", 1.0),
    "decimal": put("number", Decimal(1)),
    "minus zero": put("zero", -0.0),
    "nan": put("zero", float("nan")),
    "equal to anything": put("none", Agreeable()),
    "subclass of text": put("name", Word("a")),
    "equal list": put("tags", ["a", 1, {"x": True}]),
    "equal object": put("empty", {}),
    "subclass of an object": put("empty", OrderedDict()),
    "item": lambda live: live["tags"].__setitem__(1, True),
    "deep": lambda live: live["tags"][2].update(x=1),
    "added": put("new", None),
    "added deep": lambda live: live["empty"].update(new=None),
    "appended": lambda live: live["tags"].append("a"),
    "removed": lambda live: live.pop("name"),
    "cleared": lambda live: live["tags"].clear(),
    "name that is no text": lambda live: live["empty"].update({1: 1}),
    "shared": lambda live: live["other"].append(1),
    "renamed": renamed,
    "reordered": reordered,
    "moved": moved,
    "swapped": lambda live: live["tags"].reverse(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_in_place_is_noticed(change: str) -> None:
    live = [record(), "text", record()]
    watch = Watch(live)
    assert watch.holds()
    CHANGES[change](live[2])
    assert not watch.holds()


def test_what_is_changed_elsewhere_is_not() -> None:
    live = record()
    watch = Watch([live])
    other = {**live, "number": 2}
    other["tags"] = [*live["tags"], "b"]
    assert watch.holds()


def test_a_change_that_was_taken_back_is_none() -> None:
    live = record()
    watch = Watch([live])
    last = live["tags"].pop()
    live["tags"].append(last)
    assert watch.holds()


def test_values_in_themselves_and_values_that_occur_often() -> None:
    live: dict[str, Any] = record()
    live["self"] = live
    often: Any = live
    for _ in range(100):
        often = {"a": often, "b": often}
    watch = Watch([often, often])
    assert watch.holds()
    live["number"] = 2
    assert not watch.holds()
