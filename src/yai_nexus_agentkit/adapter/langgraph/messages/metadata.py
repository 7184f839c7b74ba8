"""Facts for which AG-UI has no field: in the ``metadata`` of events and messages, under one key. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["SOURCE", "metadata"]

SOURCE = "langgraph"
"""The name of this framework: of its sources, and the key of its facts."""


def metadata(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that holds these facts."""
    return {SOURCE: dict(facts)}
