"""google-adk agents, apps and runners as a `Source`. Needs the extra ``adk``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.adk.remote import RemoteAdkSource as RemoteAdkSource
    from yai_nexus_agentkit.adapter.adk.source import AdkSource as AdkSource
    from yai_nexus_agentkit.adapter.source import Source

__all__ = ["AdkSource", "RemoteAdkSource", "source_of"]

_MODULES = {"AdkSource": "source", "RemoteAdkSource": "remote"}


def source_of(agent: Any) -> Source:
    """The source for an agent, an app or a runner. Raises TypeError for other objects of google-adk's."""
    from yai_nexus_agentkit.adapter.adk.source import AdkSource

    return AdkSource(agent)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("google"):
            raise
        raise ImportError("google-adk is not installed: pip install 'yai-nexus-agentkit[adk]'") from error
