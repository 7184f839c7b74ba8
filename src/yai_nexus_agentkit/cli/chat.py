"""Edge. ``chat``: a conversation with an agent in the terminal.

Exit codes: 0 the person left, 2 wrong usage or no such agent, 3 the agent waits for an answer.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from yai_nexus_agentkit.cli.agents import adapter_opened
from yai_nexus_agentkit.cli.arguments import AGENT, add_turn_arguments, request, run_arguments
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import warnings_shown
from yai_nexus_agentkit.cli.layout import LABEL_WIDTH, Page
from yai_nexus_agentkit.cli.questions import questions
from yai_nexus_agentkit.cli.session import PAUSED, PROMPT, SUCCESS, Session
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.trace import BRIEF, Trace

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent

    from yai_nexus_agentkit import AGUIAdapter

__all__ = ["configure", "execute"]

_QUIT = ("/quit", "/exit")


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``chat``."""
    parser.description = (
        f"Talk to an agent in the terminal. AGENT is {AGENT}, as for `run`. A thread of an earlier chat goes on with "
        "--thread and a --checkpointer that keeps it. Ctrl-C stops an answer; Ctrl-D or /quit ends the chat."
    )
    parser.epilog = "Exit code: 0 you left, 2 usage, 3 the agent waits for an answer."
    add_turn_arguments(parser)
    parser.add_argument("--events", action="store_true", help="show all events of each turn, as `run` does")
    parser.add_argument("--full", action="store_true", help="do not shorten long values")


def execute(args: argparse.Namespace) -> int:
    """Talk until the person leaves. Returns the exit code."""
    with warnings_shown(tracebacks=args.traceback):
        return asyncio.run(_chat(args, Terminal()))


async def _chat(args: argparse.Namespace, out: Terminal) -> int:
    fields = request(args)
    said = fields.pop("messages")
    client = Client(fields)
    marks, width = (None, LABEL_WIDTH) if args.events else (BRIEF, len(PROMPT))
    page = Page(out.width, colour=out.colour, label_width=width)
    trace = Trace(page, client, full=args.full, steps=args.events, marks=marks)
    async with adapter_opened(args.agent, args) as adapter:
        session = Session(adapter, args, client, out, trace, may_ask=True, stoppable=True)
        out.write(trace.note(f"thread {client.thread}. Ctrl-C stops an answer, /quit ends the chat.", "dim"))
        asked: dict[str, Any] | None = None
        if args.thread:
            waiting = await _restored(adapter, client, args)
            out.write(trace.conversation())
            asked = client.request() if waiting else None
        if said:
            out.write(trace.note(args.message or "", label=">"))
            asked = client.request(said)
        while True:
            if asked is not None and await session.turn(asked, []) == PAUSED:
                return PAUSED
            typed = await out.ask(PROMPT)
            if typed is None or typed in _QUIT:
                return SUCCESS
            asked = client.request([{"id": str(uuid4()), "role": "user", "content": typed}])


async def _restored(adapter: AGUIAdapter, client: Client, args: argparse.Namespace) -> bool:
    """Give the client what is stored of its thread. Returns whether that waits for an answer."""

    def as_json(event: BaseEvent) -> dict[str, Any]:
        return event.model_dump(mode="json", by_alias=True, exclude_none=True)

    last: dict[str, Any] = {}
    async for last in adapter.stream(client.request(), as_json, **run_arguments(args), looking=True):
        client.apply(last)
    return bool(questions(last, client))
