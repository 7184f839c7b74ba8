"""Edge. ``run``: one turn of an agent in the terminal, with the questions it asks and the answers to them.

Exit codes: 0 the run succeeded, 1 it ended with ``RUN_ERROR``, 2 wrong usage or no such agent, 3 it waits for an answer
and there is nobody to ask.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
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
from yai_nexus_agentkit.cli.layout import Page
from yai_nexus_agentkit.cli.notes import warnings_shown
from yai_nexus_agentkit.cli.plain_events import Event
from yai_nexus_agentkit.cli.questions import Question, questions
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.trace import Trace

if TYPE_CHECKING:
    from yai_nexus_agentkit import AGUIAdapter

__all__ = ["configure", "execute"]

SUCCESS, FAILED, PAUSED = 0, 1, 3


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``run``."""
    parser.description = (
        "Run one turn and show its AG-UI events as they happen. AGENT is module:attribute or path/to/file.py:attribute "
        "and names a compiled graph, a runnable, an AGUIAdapter, or a function or context manager that gives one."
    )
    parser.usage = "%(prog)s AGENT [message] [options]"
    parser.epilog = "Exit code: 0 success, 1 RUN_ERROR, 2 usage, 3 the agent waits for an answer."
    parser.add_argument("agent", metavar="AGENT", help="module:attribute or path/to/file.py:attribute")
    add_request_arguments(parser)
    parser.add_argument("--json", action="store_true", help="one AG-UI event per line, as on the wire")
    parser.add_argument("--full", action="store_true", help="do not shorten long values")
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="ANSWER",
        help="answers the agent's questions, in order: y or n where a yes or no is asked for, else JSON or text",
    )
    add_agent_arguments(parser)
    add_adapter_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Run it. Returns the exit code."""
    out = Terminal()
    # A node that prints must not write between the lines of JSON.
    prints = contextlib.redirect_stdout(sys.stderr) if args.json else contextlib.nullcontext()
    with prints, warnings_shown(tracebacks=args.traceback):
        return asyncio.run(_session(args, out))


async def _session(args: argparse.Namespace, out: Terminal) -> int:
    client = Client(request(args))
    answers = list(args.answer)
    async with adapter_opened(args.agent, args) as adapter:
        turn = _Turn(adapter, args, client, out)
        asked = client.request()
        while True:
            last = await turn.play(asked)
            if last["type"] == "RUN_ERROR":
                # Refused answers consumed nothing: the same questions are still open.
                refused = last.get("code") == "INVALID_RESUME" and turn.may_ask
                pending = turn.asked if refused else []
                if not pending:
                    return FAILED
            else:
                pending = questions(last, client)
                if not pending:
                    return SUCCESS
            replies = await _replies(pending, answers, turn)
            if replies is None:
                return PAUSED
            turn.asked = pending
            asked = _next_request(client, pending, replies)


class _Turn:
    """Plays the runs of one session, and shows them."""

    def __init__(self, adapter: AGUIAdapter, args: argparse.Namespace, client: Client, out: Terminal) -> None:
        self._adapter, self._client, self.out = adapter, client, out
        self._run_args: dict[str, Any] = {
            "config": run_config(args),
            "context": pairs("--context", args.context) or None,
        }
        self.page = Page(out.width, colour=out.colour)
        self._trace = None if args.json else Trace(self.page, full=args.full)
        self.may_ask = out.interactive and not args.json
        self.asked: list[Question] = []
        """What the last request answered."""

    async def play(self, asked: dict[str, Any]) -> Event:
        """One run. Returns its last event."""
        began = time.monotonic()
        event: Event = {"type": ""}
        trace = self._trace
        count = trace.count if trace else 0
        try:
            async with contextlib.aclosing(self._adapter.stream_sse(asked, **self._run_args)) as frames:
                async for frame in frames:
                    line = frame.decode().removeprefix("data: ").rstrip("\n")
                    event = json.loads(line)
                    self._client.apply(event)
                    self.out.write(trace.feed(event) if trace else f"{line}\n")
        finally:
            if trace is not None:
                self.out.write(trace.close())
        if trace is not None:
            seconds = time.monotonic() - began
            text = f"{trace.count - count} events in {seconds:.1f} s"
            self.out.write(self.page.line("", text, style="dim"))
        return event


async def _replies(asked: list[Question], answers: list[str], turn: _Turn) -> list[str] | None:
    """What was given for each question, on the command line or in the terminal; None if that is not all of them."""
    replies: list[str] = []
    for question in asked:
        if answers:
            replies.append(answers.pop(0))
            continue
        if not turn.may_ask:
            return None
        turn.out.write(turn.page.line("", f"{question.text}\n{question.hint}", style="bold"))
        typed = await turn.out.ask("> ")
        if not typed:
            return None
        replies.append(typed)
    return replies


def _next_request(client: Client, asked: list[Question], replies: list[str]) -> dict[str, Any]:
    answered = list(zip(asked, replies, strict=True))
    results = [question.tool_message(reply) for question, reply in answered if question.kind == "client tool"]
    resume = [question.resume_entry(reply) for question, reply in answered if question.kind == "interrupt"]
    return client.request(results, resume=resume)
