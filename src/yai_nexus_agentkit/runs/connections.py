"""The open connections of users: which devices are there, what they can do, and what they look at."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from yai_nexus_agentkit.runs.limits import Capacity

__all__ = ["Connection", "Connections"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One open connection of a user."""

    id: str
    """Made by the server when the connection was accepted: random, and new for each one."""
    agent: str
    user: str
    device: str = ""
    """The device's name, as the client says it."""
    abilities: tuple[str, ...] = ()
    """What the device can do, as the client says it: ``geolocation``, ``camera``, ..."""
    thread: str = ""
    """The thread that the user looks at, by the client's id: that of the newest request."""
    since: float = field(default_factory=time.time)
    """Seconds since the epoch."""


class Connections:
    """The registry of one process."""

    def __init__(self, capacity: Capacity | None = None) -> None:
        """`capacity`: how many there may be."""
        self._capacity = capacity or Capacity()
        self._open: dict[str, Connection] = {}
        """By id; removed when the connection is closed, however that comes."""

    @asynccontextmanager
    async def opened(self, connection: Connection) -> AsyncIterator[None]:
        """The connection is registered while the block lasts. Raises `OverloadedError` if there are too many."""
        with self._capacity.place(connection.user):
            self._open[connection.id] = connection
            try:
                yield
            finally:
                del self._open[connection.id]

    async def update(self, connection: Connection) -> None:
        """The client says something new of itself."""
        if connection.id in self._open:
            self._open[connection.id] = connection

    async def of(self, agent: str, user: str) -> list[Connection]:
        """The user's connections to an agent, the oldest first."""
        mine = [one for one in self._open.values() if (one.agent, one.user) == (agent, user)]
        return sorted(mine, key=lambda one: one.since)
