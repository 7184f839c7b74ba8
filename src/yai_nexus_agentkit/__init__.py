"""LangGraph agents as AG-UI event streams. Names are resolved on first use: importing the package costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
    from yai_nexus_agentkit.adapter.langgraph_events import LangGraphEventType
    from yai_nexus_agentkit.adapter.native_run import NativeRun
    from yai_nexus_agentkit.adapter.options import AdapterOptions, Visible
    from yai_nexus_agentkit.adapter.run_context import Hooks, RunContext
    from yai_nexus_agentkit.adapter.source import Source
    from yai_nexus_agentkit.errors import AGUIAdapterError
    from yai_nexus_agentkit.orchestration.events import EventEmitter

__all__ = [
    "AGUIAdapter",
    "AGUIAdapterError",
    "AdapterOptions",
    "EventEmitter",
    "Hooks",
    "LangGraphEventType",
    "NativeRun",
    "RunContext",
    "Source",
    "Visible",
    "__version__",
]

__version__ = "1.0.0"

_HOMES = {
    "AGUIAdapter": ".adapter.agui_adapter",
    "AGUIAdapterError": ".errors",
    "AdapterOptions": ".adapter.options",
    "EventEmitter": ".orchestration.events",
    "Hooks": ".adapter.run_context",
    "LangGraphEventType": ".adapter.langgraph_events",
    "NativeRun": ".adapter.native_run",
    "RunContext": ".adapter.run_context",
    "Source": ".adapter.source",
    "Visible": ".adapter.options",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
