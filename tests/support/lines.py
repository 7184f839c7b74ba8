"""Pure. Wire events as lines of text, for snapshots.

    TEXT_MESSAGE_START messageId=#1 role=assistant + "Let me " + look. END
    STEP_STARTED stepName=tools FINISHED

is a start, two events with a delta, an end, and a step in which nothing happened: events that follow their own entity
and add nothing but a delta stand on its line. `named` leaves out nothing else; `brief` leaves out what every run has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from yai_nexus_agentkit.testing import WireEvent

__all__ = ["brief", "named"]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_BARE = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_#][\w#:|./-]*")
_PART = re.compile(r"(\w+)_(START|CONTENT|ARGS|END|STARTED|FINISHED)")
_COMMON: Mapping[str, Sequence[str]] = {
    "RUN_STARTED": ("threadId", "runId", "protocolVersion"),
    "RUN_FINISHED": ("threadId", "runId"),
    "STEP_STARTED": ("metadata",),
}
"""Facts that are the same in every run, or in every step: `Player` checks them in all runs."""


def brief(events: Iterable[WireEvent]) -> list[WireEvent]:
    """The events without ids and version of the run, and without the metadata of steps.

    The start of the run and an empty state right after it are left out, and an end that says nothing more: a stream
    without an end finished plainly.
    """
    left = [{k: v for k, v in event.items() if k not in _COMMON.get(event["type"], ())} for event in events]
    if left[0] == {"type": "RUN_STARTED"}:
        del left[: 2 if left[1] == {"type": "STATE_SNAPSHOT", "snapshot": {}} else 1]
    return left[:-1] if left[-1] == {"type": "RUN_FINISHED"} else left


def named(*streams: Sequence[WireEvent], fold: bool = True) -> list[list[str]]:
    """Wire events as lines: the type, then each field as ``name=value``; messages and usage on lines of their own.

    Every UUID, wherever it stands, becomes ``#1``, ``#2``, ... in order of first appearance, so that which id equals
    which, and which is made from which, stays visible. Objects are ``(name=value ...)``, lists ``[value ...]``, words
    go without quotes; all else is JSON. `fold=False`: each event on a line of its own.
    """
    numbers: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"#{len(numbers) + 1}")

    def value(data: Any) -> str:
        if isinstance(data, dict):
            return f"({fields(data)})"
        if isinstance(data, list):
            return f"[{' '.join(map(value, data))}]"
        text = _UUID.sub(number, json.dumps(data, ensure_ascii=False))
        bare = text[1:-1] if isinstance(data, str) else ""
        return bare if _BARE.fullmatch(bare) else text

    def fields(data: Mapping[str, Any]) -> str:
        return " ".join(f"{value(key)}={value(data[key])}" for key in sorted(data, key="metadata".__eq__))

    def lines(event: WireEvent) -> Iterator[str]:
        rest = {key: data for key, data in event.items() if key not in ("type", "messages", "usage")}
        yield " ".join(filter(None, [event["type"], fields(rest)]))
        for message in event.get("messages", ()):
            yield f"  {message['role']} " + fields({key: data for key, data in message.items() if key != "role"})
        yield from (f"  usage {fields(usage)}" for usage in event.get("usage", ()))

    def folded(events: Sequence[WireEvent]) -> list[str]:
        found: list[str] = []
        entity = None
        for event in events:
            if fold and entity is not None and _adds_to(event) == entity:
                found[-1] += f" + {value(event['delta'])}" if "delta" in event else f" {event['type'].split('_')[-1]}"
            else:
                found += lines(event)
            entity = _entity(event)
        return found

    return [folded(events) for events in streams]


def _entity(event: WireEvent) -> tuple[Any, ...] | None:
    """The entity of a start, a part or an end."""
    part = _PART.fullmatch(event["type"])
    keys = ("messageId", "toolCallId", "stepName", "subagentRunId")
    return (part[1], *(event.get(key) for key in keys)) if part else None


def _adds_to(event: WireEvent) -> tuple[Any, ...] | None:
    """The entity of an event that adds only its delta or its end."""
    plain = event.keys() <= {"type", "messageId", "toolCallId", "stepName", "subagentRunId", "delta"}
    starts, ends = (event["type"].endswith(words) for words in (("_START", "_STARTED"), ("_END", "_FINISHED")))
    return _entity(event) if plain and not starts and ("delta" in event) != ends else None
