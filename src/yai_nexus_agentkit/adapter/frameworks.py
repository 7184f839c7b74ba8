"""Which agent framework an agent comes from. The one list that a new framework is added to."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from yai_nexus_agentkit.adapter.source import Source

__all__ = ["source_of"]

_PACKAGES = {"langchain_core": "yai_nexus_agentkit.adapter.langgraph"}
"""Package that a class of the agent comes from -> our package for it, which has ``source_of(agent)``. Ours is imported
only for such an agent, so that no framework has to be installed for another one."""


def source_of(agent: Any) -> Source:
    """The `Source` that runs `agent`: the agent itself if it is one, else that of its framework.

    Raises TypeError for anything else.
    """
    for cls in type(agent).__mro__:
        for origin, package in _PACKAGES.items():
            if f"{cls.__module__}.".startswith(f"{origin}."):
                source: Source = import_module(package).source_of(agent)
                return source
    if isinstance(agent, Source):
        return agent
    hint = ": compile it first, graph.compile()" if hasattr(agent, "compile") else ""
    raise TypeError(f"an agent is a compiled graph, a runnable or a Source, not {type(agent).__name__}{hint}")
