"""Any Python value becomes strict JSON data."""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
import uuid
from base64 import b64decode
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr

from yai_nexus_agentkit.protocol.json.json_safe import (
    CYCLE,
    MAX_DEPTH,
    REPEATED,
    TOO_DEEP,
    clean_text,
    json_safe,
    json_text,
)


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Name(enum.StrEnum):
    X = "x"


class Pair(NamedTuple):
    a: int
    b: str


@dataclasses.dataclass
class Box:
    content: Any
    label: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    content: Any


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Turned:
    y: int
    x: int


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    content: Any = None
    renamed: int = Field(default=1, alias="otherName")


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Plain:
    pass


class Refusing(UserDict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def strict(value: Any) -> Any:
    """The value as a client reads it; fails for what is not strict JSON in UTF-8."""
    return json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.0, 1.0),
        (float("nan"), None),
        (float("-inf"), None),
        ([1, float("inf")], [1, None]),
        ("text", "text"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(1, 2), "01:02:00"),
        (timedelta(seconds=90), "PT1M30S"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (Path("/a/b"), "/a/b"),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, 2]),
        (Level.HIGH, 3),
        (Name.X, "x"),
        (Pair(1, "x"), [1, "x"]),
        ((1, [2]), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({Point(x=1, y=1), Turned(x=0, y=9)}, [{"y": 9, "x": 0}, {"x": 1, "y": 1}]),  # whatever order the fields have
        (deque([1]), [1]),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (Counter("aa"), {"a": 2}),
        (ChainMap({"a": 1}, {"b": 2}), {"b": 2, "a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (UserList([1]), [1]),
        (UserString("x"), "x"),
        ({"a": 1}.keys(), ["a"]),
        (Box(1), {"content": 1, "label": None}),
        (Slotted({1}), {"content": [1]}),
        (Model(content=1, otherName=2, more=3), {"content": 1, "renamed": 2, "more": 3}),
        (RootModel[list[int]]([1]), [1]),
        (SecretStr("hidden"), "**********"),
        (ValueError("x"), "ValueError('x')"),
        (range(3), "range(0, 3)"),
        (Broken(), "<Broken>"),
        (Plain, f"<class '{__name__}.Plain'>"),
    ],
)
def test_value(value: Any, expected: Any) -> None:
    result = json_safe(value)
    assert strict(result) == expected
    assert type(result) is type(expected)
    assert json.loads(json_text(value)) == expected


def test_mixed_set_has_one_order() -> None:
    assert json_safe({1, "a", None, (2, 3)}) == json_safe({(2, 3), None, "a", 1})


def test_bytes_are_standard_base64() -> None:
    data = bytes(range(256))
    for value in (data, bytearray(data), memoryview(data)):
        assert b64decode(json_safe([value])[0], validate=True) == data


def test_langchain_message_is_its_dict() -> None:
    message = AIMessage("hi", id="m", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}])
    result = json_safe({"last": message})["last"]
    assert (result["type"], result["content"], result["id"]) == ("ai", "hi", "m")
    assert result["tool_calls"] == [{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}]


def test_keys_become_text() -> None:
    keys = {1: "int", None: "none", (1, "x"): "tuple", Colour.RED: "enum", 2.5: "float", Name.X: "str enum"}
    assert json_safe(keys) == {
        "1": "int",
        "None": "none",
        "1,x": "tuple",
        "red": "enum",
        "2.5": "float",
        "x": "str enum",
    }
    assert json_safe({True: 1, frozenset({2, 1}): 3, Plain: 4, float("inf"): 5}).keys() >= {"true", "1,2"}


def test_unknown_object_is_its_repr_without_the_address() -> None:
    assert json_safe([Plain()]) == [f"<{__name__}.Plain object>"]
    assert json_safe(lambda: None).endswith("<lambda>>")


def test_iterators_are_not_consumed() -> None:
    generator = (number for number in (1, 2))
    numbers: Iterator[int] = iter([1, 2])

    async def work() -> None: ...

    coroutine = work()
    safe = json_safe({"generator": generator, "numbers": numbers, "coroutine": coroutine})
    coroutine.close()
    assert all(isinstance(text, str) for text in safe.values())
    assert (list(generator), list(numbers)) == ([1, 2], [1, 2])


def test_surrogates() -> None:
    assert clean_text("\ud83d\ude00 \udc00z\ud83d") == "\U0001f600 \ufffdz\ufffd"
    assert clean_text("a\ud800b") == "a\ufffdb"
    assert json_safe({"\ud800": ["\ud83d\ude00"]}) == {"\ufffd": ["\U0001f600"]}
    assert json_text("\ud800") == '"\ufffd"'
    assert type(clean_text(Name.X)) is str


def test_clean_text_is_returned_as_it_is() -> None:
    for text in ("plain", "grüß \U0001f600"):
        assert clean_text(text) is text


def test_cycles_are_cut() -> None:
    items: list[Any] = [1]
    items.append({"again": items})
    assert json_safe(items) == [1, {"again": CYCLE}]
    model = Model()
    model.content = [model]
    assert CYCLE in json_text(model)
    box = Box(None)
    box.content = box
    assert json_safe(box) == {"content": CYCLE, "label": None}


def test_what_occurs_twice_is_no_cycle() -> None:
    shared = [1]
    first, second = json_safe([shared, shared])
    assert first == second == [1]
    assert json_safe([shared, {shared[0], "x"}, shared])[2] == [1]


def test_deep_nesting_is_cut() -> None:
    value: Any = "leaf"
    for _ in range(100_000):
        value = [value]
    assert json_text(value) == "[" * (MAX_DEPTH + 1) + f'"{TOO_DEEP}"' + "]" * (MAX_DEPTH + 1)
    assert json_safe({"a": value, "b": 1})["b"] == 1


def test_never_a_recursion_error() -> None:
    value: Any = {1}
    for _ in range(MAX_DEPTH):
        value = (value, 1)

    def deep(frames: int) -> Any:
        return json_safe(value) if frames == 0 else deep(frames - 1)

    frames = 0
    frame: Any = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back
    for room in (30, 100, 300):
        strict(deep(sys.getrecursionlimit() - frames - room))


def test_many_cycles_end() -> None:
    first: list[Any] = []
    second: list[Any] = [first] * 50
    first.extend([second] * 50)
    assert strict(json_safe(first)) == [[CYCLE] * 50] * 50


def test_objects_that_all_know_each_other_end() -> None:
    people = [Box([], name) for name in "abcdefghijklmnopqrst"]
    for person in people:
        person.content.extend(people)
    result = json_safe({"people": people, "other": [1]})
    assert result["other"] == [1]
    assert {REPEATED, CYCLE} <= set(json_text(result).split('"'))
    assert len(json_text(result)) < 10_000_000


@pytest.mark.parametrize("width", [2, 50])
def test_a_list_of_itself_of_itself_ends(width: int) -> None:
    value: Any = []
    for _ in range(100):
        value = [value] * width
    assert REPEATED in json_text(value)


def test_a_value_in_many_places_is_written_out_in_each() -> None:
    shared = {"unit": "m"}
    rows: list[Any] = [{"id": number, "meta": shared} for number in range(20_000)]
    assert json_safe(rows) == rows
    assert json_safe([{1}, *rows])[1:] == rows


def test_one_bad_leaf_costs_only_itself() -> None:
    rows: list[Any] = [{"id": number, "at": date(2026, 1, 1), "tags": ["a", None]} for number in range(500)]
    clean = json_safe(rows)
    for bad in (Broken(), "\ud800", {1}, Refusing(), (x for x in ()), float("nan"), Model(content=Broken())):
        result = json_safe([*rows, {"bad": bad}, *rows])
        assert result[:500] == result[501:] == clean
        strict(result)


def test_nothing_mutable_is_shared() -> None:
    inner = {"a": [1]}
    for value in ({"x": inner}, {"x": inner, "y": {1}}):
        result = json_safe(value)
        inner["a"].append(2)
        assert result["x"] == {"a": [1]}
        inner["a"].pop()


def test_numpy_arrays_and_scalars() -> None:
    class Array:
        def __init__(self, content: Any) -> None:
            self.tolist = lambda: content

    Array.__module__ = "numpy"  # numpy itself is not needed by anything here
    safe = json_safe({"array": Array([[1, 2]]), "number": Array(3), "nan": Array(float("nan"))})
    assert safe == {"array": [[1, 2]], "number": 3, "nan": None}


def test_json_text_is_compact() -> None:
    assert json_text({"é": [1, 2.5, None]}) == '{"é":[1,2.5,null]}'
    assert json_text({"é": [{1}, "x"]}) == '{"é":[[1],"x"]}'


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
    st.text(st.sampled_from("a\ud83d\ude00\udc00é"), max_size=4),
    st.binary(max_size=4),
    st.datetimes(timezones=st.none() | st.just(UTC)),
    st.dates(),
    st.timedeltas(),
    st.uuids(),
    st.decimals(),
    st.sampled_from([Colour.RED, Colour.PAIR, Level.HIGH, Name.X, Plain(), Plain, len, Pair(1, "x"), 1j]),
    st.builds(HumanMessage, st.text(max_size=3)),
    st.builds(Broken),
)
KEYS = st.one_of(st.text(max_size=3), st.integers(0, 3), st.none(), st.booleans(), st.tuples(st.integers(0, 2)))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(Box, inner),
        st.builds(Slotted, inner),
        st.builds(Model, content=inner),
        st.builds(deque, st.lists(inner, max_size=2)),
        st.frozensets(st.integers() | st.text(max_size=2) | st.none(), max_size=3),
    ),
    max_leaves=12,
)


def assert_plain(value: Any) -> None:
    assert type(value) in (dict, list, str, int, float, bool, type(None))
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        assert_plain(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            assert_plain(item)


@given(VALUES)
@example({1: "a", "1": "b"})
def test_any_value_is_strict_json(value: Any) -> None:
    result = json_safe(value)
    assert_plain(result)
    assert strict(result) == result
    assert json_safe(result) == result
    assert json.loads(json_text(value)) == result


@given(VALUES)
@example("\ud800")
@example({"\ud800": 1, "a": float("inf")})
@example([Decimal("NaN"), Decimal("1.50"), timedelta(days=400), 2**70, -0.0, 1e22])
def test_a_value_among_many_is_the_same(value: Any) -> None:
    """Large values are copied in another way than small ones."""
    alone = json_safe([value])
    among = json_safe([value, list(range(1_000))])
    assert json.dumps(among[:1]) == json.dumps(alone)
    assert_plain(among)


def test_nothing_mutable_of_a_large_value_is_shared() -> None:
    value = {"rows": [{"n": n, "tags": ["a"]} for n in range(1_000)]}
    result = json_safe(value)
    assert result == value
    value["rows"][0]["tags"].append("b")
    assert result["rows"][0]["tags"] == ["a"]


@given(VALUES)
def test_both_ways_lead_to_the_same(value: Any) -> None:
    """A value beside something that only the slow way can convert."""
    alone, beside = json_text(value), json_text([{0}, value])
    assert json.loads(beside) == [[0], json.loads(alone)]
