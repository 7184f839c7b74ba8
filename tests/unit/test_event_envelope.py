"""The envelope: what is in it, what is a copy, what is refused, and who recognises it."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any
from uuid import RFC_4122, UUID

import jsonpatch
import pytest
from dirty_equals import IsStr
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from yai_nexus_agentkit.orchestration.envelope import (
    activity_envelope,
    activity_patch_envelope,
    custom_envelope,
    is_envelope,
    progress_envelope,
    state_envelope,
    state_patch_envelope,
)

ID = IsStr(regex="[0-9a-f]{32}")
PATCH = [{"op": "add", "path": "/rows/-", "value": {"n": 1}}]


class Chart(BaseModel):
    kind: str = Field("line", alias="Kind")
    data: list[int] = Field(default_factory=list)


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


class Opaque:
    """A class that no serialiser knows."""


# -- shape -------------------------------------------------------------------------------------------------------------


def test_each_kind_has_exactly_these_fields() -> None:
    assert custom_envelope("chart", {"data": [1]}, None) == {
        "agentkit": 1,
        "id": ID,
        "kind": "custom",
        "name": "chart",
        "value": {"data": [1]},
    }
    assert activity_envelope("a-1", "plan", {"steps": []}) == {
        "agentkit": 1,
        "id": ID,
        "kind": "activity",
        "name": "plan",
        "value": {"steps": []},
        "activity_id": "a-1",
    }
    assert activity_patch_envelope("a-1", PATCH) == {
        "agentkit": 1,
        "id": ID,
        "kind": "activity_patch",
        "name": "",
        "value": PATCH,
        "activity_id": "a-1",
    }
    assert progress_envelope("p-1", "load", 0.5, None) == {
        "agentkit": 1,
        "id": ID,
        "kind": "activity",
        "name": "progress",
        "value": {"name": "load", "fraction": 0.5, "message": None},
        "activity_id": "p-1",
    }
    assert state_envelope({"title": "x"}) == {
        "agentkit": 1,
        "id": ID,
        "kind": "state",
        "name": "",
        "value": {"title": "x"},
    }
    assert state_patch_envelope(PATCH) == {
        "agentkit": 1,
        "id": ID,
        "kind": "state_patch",
        "name": "",
        "value": PATCH,
    }


def test_ids_are_uuid4_and_differ() -> None:
    ids = [UUID(custom_envelope("x", None, None)["id"]) for _ in range(500)]
    assert len(set(ids)) == 500
    assert {(one.version, one.variant) for one in ids} == {(4, RFC_4122)}


@pytest.mark.parametrize("data", [b"\xff\xfb\xef", bytearray(b"\xff\xfb\xef"), memoryview(b"\xff\xfb\xef")])
def test_a_file_is_standard_base64_with_its_mime_type(data: Any) -> None:
    envelope = custom_envelope("report", data, "application/pdf")
    assert envelope["mime_type"] == "application/pdf"
    assert envelope["value"] == {"mimeType": "application/pdf", "data": "//vv"}  # URL-safe base64 would be "__vv"


def test_a_text_file_is_its_utf8() -> None:
    value = custom_envelope("table", "größe;1\n\ud800", "text/csv")["value"]
    assert b64decode(value["data"]).decode() == "größe;1\n?"


@pytest.mark.parametrize(("given_fraction", "shown"), [(0, 0.0), (1, 1.0), (1.0000001, 1.0), (-0.1, 0.0), (42, 1.0)])
def test_progress_is_held_to_its_range(given_fraction: float, shown: float) -> None:
    fraction = progress_envelope("p", "load", given_fraction, None)["value"]["fraction"]
    assert fraction == shown
    assert type(fraction) is float


def test_an_empty_patch_is_no_event() -> None:
    assert activity_patch_envelope("a", []) is None
    assert state_patch_envelope(iter(())) is None


# -- copies ------------------------------------------------------------------------------------------------------------


def test_later_changes_do_not_reach_the_envelope() -> None:
    chart, point, rows = Chart(Kind="bar", data=[1]), Point(1, ["a"]), [[1], {"n": {2}}]
    envelope = custom_envelope("all", {"chart": chart, "point": point, "rows": rows}, None)
    chart.data.append(9)
    point.tags.append("b")
    rows[0].append(9)  # type: ignore[union-attr]
    rows[1]["n"].add(9)  # type: ignore[call-overload]
    assert envelope["value"] == {
        "chart": {"kind": "bar", "data": [1]},
        "point": {"x": 1, "tags": ["a"]},
        "rows": [[1], {"n": {2}}],
    }


def test_a_buffer_is_copied() -> None:
    buffer = bytearray(b"before")
    envelope = custom_envelope("raw", buffer, None)
    buffer[:] = b"after!"
    assert envelope["value"] == b"before"


def test_patch_activity_and_state_are_copied() -> None:
    row = {"n": 1}
    patch = [{"op": "add", "path": "/rows/-", "value": row}]
    envelopes = [activity_patch_envelope("a", patch), state_patch_envelope(patch)]
    whole = [activity_envelope("a", "t", {"row": row}), state_envelope({"row": row})]
    row["n"] = 2
    assert [envelope and envelope["value"][0]["value"] for envelope in envelopes] == [{"n": 1}, {"n": 1}]
    assert [envelope["value"] for envelope in whole] == [{"row": {"n": 1}}, {"row": {"n": 1}}]


def test_what_cannot_be_copied_is_passed_on() -> None:
    opaque, today = Opaque(), date(2025, 1, 2)
    value = custom_envelope("x", [opaque, today, math.nan, "\ud800"], None)["value"]
    assert value[0] is opaque
    assert value[1:2] == [today]
    assert math.isnan(value[2])
    assert value[3] == "\ud800"
    cycle: dict[str, Any] = {"name": "root"}
    cycle["self"] = cycle
    assert custom_envelope("x", cycle, None)["value"]["name"] == "root"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (Chart(Kind="bar", data=[1]), {"kind": "bar", "data": [1]}),
        (Point(1), {"x": 1, "tags": []}),
        (MappingProxyType({"a": 1}), {"a": 1}),
    ],
)
def test_an_object_may_be_a_model_a_dataclass_or_any_mapping(content: Any, expected: dict[str, Any]) -> None:
    assert dict(activity_envelope("a", "t", content)["value"]) == expected
    assert dict(state_envelope(content)["value"]) == expected


def test_patches_made_by_jsonpatch_are_taken() -> None:
    patch = jsonpatch.make_patch({"a": 1}, {"a": 2})
    envelope = activity_patch_envelope("a", patch)
    assert envelope is not None
    assert envelope["value"] == [{"op": "replace", "path": "/a", "value": 2}]


# -- refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", None, 1, b"x"])
def test_names_and_ids_are_text(name: Any) -> None:
    calls = (
        lambda: custom_envelope(name, 1, None),
        lambda: activity_envelope(name, "t", {}),
        lambda: activity_envelope("a", name, {}),
        lambda: activity_patch_envelope(name, PATCH),
        lambda: progress_envelope("p", name, 0.5, None),
    )
    for call in calls:
        with pytest.raises((TypeError, ValueError), match="must"):
            call()


@pytest.mark.parametrize("content", [None, [], [("a", 1)], "text", 1, Opaque(), {"a"}])
def test_content_and_state_are_objects(content: Any) -> None:
    with pytest.raises(TypeError, match="content must be a mapping"):
        activity_envelope("a", "t", content)
    with pytest.raises(TypeError, match="values must be a mapping"):
        state_envelope(content)


@pytest.mark.parametrize("fraction", [math.nan, math.inf, True, "0.5", None, []])
def test_a_fraction_is_a_finite_number(fraction: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        progress_envelope("p", "load", fraction, None)


def test_a_message_is_text() -> None:
    with pytest.raises(TypeError, match="message"):
        progress_envelope("p", "load", 0.5, {"no": "text"})  # type: ignore[arg-type]


@pytest.mark.parametrize(("payload", "mime_type"), [({"a": 1}, "application/json"), (b"x", ""), (b"x", 1)])
def test_a_file_is_bytes_or_text_and_has_a_mime_type(payload: Any, mime_type: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        custom_envelope("file", payload, mime_type)


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        ("add", "an operation is an object"),
        ({"path": "/a"}, "there is no operation None"),
        ({"op": "set", "path": "/a", "value": 1}, "there is no operation 'set'"),
        ({"op": ["add"], "path": "/a", "value": 1}, "there is no operation"),
        ({"op": "add", "value": 1}, "add needs 'path'"),
        ({"op": "add", "path": "a/b", "value": 1}, "path is not a JSON Pointer"),
        ({"op": "add", "path": "/a~2", "value": 1}, "path is not a JSON Pointer"),
        ({"op": "add", "path": "/a"}, "add needs 'value'"),
        ({"op": "test", "path": "/a"}, "test needs 'value'"),
        ({"op": "move", "path": "/a"}, "move needs 'from'"),
        ({"op": "copy", "path": "/a", "from": "b"}, "from is not a JSON Pointer"),
    ],
)
def test_malformed_operations_are_named(operation: Any, fault: str) -> None:
    good = {"op": "remove", "path": "/a"}
    for call in (
        lambda: activity_patch_envelope("a", [good, operation]),
        lambda: state_patch_envelope([good, operation]),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert "[1]: " in str(error.value)
        assert fault in str(error.value)


@pytest.mark.parametrize("patch", [None, 1, "[]", b"[]", {"op": "remove", "path": "/a"}])
def test_a_patch_is_a_list(patch: Any) -> None:
    with pytest.raises(TypeError, match="list of operations"):
        activity_patch_envelope("a", patch)


def test_every_operation_of_the_standard_is_taken() -> None:
    patch = [
        {"op": "add", "path": "", "value": {}},
        {"op": "replace", "path": "/", "value": None},
        {"op": "test", "path": "/a~0b~1c", "value": 0},
        {"op": "remove", "path": "/rows/0"},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "copy", "from": "/a", "path": "/größe"},
    ]
    envelope = state_patch_envelope(patch)
    assert envelope is not None
    assert envelope["value"] == patch


# -- recognised --------------------------------------------------------------------------------------------------------

ENVELOPES: list[Mapping[str, Any] | None] = [
    custom_envelope("chart", None, None),
    custom_envelope("file", b"x", "image/png"),
    activity_envelope("a", "t", {}),
    activity_patch_envelope("a", PATCH),
    progress_envelope("p", "load", 1, "done"),
    state_envelope({}),
    state_patch_envelope(PATCH),
]


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_envelopes_are_recognised_also_after_a_trip_as_json(envelope: dict[str, Any]) -> None:
    assert is_envelope(envelope)
    assert is_envelope(json.loads(json.dumps(envelope)))


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_a_missing_field_makes_it_foreign(envelope: dict[str, Any]) -> None:
    for key in envelope.keys() - {"mime_type"}:
        assert not is_envelope({name: value for name, value in envelope.items() if name != key}), key


@pytest.mark.parametrize(
    "change",
    [
        {"agentkit": 2},
        {"agentkit": "1"},
        {"agentkit": None},
        {"agentkit": True},
        {"kind": "other"},
        {"kind": ["custom"]},
        {"id": 1},
        {"name": None},
    ],
)
def test_another_version_or_kind_is_foreign(change: dict[str, Any]) -> None:
    assert not is_envelope({**custom_envelope("x", 1, None), **change})


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["agentkit", "id", "kind", "name", "value", "x"]), inner)
        ),
    )
)
def test_foreign_values_are_refused_without_an_error(value: Any) -> None:
    assert not is_envelope(value) or value["agentkit"] == 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
    )
)
def test_a_copy_equals_its_original(payload: Any) -> None:
    assert custom_envelope("any", payload, None)["value"] == payload
