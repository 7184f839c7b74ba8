"""Edge. ``bench``: what the adapter costs on an agent, as a gate in CI.

Exit codes: 0 within the budget, 1 over it, 2 wrong usage, no such agent, or a run that failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.agents import adapter_opened, run_config
from yai_nexus_agentkit.cli.arguments import (
    add_adapter_options,
    add_agent_arguments,
    add_request_arguments,
    pairs,
    request,
)
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import CommandError
from yai_nexus_agentkit.cli.notes import warnings_shown
from yai_nexus_agentkit.cli.terminal import Terminal

if TYPE_CHECKING:
    from yai_nexus_agentkit.testing import Overhead

__all__ = ["configure", "execute"]

_DEFAULT_MESSAGE = "Hello"


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``bench``."""
    parser.description = (
        "Run one turn, record the agent's native events, and replay them with and without the adapter:"
        " overhead = (T_adapter - T_base) / N, in CPU time. The agent runs once, on a copy of its thread."
    )
    parser.usage = "%(prog)s AGENT [message] [options]"
    parser.epilog = "Exit code: 0 within the budget, 1 over it, 2 usage or a run that failed."
    parser.add_argument("agent", metavar="AGENT", help="module:attribute or path/to/file.py:attribute")
    add_request_arguments(parser)
    group = parser.add_argument_group("the budget")
    group.add_argument(
        "--max-overhead-us",
        type=float,
        metavar="N",
        help="microseconds per native event (default: 5000)",
    )
    group.add_argument(
        "--max-ratio", type=float, metavar="R", help="CPU time of the run with the adapter, as a multiple of without"
    )
    group.add_argument("--repeats", type=_positive, default=11, metavar="N", help="replays of each (default: 11)")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    add_agent_arguments(parser)
    add_adapter_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Measure and compare. Returns the exit code."""
    if args.message is None and not args.input and not args.attach:
        args.message = _DEFAULT_MESSAGE
    from yai_nexus_agentkit.testing.measure import CLIENT_BOUND_US

    if args.max_overhead_us is None:
        args.max_overhead_us = CLIENT_BOUND_US
    with warnings_shown(level=logging.ERROR, tracebacks=args.traceback):
        overhead, exceeded = asyncio.run(_measured(args))
    if args.json:
        text = json.dumps(_report(args, overhead, exceeded), ensure_ascii=False, indent=2)
    else:
        text = "\n".join([str(overhead), *(f"over the budget: {line}" for line in exceeded or ())])
        text += "" if exceeded else "\nwithin the budget"
    Terminal().write(f"{text}\n")
    return 1 if exceeded else 0


async def _measured(args: argparse.Namespace) -> tuple[Overhead, list[str]]:
    """The figures, and what of them exceeds the budget."""
    from yai_nexus_agentkit.testing import OverBudget, measure_overhead

    asked = Client(request(args)).request()
    budget: dict[str, Any] = {"max_overhead_us": args.max_overhead_us, "max_ratio": args.max_ratio}
    async with adapter_opened(args.agent, args) as adapter:
        try:
            overhead = await measure_overhead(
                adapter,
                asked,
                config=run_config(args),
                context=pairs("--context", args.context) or None,
                repeats=args.repeats,
                **budget,
            )
        except OverBudget as error:
            return error.overhead, error.overhead.over(**budget)
        except RuntimeError as error:
            raise CommandError(str(error)) from error
    return overhead, []


def _report(args: argparse.Namespace, overhead: Overhead, exceeded: list[str]) -> dict[str, Any]:
    """The terms of the formula; times in microseconds."""
    figures = {
        {"t_base": "t_base_us", "t_adapter": "t_adapter_us", "t_graph": "t_graph_us"}.get(name, name): (
            round(value * 1e6, 3) if name.startswith("t_") else value
        )
        for name, value in asdict(overhead).items()
    }
    return {
        "agent": args.agent,
        "ok": not exceeded,
        "overhead_us": round(overhead.overhead_us, 3),
        "ratio": round(overhead.ratio, 4),
        "formula": "overhead_us = (t_adapter_us - t_base_us) / natives",
        **figures,
        "max_overhead_us": args.max_overhead_us,
        "max_ratio": args.max_ratio,
        "over_budget": exceeded,
    }


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
