"""Pure. The capabilities that an ADK agent shows (AG-UI 1.0 §22)."""

from __future__ import annotations

from collections.abc import Iterator
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
from google.adk.sessions import InMemorySessionService
from google.adk.tools import BaseTool

from yai_nexus_agentkit.adapter.options import AdapterOptions
from yai_nexus_agentkit.adapter.shared.capabilities import declared

__all__ = ["capabilities"]


def capabilities(runner: Any, options: AdapterOptions) -> AgentCapabilities:
    """Of the agent behind this runner. Left out: what its models can read and write."""
    agents = list(_agents(runner.agent))
    found = [tool for agent in agents for tool in _tools(agent)]
    described = getattr(runner.agent, "description", "") or None
    made = declared(IdentityCapabilities(name=runner.agent.name, type="adk", description=described), options)
    made.state = StateCapabilities(
        snapshots=True,
        deltas=True,
        memory=True,
        persistent_state=not isinstance(runner.session_service, InMemorySessionService),
    )
    made.tools = ToolsCapabilities(supported=True, items=found or None, client_provided=True)
    made.human_in_the_loop = HumanInTheLoopCapabilities(supported=True, interrupts=True)
    if len(agents) > 1:
        others = [SubagentInfo(name=agent.name, description=agent.description or None) for agent in agents[1:]]
        made.multi_agent = MultiAgentCapabilities(supported=True, subagents=others)
    return made


def _agents(agent: Any) -> Iterator[Any]:
    yield agent
    for inner in getattr(agent, "sub_agents", None) or ():
        yield from _agents(inner)


def _tools(agent: Any) -> Iterator[Tool]:
    """The tools that need no connection to be known."""
    for tool in getattr(agent, "tools", None) or ():
        if isinstance(tool, BaseTool):
            yield Tool(name=tool.name, description=tool.description or "", parameters={})
        elif callable(tool):
            yield Tool(name=getattr(tool, "__name__", "tool"), description=tool.__doc__ or "", parameters={})
