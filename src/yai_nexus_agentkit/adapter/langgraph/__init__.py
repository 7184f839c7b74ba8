"""LangGraph graphs, and any other LangChain runnable, as a `Source`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.source import Source

__all__ = ["source_of"]


_REMOTE = (
    "a RemoteGraph cannot be served: its astream_events gives no events (LangGraph implements version v3 alone there), "
    "so nothing would reach a client. Serve the graph where it runs, or await its ainvoke in a node of a graph of yours"
)


def source_of(agent: Any) -> Source:
    """The source for a graph or runnable. Raises TypeError for other objects of LangChain's, and for remote graphs."""
    from langchain_core.runnables import Runnable
    from langgraph.pregel import Pregel
    from langgraph.pregel.protocol import PregelProtocol

    from yai_nexus_agentkit.adapter.langgraph.source import LangGraphSource

    if not isinstance(agent, Runnable):
        raise TypeError(f"an agent is a compiled graph, a runnable or a Source, not {type(agent).__name__}")
    if isinstance(agent, PregelProtocol) and not isinstance(agent, Pregel):
        raise TypeError(_REMOTE)
    return LangGraphSource(agent)
