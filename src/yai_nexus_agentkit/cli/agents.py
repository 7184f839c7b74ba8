"""Edge. The adapter that a command runs: the loaded agent with the command line's checkpointer and options."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.arguments import adapter_options, configurable
from yai_nexus_agentkit.cli.loading import find, opened, parse_spec
from yai_nexus_agentkit.cli.persistence import persistence, with_persistence

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from yai_nexus_agentkit import AGUIAdapter

__all__ = ["adapter_of", "adapter_opened", "run_config"]


@asynccontextmanager
async def adapter_opened(spec: str, args: argparse.Namespace) -> AsyncIterator[AGUIAdapter]:
    """The adapter of the agent that `spec` names, for as long as the block lasts. Raises `CommandError`."""
    found = find(parse_spec(spec))
    kept = persistence(checkpointer=args.checkpointer, store=args.store)
    async with kept as attributes, opened(found, spec, run_config(args)) as agent:
        yield adapter_of(with_persistence(agent, attributes, spec), args)


def adapter_of(agent: Any, args: argparse.Namespace) -> AGUIAdapter:
    """An agent, or an adapter, with the options of the command line."""
    from yai_nexus_agentkit import AdapterOptions, AGUIAdapter

    if isinstance(agent, AGUIAdapter):
        return AGUIAdapter(agent.source, options=adapter_options(args, agent.options), hooks=agent.hooks)
    return AGUIAdapter(agent, options=adapter_options(args, AdapterOptions()))


def run_config(args: argparse.Namespace) -> RunnableConfig:
    """The configuration of the command line: for factories, and for the run."""
    return {"configurable": configurable(args)}
