"""Pure. State, activities and events of the application as ``data-*`` parts, media and sources as parts of their own.

A part of data has a whole value; a later chunk with its id replaces it. So patches are applied here. Those of the state
wait for the end of the step, and a large value that changes by small pieces is not sent for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ag_ui.core import (
    ActivitySnapshotEvent,
    CustomEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
)
from pydantic_core import to_json

from yai_nexus_agentkit.errors import StatePatchError
from yai_nexus_agentkit.protocol.activities import CITATIONS, KEPT, MEDIA
from yai_nexus_agentkit.protocol.json.patch import apply_patch
from yai_nexus_agentkit.transport.ai_sdk.facts import Chunk

__all__ = ["Values"]

_SMALL = 4096
"""Bytes of a value up to which it is sent at every change."""
_SHARE = 8
"""A larger one is sent when its changes are this part of it: all its chunks are a few times its size then."""
_STATE = "state"


@dataclass(slots=True)
class _Value:
    type: str
    """Of its chunks, or `MEDIA` or `CITATIONS`."""
    content: Any
    patches: list[Any] = field(default_factory=list)
    changed: int = 0
    """Bytes of the patches."""
    size: int = 0
    """Bytes of the content when it was last sent."""
    shown: int = 0
    """How many media or citations were sent."""

    def patch(self, operations: Sequence[Any]) -> None:
        """Note a change."""
        plain = _plain(operations)
        self.patches += plain
        self.changed += len(to_json(plain))

    @property
    def due(self) -> bool:
        """Its changes are worth a chunk."""
        return bool(self.patches) and (self.size <= _SMALL or self.changed * _SHARE >= self.size)


class Values:
    """The values that one message shows."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], _Value] = {}
        """The state, and the activities by id."""
        self._subagents: dict[str, dict[str, Any]] = {}

    def state(self, content: Any) -> Iterator[Chunk]:
        """The whole state. An empty one is sent only in place of another."""
        known = self._values.get((_STATE, ""))
        if (known is None and not content) or (known is not None and known.content == content and not known.patches):
            self._values.setdefault((_STATE, ""), _Value("data-state", content))
            return
        value = self._values[_STATE, ""] = _Value("data-state", content)
        yield from self._send(_STATE, value)

    def patch_state(self, operations: Sequence[Any]) -> None:
        """A change of the state. It is sent by `flush`."""
        self._values.setdefault((_STATE, ""), _Value("data-state", {})).patch(operations)

    def flush(self, *, last: bool = False) -> Iterator[Chunk]:
        """The values whose changes are due; with `last` all that have changed."""
        for (kind, own), value in self._values.items():
            if value.due or (last and value.patches):
                yield from self._send(own or kind, value)

    def activity(self, event: ActivitySnapshotEvent) -> Iterator[Chunk]:
        """An activity, new or as a whole."""
        key, kind = ("activity", event.message_id), event.activity_type
        known = self._values.get(key)
        if known is not None and (event.replace is False or known.content == event.content):
            return
        named = kind if kind in (MEDIA, CITATIONS) else f"data-activity-{kind}"
        value = self._values[key] = _Value(named, event.content, shown=known.shown if known is not None else 0)
        yield from self._send(event.message_id, value)

    def patch_activity(self, own: str, operations: Sequence[Any]) -> Iterator[Chunk]:
        """A change of an activity."""
        if (value := self._values.get(("activity", own))) is not None:
            value.patch(operations)
            if value.due:
                yield from self._send(own, value)

    def _send(self, own: str, value: _Value) -> Iterator[Chunk]:
        if value.patches:
            value.content = _patched(value.content, value.patches)
            value.patches, value.changed = [], 0
        if value.type in (MEDIA, CITATIONS):
            yield from _entries(own, value)
            return
        value.size = len(to_json(value.content, inf_nan_mode="null", serialize_unknown=True))
        yield {"type": value.type, "id": own, "data": value.content}

    def custom(self, event: CustomEvent) -> Chunk:
        """An event of the application. One that it keeps is part of the message, others pass."""
        own = (event.metadata or {}).get(KEPT)
        lasting: dict[str, Any] = {"id": own} if isinstance(own, str) else {"transient": True}
        return {"type": f"data-{event.name}", "data": event.value, **lasting}

    def subagent(self, event: SubagentStartedEvent | SubagentFinishedEvent | SubagentErrorEvent) -> Chunk:
        """A subagent, and how far it is."""
        known = self._subagents.setdefault(event.subagent_run_id, {"id": event.subagent_run_id})
        match event:
            case SubagentStartedEvent():
                more = {
                    "name": event.name,
                    "description": event.description,
                    "parentSubagentRunId": event.parent_subagent_run_id,
                    "parentToolCallId": event.parent_tool_call_id,
                    "status": "running",
                }
            case SubagentFinishedEvent():
                kind = getattr(event.outcome, "type", None) or "success"
                more = {"status": "finished" if kind == "success" else kind, "result": event.result}
            case _:
                more = {"status": "failed", "error": event.message}
        known.update({name: value for name, value in more.items() if value is not None})
        return {"type": "data-subagent", "id": event.subagent_run_id, "data": dict(known)}


def _entries(own: str, activity: _Value) -> Iterator[Chunk]:
    """The media or citations of an answer that were not sent yet."""
    found = activity.content.get("parts" if activity.type == MEDIA else "citations") or []
    for n, entry in enumerate(found[activity.shown :], activity.shown):
        chunk = _file(entry) if activity.type == MEDIA else _source(f"{own}-{n}", entry)
        if chunk is not None:
            yield chunk
    activity.shown = len(found)


def _file(part: Mapping[str, Any]) -> Chunk | None:
    """A picture, sound or file. A file that only the provider holds has no address."""
    source = part.get("source") or {}
    kind, value, mime = source.get("type"), source.get("value"), source.get("mimeType") or "application/octet-stream"
    if kind not in ("data", "url"):
        return None
    return {"type": "file", "url": value if kind == "url" else f"data:{mime};base64,{value}", "mediaType": mime}


def _source(own: str, entry: Mapping[str, Any]) -> Chunk:
    facts = {"providerMetadata": {"agui": dict(entry)}}
    url, title = entry.get("url"), entry.get("title")
    if url:
        named = {"title": title} if title else {}
        return {"type": "source-url", "sourceId": own, "url": url, **named, **facts}
    title = title or entry.get("file_id") or entry.get("cited_text") or "source"
    return {"type": "source-document", "sourceId": own, "mediaType": "text/plain", "title": title, **facts}


def _plain(operations: Sequence[Any]) -> list[Any]:
    return [one if isinstance(one, Mapping) else one.model_dump(by_alias=True) for one in operations]


def _patched(value: Any, operations: Sequence[Any]) -> Any:
    """The value after the operations; as it was if they do not fit, as clients leave it."""
    try:
        return apply_patch(value, cast(Any, operations))
    except (StatePatchError, TypeError):
        return value
