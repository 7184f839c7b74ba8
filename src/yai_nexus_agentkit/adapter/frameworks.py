"""The list of agent frameworks. A new framework is added here, and nowhere else outside its package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from yai_nexus_agentkit.adapter.source import Source

__all__ = ["is_agent", "source_of"]

_PACKAGES = {
    "langchain_core": "yai_nexus_agentkit.adapter.langgraph",
    "google.adk": "yai_nexus_agentkit.adapter.adk",
}
"""Package that defines the agent's class -> our package for it, which has ``source_of(agent)``. Ours is imported only
for such an agent: one framework does not need another one installed."""


def is_agent(value: Any) -> bool:
    """`source_of` accepts the value."""
    try:
        source_of(value)
    except TypeError:
        return False
    return True


def source_of(agent: Any) -> Source:
    """The `Source` that runs `agent`: the agent itself, or that of its framework. Raises TypeError for any other."""
    # The attribute first: to compare with a protocol takes longer than all the rest.
    if hasattr(agent, "prepare") and isinstance(agent, Source) and not isinstance(agent, type):
        return agent
    for cls in type(agent).__mro__:
        for origin, package in _PACKAGES.items():
            if f"{cls.__module__}.".startswith(f"{origin}."):
                source: Source = import_module(package).source_of(agent)
                return source
    hint = ": compile it first, graph.compile()" if hasattr(agent, "compile") else ""
    kinds = "a compiled graph, a runnable, an agent of google-adk or a Source"
    raise TypeError(f"an agent is {kinds}, not {type(agent).__name__}{hint}")
