"""An agent run as AG-UI events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter

__all__ = ["AGUIAdapter"]


def __getattr__(name: str) -> Any:
    # On first use: every module of this package imports the package, and most need no adapter.
    if name != "AGUIAdapter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter

    return AGUIAdapter
