"""Edge. ``bench``: the adapter's CPU time on an agent, as a gate in CI.

Exit codes: 0 within the budget, 1 over it, 2 wrong usage, no such agent, or a run that failed.
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.agents import adapter_opened
from yai_nexus_agentkit.cli.arguments import add_turn_arguments, amount, positive, request, run_arguments
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import CommandError, warnings_shown
from yai_nexus_agentkit.cli.interruptible import run_interruptible
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
    parser.epilog = "Exit code: 0 within the budget, 1 over it, 2 usage or a run that failed."
    add_turn_arguments(parser)
    group = parser.add_argument_group("the budget")
    group.add_argument(
        "--max-overhead-us",
        type=amount,
        default=5000,
        metavar="N",
        help="most microseconds per native event (default: 5000)",
    )
    group.add_argument("--max-ratio", type=amount, metavar="R", help="most CPU time, as a multiple of the agent's own")
    group.add_argument("--repeats", type=positive, default=11, metavar="N", help="number of replays (default: 11)")
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")


def execute(args: argparse.Namespace) -> int:
    """Measure and compare. Returns the exit code."""
    budget = {"max_overhead_us": args.max_overhead_us, "max_ratio": args.max_ratio}
    with warnings_shown(level=logging.ERROR, tracebacks=args.traceback):
        overhead = run_interruptible(_measured(args, budget))
    exceeded = overhead.over(**budget)
    lines = [f"over the budget: {line}" for line in exceeded] or ["within the budget"]
    out = Terminal()
    text = "".join(out.wrapped(line) for line in [*str(overhead).splitlines(), *lines])
    if args.json:
        report = {"agent": args.agent, "ok": not exceeded, **_figures(overhead), **budget, "over_budget": exceeded}
        text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    out.write(text)
    return 1 if exceeded else 0


async def _measured(args: argparse.Namespace, budget: dict[str, Any]) -> Overhead:
    from yai_nexus_agentkit.testing import OverBudget, measure_overhead

    asked = Client(request(args, default=_DEFAULT_MESSAGE)).request()
    async with adapter_opened(args.agent, args) as adapter:
        try:
            return await measure_overhead(adapter, asked, **run_arguments(args), repeats=args.repeats, **budget)
        except OverBudget as error:
            return error.overhead
        except RuntimeError as error:
            raise CommandError(str(error)) from error


def _figures(overhead: Overhead) -> dict[str, Any]:
    """The result, the formula and its terms; times in microseconds."""
    figures: dict[str, Any] = {
        "overhead_us": round(overhead.overhead_us, 3),
        "ratio": round(overhead.ratio, 4),
        "formula": "overhead_us = (t_adapter_us - t_base_us) / natives",
    }
    for name, value in asdict(overhead).items():
        figures |= {f"{name}_us": round(value * 1e6, 3)} if name.startswith("t_") else {name: value}
    return figures
