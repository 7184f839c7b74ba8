"""Pure. JSON Patch (RFC 6902) and JSON Pointer (RFC 6901), as AG-UI clients take them.

`jsonpatch` applies the operations. The rules that it does not have are here: what is malformed, what clients refuse,
and how large a result may be.
"""

from __future__ import annotations

import copy
import json
import marshal
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import jsonpatch
from pydantic_core import to_json

from yai_nexus_agentkit.errors import StatePatchError

__all__ = ["Operation", "apply_patch", "exact", "fault_of", "is_addressable", "pointer", "same"]

Operation = dict[str, Any]
"""One RFC 6902 operation: ``op``, ``path``, and ``value`` or ``from``."""

_TILDE = re.compile("~(?![01])")
_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "add": ("path", "value"),
    "replace": ("path", "value"),
    "test": ("path", "value"),
    "remove": ("path",),
    "move": ("from", "path"),
    "copy": ("from", "path"),
}
"""Operations, and the members that each must have."""


def pointer(key: str) -> str:
    """The JSON Pointer of a top-level key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def is_addressable(path: str) -> bool:
    """Whether clients accept this path. They refuse those into the prototypes of JavaScript."""
    parts = path.split("/")
    return "__proto__" not in parts and ("constructor", "prototype") not in pairwise(parts)


def same(old: Any, new: Any) -> bool:
    """Equality of JSON data that distinguishes 1, True and 1.0, and knows no order of members."""
    return bool(old == new) and (exact(old) == exact(new) or _canonical(old) == _canonical(new))


def exact(value: Any) -> bytes:
    """Bytes that distinguish 1, True and 1.0. Python's own format takes half of the time of JSON, but has none for
    objects of any other class than Python's own."""
    try:
        return marshal.dumps(value, 2)  # no references: those depend on which objects are the same
    except ValueError:
        return to_json(value)


def apply_patch(
    document: Mapping[str, Any],
    operations: Sequence[Mapping[str, Any]],
    *,
    max_size: int | None = None,
) -> dict[str, Any]:
    """The document after the patch. Both are JSON data and stay as they are.

    `max_size`: bytes that the document and all that is added to it may have together, unless nothing is added. A value
    counts as its JSON and 64 bytes; each copy can double a document.

    Raises `StatePatchError` with ``/n`` as the path for the operation n: with `conflict` if it is well-formed, but
    does not apply, or clients would refuse it.
    """
    for number, operation in enumerate(operations):
        if fault := fault_of(operation):
            raise StatePatchError(fault, path=f"/{number}")
    left = None if max_size is None else max_size - _size(document)
    result: Any = _copied(document, operations)
    for number, operation in enumerate(copy.deepcopy(list(operations))):  # jsonpatch stores the values it is given
        try:
            if left is not None and (added := _added(result, operation)):
                left -= added
                if left < 0:
                    raise ValueError(f"the result is larger than {max_size} bytes")
            result = _applied(result, operation)
        except Exception as error:  # jsonpatch raises its own, jsonpointer's, TypeError, KeyError
            about = f"{operation['op']} {operation['path'][:200]!r}: {error}"
            raise StatePatchError(about, path=f"/{number}", conflict=True) from error
    if not isinstance(result, dict):
        about = "the patch replaces the state by something that is not an object"
        raise StatePatchError(about, path=f"/{len(operations) - 1}", conflict=True)
    return result


def fault_of(operation: Any) -> str | None:
    """Why this value is not an operation of RFC 6902, section 4; None if it is one."""
    if not isinstance(operation, Mapping):
        return "an operation is an object"
    op = operation.get("op")
    members = _MEMBERS.get(op) if isinstance(op, str) else None
    if members is None:
        return f"there is no operation {repr(op)[:100]}"
    for member in members:
        if member not in operation:
            return f"{op} needs {member!r}"
        if member != "value" and not _is_pointer(operation[member]):
            return f"{member} is not a JSON Pointer"
    return None


def _is_pointer(text: Any) -> bool:
    return isinstance(text, str) and (text == "" or (text[0] == "/" and not _TILDE.search(text)))


def _paths(operation: Mapping[str, Any]) -> Iterable[str]:
    return [operation["path"], *([operation["from"]] if operation["op"] in ("move", "copy") else ())]


def _copied(document: Mapping[str, Any], operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document with copies of the values that the operations may change in place."""
    tops = {path.partition("/")[2].partition("/")[0] if path else None for op in operations for path in _paths(op)}
    names = {top.replace("~1", "/").replace("~0", "~") for top in tops if top is not None}
    whole = None in tops
    return {key: copy.deepcopy(value) if whole or key in names else value for key, value in document.items()}


def _added(document: Any, operation: Mapping[str, Any]) -> int:
    """Bytes that the operation adds."""
    match operation["op"]:
        case "add" | "replace":
            return _size(operation["value"])
        case "copy":
            return _size(jsonpatch.JsonPointer(operation["from"]).resolve(document))
    return 0


def _size(value: Any) -> int:
    text = to_json(value)
    return len(text) + 64 * (1 + len(text) - len(text.translate(None, b",[{")))


def _applied(document: Any, operation: Mapping[str, Any]) -> Any:
    for path in _paths(operation):
        if not is_addressable(path):
            raise ValueError(f"clients refuse the path {path[:200]!r}")
    if operation["op"] == "test":
        if not same(jsonpatch.JsonPointer(operation["path"]).resolve(document), operation["value"]):
            raise ValueError("the test fails")
        return document
    if operation["path"].endswith("/-") and operation["op"] in ("remove", "replace"):
        parent = jsonpatch.JsonPointer(operation["path"][:-2]).resolve(document)
        if isinstance(parent, list):
            raise ValueError("there is no item at '-'")
    return jsonpatch.apply_patch(document, [operation], in_place=True)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
