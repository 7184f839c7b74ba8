"""Edge. The adapter that a command runs: the loaded agent with the command line's checkpointer and options."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.arguments import adapter_options, run_arguments
from yai_nexus_agentkit.cli.failures import CommandError, warn
from yai_nexus_agentkit.cli.loading import find, opened, parse_spec
from yai_nexus_agentkit.cli.persistence import check_shared, persistence, with_persistence

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent

    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.adapter.control import RunControl

__all__ = ["LocalAgent", "adapter_of", "adapter_opened", "loaded", "warn_of_model"]


class LocalAgent:
    """An agent of this process, for a `Session`."""

    def __init__(self, adapter: AGUIAdapter, args: argparse.Namespace) -> None:
        self._adapter, self._run_args = adapter, run_arguments(args)

    async def run(self, asked: Mapping[str, Any], control: RunControl) -> AsyncGenerator[str, None]:
        """The events of a run, each as JSON."""
        async with aclosing(self._adapter.stream_sse(asked, **self._run_args, control=control)) as frames:
            async for frame in frames:
                yield frame.decode().removeprefix("data: ").rstrip("\n")

    def look(self, asked: Mapping[str, Any], control: RunControl) -> AsyncGenerator[str, None]:
        """The thread as it is now, as the events of a run that does nothing."""

        def as_json(event: BaseEvent) -> str:
            return event.model_dump_json(by_alias=True, exclude_none=True)

        return self._adapter.stream(asked, as_json, **self._run_args, control=control, looking=True)


@asynccontextmanager
async def adapter_opened(spec: str, args: argparse.Namespace) -> AsyncIterator[AGUIAdapter]:
    """The adapter of the agent `spec`, for as long as the block lasts. Raises `CommandError`."""
    found = find(parse_spec(spec))
    stored = persistence(checkpointer=args.checkpointer, store=args.store)
    async with stored as attributes, loaded(found, spec, attributes, args) as adapter:
        yield adapter


@asynccontextmanager
async def loaded(
    found: Any, spec: str, attributes: dict[str, Any], args: argparse.Namespace
) -> AsyncIterator[AGUIAdapter]:
    """The adapter of the object that `spec` names, with the graph attributes of the command line."""
    async with opened(found, spec, run_arguments(args)["config"]) as agent:
        if agent is found:
            warn_of_model(spec, args)
        agent = with_persistence(agent, attributes, spec)
        if getattr(args, "workers", 1) > 1:
            check_shared(agent, spec)
        yield adapter_of(agent, args)


def warn_of_model(spec: str, args: argparse.Namespace) -> None:
    """Warn that ``--model`` may change nothing in an agent that no function makes."""
    if args.model:
        warn(f"--model: {spec} already exists; only nodes that read config['configurable']['model'] use it")


def adapter_of(agent: Any, args: argparse.Namespace) -> AGUIAdapter:
    """The adapter of an agent, or the adapter that it is, with the options of the command line."""
    from yai_nexus_agentkit import AGUIAdapter

    adapter = agent if isinstance(agent, AGUIAdapter) else AGUIAdapter(agent)
    try:
        return adapter.replace(options=adapter_options(args, adapter.options))
    except ValueError as error:  # the agent's framework does not have the option
        raise CommandError(str(error)) from error
