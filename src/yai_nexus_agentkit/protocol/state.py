"""What the client holds of the state, and how to bring it up to date. Pure.

Deltas are computed against what was last *sent*, kept as JSON-safe copies: the graph's own objects may be changed in
place, and a patch against any other base is skipped by the client without an error (AG-UI 1.0, section 10).

The differ is this module's own, because `jsonpatch.make_patch` takes 1, True and 1.0 for equal in places and compares
long lists pair by pair; `jsonpatch` applies the patches that callers make.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import jsonpatch
from pydantic_core import to_json

from yai_nexus_agentkit.protocol.json_safe import clean_text, json_safe

__all__ = ["Operation", "StateTracker", "pointer"]

Operation = dict[str, Any]
"""One RFC 6902 operation: ``op``, ``path``, and ``value`` or ``from``."""

_ALIGN_LIMIT = 100_000
"""Product of two list lengths up to which inserted and removed items are searched for; above, items are paired."""

_POINTER = re.compile(r"(/([^/~]|~[01])*)*")
_VALUED = frozenset({"add", "replace", "test"})
_SOURCED = frozenset({"move", "copy"})


def pointer(key: str) -> str:
    """The JSON Pointer (RFC 6901) of a top-level key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


class StateTracker:
    """The state document as the client has it: top-level keys to JSON data.

    Kept values are never changed in place, so what `snapshot` and `delta` return stays as it was.
    """

    def __init__(self) -> None:
        self._state: dict[str, Any] = {}
        self._sent = False

    @property
    def current(self) -> Mapping[str, Any]:
        """What was last sent, as a read-only view. Its values must not be changed."""
        return MappingProxyType(self._state)

    @property
    def sent(self) -> bool:
        """Whether anything was sent, so that an empty document is told from no document."""
        return self._sent

    def snapshot(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The whole document for a ``STATE_SNAPSHOT``; remembered as sent."""
        self._state = {name: json_safe(value) for key, value in values.items() if (name := _name(key)) is not None}
        self._sent = True
        return dict(self._state)

    def delta(self, values: Mapping[str, Any]) -> list[Operation]:
        """Operations that bring these top-level keys to `values`; other keys are not looked at. Remembered as sent.

        Per key the shorter of a patch and the whole value. Equal values give nothing.
        """
        operations: list[Operation] = []
        for key, value in values.items():
            name = _name(key)
            if name is None:
                continue
            new = json_safe(value)
            if name in self._state:
                operations += _key_changes(pointer(name), self._state[name], new)
            else:
                operations.append({"op": "add", "path": pointer(name), "value": new})
            self._state[name] = new
        self._sent = self._sent or bool(operations)
        return operations

    def remove(self, keys: Iterable[str]) -> list[Operation]:
        """Operations that remove those of `keys` that were sent."""
        operations: list[Operation] = []
        for key in keys:
            name = _name(key)
            if name in self._state:
                del self._state[name]
                operations.append({"op": "remove", "path": pointer(name)})
        return operations

    def apply(self, operations: Sequence[Mapping[str, Any]]) -> list[Operation]:
        """Apply a patch that the application made; return it as JSON data, to be sent as it is.

        Raises `ValueError`, with nothing changed, where the client would refuse or skip the patch: an operation is
        malformed, its path does not exist or cannot be addressed, a test fails, or the document would not be an object.
        """
        patch = [_checked(operation) for operation in operations]
        document = self._copied(patch)
        for number, operation in enumerate(copy.deepcopy(patch)):  # jsonpatch stores the values it is given
            try:
                document = _applied(document, operation)
            except Exception as error:  # jsonpatch raises its own, jsonpointer's, TypeError, KeyError
                raise ValueError(f"operation {number} ({operation['op']} {operation['path']!r}): {error}") from error
        if not isinstance(document, dict):
            raise ValueError("the patch replaces the state by something that is not an object")
        self._state = document
        self._sent = self._sent or bool(patch)
        return patch

    def _copied(self, patch: Sequence[Operation]) -> dict[str, Any]:
        """The document with copies of the values that `patch` may change in place."""
        tops = {path.split("/")[1] for op in patch for path in (op["path"], op.get("from", "")) if path}
        names = {top.replace("~1", "/").replace("~0", "~") for top in tops}
        if any(op["path"] == "" or op.get("from") == "" for op in patch):
            names = set(self._state)
        return {key: copy.deepcopy(value) if key in names else value for key, value in self._state.items()}


def _name(key: Any) -> str | None:
    """A top-level key as text; None for the one that no client patch may address."""
    name = clean_text(key) if isinstance(key, str) else str(key)
    return None if name == "__proto__" else name


def _checked(operation: Mapping[str, Any]) -> Operation:
    """`operation` as JSON data, its form checked as the client checks it. Raises `ValueError`."""
    safe = json_safe(dict(operation))
    op, path = safe.get("op"), safe.get("path")
    if not isinstance(op, str) or op not in _VALUED | _SOURCED | {"remove"}:
        raise ValueError(f"unknown operation {op!r}")
    for member in ("path", "from") if op in _SOURCED else ("path",):
        text = safe.get(member)
        if not isinstance(text, str) or not _POINTER.fullmatch(text):
            raise ValueError(f"{op}: {member} {text!r} is not a JSON Pointer")
        if _unaddressable(text.split("/")):
            raise ValueError(f"{op}: clients refuse the path {text!r}")
    if op in _VALUED and "value" not in safe:
        raise ValueError(f"{op} {path!r} has no value")
    return dict(safe)


def _unaddressable(parts: Sequence[str]) -> bool:
    return "__proto__" in parts or any(pair == ("constructor", "prototype") for pair in pairwise(parts))


def _applied(document: Any, operation: Operation) -> Any:
    if operation["op"] == "test":
        found = jsonpatch.JsonPointer(operation["path"]).resolve(document)
        if not _same(found, operation["value"]):
            raise ValueError("the test fails")
        return document
    last = operation["path"].rpartition("/")[2]
    if last == "-" and operation["op"] in ("remove", "replace"):
        parent = jsonpatch.JsonPointer(operation["path"][:-2]).resolve(document)
        if isinstance(parent, list):
            raise ValueError("there is no item at '-'")
    return jsonpatch.apply_patch(document, [operation], in_place=True)


def _same(old: Any, new: Any) -> bool:
    """Equality of JSON data that tells 1, True and 1.0 apart. The order of members may count as a difference."""
    return bool(old == new) and to_json(old) == to_json(new)


def _key_changes(path: str, old: Any, new: Any) -> list[Operation]:
    """Changes of one top-level key. Whole values go by ``add``, which also mends a client that lost the key."""
    if _same(old, new):
        return []
    try:
        changes = _inside(path, old, new)
    except RecursionError:
        changes = None
    if changes is None or len(to_json(changes)) > len(to_json(new)):
        return [{"op": "add", "path": path, "value": new}]
    return changes


def _changes(path: str, old: Any, new: Any) -> list[Operation]:
    """Changes of a value inside: a patch, or the whole value where that is shorter."""
    if _same(old, new):
        return []
    whole: list[Operation] = [{"op": "replace", "path": path, "value": new}]
    changes = _inside(path, old, new)
    return whole if changes is None or len(to_json(changes)) > len(to_json(whole)) else changes


def _inside(path: str, old: Any, new: Any) -> list[Operation] | None:
    """A patch for the inside of two dicts or two lists; None where there is none."""
    if type(old) is dict and type(new) is dict:
        return _dict_changes(path, old, new)
    if type(old) is list and type(new) is list:
        return _list_changes(path, old, new)
    return None


def _dict_changes(path: str, old: dict[str, Any], new: dict[str, Any]) -> list[Operation] | None:
    """None where a changed member has a name that client patches may not address."""
    changes: list[Operation] = [{"op": "remove", "path": path + pointer(key)} for key in old if key not in new]
    for key, value in new.items():
        if key not in old:
            changes.append({"op": "add", "path": path + pointer(key), "value": value})
        else:
            changes += _changes(path + pointer(key), old[key], value)
    unaddressable = any(_unaddressable(change["path"].split("/")) for change in changes)
    return None if unaddressable else changes


def _list_changes(path: str, old: list[Any], new: list[Any]) -> list[Operation]:
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old_middle:
        return _insert(path, head, new_middle)
    if len(old_middle) == len(new_middle) or len(old_middle) * len(new_middle) > _ALIGN_LIMIT:
        return _pair(path, head, old_middle, new_middle)
    matcher = SequenceMatcher(None, list(map(to_json, old_middle)), list(map(to_json, new_middle)), autojunk=False)
    changes: list[Operation] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            changes += _pair(path, head + new_from, old_middle[old_from:old_to], new_middle[new_from:new_to])
    return changes


def _pair(path: str, start: int, old: list[Any], new: list[Any]) -> list[Operation]:
    """Change the items from `start` on one by one, then remove or insert what one side has more."""
    changes: list[Operation] = []
    for index, (before, after) in enumerate(zip(old, new, strict=False), start):
        changes += _changes(f"{path}/{index}", before, after)
    both = min(len(old), len(new))
    changes += [{"op": "remove", "path": f"{path}/{start + both}"} for _ in old[both:]]
    return changes + _insert(path, start + both, new[both:])


def _insert(path: str, start: int, items: list[Any]) -> list[Operation]:
    return [{"op": "add", "path": f"{path}/{index}", "value": item} for index, item in enumerate(items, start)]


def _common(old: list[Any], new: list[Any]) -> int:
    """How many items at the start are the same in both lists."""
    count = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        count += 1
    if to_json(old[:count]) == to_json(new[:count]):
        return count
    return next((i for i in range(count) if not _same(old[i], new[i])), count)
