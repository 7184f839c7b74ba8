"""The strict JSON reader, and JSON Patch: what they refuse, and that their cost is bounded."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yai_nexus_agentkit.errors import StatePatchError
from yai_nexus_agentkit.protocol.json.patch import apply_patch, is_addressable, pointer
from yai_nexus_agentkit.protocol.json.reader import TooManyValuesError, read_json


def test_json_is_read() -> None:
    assert read_json(b'\xef\xbb\xbf {"a": [1, 2.5, "x", null, true]}', max_depth=2) == {"a": [1, 2.5, "x", None, True]}
    assert read_json('"\\ud83d"', max_depth=1) == "\ud83d"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "is not UTF-8: byte 0 cannot be read"),
        (b" \n", "is empty"),
        ("{", "is not JSON: "),
        ("[NaN]", "is not JSON: NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ("[1e400]", "a number is too large"),
        ("1" * 1_001, "a number has too many digits"),
        ("0." + "1" * 1_000, "a number has too many digits"),
        ('{"' + "k" * 500 + '": 1, "' + "k" * 500 + '": 1}', "the key 'kkk"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', "the key 'b' occurs twice in an object"),
        ("[[[]]]", "is nested deeper than 2 levels"),
        ("[" * 100_000, "is nested deeper than 2 levels"),
    ],
)
def test_other_text_is_refused(data: bytes | str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as raised:
        read_json(data, max_depth=2)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 300


def test_many_keys_are_compared_in_linear_time() -> None:
    keys = ",".join(f'"{n}":0' for n in range(100_000))
    began = time.process_time()
    with pytest.raises(ValueError, match="'99999' occurs twice"):
        read_json(f'{{{keys},"99999":0}}', max_depth=1)
    assert time.process_time() - began < 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def values(data: Any) -> int:
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return 1 + sum(map(values, inside))


@given(JSON, st.booleans())
def test_any_data_is_read_as_it_is_and_counted(data: Any, ascii_only: bool) -> None:
    text = json.dumps(data, ensure_ascii=ascii_only)
    assert read_json(text, max_depth=20) == data
    if values(data) > 1:
        with pytest.raises(TooManyValuesError):
            read_json(text.encode(), max_depth=20, max_values=values(data) - 1)
    empty = text.count("[]") + text.count("{}")  # counts as one with a value
    assert read_json(text.encode(), max_depth=20, max_values=values(data) + empty) == data


@given(st.text(alphabet='",[{\\x', max_size=30), st.integers(1, 5))
def test_separators_in_strings_do_not_count(text: str, number: int) -> None:
    body = json.dumps([text] * number).encode()
    assert read_json(body, max_depth=20, max_values=number + 1) == [text] * number


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 1_000_000 + b"1]",
        b'["' + b'\\",' * 1_000_000 + b'"]',
        b'["' + b"\\\\" * 1_500_000 + b'"]',
        b'"' * 3_000_000,
        ("{" + ",".join(f'"{n}":1' for n in range(200_000)) + "}").encode(),
        ('"' + "\\ud83d" * 500_000 + '"').encode(),
        b"[" + b"1" * 3_000_000 + b"]",
        b"[0." + b"1" * 3_000_000 + b"]",
        b'{"a":' * 600_000,
    ],
)
def test_three_megabytes_take_no_second(body: bytes) -> None:
    began = time.process_time()
    with suppress(ValueError):
        read_json(body, max_depth=20, max_values=200_000)
    assert time.process_time() - began < 1


def patched(document: dict[str, Any], *operations: dict[str, Any], **limits: int) -> dict[str, Any]:
    before = repr((document, operations))
    result = apply_patch(document, operations, **limits)
    assert repr((document, operations)) == before
    return result


def test_operations_see_the_ones_before() -> None:
    value = {"x": [1]}
    assert patched(
        {"a": [1, 2], "b": {"c~/": 1}, "kept": {}},
        {"op": "add", "path": "/a/-", "value": value},
        {"op": "add", "path": "/a/2/x/0", "value": 0},
        {"op": "copy", "from": "/a/2", "path": "/d"},
        {"op": "move", "from": "/b/c~0~1", "path": "/d/y"},
        {"op": "test", "path": "/d/y", "value": 1},
        {"op": "remove", "path": "/a/0"},
        {"op": "replace", "path": "/a/0", "value": value},
    ) == {"a": [{"x": [1]}, {"x": [0, 1]}], "b": {}, "kept": {}, "d": {"x": [0, 1], "y": 1}}
    assert patched({"a": 1}, {"op": "replace", "path": "", "value": {"b": 2}}) == {"b": 2}
    assert patched({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("operation", "conflict", "reason"),
    [
        (5, False, "an operation is an object"),
        ({}, False, "there is no operation None"),
        ({"op": ["add"]}, False, "there is no operation"),
        ({"op": "add", "path": "/a"}, False, "add needs 'value'"),
        ({"op": "copy", "path": "/a"}, False, "copy needs 'from'"),
        ({"op": "remove", "path": "a"}, False, "path is not a JSON Pointer"),
        ({"op": "move", "from": "/~2", "path": "/a"}, False, "from is not a JSON Pointer"),
        ({"op": "remove", "path": "/x"}, True, "remove '/x': "),
        ({"op": "remove", "path": "/a/-"}, True, "there is no item at '-'"),
        ({"op": "replace", "path": "/a/-", "value": 1}, True, "there is no item at '-'"),
        ({"op": "test", "path": "/one", "value": True}, True, "the test fails"),
        ({"op": "add", "path": "/__proto__", "value": 1}, True, "clients refuse the path"),
        ({"op": "copy", "from": "/constructor/prototype", "path": "/b"}, True, "clients refuse the path"),
        ({"op": "replace", "path": "", "value": []}, True, "not an object"),
    ],
)
def test_a_patch_that_clients_would_not_apply_is_refused(operation: Any, conflict: bool, reason: str) -> None:
    document = {"a": [1], "one": 1}
    with pytest.raises(StatePatchError) as raised:
        apply_patch(document, [{"op": "add", "path": "/n", "value": 1}, operation])
    assert (raised.value.path, raised.value.conflict) == ("/1", conflict)
    assert reason in str(raised.value)
    assert document == {"a": [1], "one": 1}


def test_a_patch_is_bounded() -> None:
    """Each value counts as its JSON and 64 bytes: copies of small ones are not small."""
    bomb = [{"op": "copy", "from": "/items", "path": "/items/-"}] * 40
    for item in ("x" * 100, [], 1):
        with pytest.raises(StatePatchError, match="the result is larger than 100000 bytes") as raised:
            apply_patch({"items": [item]}, bomb, max_size=100_000)
        assert raised.value.conflict
        assert int(raised.value.path[1:]) < 15
    value = {"op": "add", "path": "/a", "value": "x" * 100}
    with pytest.raises(StatePatchError, match="larger"):
        apply_patch({}, [value], max_size=200)
    assert apply_patch({}, [value], max_size=300) == {"a": "x" * 100}
    large = {"a": "x" * 5_000, "b": 1}
    assert apply_patch(large, [{"op": "remove", "path": "/b"}], max_size=1_000) == {"a": "x" * 5_000}


def test_many_operations_copy_the_document_once() -> None:
    began = time.process_time()
    many = [{"op": "add", "path": f"/items/k{n}", "value": n} for n in range(6_000)]
    result = apply_patch({"items": {f"i{n}": [n] for n in range(50_000)}}, many)
    assert len(result["items"]) == 56_000
    assert time.process_time() - began < 5


def test_pointers() -> None:
    assert pointer("a/b~c") == "/a~1b~0c"
    assert is_addressable("/a/constructor/b/prototype")
    assert not is_addressable("/a/__proto__/b")
    assert not is_addressable("/constructor/prototype")
