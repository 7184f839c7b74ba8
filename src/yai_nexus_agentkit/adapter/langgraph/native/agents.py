"""The agent in the runs of LangChain's agents (``create_agent``): its name, and the hooks of its middleware.
Pure."""

from __future__ import annotations

from yai_nexus_agentkit.adapter.native_run import NativeRun, RunKind
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["is_hook", "is_hook_name", "speaker"]

_HOOKS = (".before_agent", ".before_model", ".after_model", ".after_agent")
"""Ends of the names of the nodes that ``create_agent`` makes of hooks; before them stands the middleware's name."""
_MODEL_NODE = "model"
"""The node of ``create_agent`` whose messages get the agent's name."""


def is_hook(run: NativeRun) -> bool:
    """The run is the node of a hook of middleware."""
    return run.kind is RunKind.NODE and is_hook_name(run.name)


def is_hook_name(node: str) -> bool:
    """The name is that of such a node."""
    return node.endswith(_HOOKS)


def speaker(run: NativeRun) -> str | None:
    """The name that the agent gives to the message of this model call, if that is known before the message is whole.

    ``create_agent`` notes the agent's name in the metadata of its runs. Graphs inside inherit the metadata, so the name
    counts where it is that of the graph, or where the graph is the whole agent.
    """
    name = run.metadata.get("lc_agent_name")
    if not name or run.metadata.get("langgraph_node") != _MODEL_NODE:
        return None
    graph = next((a for a in run.ancestors() if a.kind in (RunKind.GRAPH, RunKind.ROOT)), None)
    own = graph is not None and (graph.kind is RunKind.ROOT or graph.name == name)
    return clean_text(str(name)) if own else None
