"""The capabilities that a graph shows (AG-UI 1.0, capabilities). Unknown ones are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ag_ui.core import (
    AgentCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    MultiAgentCapabilities,
    StateCapabilities,
    SubagentInfo,
    Tool,
    ToolsCapabilities,
)
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from yai_nexus_agentkit.adapter.langgraph.messages.metadata import SOURCE
from yai_nexus_agentkit.adapter.langgraph.shape import Graph, GraphShape, saver_of, tool_objects
from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.shared.capabilities import declared
from yai_nexus_agentkit.orchestration.approvals import require_approval

__all__ = ["capabilities"]

_UNNAMED = frozenset({"LangGraph", "RunnableSequence", "RunnableBinding"})
_CLIENT_TOOLS, _APPROVING = "ClientToolsMiddleware", "HumanInTheLoopMiddleware"
"""Middleware that shows what an agent does: ours, and LangChain's."""
_DEFAULT_LIMIT = 25
"""LangChain's recursion limit, which says nothing of the graph."""


def capabilities(
    agent: Runnable[Any, Any], graph: Graph | None, shape: GraphShape | None, options: AdapterOptions
) -> AgentCapabilities:
    """The capabilities of an agent behind this adapter.

    Left out, since a graph does not show it: what its models can read and write.
    """
    name = agent.get_name()
    limit = (getattr(agent, "config", None) or {}).get("recursion_limit", _DEFAULT_LIMIT)
    identity = IdentityCapabilities(name=None if name in _UNNAMED else name, type=SOURCE)
    able = declared(identity, options, steps=None if limit == _DEFAULT_LIMIT else limit)
    if graph is None or shape is None:
        return able
    resumable = saver_of(graph) is not None
    able.state = StateCapabilities(
        snapshots=bool(shape.public - shape.requested),
        deltas=bool(shape.public - shape.requested),
        memory=resumable or graph.store is not None,
        persistent_state=resumable and not isinstance(graph.checkpointer, InMemorySaver),
    )
    tools = list(tool_objects(graph))
    able.tools = _tools_declared(graph, shape, tools)
    asks = resumable and (_has_middleware(graph, _APPROVING) or any(map(_asks, tools)))
    able.human_in_the_loop = HumanInTheLoopCapabilities(
        supported=resumable,
        interrupts=resumable,
        approvals=True if asks else None,
        approve_with_edits=True if asks else None,
    )
    subagents = [SubagentInfo(name=name) for name, _ in _subgraphs(graph)]
    if subagents:
        able.multi_agent = MultiAgentCapabilities(supported=True, subagents=subagents)
    return able


def _subgraphs(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Subgraphs that are nodes, or are called by nodes in a way LangGraph can see."""
    yield from ((name, subgraph) for name, subgraph in graph.get_subgraphs() if isinstance(subgraph, type(graph)))


def _tools_declared(graph: Graph, shape: GraphShape, tools: Iterable[BaseTool]) -> ToolsCapabilities | None:
    """The tools of the graph's tool nodes, each name once, and whether it takes the client's."""
    found: dict[str, Tool] = {}
    for tool in tools:
        found.setdefault(tool.name, _described(tool))
    takes = _has_middleware(graph, _CLIENT_TOOLS) or "tools" in shape.requested
    if not found and not takes:
        return None
    return ToolsCapabilities(
        supported=True, items=list(found.values()) or None, client_provided=True if takes else None
    )


def _has_middleware(graph: Graph, name: str) -> bool:
    """``create_agent`` names the nodes of a middleware after its class."""
    return any(node.startswith(f"{name}.") for node in graph.nodes)


def _asks(tool: BaseTool) -> bool:
    """A tool made by `require_approval`."""
    return type(tool).__module__ == require_approval.__module__


def _described(tool: BaseTool) -> Tool:
    """Name, description and the schema a model is shown: without what LangGraph injects."""
    try:
        parameters = convert_to_openai_tool(tool)["function"]["parameters"]
    except Exception:  # a schema that cannot be written as JSON Schema: the tool is there all the same
        parameters = {}
    return Tool(name=tool.name, description=tool.description or "", parameters=parameters)
