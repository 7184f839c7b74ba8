"""Edge. ``run``: one turn of an agent in the terminal, with its questions and their answers.

Exit codes: 0 the run succeeded, 1 it ended with ``RUN_ERROR``, 2 wrong usage or no such agent, 3 it waits for an answer
and nobody can be asked.
"""

from __future__ import annotations

import argparse
import contextlib
import sys

from yai_nexus_agentkit.cli.agents import LocalAgent, adapter_opened
from yai_nexus_agentkit.cli.arguments import AGENT, add_turn_arguments, request
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import warn, warnings_shown
from yai_nexus_agentkit.cli.interruptible import run_interruptible
from yai_nexus_agentkit.cli.layout import Page
from yai_nexus_agentkit.cli.session import Session
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.trace import Trace

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``run``."""
    parser.description = (
        f"Run one turn and show its AG-UI events as they happen. AGENT is {AGENT} and names a compiled graph, "
        "a runnable, an AGUIAdapter, or a function or context manager that gives one."
    )
    parser.epilog = "Exit code: 0 success, 1 RUN_ERROR, 2 usage, 3 the agent waits for an answer."
    add_turn_arguments(parser)
    parser.add_argument("--json", action="store_true", help="write one AG-UI event per line, as on the wire")
    parser.add_argument("--full", action="store_true", help="do not shorten long values")
    parser.add_argument("--steps", action="store_true", help="show STEP_STARTED and STEP_FINISHED, too")
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="ANSWER",
        help="the answer to the agent's next question: y or n for a yes or no, else JSON or text",
    )


def execute(args: argparse.Namespace) -> int:
    """Run it. Returns the exit code."""
    out = Terminal()
    # A node that prints must not write between the lines of JSON.
    prints = contextlib.redirect_stdout(sys.stderr) if args.json else contextlib.nullcontext()
    with prints, warnings_shown(tracebacks=args.traceback):
        return run_interruptible(_turn(args, out))


async def _turn(args: argparse.Namespace, out: Terminal) -> int:
    client, answers = Client(request(args)), list(args.answer)
    page = Page(out.width, colour=out.colour)
    trace = None if args.json else Trace(page, client, full=args.full, steps=args.steps)
    async with adapter_opened(args.agent, args) as adapter:
        agent = LocalAgent(adapter, args)
        session = Session(agent, client, out, trace, may_ask=out.interactive and not args.json)
        code = await session.turn(client.request(), answers)
    if answers:
        warn(f"--answer: nothing asked for {', '.join(map(repr, answers))}")
    return code
