"""Pure. A state, or a patch of it, in pieces that each fit into one event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from yai_nexus_agentkit.protocol.json.patch import Operation, is_addressable, pointer

__all__ = ["split_patch", "split_state"]

_AROUND = 60
"""Characters of an operation without its path and value."""


class _TooLargeError(Exception):
    """One text is larger than a piece."""


def split_state(state: Mapping[str, Any], most: int) -> tuple[dict[str, Any], list[list[Operation]], list[str]]:
    """The keys that fit into `most` bytes of JSON, patches for the others, and the keys that cannot be sent since one
    text in them is larger than that."""
    first, later = _filled(state.items(), most)
    pieces, omitted = _all_pieces(({"op": "add", "path": pointer(key), "value": state[key]} for key in later), most)
    return {key: state[key] for key in first}, list(_grouped(pieces, most)), omitted


def split_patch(operations: Iterable[Operation], most: int) -> tuple[list[list[Operation]], list[str]]:
    """Patches of at most `most` bytes of JSON each, and the keys that cannot be sent. The client is left without
    those."""
    pieces, omitted = _all_pieces(operations, most)
    for key in omitted:  # whether the client has it or not
        pieces += [{"op": "add", "path": pointer(key), "value": None}, {"op": "remove", "path": pointer(key)}]
    return list(_grouped(pieces, most)), omitted


def _all_pieces(operations: Iterable[Operation], most: int) -> tuple[list[Operation], list[str]]:
    pieces: list[Operation] = []
    omitted: dict[str, None] = {}
    for operation in operations:
        key = operation["path"].split("/")[1].replace("~1", "/").replace("~0", "~") if operation["path"] else ""
        if key not in omitted:
            try:
                pieces += list(_pieces(operation, most))
            except _TooLargeError:
                omitted[key] = None
    return pieces, list(omitted)


def _pieces(operation: Operation, most: int) -> Iterator[Operation]:
    """The operation, or one for the part of a container that fits and then one for each further member."""
    if _length(operation) <= most:
        yield operation
        return
    path, value = operation["path"], operation.get("value")
    if isinstance(value, dict) and path and all(is_addressable(path + pointer(name)) for name in value):
        first, later = _filled(value.items(), most - _length({"path": path}))
        yield {**operation, "value": {name: value[name] for name in first}}
        for name in later:
            yield from _pieces({"op": "add", "path": path + pointer(name), "value": value[name]}, most)
    elif isinstance(value, list) and path and not path.endswith("/-"):
        first, _ = _filled(enumerate(value), most - _length({"path": path}), ordered=True)
        yield {**operation, "value": value[: len(first)]}
        for number in range(len(first), len(value)):
            yield from _pieces({"op": "add", "path": f"{path}/{number}", "value": value[number]}, most)
    else:
        raise _TooLargeError


def _filled(members: Iterable[tuple[Any, Any]], most: int, *, ordered: bool = False) -> tuple[list[Any], list[Any]]:
    """The names of members that fit into `most` bytes, and of the others; `ordered`: none after one that does not."""
    first: list[Any] = []
    later: list[Any] = []
    for name, value in members:
        size = _size(value) + _size(name) + 2
        if size <= most and not (ordered and later):
            first.append(name)
            most -= size
        else:
            later.append(name)
    return first, later


def _grouped(operations: Sequence[Operation], most: int) -> Iterator[list[Operation]]:
    group: list[Operation] = []
    left = most
    for operation in operations:
        size = _length(operation)
        if group and size > left:
            yield group
            group, left = [], most
        group.append(operation)
        left -= size
    if group:
        yield group


def _length(operation: Operation) -> int:
    return _AROUND + len(operation["path"]) * 2 + (_size(operation["value"]) if "value" in operation else 0)


def _size(value: Any) -> int:
    return len(to_json(value))
