"""Driver. Who is connected, in this process and in the others of the service, and which of them gets a question."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from ag_ui.core import BaseEvent

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.errors import ResumeError
from yai_nexus_agentkit.protocol.endings import outcome_of
from yai_nexus_agentkit.runs.background import listening, meanwhile
from yai_nexus_agentkit.runs.board import Board
from yai_nexus_agentkit.runs.identity import ThreadRef
from yai_nexus_agentkit.runs.index import ThreadIndex, ThreadStatus
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.runs.outage import Outage
from yai_nexus_agentkit.runs.routing import (
    Connection,
    Policy,
    Question,
    answer_of,
    answers,
    contradicts,
    ids_of,
    is_question,
    needs_of,
    receivers,
)
from yai_nexus_agentkit.transport.wire import Refusal

if TYPE_CHECKING:
    from yai_nexus_agentkit.runs.live_run import RunRequest

__all__ = ["ConnectionSettings", "Connections", "News"]

_logger = logging.getLogger(__name__)

_CONNECTIONS, _QUESTIONS, _WORKERS = "connection", "question", "worker"
_KEPT = 24 * 3600.0
"""Seconds for which a connection's note is kept; it is written again before."""
_QUESTION_KEPT = 30 * 24 * 3600.0
_ANSWER_KEPT = 600.0
"""Seconds for which a second answer is recognised."""
_SENT_WITHIN = 5.0
_FIELDS = {made: [one.name for one in fields(made)] for made in (Connection, Question)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """How connections share questions. Times in seconds."""

    policy: Policy = "source"
    grace: float = 10.0
    """How long a question waits for a source that has gone."""
    isolated: bool = False
    """Each connection has threads of its own, and answers nothing but what it was asked."""
    lease: float = 15.0
    """After that long without a sign of life a worker's connections count as closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something about a thread that its user's connections may want to know."""

    agent: str
    user: str
    thread: str
    status: Literal["running", "paused", "left"]
    """``left``: one of the user's connections was closed."""
    run_id: str = ""
    here: bool = False
    """The connection is asked, or the question waits elsewhere."""


@dataclass(slots=True)
class _Open:
    connection: Connection
    notify: Callable[[News], Awaitable[None]]
    asked: set[tuple[str, float]]
    """Key and time of the questions that it knows it is asked."""


class Connections:
    """The connections of this process, and through the board those of the others."""

    def __init__(self, settings: ConnectionSettings | None = None, capacity: Capacity | None = None) -> None:
        """`capacity`: how many there may be in this process."""
        self._settings = settings or ConnectionSettings()
        self._capacity = capacity or Capacity()
        self._worker = uuid4().hex
        self._open: dict[str, _Open] = {}
        """By id; removed when the connection is closed, however that comes."""
        self._users: dict[tuple[str, str], dict[str, None]] = {}
        """The ids of the open connections by agent and user, in order; gone with the last one."""
        self._waiting: dict[tuple[str, str], float] = {}
        """When to look again at the questions of an agent's user who has connections here."""
        self._telling: set[asyncio.Task[None]] = set()
        self._board: Board

    def use(self, board: Board, now: Callable[[], Awaitable[float]]) -> None:
        """Share connections by this board from now on. For the time before the first one. `now`: see `Store`."""
        self._board, self._now = board, now

    # ------------------------------------------------------------------ who is there

    @asynccontextmanager
    async def opened(
        self, connection: Connection, notify: Callable[[News], Awaitable[None]], *, previous: str | None = None
    ) -> AsyncIterator[Connection]:
        """The connection is registered while the block lasts. `previous`: the one whose place it takes; its
        end may not have been noticed yet.

        Raises `OverloadedError` if there are too many.
        """
        with self._capacity.place(connection.user):
            before = None if previous is None else await self._before(connection, previous)
            origin, since = connection.id if before is None else before.origin, await self._now()
            known = replace(connection, origin=origin, worker=self._worker, since=since)
            who = known.agent, known.user
            self._open[known.id] = _Open(known, notify, set())
            self._users.setdefault(who, {})[known.id] = None
            try:
                await self._save(known)
                await self._board.put(_WORKERS, "", self._worker, "", keep=self._settings.lease)
                self._waiting[who] = 0.0
                yield known
            finally:
                last, mine = self._open.pop(known.id).connection, self._users[who]
                del mine[known.id]
                if not mine:
                    del self._users[who]
                await self._leave(last)

    async def _before(self, connection: Connection, previous: str) -> Connection | None:
        found = await self._all(connection.agent, connection.user)
        return next((one for one in found if one.id == previous), None)

    async def _leave(self, connection: Connection) -> None:
        """The connection is closed. It stays known until its place cannot be taken any more."""
        try:
            gone, keep = replace(connection, gone=await self._now()), max(self._settings.grace, 1.0)
            await self._board.put(_CONNECTIONS, _owner(gone), gone.id, _written(gone), keep=keep)
            if await self._questions(_owner(gone)):
                await self._publish(ThreadRef(gone.agent, gone.user, "", ""), "left", "")
        except Exception:
            _logger.warning("a closed connection could not be noted", exc_info=True)

    async def update(self, connection: Connection) -> None:
        """The client says something new of itself, or looks at another thread."""
        if connection.id in self._open and self._open[connection.id].connection != connection:
            self._open[connection.id].connection = connection
            await self._save(connection)

    async def of(self, agent: str, user: str) -> list[Connection]:
        """The user's open connections to an agent, the oldest first."""
        return [one for one in await self._all(agent, user) if one.gone is None]

    async def _all(self, agent: str, user: str) -> list[Connection]:
        notes = await self._board.notes(_CONNECTIONS, json.dumps([agent, user]))
        alive = {self._worker, *await self._board.notes(_WORKERS, "")}
        found = [_connection(note) for note in notes.values()]
        return sorted((one for one in found if one.worker in alive), key=lambda one: (one.since, one.id))

    async def _save(self, connection: Connection) -> None:
        await self._board.put(_CONNECTIONS, _owner(connection), connection.id, _written(connection), keep=_KEPT)

    # ------------------------------------------------------------------ runs and their questions

    async def started(self, request: RunRequest) -> None:
        """A run began: those who look at the thread may want to see it. A run of plain HTTP that answers nothing is
        not announced: it must not wait for the board."""
        if request.source or answers(request.run_input):
            try:
                await self._publish(request.thread, "running", request.run_input.run_id)
            except Exception:
                _logger.warning("a run could not be announced", exc_info=True)

    async def check(self, request: RunRequest) -> None:
        """Raises `ResumeError` for answers to questions that others have answered differently, and `Refusal` for those
        to questions that an isolated connection was not asked. The thread is held."""
        if (resume := request.run_input.resume) is not None and resume:
            question = await self._question(request.thread)
            if question is not None and contradicts(request.run_input, question):
                raise ResumeError("this was answered already, and differently")
            asked = question.ids if question is not None else ()
            if self._settings.isolated and request.source and not {one.interrupt_id for one in resume} <= set(asked):
                raise Refusal(409, "NOT_ASKED", "this connection was not asked that")

    async def ended(self, request: RunRequest, terminal: BaseEvent) -> None:
        """Note the questions that a run ended with, or that its answers were taken. A run that was itself an answer
        asks whom the earlier question asked."""
        thread, asked, again = request.thread, request.run_input, is_question(terminal)
        if not again and not (asked.resume and outcome_of(terminal) == "success"):
            return
        before = await self._question(thread) if answers(asked) else None
        if not again:
            if before is not None:
                await self._note(thread, replace(before, answer=answer_of(asked)), keep=_ANSWER_KEPT)
            return
        question = Question(
            thread=thread.id,
            key=thread.key,
            source=request.source if before is None else before.source,
            needs=needs_of(terminal),
            ids=ids_of(terminal),
            asked=await self._now(),
        )
        await self._note(thread, question, keep=_QUESTION_KEPT)
        await self._publish(thread, "paused", asked.run_id)

    async def _note(self, thread: ThreadRef, question: Question, *, keep: float) -> None:
        await self._board.put(_QUESTIONS, _owner_of(thread), thread.key, _written(question), keep=keep)

    async def asked(self, connection: Connection, thread: ThreadRef) -> tuple[bool, str]:
        """Whether the connection is asked the questions that are open in a thread, else the device that is."""
        question = await self._question(thread)
        if question is None or question.answer:
            return True, ""
        everybody = await self._all(thread.agent, thread.user)
        chosen = await self._receivers(question, everybody)
        if connection.id in chosen:
            if (known := self._open.get(connection.id)) is not None:
                known.asked.add((question.key, question.asked))
            return True, ""
        self._waiting.setdefault((thread.agent, thread.user), 0.0)
        others = [one for one in everybody if one.id in chosen or (not chosen and one.origin == question.source)]
        return False, next((one.device for one in others), "")

    async def _receivers(self, question: Question, connections: Sequence[Connection]) -> frozenset[str]:
        settings, now = self._settings, await self._now()
        return receivers(question, connections, settings.policy, now=now, grace=settings.grace)

    async def _question(self, thread: ThreadRef) -> Question | None:
        note = (await self._board.notes(_QUESTIONS, _owner_of(thread))).get(thread.key)
        return None if note is None else _question(note)

    async def _questions(self, owner: str) -> list[Question]:
        """Those that nobody has answered."""
        found = map(_question, (await self._board.notes(_QUESTIONS, owner)).values())
        return [question for question in found if not question.answer]

    async def _publish(self, thread: ThreadRef, status: str, run_id: str) -> None:
        names = {"agent": thread.agent, "user": thread.user, "thread": thread.id, "run_id": run_id}
        await self._board.publish(json.dumps({**names, "status": status}))

    # ------------------------------------------------------------------ what happens meanwhile

    @asynccontextmanager
    async def working(self, index: ThreadIndex) -> AsyncIterator[None]:
        """Pass news on, and questions whose source does not come back, for as long as the block lasts. `index`: which
        threads still wait."""
        outage = Outage(_logger, "news of other workers come late")
        heard = listening(outage, self._board.news, self._pass_on)
        async with meanwhile(heard, self._watch(index), name="agui-connections"):
            yield

    async def _pass_on(self, text: str) -> None:
        news = News(**json.loads(text))
        mine = self._of(news.agent, news.user)
        if not mine:
            return
        if news.status == "running":
            for one in mine:
                if one.connection.thread == news.thread:
                    self._tell(one, news)
            return
        self._waiting[news.agent, news.user] = 0.0
        if news.status == "paused":
            await self._ask(news.agent, news.user, news.thread)

    def _of(self, agent: str, user: str) -> list[_Open]:
        return [self._open[one] for one in self._users.get((agent, user), ())]

    async def _ask(self, agent: str, user: str, thread: str | None = None) -> float | None:
        """Let the user's connections know what they are asked. `thread`: also those that look at this one and are not.
        Returns after how many seconds this may change by itself; None: nothing waits."""
        mine, questions = self._of(agent, user), await self._questions(json.dumps([agent, user]))
        if not questions or not mine:
            return None
        everybody, again = await self._all(agent, user), self._settings.lease
        for question in questions:
            chosen, known = await self._receivers(question, everybody), (question.key, question.asked)
            if not chosen:
                again = min(again, self._settings.grace / 4)
            news = News(agent=agent, user=user, thread=question.thread, status="paused")
            for one in mine:
                if one.connection.id in chosen:
                    if known not in one.asked:
                        one.asked.add(known)
                        self._tell(one, replace(news, here=True))
                elif question.thread == thread == one.connection.thread:
                    self._tell(one, news)
        return again

    def _tell(self, one: _Open, news: News) -> None:
        task = asyncio.get_running_loop().create_task(_notified(one, news), name="agui-news")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _watch(self, index: ThreadIndex) -> None:
        beat = self._settings.lease / 3
        pause = min(beat, max(self._settings.grace / 4, 0.05))
        due, again = 0.0, time.monotonic() + _KEPT / 2
        outage = Outage(_logger, "the board of connections cannot be read")
        while not being_cancelled():
            await asyncio.sleep(pause)
            now = time.monotonic()
            try:
                if self._open and now >= due:
                    due = now + beat
                    await self._board.put(_WORKERS, "", self._worker, "", keep=self._settings.lease)
                    outage.over()
                if now >= again:
                    again = now + _KEPT / 2
                    for one in list(self._open.values()):
                        await self._save(one.connection)
                for who in [who for who, at in self._waiting.items() if at <= now]:
                    await self._look(who, index)
                    outage.over()
            except Exception as error:
                if not being_cancelled():
                    outage.failed(error)

    async def _look(self, who: tuple[str, str], index: ThreadIndex) -> None:
        """Drop the user's questions that were answered, and see who is asked the others now."""
        owner = json.dumps(list(who))
        for question in await self._questions(owner):
            entry = await index.entry(question.key)
            if entry is None or entry.status not in (ThreadStatus.PAUSED, ThreadStatus.RUNNING):
                await self._board.drop(_QUESTIONS, owner, question.key)
        after = await self._ask(*who)
        if after is None:
            self._waiting.pop(who, None)
        else:
            self._waiting[who] = time.monotonic() + after


async def _notified(one: _Open, news: News) -> None:
    try:
        async with asyncio.timeout(_SENT_WITHIN):
            await one.notify(news)
    except Exception:  # it is closing, or takes nothing
        _logger.debug("a connection got no news", exc_info=True)


def _owner(connection: Connection) -> str:
    return json.dumps([connection.agent, connection.user])


def _owner_of(thread: ThreadRef) -> str:
    return json.dumps([thread.agent, thread.user])


def _written(what: Connection | Question) -> str:
    return json.dumps({name: getattr(what, name) for name in _FIELDS[type(what)]})  # `asdict` would copy each value


def _connection(note: str) -> Connection:
    fields: dict[str, Any] = json.loads(note)
    return Connection(**{**fields, "abilities": tuple(fields["abilities"])})


def _question(note: str) -> Question:
    fields: dict[str, Any] = json.loads(note)
    return Question(**{**fields, "needs": tuple(fields["needs"]), "ids": tuple(fields["ids"])})
