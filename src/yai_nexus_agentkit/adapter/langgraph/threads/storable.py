"""Checkpoints without values that a storage cannot hold: PostgreSQL's JSON has no NUL, half pairs, NaN and infinity."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["storable", "storable_text", "unstorable"]

_logger = logging.getLogger(__name__)


def unstorable(checkpoint: Checkpoint) -> list[str]:
    """Channels whose value is text or a number that PostgreSQL's JSON has no place for. Savers for it keep such values
    as JSON, and all others as bytes."""
    return [
        name
        for name, value in checkpoint["channel_values"].items()
        if (isinstance(value, str) and storable_text(value) != value)
        or (isinstance(value, float) and not math.isfinite(value))
    ]


def storable(checkpoint: Checkpoint, odd: Sequence[str], before: CheckpointTuple | None) -> Checkpoint:
    """A copy with other values in these channels: text without NUL and half pairs. In place of NaN or infinity the
    channel keeps its value of `before`, or is empty as at first."""
    values, versions = dict(checkpoint["channel_values"]), dict(checkpoint["channel_versions"])
    for name in odd:
        value = values.pop(name)
        if isinstance(value, str):
            values[name] = storable_text(value)
        elif before is not None and name in before.checkpoint["channel_values"]:
            values[name] = before.checkpoint["channel_values"][name]
        else:  # LangGraph would look for the value of a channel with a version among earlier writes
            versions.pop(name, None)
    _logger.warning(
        "the storage cannot hold the values of %s: they are changed to be stored", ", ".join(map(repr, odd))
    )
    stored: Checkpoint = {**checkpoint, "channel_values": values, "channel_versions": versions}
    return stored


def storable_text(text: str) -> str:
    """The text without NUL, and with U+FFFD for halves of surrogate pairs."""
    return clean_text(text).replace("\0", "")
