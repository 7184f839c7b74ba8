"""Pure. The state as the client holds it, and the patches that bring it up to date.

Deltas are computed against what was last *sent*, kept as JSON-safe copies: the graph's own objects may be changed in
place, and a patch against any other base is skipped by the client without an error (AG-UI 1.0, section 10).

`jsonpatch` makes the patches. A patch is sent only if it gives exactly the new value (1, 1.0 and True are three values
to a client), if clients accept its paths, and if it is no longer than the value. Otherwise the key's whole value is
sent; also if making the patch would hold up the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import jsonpatch
from pydantic_core import to_json

from yai_nexus_agentkit.errors import StatePatchError
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe
from yai_nexus_agentkit.protocol.json.patch import Operation, apply_patch, exact, is_addressable, pointer, same
from yai_nexus_agentkit.protocol.json.renewed import Mark, renewed

__all__ = ["StateTracker", "key_name"]

_ABSENT = object()
_REWRITTEN = 1_000
"""Changed items above which no patch is looked for: aligning two lists takes time by the square of what changed (2,500
of 5,000 numbers filtered out: 3 s), for a patch that is mostly longer than the value."""

_WALKED = 4_000
"""Items of two lists above which they are not walked in step: jsonpatch takes 15 ms for 2,000."""


def key_name(key: Any) -> str | None:
    """A top-level key as text, as the client has it; None for the one that no client patch may address."""
    name = clean_text(key) if isinstance(key, str) else str(key)
    return None if name == "__proto__" else name


@dataclass(slots=True, eq=False)
class StateTracker:
    """The state document as the client has it: top-level keys to JSON data.

    Kept values are never changed in place, so what `snapshot` and `delta` return stays as it was.
    """

    _state: dict[str, Any] = field(default_factory=dict)
    _marks: dict[str, Mark] = field(default_factory=dict)
    """By which the values are recognised, of keys that changed."""
    sent: bool = False
    """A document was sent, possibly an empty one."""

    @property
    def current(self) -> Mapping[str, Any]:
        """The document that was last sent. Its values must not be changed."""
        return MappingProxyType(self._state)

    def assume(self, document: Mapping[str, Any]) -> None:
        """The client holds this JSON data already."""
        self._state, self._marks = dict(document), {}
        self.sent = True

    def snapshot(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The whole document for a ``STATE_SNAPSHOT``; remembered as sent."""
        self._state = {name: json_safe(value) for key, value in values.items() if (name := key_name(key)) is not None}
        self._marks = {}
        self.sent = True
        return dict(self._state)

    def delta(self, values: Mapping[str, Any]) -> list[Operation]:
        """Operations that bring these top-level keys to `values`; other keys are not looked at. Remembered as sent.

        Per key the shorter of a patch and the whole value. Equal values give nothing.
        """
        operations: list[Operation] = []
        for key, value in values.items():
            name = key_name(key)
            if name is None:
                continue
            new, self._marks[name] = renewed(self._state.get(name), self._marks.get(name), value)
            if name in self._state:
                operations += _key_changes(pointer(name), self._state[name], new)
            else:
                operations.append({"op": "add", "path": pointer(name), "value": new})
            self._state[name] = new
        self.sent = self.sent or bool(operations)
        return operations

    def remove(self, keys: Iterable[str]) -> list[Operation]:
        """Operations that remove those of `keys` that were sent."""
        operations: list[Operation] = []
        for key in keys:
            name = key_name(key)
            if name in self._state:
                del self._state[name]
                self._marks.pop(name, None)
                operations.append({"op": "remove", "path": pointer(name)})
        return operations

    def apply(self, operations: Sequence[Mapping[str, Any]]) -> list[Operation]:
        """Apply a patch that the application made; return it as JSON data, to be sent as it is.

        Raises `ValueError`, with nothing changed, where the client would refuse or skip the patch: an operation is
        malformed, its path does not exist or cannot be addressed, a test fails, or the document would not be an object.
        """
        patch: list[Operation] = [json_safe(dict(operation)) for operation in operations]
        try:
            self._state = apply_patch(self._state, patch)
        except StatePatchError as error:
            raise ValueError(f"operation {error}") from error
        self._marks = {}
        self.sent = self.sent or bool(patch)
        return patch


def _key_changes(path: str, old: Any, new: Any) -> list[Operation]:
    """Changes of one top-level key, or of a member inside. Whole values go by ``add``, which also mends a client that
    lost the key."""
    changes: list[Operation] | None = None
    if old is new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        changes = _member_changes(path, old, new)
    elif same(old, new):
        changes = []
    elif isinstance(old, list) and isinstance(new, list):
        changes = _item_changes(path, old, new)
    if changes == []:
        return changes
    whole: list[Operation] = [{"op": "add", "path": path, "value": new}]
    if changes is None:
        return whole
    # Of a top-level key the value alone counts; inside, its path as well: the operation is one of several.
    length = len(to_json(changes))
    shorter = _is_as_long(new, length) or length <= len(to_json(new if path.count("/") == 1 else whole))
    return changes if shorter else whole


def _is_as_long(container: dict[str, Any] | list[Any], length: int) -> bool:
    """Whether its JSON surely has this length at least, in a fraction of the time that writing it takes."""
    if length <= 2 * len(container):
        return True
    return isinstance(container, dict) and length <= sum(
        len(name) + 4 + (len(item) if isinstance(item, (str, list, dict)) else 0) for name, item in container.items()
    )


def _member_changes(path: str, old: dict[str, Any], new: dict[str, Any]) -> list[Operation] | None:
    """Changes of an object, member by member: jsonpatch walks a value as a whole, which for a large one that changed in
    one place takes a hundred times as long. None where a changed member cannot be addressed by clients."""
    changes: list[Operation] = []
    others = [name for name, item in old.items() if new.get(name, _ABSENT) is not item]
    equal = [name for name in others if name in new and old[name] == new[name]]
    if exact([old[name] for name in equal]) != exact([new[name] for name in equal]):  # 1, True and 1.0
        equal = [name for name in equal if same(old[name], new[name])]
    unchanged = set(equal)
    for name in [*(name for name in others if name not in unchanged), *(name for name in new if name not in old)]:
        child = path + pointer(name)
        if not is_addressable(child):
            return None
        if name not in new:
            changes.append({"op": "remove", "path": child})
        elif name not in old:
            changes.append({"op": "add", "path": child, "value": new[name]})
        else:
            changes += _key_changes(child, old[name], new[name])
    return changes


def _item_changes(path: str, old: list[Any], new: list[Any]) -> list[Operation] | None:
    """Changes of a list, by jsonpatch between the ends that both have in common. None where there is no patch that
    clients can use, or that is worth making."""
    head, tail = _common_ends(old, new)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    try:
        if _changed_items(before, after) > _REWRITTEN:
            return None
        made = jsonpatch.make_patch(before, after)
        changes = [
            {
                name: path + _moved_on(part, head) if name in ("path", "from") else part
                for name, part in operation.items()
            }
            for operation in made
        ]
        paths = [change[name] for change in changes for name in ("path", "from") if name in change]
        if not all(map(is_addressable, paths)) or not same(made.apply(before), after):
            return None
    except (RecursionError, jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        return None
    return changes


def _common_ends(old: list[Any], new: list[Any]) -> tuple[int, int]:
    """How many items at the beginning, and how many at the end, are the same."""
    head = _common(old, new)
    return head, _common(old[head:][::-1], new[head:][::-1])


def _common(old: list[Any], new: list[Any]) -> int:
    """How many items, from the first on, are the same."""
    equal, others = 0, []
    for one, other in zip(old, new, strict=False):
        if one is not other:
            if one != other:
                break
            others.append((one, other))
        equal += 1
    if exact([one for one, _ in others]) == exact([other for _, other in others]):
        return equal
    return 0  # equal, but 1 and True: jsonpatch distinguishes them


def _moved_on(path: str, by: int) -> str:
    """A pointer into a list, with the first index raised."""
    index, *inside = path[1:].split("/")
    return "/" + "/".join([str(int(index) + by), *inside])


def _changed_items(old: Any, new: Any) -> int:
    """An upper estimate. Items of lists of different lengths count from the first difference to the last, or, if that
    is too much, in their places: an early one was changed, and one was added."""
    if old == new:
        return 0
    if isinstance(old, dict) and isinstance(new, dict):
        return len(old.keys() ^ new.keys()) + sum(_changed_items(old[key], new[key]) for key in old.keys() & new.keys())
    if not isinstance(old, list) or not isinstance(new, list):
        return 1
    if len(old) == len(new):
        return sum(map(_changed_items, old, new))
    head, tail = _common_ends(old, new)
    between = len(old) + len(new) - 2 * (head + tail)
    if not _REWRITTEN < between <= _WALKED:
        return between
    return min(between, sum(map(_changed_items, old, new)) + abs(len(old) - len(new)))
