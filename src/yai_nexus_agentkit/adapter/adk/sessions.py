"""Edge. The place of a thread's session in ADK's session service, and the thread store over it.

A thread's key is the id of its session. Its app and user are fixed, or functions of the run: then a session of this
package's own, of the user `_DIRECTORY`, says which they were, so that the thread is found without the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ag_ui.core import Message
from google.adk.events import Event, EventActions
from google.adk.platform.time import get_time
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import ListSessionsResponse

from yai_nexus_agentkit.adapter.adk.history import History, public_state, shows
from yai_nexus_agentkit.adapter.adk.plan import Entry
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.source import ThreadStore
from yai_nexus_agentkit.errors import StatePatchError, ThreadNotFoundError

__all__ = ["AdkThreads", "InOrder", "Place", "Sessions"]

_DIRECTORY = "agentkit_threads"
_MOST_KNOWN = 10_000
"""Places that are remembered."""
_STEP = 1e-5
"""Seconds between two events of a worker whose clock is behind."""


class Place(NamedTuple):
    """The full key of a session: nobody reaches another user's by an id."""

    app_name: str
    user_id: str
    session_id: str


class InOrder(BaseSessionService):
    """A session service in front of another one: each event that it stores is later than the one before. Sessions are
    read in the order of their events' times, so that what a worker stores whose clock is behind that of another one
    would come before that one's."""

    def __init__(self, under: BaseSessionService) -> None:
        self._under = under

    async def create_session(self, **named: Any) -> Session:
        return await self._under.create_session(**named)

    async def get_session(self, **named: Any) -> Session | None:
        found: Session | None = await self._under.get_session(**named)
        return found

    async def list_sessions(self, **named: Any) -> ListSessionsResponse:
        return await self._under.list_sessions(**named)

    async def delete_session(self, **named: Any) -> None:
        await self._under.delete_session(**named)

    async def append_event(self, session: Session, event: Event) -> Event:
        if session.events:
            event.timestamp = max(event.timestamp, session.events[-1].timestamp + _STEP)
        return await self._under.append_event(session, event)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)

    @staticmethod
    def of(service: BaseSessionService, session: Session | None) -> BaseSessionService:
        """The service to store events of a session with: `service` itself, unless this worker's clock is behind."""
        behind = session is not None and session.events and session.events[-1].timestamp >= get_time()
        return InOrder(service) if behind else service


@dataclass
class Sessions:
    """The sessions of one agent's threads. `app`, `user`: a name, or a function of the run; None: one user per
    thread."""

    service: BaseSessionService
    app: str | Callable[[RunContext], str]
    user: str | Callable[[RunContext], str] | None
    directory: str
    """The app that the directory is kept under."""

    def __post_init__(self) -> None:
        self._known: dict[str, Place] = {}

    @property
    def listed(self) -> bool:
        """The place of a thread depends on its run."""
        return callable(self.app) or callable(self.user)

    def place(self, run: RunContext) -> Place:
        """The place of the run's thread."""
        app = self.app(run) if callable(self.app) else self.app
        user = self.user(run) if callable(self.user) else self.user
        return Place(app, user or f"thread_user_{run.thread_key}", run.thread_key)

    async def find(self, key: str) -> Place | None:
        """The place of a thread without its run; None if it was never begun."""
        if not callable(self.app) and not callable(self.user):
            return Place(self.app, self.user or f"thread_user_{key}", key)
        if key not in self._known:
            entry = await self.read(Place(self.directory, _DIRECTORY, key))
            if entry is None:
                return None
            self._remember(Place(entry.state["app"], entry.state["user"], key))
        return self._known[key]

    async def read(self, place: Place) -> Session | None:
        """The session, with all of its events."""
        session: Session | None = await self.service.get_session(**place._asdict())
        return session

    async def begin(self, place: Place) -> Session:
        """A new session."""
        if self.listed:
            entry = Place(self.directory, _DIRECTORY, place.session_id)
            if await self.read(entry) is None:
                where = {"app": place.app_name, "user": place.user_id}
                await self.service.create_session(**entry._asdict(), state=where)
            self._remember(place)
        return await self.service.create_session(**place._asdict())

    async def store(self, session: Session, messages: Iterable[Entry], state: Mapping[str, Any]) -> None:
        """Append messages, then a change of the state if there is one."""
        events = [message_event(one) for one in messages] + ([system_event(state)] if state else [])
        service = InOrder.of(self.service, session)
        for event in events:
            await service.append_event(session, event)

    async def delete(self, place: Place) -> None:
        """Remove the session."""
        await self.service.delete_session(**place._asdict())
        if self.listed:
            self._known.pop(place.session_id, None)
            await self.service.delete_session(app_name=self.directory, user_id=_DIRECTORY, session_id=place.session_id)

    def _remember(self, place: Place) -> None:
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[place.session_id] = place


class AdkThreads(ThreadStore):
    """The threads of an agent. `memory`: gets a session before it expires."""

    def __init__(self, sessions: Sessions, memory: Any = None) -> None:
        self._sessions, self._memory = sessions, memory

    async def ready(self) -> None:
        await self._sessions.read(Place(self._sessions.directory, _DIRECTORY, "ready"))

    async def exists(self, key: str) -> bool:
        return await self._found(key) is not None

    async def paused(self, key: str) -> bool:
        session = await self._found(key)
        return session is not None and bool(History.of(session.events).questions())

    async def waits(self, key: str) -> bool:
        session = await self._found(key)
        if session is None:
            return False
        history = History.of(session.events)
        return bool(history.questions() or history.open_calls(history.last_invocation))

    async def messages(self, key: str, run: RunContext) -> list[Message]:
        return History.of((await self._read(key)).events).messages()

    async def state(self, key: str) -> dict[str, Any]:
        return public_state((await self._read(key)).state)

    async def change_state(
        self, key: str, values: Mapping[str, Any], removed: Sequence[str], *, as_node: str | None = None
    ) -> None:
        """A removed key is stored as None: ADK's sessions have no other way."""
        if as_node is not None:
            raise StatePatchError("an agent of google-adk has no nodes")
        if hidden := [name for name in values if not shows(name)]:
            raise StatePatchError(f"these keys are not the session's: {', '.join(hidden)}")
        session = await self._read(key)
        delta = {**values, **dict.fromkeys(removed)}
        await InOrder.of(self._sessions.service, session).append_event(session, system_event(delta))

    async def delete(self, key: str) -> None:
        place = await self._sessions.find(key)
        if place is None or await self._sessions.read(place) is None:
            raise ThreadNotFoundError("there is no such thread")
        await self._sessions.delete(place)

    async def expire(self, key: str) -> None:
        if self._memory is not None:
            await self._memory.add_session_to_memory(await self._read(key))
        await self.delete(key)

    async def _found(self, key: str) -> Session | None:
        place = await self._sessions.find(key)
        return None if place is None else await self._sessions.read(place)

    async def _read(self, key: str) -> Session:
        session = await self._found(key)
        if session is None:
            raise ThreadNotFoundError("there is no such thread")
        return session


def system_event(delta: Mapping[str, Any]) -> Event:
    """A change of the state that is not part of the conversation."""
    return Event(author="system", invocation_id=Event.new_id(), actions=EventActions(state_delta=dict(delta)))


def message_event(entry: Entry) -> Event:
    """A message, as an event."""
    return Event(
        id=entry.id,
        author=entry.author,
        invocation_id=entry.invocation or Event.new_id(),
        content=entry.content,
        actions=EventActions(state_delta=entry.delta({})),
    )
