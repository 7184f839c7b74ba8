"""LangGraph graphs, and any other LangChain runnable, as a `Source`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.source import Source

__all__ = ["source_of"]


def source_of(agent: Any) -> Source:
    """The source for a graph or runnable. Raises TypeError for other objects of LangChain's."""
    from langchain_core.runnables import Runnable

    from yai_nexus_agentkit.adapter.langgraph.source import LangGraphSource

    if not isinstance(agent, Runnable):
        raise TypeError(f"an agent is a compiled graph, a runnable or a Source, not {type(agent).__name__}")
    return LangGraphSource(agent)
