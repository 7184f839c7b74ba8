"""What an agent can do, as far as its graph shows (AG-UI 1.0, capabilities). What cannot be seen is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ag_ui.core import (
    AgentCapabilities,
    ExecutionCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    MultiAgentCapabilities,
    ReasoningCapabilities,
    StateCapabilities,
    SubagentInfo,
    Tool,
    ToolsCapabilities,
    TransportCapabilities,
)
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode

from yai_nexus_agentkit.adapter.langgraph.channels import GraphShape
from yai_nexus_agentkit.adapter.langgraph.threads import Graph
from yai_nexus_agentkit.adapter.options import AdapterOptions

__all__ = ["capabilities"]

_UNNAMED = frozenset({"LangGraph", "RunnableSequence", "RunnableBinding"})
_DEFAULT_LIMIT = 25
"""LangChain's recursion limit, which says nothing of the graph."""


def capabilities(
    agent: Runnable[Any, Any], graph: Graph | None, shape: GraphShape | None, options: AdapterOptions
) -> AgentCapabilities:
    """The capabilities of an agent behind this adapter.

    Left out, since nothing in a graph tells: what its models can read and write, whether it accepts the client's tools.
    """
    name = agent.get_name()
    declared = AgentCapabilities(
        identity=IdentityCapabilities(name=None if name in _UNNAMED else name, type="langgraph"),
        transport=TransportCapabilities(
            streaming=True, websocket=False, http_binary=False, push_notifications=False, resumable=False
        ),
        execution=_execution(agent, options),
    )
    if options.reasoning == "off":
        declared.reasoning = ReasoningCapabilities(supported=False)
    if graph is None or shape is None:
        return declared
    resumable = isinstance(graph.checkpointer, BaseCheckpointSaver)
    declared.state = StateCapabilities(
        snapshots=bool(shape.public),
        deltas=bool(shape.public),
        memory=resumable or graph.store is not None,
        persistent_state=resumable and not isinstance(graph.checkpointer, InMemorySaver),
    )
    declared.human_in_the_loop = HumanInTheLoopCapabilities(supported=resumable, interrupts=resumable)
    tools = _tools(graph)
    if tools:
        declared.tools = ToolsCapabilities(supported=True, items=tools)
    subagents = [SubagentInfo(name=name) for name, _ in _subgraphs(graph)]
    if subagents:
        declared.multi_agent = MultiAgentCapabilities(supported=True, subagents=subagents)
    return declared


def _execution(agent: Runnable[Any, Any], options: AdapterOptions) -> ExecutionCapabilities | None:
    limit = (getattr(agent, "config", None) or {}).get("recursion_limit", _DEFAULT_LIMIT)
    seconds = options.execution_timeout
    if limit == _DEFAULT_LIMIT and seconds is None:
        return None
    return ExecutionCapabilities(
        max_iterations=None if limit == _DEFAULT_LIMIT else limit,
        max_execution_time=None if seconds is None else int(seconds * 1000),
    )


def _subgraphs(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Subgraphs that are nodes, or are called by nodes in a way LangGraph can see."""
    yield from ((name, subgraph) for name, subgraph in graph.get_subgraphs() if isinstance(subgraph, type(graph)))


def _tools(graph: Graph) -> list[Tool]:
    """The tools of the graph's tool nodes, each name once."""
    found: dict[str, Tool] = {}
    for tool in _tool_objects(graph):
        found.setdefault(tool.name, _described(tool))
    return list(found.values())


def _tool_objects(graph: Graph) -> Iterable[BaseTool]:
    for node in graph.nodes.values():
        bound: Any = node.bound
        if isinstance(bound, ToolNode):
            yield from bound.tools_by_name.values()
    for _, subgraph in _subgraphs(graph):
        yield from _tool_objects(subgraph)


def _described(tool: BaseTool) -> Tool:
    """Name, description and the schema a model is shown: without what LangGraph injects."""
    try:
        parameters = convert_to_openai_tool(tool)["function"]["parameters"]
    except Exception:  # a schema that cannot be written as JSON Schema: the tool is there all the same
        parameters = {}
    return Tool(name=tool.name, description=tool.description or "", parameters=parameters)
