"""Edge. The sender of a request, and their threads with an agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote

from ag_ui.core import Message
from starlette.requests import HTTPConnection

from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.adapter.shared.threads import Threads
from yai_nexus_agentkit.errors import ThreadNotFoundError
from yai_nexus_agentkit.protocol.request import empty_request, peer_declares
from yai_nexus_agentkit.runs.identity import Identity, ThreadRef
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.settings import ServerSettings

__all__ = ["Caller", "LaterFacts", "StoredThread", "identified"]


async def identified(request: HTTPConnection, settings: ServerSettings) -> Identity:
    """Who sends `request`, as the application says. Raises what its resolver raises; TypeError for no `Identity`."""
    found = settings.identity(request)  # type: ignore[arg-type]  # a web socket's handshake has what a request has
    identity = await found if inspect.isawaitable(found) else found
    if not isinstance(identity, Identity):
        raise TypeError(f"the identity resolver returned {type(identity).__name__}, not Identity")
    return identity


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A thread that the caller asks for, where it is stored, and what the store's hooks are given."""

    ref: ThreadRef
    store: Threads
    run: RunContext


class LaterFacts(Mapping[str, Any]):
    """`Caller.facts` of a run without hooks. They are made when somebody looks into them, which is rare."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> dict[str, Any]:
        return self._make()

    def __getitem__(self, key: str) -> Any:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return repr(self._made)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of one request. Nothing here is taken from the body, except ids that the sender's own threads have."""

    request: HTTPConnection
    identity: Identity
    agent: ServedAgent
    settings: ServerSettings
    end: str = ""
    """The end of the request's path, behind that of the agent."""
    under: str = ""
    """The path of the agent behind that of the request, if it has none of its own."""

    @classmethod
    async def of(cls, request: HTTPConnection, agent: ServedAgent, settings: ServerSettings, end: str = "") -> Caller:
        """Ask the application who sends `request`. Raises what its resolver raises; TypeError for no `Identity`."""
        return cls(request, await identified(request, settings), agent, settings, end)

    async def adapter(self) -> AGUIAdapter:
        """The agent for this caller."""
        return await self.agent.adapter(self.identity)

    def thread(self, thread_id: str) -> ThreadRef:
        """The caller's thread that the client calls `thread_id`. Raises `ThreadNotFoundError` if that is too long."""
        if len(thread_id) > self.settings.max_id:
            raise ThreadNotFoundError("there is no such thread")
        agent, identity = self.agent.name, self.identity
        named = thread_id if identity.thread is None else identity.thread
        key: Any = self.settings.thread_key(agent, identity.user, named)
        if not isinstance(key, str) or not key:
            raise TypeError(f"thread_key returned {key!r}, not a string")  # None would be one thread for everybody
        return ThreadRef(agent, identity.user, thread_id, key)

    async def stored(self, thread_id: str) -> StoredThread:
        """A thread, where the agent keeps threads; it may not exist. Raises `ThreadNotFoundError`."""
        adapter = await self.adapter()
        store = adapter.threads()
        if store is None:
            raise ThreadNotFoundError("there is no such thread")
        thread = self.thread(thread_id)
        return StoredThread(thread, store, self.outside_run(adapter, thread))

    async def history(self, thread_id: str, *, media: bool = False) -> Sequence[Message]:
        """The messages of a thread; none if there is no such thread. `media`: with those of tools, which older clients
        are not shown."""
        try:
            thread = await self.stored(thread_id)
            run = replace(thread.run, declared=True) if media else thread.run
            return (await thread.store.messages(thread.ref.key, run)).messages
        except ThreadNotFoundError:
            return ()

    def facts(self, thread: ThreadRef) -> dict[str, Any]:
        """The content of ``RunContext.request`` for hooks."""
        return {
            **self.identity.facts,
            "user": self.identity.user,
            "agent": thread.agent,
            "thread_key": thread.key,
            "path": self.request.url.path,
            "media_url": self._media_url(thread),
            "headers": dict(reversed(self.request.headers.items())),  # of several with one name the first
        }

    def _media_url(self, thread: ThreadRef) -> str:
        """The address of the thread's media up to their ids, as the client names this server."""
        path = self.request.scope["path"].removesuffix("/").removesuffix(self.end) + self.under
        url = self.request.url
        scheme = url.scheme.replace("ws", "http")  # a web socket's
        return f"{scheme}://{url.netloc}{quote(path)}/threads/{quote(thread.id, safe='')}/media/"

    def outside_run(self, adapter: AGUIAdapter, thread: ThreadRef) -> RunContext:
        """The context of hooks outside a run. A peer that names no version gets what old clients read."""
        asked = empty_request(thread.id, self.request.query_params.get("protocolVersion"))
        return RunContext(
            run_input=asked,
            declared=peer_declares(asked),
            options=adapter.options,
            hooks=adapter.effective_hooks,
            config={"configurable": {"thread_id": thread.key}},
            context=self.identity.context,
            request=self.facts(thread),
            linkable=True,
        )
