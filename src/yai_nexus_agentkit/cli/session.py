"""Edge. One thread in the terminal: its runs are played and shown, and a person answers their questions."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.arguments import run_arguments
from yai_nexus_agentkit.cli.chunks import Event, Unchunked
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.questions import Question, questions
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.trace import Trace

if TYPE_CHECKING:
    from yai_nexus_agentkit import AGUIAdapter
    from yai_nexus_agentkit.adapter.control import RunControl

__all__ = ["FAILED", "PAUSED", "PROMPT", "SUCCESS", "Session"]

SUCCESS, FAILED, PAUSED = 0, 1, 3
"""Exit codes of a turn."""
PROMPT = "> "


class Session:
    """The runs of one thread."""

    def __init__(
        self,
        adapter: AGUIAdapter,
        args: argparse.Namespace,
        client: Client,
        out: Terminal,
        trace: Trace | None,
        *,
        may_ask: bool,
        stoppable: bool = False,
    ) -> None:
        """`client` holds the thread. `trace`: how its events are shown; None writes them as JSON. `may_ask`: somebody
        types the missing answers. `stoppable`: Ctrl-C ends the run, and not the command."""
        self._adapter, self._client, self._out, self._trace = adapter, client, out, trace
        self._may_ask, self._stoppable = may_ask, stoppable
        self._run_args = run_arguments(args)

    async def turn(self, asked: dict[str, Any], answers: list[str]) -> int:
        """The run of a request, and those of the answers to its questions, which are taken from `answers` first.
        Returns the exit code."""
        pending: list[Question] = []
        while True:
            last = await self._play(asked)
            if last["type"] != "RUN_ERROR":
                pending = questions(last, self._client)
                if not pending:
                    return SUCCESS
            elif last.get("code") != "INVALID_RESUME" or not (pending and self._may_ask):
                return FAILED
            # Refused answers consumed nothing: the same questions are still open.
            replies = await self._replies(pending, answers)
            if replies is None:
                return PAUSED
            given = [
                (question.is_call, question.answered(reply)) for question, reply in zip(pending, replies, strict=True)
            ]
            results = [entry for is_call, entry in given if is_call]
            asked = self._client.request(results, resume=[entry for is_call, entry in given if not is_call])

    async def _play(self, asked: dict[str, Any]) -> Event:
        """One run. Returns its last event."""
        from yai_nexus_agentkit.adapter.control import RunControl

        began, count, control = time.monotonic(), 0, RunControl()
        event: Event = {"type": ""}
        unchunked = Unchunked()
        stream = self._adapter.stream_sse(asked, **self._run_args, control=control)
        try:
            with _ctrl_c_stops(control) if self._stoppable else contextlib.nullcontext():
                async with contextlib.aclosing(stream) as frames:
                    async for frame in frames:
                        line = frame.decode().removeprefix("data: ").rstrip("\n")
                        event, count = json.loads(line), count + 1
                        for single in unchunked.feed(event):
                            self._client.apply(single)
                            self._out.write(self._trace.feed(single) if self._trace else "")
                        self._out.write("" if self._trace else f"{line}\n")
        finally:
            self._out.write(self._trace.break_line() if self._trace else "")
        self._out.write(self._trace.summary(count, time.monotonic() - began) if self._trace else "")
        if control.stopped:
            self._note("stopped", "yellow")
        return event

    async def _replies(self, asked: Sequence[Question], answers: list[str]) -> list[str] | None:
        """The reply to each question, taken from `answers` or typed; None if one is missing."""
        replies: list[str] = []
        for question in asked:
            self._note(f"? {question.text}", "bold")
            if answers:
                replies.append(answers.pop(0))
                self._note(f"{PROMPT}{replies[-1]}")
            elif self._may_ask:
                self._note(question.hint, "dim")
                typed = await self._out.ask(PROMPT)
                if not typed:
                    return None
                replies.append(typed)
        return replies if len(replies) == len(asked) else None

    def _note(self, text: str, style: str = "") -> None:
        self._out.write(self._trace.note(text, style) if self._trace else "")


@contextlib.contextmanager
def _ctrl_c_stops(control: RunControl) -> Iterator[None]:
    """Ctrl-C stops the run, so that its stream ends as one that was cancelled; a second one ends the command."""
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        if control.stopped:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(control.stop)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
