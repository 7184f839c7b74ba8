"""Edge. ``run``: one turn of an agent in the terminal, with its questions and their answers.

Exit codes: 0 the run succeeded, 1 it ended with ``RUN_ERROR``, 2 wrong usage or no such agent, 3 it waits for an answer
and nobody can be asked.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.agents import adapter_opened
from yai_nexus_agentkit.cli.arguments import AGENT, add_turn_arguments, request, run_arguments
from yai_nexus_agentkit.cli.chunks import Event, Unchunked
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.failures import warnings_shown
from yai_nexus_agentkit.cli.layout import Page
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
        f"Run one turn and show its AG-UI events as they happen. AGENT is {AGENT} and names a compiled graph, "
        "a runnable, an AGUIAdapter, or a function or context manager that gives one."
    )
    parser.epilog = "Exit code: 0 success, 1 RUN_ERROR, 2 usage, 3 the agent waits for an answer."
    add_turn_arguments(parser)
    parser.add_argument("--json", action="store_true", help="write one AG-UI event per line, as on the wire")
    parser.add_argument("--full", action="store_true", help="do not shorten long values")
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
        return asyncio.run(_session(args, out))


async def _session(args: argparse.Namespace, out: Terminal) -> int:
    client = Client(request(args))
    answers = list(args.answer)
    pending: list[Question] = []
    async with adapter_opened(args.agent, args) as adapter:
        turn = _Turn(adapter, args, client, out)
        asked = client.request()
        while True:
            last = await turn.play(asked)
            if last["type"] != "RUN_ERROR":
                pending = questions(last, client)
                if not pending:
                    return SUCCESS
            elif last.get("code") != "INVALID_RESUME" or not (pending and turn.may_ask):
                return FAILED
            # Refused answers consumed nothing: the same questions are still open.
            replies = await turn.replies(pending, answers)
            if replies is None:
                return PAUSED
            given = [
                (question.is_call, question.answered(reply)) for question, reply in zip(pending, replies, strict=True)
            ]
            results = [entry for is_call, entry in given if is_call]
            asked = client.request(results, resume=[entry for is_call, entry in given if not is_call])


class _Turn:
    """Plays the runs of one session and shows them."""

    def __init__(self, adapter: AGUIAdapter, args: argparse.Namespace, client: Client, out: Terminal) -> None:
        self._adapter, self._client, self._out = adapter, client, out
        self._run_args = run_arguments(args)
        self._page = Page(out.width, colour=out.colour)
        self._trace = None if args.json else Trace(self._page, client, full=args.full)
        self.may_ask = out.interactive and not args.json

    async def play(self, asked: dict[str, Any]) -> Event:
        """One run. Returns its last event."""
        began, count = time.monotonic(), 0
        event: Event = {"type": ""}
        unchunked = Unchunked()
        try:
            async with contextlib.aclosing(self._adapter.stream_sse(asked, **self._run_args)) as frames:
                async for frame in frames:
                    line = frame.decode().removeprefix("data: ").rstrip("\n")
                    event, count = json.loads(line), count + 1
                    for single in unchunked.feed(event):
                        self._client.apply(single)
                        self._show(self._trace.feed(single) if self._trace else "")
                    self._out.write("" if self._trace else f"{line}\n")
        finally:
            self._show(self._page.break_line())
        self._show(self._page.line("", f"{count} events in {time.monotonic() - began:.1f} s", style="dim"))
        return event

    async def replies(self, asked: list[Question], answers: list[str]) -> list[str] | None:
        """The reply to each question, taken from `answers` or typed in the terminal; None if one is missing."""
        replies: list[str] = []
        for question in asked:
            self._show(self._page.line("", f"? {question.text}", style="bold"))
            if answers:
                replies.append(answers.pop(0))
            elif self.may_ask:
                self._show(self._page.line("", question.hint))
                typed = await self._out.ask("> ")
                if not typed:
                    return None
                replies.append(typed)
        return replies if len(replies) == len(asked) else None

    def _show(self, text: str) -> None:
        if self._trace:
            self._out.write(text)
