"""Events that say in smaller frames what one event is too large for."""

from __future__ import annotations

import logging
from typing import Any

from ag_ui.core import BaseEvent, MessagesSnapshotEvent, StateDeltaEvent, StateSnapshotEvent, ToolCallResultEvent

from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import TooLargeError
from yai_nexus_agentkit.protocol.events import TOKENS
from yai_nexus_agentkit.protocol.json.patch import pointer
from yai_nexus_agentkit.protocol.linked_media import link_media
from yai_nexus_agentkit.protocol.state_pieces import split_patch, split_state

__all__ = ["linked", "smaller_events"]

_logger = logging.getLogger(__name__)
_SPARE = 4096
"""Characters of a frame that are kept free: names, ids, metadata."""


def smaller_events(event: BaseEvent, error: TooLargeError, run: RunContext) -> list[BaseEvent]:
    """The events in place of one that is too large; none if there is no way. What has to be left out of the state is
    noted in `run.unsent`."""
    most = error.limit - _SPARE
    match event:
        case MessagesSnapshotEvent() | ToolCallResultEvent():
            found = linked(event, error.size - most, run)
            return [] if found is None else [found]
        case StateSnapshotEvent(snapshot=dict()):
            first, patches, omitted = split_state(event.snapshot, most)
            metadata = _omitted(event, omitted, run)
            return [event.model_copy(update={"snapshot": first, "metadata": metadata}), *_deltas(event, patches)]
        case StateDeltaEvent():
            patches, omitted = split_patch([one.model_dump(by_alias=True) for one in event.delta], most)
            metadata = _omitted(event, omitted, run)
            return [one.model_copy(update={"metadata": metadata}) for one in _deltas(event, patches)]
    if type(event) in TOKENS:
        delta, size = event.delta, most // 6  # type: ignore[attr-defined]  # a character may be six in JSON
        return [event.model_copy(update={"delta": delta[at : at + size]}) for at in range(0, len(delta), size)]
    return []


def linked(event: Any, excess: int, run: RunContext) -> Any:
    """An event with messages or a tool's result, `excess` characters shorter: with links to the media, if the request's
    facts have a ``media_url``. None if that is not enough."""
    whole = isinstance(event, MessagesSnapshotEvent)
    holders = event.messages if whole else [event]
    address = run.request.get("media_url") if run.linkable else None
    changed = link_media(holders, excess, key=run.thread_key, address=address)
    if changed is None:
        return None
    return event.model_copy(update={"messages": changed}) if whole else changed[0]


def _deltas(event: BaseEvent, patches: list[list[dict[str, Any]]]) -> list[BaseEvent]:
    owner: Any = getattr(event, "subagent_run_id", None)
    return [StateDeltaEvent(delta=patch, subagent_run_id=owner) for patch in patches if patch]  # type: ignore[arg-type]


def _omitted(event: BaseEvent, keys: list[str], run: RunContext) -> dict[str, Any] | None:
    """The event's metadata, with the keys that are left out."""
    metadata: dict[str, Any] | None = event.metadata
    if not keys:
        return metadata
    run.unsent.update(keys)
    _logger.warning("run %r: the state's %s cannot be sent, since it is too large", run.run_input.run_id, keys)
    return {**(metadata or {}), "omitted": [pointer(key) for key in sorted(run.unsent)]}
