"""Edge. One thread in the terminal: its runs are played and shown, and a person answers their questions."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from yai_nexus_agentkit.cli.chunks import Event, Unchunked
from yai_nexus_agentkit.cli.client import Client
from yai_nexus_agentkit.cli.questions import Question, questions
from yai_nexus_agentkit.cli.terminal import Terminal
from yai_nexus_agentkit.cli.trace import Trace

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.control import RunControl

__all__ = ["FAILED", "PAUSED", "PROMPT", "QUIT", "SUCCESS", "Agent", "Session"]

SUCCESS, FAILED, PAUSED = 0, 1, 3
"""Exit codes of a turn."""
PROMPT = "> "
QUIT = ("/quit", "/exit")
"""They end a chat, at a question too."""


class Agent(Protocol):
    """The agent of a session, here or on a server. Both methods give the events of one run, each as JSON text."""

    def run(self, asked: Mapping[str, Any], control: RunControl, /) -> AsyncGenerator[str, None]:
        """A new run. If its connection was lost and found again, it begins again, with ``RUN_STARTED``."""

    def look(self, asked: Mapping[str, Any], control: RunControl, /) -> AsyncGenerator[str, None]:
        """The thread as it is now, or its active run; nothing for a thread that is not known."""


Begin: TypeAlias = "Callable[[Mapping[str, Any], RunControl], AsyncGenerator[str, None]]"
"""Either method of an agent."""


class Session:
    """The runs of one thread."""

    def __init__(
        self,
        agent: Agent,
        client: Client,
        out: Terminal,
        trace: Trace | None,
        *,
        may_ask: bool,
        stoppable: bool = False,
    ) -> None:
        """`client` holds the thread. `trace`: how its events are shown; None writes them as JSON. `may_ask`: somebody
        types the missing answers. `stoppable`: in a chat Ctrl-C ends the run, and not the command; `QUIT` ends that."""
        self._agent, self._client, self._out, self._trace = agent, client, out, trace
        self._may_ask, self._stoppable = may_ask, stoppable

    async def restore(self, *, ask: bool) -> int:
        """Show the thread as it is now, its active run too, and `ask` what is open. Returns the exit code."""
        if ask:
            return await self.turn(self._client.request(), [], self._agent.look)
        await self._play(self._client.request(), self._agent.look, looking=True)
        return SUCCESS

    async def turn(self, asked: dict[str, Any], answers: list[str], begin: Begin | None = None) -> int:
        """The run of a request, and those of the answers to its questions, which are taken from `answers` first.
        `begin`: the first run, if it is another one than the agent's. Returns the exit code."""
        pending: list[Question] = []
        while True:
            last, begin = await self._play(asked, begin or self._agent.run, looking=begin is not None), None
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

    async def _play(self, asked: dict[str, Any], begin: Begin, *, looking: bool) -> Event:
        """One run. Returns its last event."""
        from yai_nexus_agentkit.adapter.control import RunControl

        began, control = time.monotonic(), RunControl()
        shown = _Shown(self._client, self._out, self._trace, looking=looking)
        try:
            with _ctrl_c_stops(control) if self._stoppable else contextlib.nullcontext():
                async with contextlib.aclosing(begin(asked, control)) as lines:
                    async for line in lines:
                        shown.feed(line)
        finally:
            self._out.write(self._trace.break_line() if self._trace else "")
        self._out.write(self._trace.summary(shown.count, time.monotonic() - began) if self._trace else "")
        if control.stopped:
            self._note("stopped", "yellow")
        return shown.last

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
                if not typed or (self._stoppable and typed in QUIT):
                    return None
                replies.append(typed)
        return replies if len(replies) == len(asked) else None

    def _note(self, text: str, style: str = "") -> None:
        self._out.write(self._trace.note(text, style) if self._trace else "")


class _Shown:
    """One run as it is shown: its events, and of a thread that is restored the conversation."""

    def __init__(self, client: Client, out: Terminal, trace: Trace | None, *, looking: bool) -> None:
        self._client, self._out, self._trace = client, out, trace
        self._unchunked, self._started = Unchunked(), False
        self._restoring: Literal["thread", "answer"] | None = "thread" if looking else None
        """The part of the conversation that is shown when the messages come."""
        self.last: Event = {"type": ""}
        self.count = 0

    def feed(self, line: str) -> None:
        """The next event, as JSON."""
        self.last, self.count = json.loads(line), self.count + 1
        for event in self._unchunked.feed(self.last):
            self._client.apply(event)
            self._out.write(self._text(event, self._trace) if self._trace else "")
        self._out.write("" if self._trace else f"{line}\n")

    def _text(self, event: Event, trace: Trace) -> str:
        if event["type"] == "MESSAGES_SNAPSHOT" and self._restoring:
            part, self._restoring = self._restoring, None
            return trace.conversation(answer=part == "answer")
        note = ""
        if event["type"] == "RUN_STARTED":
            if self._started:
                note, self._restoring = trace.note("the connection was lost and is there again", "yellow"), "answer"
            self._started = True
        return note + trace.feed(event)


@contextlib.contextmanager
def _ctrl_c_stops(control: RunControl) -> Iterator[None]:
    """Ctrl-C stops the run, so that its stream ends as one that was cancelled; a second one ends the command."""
    loop = asyncio.get_running_loop()
    presses = itertools.count()

    def stop(*_: object) -> None:
        if next(presses):
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(control.stop)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
