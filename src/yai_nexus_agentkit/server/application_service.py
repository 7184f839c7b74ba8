"""Edge. The run service of an application: made from the settings, at work while the application lives."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Self

from yai_nexus_agentkit.runs.connections import Connections, ConnectionSettings
from yai_nexus_agentkit.runs.janitor import Janitor
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.runs.service import RunService, ServiceSettings
from yai_nexus_agentkit.runs.stores.opening import MEMORY, open_store
from yai_nexus_agentkit.runs.stores.store import Store
from yai_nexus_agentkit.server.agents import ServedAgent
from yai_nexus_agentkit.server.problems import client_text
from yai_nexus_agentkit.server.restoring import restored_request
from yai_nexus_agentkit.server.settings import ServerSettings
from yai_nexus_agentkit.server.socket_settings import SocketSettings
from yai_nexus_agentkit.server.workers import warn_of_memory, warn_of_workers, workers_asked_for

__all__ = ["ApplicationService"]


class ApplicationService(RunService):
    """The run service of an application.

    Routes that are added before the application starts bring it into the application's lifespan. In a lifespan that has
    begun, ``async with service: yield`` opens it.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._given = settings
        self._life = AsyncExitStack()
        self._care: dict[str, Callable[[], AbstractAsyncContextManager[None]]] = {}
        """The work that the agents of the application need while the service works, by their names."""
        sockets = settings.sockets or SocketSettings()
        super().__init__(
            settings=ServiceSettings(
                busy="wait" if settings.busy == "stream" else settings.busy,
                busy_wait=settings.busy_wait,
                ending_wait=settings.ending_wait,
                lease=settings.lease,
                kept=settings.run_memory,
                flush=settings.flush,
                retention=settings.run_kept,
            ),
            capacity=Capacity(
                settings.max_runs, settings.max_runs_per_user, settings.max_bodies, retry_after=settings.retry_after
            ),
            connections=Connections(
                ConnectionSettings(
                    policy=sockets.approvals, grace=sockets.grace, isolated=sockets.isolated, lease=settings.lease
                ),
                Capacity(sockets.max_sockets, sockets.max_sockets_per_user),
            ),
            store=_with_own(settings.store if isinstance(settings.store, Store) else Store(), settings),
            opened=isinstance(settings.store, Store) or settings.store == MEMORY,
            meter=settings.metrics,
            failure_text=partial(client_text, expose=settings.expose_errors),
        )

    def serves(self, agent: ServedAgent, settings: ServerSettings, *, main: bool = False) -> None:
        """Care for an agent's threads, and go on with its runs. `main`: by these settings, whatever other wire serves
        the same agent."""
        if main or agent.name not in self.restorers:
            self.restorers[agent.name] = partial(restored_request, agent, settings)
            self._care[agent.name] = partial(_cared_for, self, agent, settings)

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """The store is open and the service works, for as long as the block lasts."""
        settings = self._given
        async with AsyncExitStack() as stack:
            if isinstance(settings.store, str) and settings.store != MEMORY:
                store = await stack.enter_async_context(open_store(settings.store))
                self.use(_with_own(store, settings))
            if not self.shares_locks:
                warn_of_workers(workers_asked_for(sys.argv, os.environ))
            await stack.enter_async_context(self.working())
            for part in self._care.values():
                await stack.enter_async_context(part())
            yield

    async def __aenter__(self) -> Self:
        await self._life.enter_async_context(self.living())
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._life.aclose()


def _with_own(store: Store, settings: ServerSettings) -> Store:
    """The store with the application's own members."""
    return replace(store, locks=settings.locks or store.locks, index=settings.index or store.index)


@asynccontextmanager
async def _cared_for(service: RunService, agent: ServedAgent, settings: ServerSettings) -> AsyncIterator[None]:
    """Delete the agent's old threads while the block lasts. Warns if other workers cannot find its threads."""
    if service.shares_locks and agent.fixed is not None and agent.fixed.source.in_memory:
        warn_of_memory(agent.name)
    janitor = _janitor_of(service, agent, settings)
    async with nullcontext() if janitor is None else janitor.working():
        yield


def _janitor_of(service: RunService, agent: ServedAgent, settings: ServerSettings) -> Janitor | None:
    """Deletes the threads of an agent that are old; None if the settings name no limit."""
    store = agent.fixed.threads() if agent.fixed is not None else None
    if store is None or (settings.thread_idle, settings.thread_limit) == (None, None):
        return None
    return Janitor(
        service=service,
        stores={agent.name: store},
        idle=settings.thread_idle,
        per_user=settings.thread_limit,
        every=settings.janitor_every,
    )
