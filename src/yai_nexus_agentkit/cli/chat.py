"""Edge. ``chat``: a conversation with an agent in the terminal, one of this machine or one of a running server.

Exit codes: 0 the person left, 2 wrong usage, no such agent or no such server, 3 the agent waits for an answer.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from yai_nexus_agentkit.cli.agents import LocalAgent, adapter_opened
from yai_nexus_agentkit.cli.arguments import AGENT, OPTIONS, add_turn_arguments, request
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import CommandError, warnings_shown
from yai_nexus_agentkit.cli.interruptible import run_interruptible
from yai_nexus_agentkit.cli.layout import LABEL_WIDTH, Page
from yai_nexus_agentkit.cli.session import PAUSED, PROMPT, QUIT, SUCCESS, Agent, Session
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.trace import BRIEF, Trace

__all__ = ["configure", "execute"]

_OF_AN_AGENT_HERE = ("configurable", "context", "model", "checkpointer", "store", *OPTIONS)
"""Arguments that configure an agent, which a server has done already."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``chat``."""
    parser.description = (
        f"Talk to an agent in the terminal. AGENT is {AGENT}, as for `run`; with --url it is an agent of a running "
        "server. A thread of an earlier chat goes on with --thread, and a --checkpointer or a server that keeps it. "
        "Ctrl-C stops an answer; Ctrl-D or /quit ends the chat."
    )
    parser.epilog = "Exit code: 0 you left, 2 usage, 3 the agent waits for an answer."
    add_turn_arguments(parser, needed=False)
    parser.usage = "%(prog)s (AGENT | --url URL) [message] [options]"
    parser.add_argument("--url", metavar="URL", help="the agent of a running server, http://127.0.0.1:8000 for example")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME: VALUE",
        help="a header of every request, a token for example",
    )
    parser.add_argument("--events", action="store_true", help="show all events of each turn, as `run` does")
    parser.add_argument("--full", action="store_true", help="do not shorten long values")


def execute(args: argparse.Namespace) -> int:
    """Talk until the person leaves. Returns the exit code."""
    _check(args)
    with warnings_shown(tracebacks=args.traceback):
        return run_interruptible(_chat(args, Terminal()))


def _check(args: argparse.Namespace) -> None:
    """Read the arguments of ``chat --url URL [message]``. Raises `CommandError` for those that do not fit together."""
    if args.url is None:
        if args.agent is None:
            raise CommandError(f"name an agent, {AGENT}, or a server's with --url")
        if args.header:
            raise CommandError("--header goes with --url")
        return
    if args.message is not None:
        raise CommandError(f"--url names the agent; leave {args.agent!r} out")
    args.agent, args.message = None, args.agent
    if given := [name for name in _OF_AN_AGENT_HERE if getattr(args, name) not in (None, [])]:
        flag = f"--{given[0].replace('_', '-')}"
        raise CommandError(f"{flag} configures an agent of this machine; that of --url is configured by its server")


@asynccontextmanager
async def _agent(args: argparse.Namespace) -> AsyncIterator[Agent]:
    if args.url is not None:
        try:
            from yai_nexus_agentkit.cli.remote import remote_opened
        except ModuleNotFoundError as error:
            raise CommandError("--url needs httpx: pip install httpx") from error
        async with remote_opened(args.url, args.header) as remote:
            yield remote
        return
    async with adapter_opened(args.agent, args) as adapter:
        yield LocalAgent(adapter, args)


async def _chat(args: argparse.Namespace, out: Terminal) -> int:
    fields = request(args)
    said = fields.pop("messages")
    client = Client(fields)
    marks, width = (None, LABEL_WIDTH) if args.events else (BRIEF, len(PROMPT))
    page = Page(out.width, colour=out.colour, label_width=width)
    trace = Trace(page, client, full=args.full, steps=args.events, marks=marks)
    async with _agent(args) as agent:
        session = Session(agent, client, out, trace, may_ask=True, stoppable=True)
        out.write(trace.note(f"thread {client.thread}. Ctrl-C stops an answer, /quit ends the chat.", "dim"))
        code, asked = SUCCESS, None
        if args.thread:
            code = await session.restore(ask=not said)
        if said:
            out.write(trace.note(args.message or "", label=">"))
            asked = client.request(said)
        while True:
            if asked is not None:
                code = await session.turn(asked, [])
            if code == PAUSED:
                return PAUSED
            typed = await out.ask(PROMPT)
            if typed is None or typed in QUIT:
                return SUCCESS
            asked = _message(client, typed)


def _message(client: Client, typed: str) -> dict[str, Any]:
    return client.request([{"id": str(uuid4()), "role": "user", "content": typed}])
