"""Pure. A raw request as a validated `RunAgentInput`.

Pydantic rejects unknown members of tagged unions, so one message of an unknown role would refuse the whole request,
although the protocol demands to go on without it (AG-UI 1.0, section 17: reading the request). Cleaning comes first,
then validation; a fault in a known field is still refused, with its place.

Lists are validated up to the first wrong item: pydantic collects every fault, and a body of small wrong messages would
take a thousand times its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ag_ui.core import (
    AssistantMessage,
    Context,
    DeveloperMessage,
    Message,
    ResumeEntry,
    RunAgentInput,
    SystemMessage,
    Tool,
    UserMessage,
)
from pydantic import FailFast, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.deltas import unchecked
from yai_nexus_agentkit.protocol.json.json_safe import MAX_DEPTH, json_safe
from yai_nexus_agentkit.protocol.json.reader import read_json
from yai_nexus_agentkit.protocol.parts import part_from_block, type_of

__all__ = ["OFFERED", "RequestLimits", "empty_request", "offered", "parse_request", "peer_declares"]

OFFERED = "offered"
"""In the metadata of a tool, if false: the agent takes its results and may not call it."""
_ROLES = frozenset({"developer", "system", "assistant", "user", "tool", "reasoning"})
_PLAIN: Mapping[str, Callable[..., Message]] = {
    model.model_fields["role"].default: unchecked(model, "id", "role", "content")
    for model in (UserMessage, AssistantMessage, SystemMessage, DeveloperMessage)
}
"""By role: makes a message that has no more than text, as most of a long thread."""
_MADE: frozenset[type[Any]] = frozenset((UserMessage, AssistantMessage, SystemMessage, DeveloperMessage))
_SCALARS = frozenset({str, int, float, bool, type(None)})
_SEQUENCES = (list, tuple)
_CONTAINERS = (dict, list, tuple)
_LENGTHS = (list, str)
_DROPPED = object()
_WARNINGS = 20
"""Losses that are reported of one request."""
_FAULTS = 10
"""Faults that are reported of one request."""
_LISTS: Mapping[str, TypeAdapter[Any]] = {
    "messages": TypeAdapter(Annotated[list[Message], FailFast()]),
    "tools": TypeAdapter(Annotated[list[Tool], FailFast()]),
    "context": TypeAdapter(Annotated[list[Context], FailFast()]),
    "resume": TypeAdapter(Annotated[list[ResumeEntry], FailFast()]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """How much one request may hold; None: no limit."""

    messages: int | None = None
    entries: int | None = None
    """Tools, context entries, answers; content parts and tool calls of one message. Each list for itself."""
    id: int | None = None
    """Characters of the ids of thread, run and parent run."""


_UNLIMITED = RequestLimits()


def parse_request(
    raw: RunAgentInput | Mapping[str, Any] | str | bytes,
    *,
    warnings: list[str] | None = None,
    limits: RequestLimits = _UNLIMITED,
    clean: bool = False,
) -> RunAgentInput:
    """The request, cleaned and validated; a `RunAgentInput` is returned as it is.

    `clean`: the data was read from JSON, strictly and with all text whole, so nobody looks for bad text or numbers.
    `warnings`: a list that gets a text for each loss, up to twenty. Raises `RunInputError` with the JSON Pointer of the
    first thing beyond `limits`, or of the first fault; the text has up to ten faults, at most one item of each list.
    """
    if isinstance(raw, RunAgentInput):
        return raw
    data: Any = raw
    if isinstance(data, str | bytes):
        try:
            data = read_json(data, max_depth=MAX_DEPTH)
        except ValueError as error:
            raise RunInputError(f"the request {error}") from None
    if isinstance(data, Mapping) and not clean and not _is_clean(data):
        data = json_safe(data)
    if not isinstance(data, Mapping):
        raise RunInputError("the request is not a JSON object")
    _check_limits(data, limits)
    cleaned, found, origins = _clean(data)
    if warnings is not None:
        warnings += found
    faults: list[tuple[str, str]] = []
    lists: dict[str, list[Any]] = {}
    for key in _LISTS:
        if isinstance(items := cleaned.get(key), list) and items:
            cleaned[key] = []  # put back below: the class would look at each item once more
            faults += _validate(items, key, origins if key == "messages" else range(len(items)))
            lists[key] = items
    try:
        parsed = RunAgentInput.model_validate(cleaned)
    except ValidationError as error:
        faults += _faults(error, cleaned, "", origins)
    if faults:
        (path, reason), *others = faults[:_FAULTS]
        raise RunInputError("; ".join((reason, *(f"{place}: {text}" for place, text in others))), path=path)
    return parsed.model_copy(update=lists)


def _validate(items: list[Any], key: str, origins: Sequence[int]) -> list[tuple[str, str]]:
    """Put models in the place of this list's items, and return the faults of the first that cannot be one. `origins`:
    the items' places in the request."""
    places = [n for n, item in enumerate(items) if item.__class__ not in _MADE]
    left = [items[n] for n in places]
    try:
        models = _LISTS[key].validate_python(left)
    except ValidationError as error:
        return _faults(error, left, key, [origins[n] for n in places])
    for n, model in zip(places, models, strict=True):
        items[n] = model
    return []


def offered(tools: Iterable[Tool] | None) -> list[Tool]:
    """The tools that the agent may call."""
    return [tool for tool in tools or () if (tool.metadata or {}).get(OFFERED) is not False]


def empty_request(thread_id: str, version: str | None = "1.0") -> RunAgentInput:
    """A request that only names a thread, for reading it. `version`: of the peer's protocol."""
    return RunAgentInput(
        thread_id=thread_id, run_id="", protocol_version=version,
        state={}, messages=[], tools=[], context=[], forwarded_props={},
    )  # fmt: skip


def peer_declares(run_input: RunAgentInput) -> bool:
    """Whether the peer speaks AG-UI 1.0 or newer. Section 18: an unreadable version counts as newer, none as older."""
    version = run_input.protocol_version
    if not version:
        return False
    major = version.partition(".")[0]
    return not (major.isascii() and major.isdecimal()) or int(major) >= 1


def _check_limits(data: Mapping[str, Any], limits: RequestLimits) -> None:
    """Raises `RunInputError` for the first thing that is more than the limits allow."""

    def check(path: str, value: Any, limit: int | None, what: str) -> None:
        if limit is not None and isinstance(value, _LENGTHS) and len(value) > limit:
            raise RunInputError(f"{len(value)} {what}; at most {limit} are accepted", path=path)

    for key in ("threadId", "thread_id", "runId", "run_id", "parentRunId", "parent_run_id"):
        check(f"/{key}", data.get(key), limits.id, "characters")
    for key in _LISTS:
        check(f"/{key}", data.get(key), limits.messages if key == "messages" else limits.entries, "entries")
    messages = data.get("messages")
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(message, dict) or (len(message) == 3 and message.get("content").__class__ is str):
            continue  # most messages
        for key in ("content", "toolCalls", "tool_calls"):
            if isinstance(message.get(key), list):
                check(f"/messages/{index}/{key}", message[key], limits.entries, "entries")


def _is_clean(value: Any) -> bool:
    """Whether all text in data that did not come through the strict parser can be encoded.

    Raises `RunInputError` for ``NaN``, infinities and nesting below `MAX_DEPTH`.
    """
    clean = True
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            inside.extend(item if isinstance(item, _SEQUENCES) else item.values())
        kinds = set(map(type, inside))  # a conversation has thousands of values: most levels are looked at in C alone
        if float in kinds and not all(math.isfinite(item) for item in inside if type(item) is float):
            raise RunInputError("NaN and infinite numbers are not JSON")
        clean = clean and _are_clean(inside if kinds == {str} else [item for item in inside if isinstance(item, str)])
        if kinds <= _SCALARS:
            return clean
        nested = [item for item in inside if isinstance(item, _CONTAINERS)]
        level = list({id(item): item for item in nested}.values())
        if not level:
            return clean
    raise RunInputError(f"the request is nested deeper than {MAX_DEPTH} levels")


def _are_clean(texts: list[str]) -> bool:
    if (joined := "".join(texts)).isascii():
        return True
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return all(type(text) is str or text.isascii() for text in texts)


def _clean(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[int]]:
    """A copy of the request without what clients may send and validation would refuse, a warning for each loss, and for
    each message left its index in `raw`.

    Absent instead of null; unknown roles, parts and sources dropped; activity messages dropped silently; media parts in
    older and foreign shapes converted; of several messages with one id the last one kept.
    """
    warnings: list[str] = []
    origins: list[int] = []
    cleaned = _without_nulls(raw)
    messages = cleaned.get("messages")
    if isinstance(messages, list | tuple):
        found = [_message(message, index, warnings) for index, message in enumerate(messages)]
        origins = [index for index, message in enumerate(found) if message is not _DROPPED]
        origins = _unique(found, origins, warnings)
        cleaned["messages"] = [found[index] for index in origins]
    for key in ("tools", "context", "resume"):
        entries = cleaned.get(key)
        if isinstance(entries, list | tuple):
            cleaned[key] = [_entry(entry) for entry in entries]
    return cleaned, warnings, origins


def _warn(warnings: list[str], text: str) -> None:
    if len(warnings) < _WARNINGS:
        warnings.append(text if len(warnings) < _WARNINGS - 1 else "further losses are not reported")


def _without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def _entry(entry: Any) -> Any:
    return _without_nulls(entry) if isinstance(entry, dict) else entry


def _message(message: Any, index: int, warnings: list[str]) -> Any:
    """The cleaned message, as a model if nothing about it can be wrong; or `_DROPPED`."""
    if not isinstance(message, dict):
        return message
    role = message.get("role")
    if len(message) == 3 and role.__class__ is str and role in _PLAIN:
        own_id, content = message.get("id"), message.get("content")
        if own_id.__class__ is content.__class__ is str:
            return _PLAIN[role](own_id, role, content)
    if isinstance(role, str) and role not in _ROLES:
        if role != "activity":
            _warn(warnings, f"/messages/{index}: message of unknown role {role[:100]!r} dropped")
        return _DROPPED
    if None in message.values():
        message = _without_nulls(message)
    content = message.get("content")
    if content.__class__ is str and role != "assistant":
        return message
    if role in ("user", "tool") and isinstance(content, list | tuple):
        message = {**message, "content": _parts(content, f"/messages/{index}/content", warnings) or ""}
    if role == "assistant":
        for key in ("toolCalls", "tool_calls"):
            calls = message.get(key)
            if isinstance(calls, list | tuple):
                message = {**message, key: [_entry(call) for call in calls]}
    return message


def _parts(parts: Sequence[Any], where: str, warnings: list[str]) -> list[Any]:
    """The parts that AG-UI has. A ``binary`` part is dropped if the modern form of it is there, too."""
    kept: list[Any] = []
    legacy: list[bool] = []
    for index, part in enumerate(parts):
        cleaned = _part(part)
        kind = part.get("type") if isinstance(part, dict) else "text"
        if cleaned is None:
            _warn(warnings, f"{where}/{index}: part of type {str(kind)[:100]!r} dropped")
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
            return {**_without_nulls(part), "source": _typed(_without_nulls(source))}
    elif not isinstance(part, str):
        return part  # a model instance, or something for validation to refuse
    converted = part_from_block(part)
    return None if converted is None else converted.model_dump(by_alias=True)


def _typed(source: dict[str, Any]) -> dict[str, Any]:
    """The source with the type of its data where that is empty: browsers say so of files that they do not know."""
    if source.get("type") == "data" and source.get("mimeType") == "" and isinstance(source.get("value"), str):
        return {**source, "mimeType": type_of(source["value"])}
    return source


def _source(part: Any) -> tuple[str, str] | None:
    """Kind and bytes or address of a media part."""
    source = part.get("source") if isinstance(part, dict) else None
    value = source.get("value") if isinstance(source, dict) else None
    return (str(part["type"]), value) if isinstance(value, str) else None


def _unique(messages: Sequence[Any], places: list[int], warnings: list[str]) -> list[int]:
    """Of these places of messages, those of the last message with its id."""
    ids = [m.id if (m := messages[index]).__class__ in _MADE else _id(m) for index in places]
    if len(set(ids)) == len(ids):
        return places
    last = dict(zip(ids, places, strict=True))
    kept = set(last.values())
    for index in places:
        if index not in kept:
            shown = str(_id(messages[index]))[:100]
            _warn(warnings, f"/messages/{index}: id {shown!r} occurs again, the last message with it counts")
    return [index for index in places if index in kept]


def _id(message: Any) -> str | int:
    """The message's id. Something unique if it has none: validation refuses it."""
    own = message.get("id") if isinstance(message, dict) else getattr(message, "id", None)
    return own if isinstance(own, str) else id(message)


def _faults(error: ValidationError, data: Any, key: str, origins: Sequence[int]) -> list[tuple[str, str]]:
    """Place and reason of the first faults in `data`, which is the request's member `key`, or with ``""`` the request.
    Of the branches of a union the one that got furthest counts. `origins`: the places in the request of a list's items.
    """
    left = [(_path(detail, data), detail["msg"]) for detail in error.errors(include_url=False, include_context=False)]
    found: list[tuple[str, str]] = []
    while left and len(found) < _FAULTS:
        first = left[0][0]
        alike = [fault for fault in left if fault[0][: len(first)] == first]
        left = [fault for fault in left if fault[0][: len(first)] != first]
        path, reason = max(alike, key=lambda fault: len(fault[0]))
        if key and isinstance(path[0], int):
            path = (origins[path[0]], *path[1:])
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in ((key, *path) if key else path))
        found.append(("".join(f"/{part}" for part in parts), reason))
    return found


def _path(detail: ErrorDetails, data: Any) -> tuple[str | int, ...]:
    """The place of a fault. Pydantic's locations also name members of unions, which the data does not contain."""
    path: list[str | int] = []
    node = data
    for position, part in enumerate(detail["loc"]):
        inside = part in node if isinstance(node, Mapping) else isinstance(node, list) and isinstance(part, int)
        if inside:
            node = node[part]
        if inside or (detail["type"] == "missing" and position == len(detail["loc"]) - 1):
            path.append(part)
    return tuple(path)
