"""A raw request as a validated `RunAgentInput`. Pure.

Pydantic rejects unknown members of tagged unions, so one message of an unknown role would refuse the whole request,
where the protocol demands to go on without it (AG-UI 1.0, section 17: reading the request). Cleaning comes first, then
validation; what is wrong in a known field is still refused, saying where.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.json.json_safe import MAX_DEPTH, clean_text, json_safe
from yai_nexus_agentkit.protocol.parts import part_from_block

__all__ = ["clean_request", "parse_request", "peer_declares"]

_ROLES = frozenset({"developer", "system", "assistant", "user", "tool", "reasoning"})
_DROPPED = object()


def parse_request(
    raw: RunAgentInput | Mapping[str, Any] | str | bytes, *, warnings: list[str] | None = None
) -> RunAgentInput:
    """The request, cleaned and validated; a `RunAgentInput` is returned as it is.

    `warnings` gets a line for each thing that was dropped. Raises `RunInputError` with the first fault's JSON Pointer.
    """
    if isinstance(raw, RunAgentInput):
        return raw
    data: Any = raw
    if isinstance(data, str | bytes | bytearray | memoryview):
        data = _parsed(data if isinstance(data, str) else bytes(data))
    elif isinstance(data, Mapping) and not _is_clean(data):
        data = json_safe(data)
    if not isinstance(data, Mapping):
        raise RunInputError("the request is not a JSON object")
    cleaned, dropped, origins = _clean(data)
    if warnings is not None:
        warnings += dropped
    try:
        return RunAgentInput.model_validate(cleaned)
    except ValidationError as error:
        _raise(error.errors(include_url=False, include_context=False), cleaned, origins)


def clean_request(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A copy of the request without what clients may send and validation would refuse, and a warning for each loss.

    Absent instead of null; unknown roles, parts and sources dropped; activity messages dropped silently; media parts in
    older and foreign shapes converted; of several messages with one id the last one kept. `raw` is not changed.
    """
    cleaned, warnings, _ = _clean(raw)
    return cleaned, warnings


def peer_declares(run_input: RunAgentInput) -> bool:
    """Whether the peer speaks AG-UI 1.0 or newer. Section 18: an unreadable version counts as newer, none as older."""
    version = run_input.protocol_version
    if not version:
        return False
    major = version.partition(".")[0]
    return not (major.isascii() and major.isdecimal()) or int(major) >= 1


def _parsed(text: str | bytes) -> Any:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RunInputError(f"the request is not UTF-8: byte {error.start} cannot be read") from None
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if "\\u" not in text and text.isascii():
            raise RunInputError(f"the request is not JSON: {error}") from None
    return _with_halves(text)


def _with_halves(text: str) -> Any:
    """JSON that may hold half of a surrogate pair, which JavaScript writes for text that was cut inside an emoji."""
    try:
        parsed = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RunInputError(f"the request is not JSON: {error}") from None
    return parsed if _is_clean(parsed) else json_safe(parsed)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _is_clean(value: Any) -> bool:
    """Whether all text in data that did not come through the strict parser can be encoded.

    Raises `RunInputError` for ``NaN``, infinities and nesting below `MAX_DEPTH`.
    """
    clean = True
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            inside.extend(item.values() if isinstance(item, Mapping) else item)
        if any(type(item) is float and not math.isfinite(item) for item in inside):
            raise RunInputError("NaN and infinite numbers are not JSON")
        texts = (item for item in inside if isinstance(item, str) and not item.isascii())
        clean = clean and all(clean_text(text) is text for text in texts)
        nested = (item for item in inside if isinstance(item, dict | list | tuple))
        level = list({id(item): item for item in nested}.values())
        if not level:
            return clean
    raise RunInputError(f"the request is nested deeper than {MAX_DEPTH} levels")


def _clean(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[int]]:
    """The cleaned copy, the warnings, and for each message left its index in `raw`."""
    warnings: list[str] = []
    origins: list[int] = []
    cleaned = _without_nulls(raw)
    messages = cleaned.get("messages")
    if isinstance(messages, list | tuple):
        found = [(index, _message(message, index, warnings)) for index, message in enumerate(messages)]
        kept = _unique([(index, message) for index, message in found if message is not _DROPPED], warnings)
        cleaned["messages"] = [message for _, message in kept]
        origins = [index for index, _ in kept]
    for key in ("tools", "context", "resume"):
        entries = cleaned.get(key)
        if isinstance(entries, list | tuple):
            cleaned[key] = [_entry(entry) for entry in entries]
    return cleaned, warnings, origins


def _without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def _entry(entry: Any) -> Any:
    return _without_nulls(entry) if isinstance(entry, dict) else entry


def _message(message: Any, index: int, warnings: list[str]) -> Any:
    """The cleaned message, or `_DROPPED`."""
    if not isinstance(message, dict):
        return message
    role = message.get("role")
    if isinstance(role, str) and role not in _ROLES:
        if role != "activity":
            warnings.append(f"/messages/{index}: message of unknown role {role!r} dropped")
        return _DROPPED
    if None in message.values():
        message = _without_nulls(message)
    content = message.get("content")
    if role in ("user", "tool") and isinstance(content, list | tuple):
        message = {**message, "content": _parts(content, f"/messages/{index}/content", warnings) or ""}
    if role == "assistant":
        for key in ("toolCalls", "tool_calls"):
            calls = message.get(key)
            if isinstance(calls, list | tuple):
                message = {**message, key: [_entry(call) for call in calls]}
    return message


def _parts(parts: Sequence[Any], where: str, warnings: list[str]) -> list[Any]:
    """The parts that AG-UI has. A ``binary`` part beside its modern twin is dropped."""
    kept: list[Any] = []
    legacy: list[bool] = []
    for index, part in enumerate(parts):
        cleaned = _part(part)
        kind = part.get("type") if isinstance(part, dict) else "text"
        if cleaned is None:
            warnings.append(f"{where}/{index}: part of type {kind!r} dropped")
        else:
            kept.append(cleaned)
            legacy.append(kind == "binary")
    modern = {_source(part) for part, old in zip(kept, legacy, strict=True) if not old}
    return [part for part, old in zip(kept, legacy, strict=True) if not (old and _source(part) in modern)]


def _part(part: Any) -> Any:
    """The part as AG-UI has it, or None where there is no such part."""
    if isinstance(part, dict):
        kind = part.get("type")
        source: Any = part.get("source")
        if kind == "text" and isinstance(part.get("text"), str):
            return _without_nulls(part)
        known = kind in ("image", "audio", "video", "document") and isinstance(source, dict)
        if known and source.get("type") in ("data", "url", "file"):
            return {**_without_nulls(part), "source": _without_nulls(source)}
    elif not isinstance(part, str):
        return part  # a model instance, or something for validation to refuse
    converted = part_from_block(part)
    return None if converted is None else converted.model_dump(by_alias=True)


def _source(part: Any) -> tuple[str, str] | None:
    """Kind and bytes or address of a media part."""
    source = part.get("source") if isinstance(part, dict) else None
    value = source.get("value") if isinstance(source, dict) else None
    return (str(part["type"]), value) if isinstance(value, str) else None


def _unique(messages: list[tuple[int, Any]], warnings: list[str]) -> list[tuple[int, Any]]:
    """Of several messages with one id only the last."""
    ids = [_id(message) for _, message in messages]
    if len(set(ids)) == len(ids):
        return messages
    last = {own: position for position, own in enumerate(ids)}
    kept: list[tuple[int, Any]] = []
    for position, (index, message) in enumerate(messages):
        if last[ids[position]] == position:
            kept.append((index, message))
        else:
            warnings.append(f"/messages/{index}: id {ids[position]!r} occurs again, the last message with it counts")
    return kept


def _id(message: Any) -> str | int:
    """The message's id. Something unique if it has none: validation refuses it."""
    own = message.get("id") if isinstance(message, dict) else getattr(message, "id", None)
    return own if isinstance(own, str) else id(message)


def _raise(errors: Sequence[ErrorDetails], data: Mapping[str, Any], origins: Sequence[int]) -> NoReturn:
    """Raise for the first fault; of the branches of a union for the one that got furthest."""
    found = [(_path(detail, data), detail["msg"]) for detail in errors]
    first = found[0][0]
    path, reason = max((fault for fault in found if fault[0][: len(first)] == first), key=lambda fault: len(fault[0]))
    if path[:1] == ("messages",) and len(path) > 1 and isinstance(path[1], int):
        path = (path[0], origins[path[1]], *path[2:])
    raise RunInputError(reason, path="".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path))


def _path(detail: ErrorDetails, data: Any) -> tuple[str | int, ...]:
    """Where a fault is. Pydantic's locations also name members of unions, which the data does not contain."""
    path: list[str | int] = []
    node = data
    for position, part in enumerate(detail["loc"]):
        inside = part in node if isinstance(node, Mapping) else isinstance(node, list) and isinstance(part, int)
        if inside:
            node = node[part]
        if inside or (detail["type"] == "missing" and position == len(detail["loc"]) - 1):
            path.append(part)
    return tuple(path)
