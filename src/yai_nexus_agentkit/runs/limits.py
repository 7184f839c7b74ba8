"""Pure. How much may go on at once: runs, and requests that are being received."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import NonNegativeFloat, NonNegativeInt

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import OverloadedError

__all__ = ["Capacity"]


@dataclass(slots=True)
class Capacity:
    """Limits of one process; None: no limit. `total`, `per_user`: runs. `bodies`: bytes of requests that are being
    received. `retry_after` in seconds."""

    total: NonNegativeInt | None = None
    per_user: NonNegativeInt | None = None
    bodies: NonNegativeInt | None = None
    retry_after: NonNegativeFloat = 1.0
    _users: dict[str, int] = field(default_factory=dict)
    """Taken places by user; a user without any has no entry."""
    taken: NonNegativeInt = 0
    received: NonNegativeInt = 0
    """Bytes of the requests that are being received."""

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def full(self) -> bool:
        """There is no place for a further run."""
        return self.total is not None and self.taken >= self.total

    @contextmanager
    def place(self, user: str) -> Iterator[None]:
        """One place, for as long as the block lasts. Raises `OverloadedError` if there is none."""
        if self.full:
            raise OverloadedError(f"{self.taken} runs are active, more are not allowed", retry_after=self.retry_after)
        own = self._users.get(user, 0)
        if self.per_user is not None and own >= self.per_user:
            raise OverloadedError(f"{own} runs of this user are active", retry_after=self.retry_after)
        self.taken += 1
        self._users[user] = own + 1
        try:
            yield
        finally:
            self.taken -= 1
            left = self._users[user] - 1
            if left:
                self._users[user] = left
            else:
                del self._users[user]

    @contextmanager
    def body(self) -> Iterator[Callable[[int], None]]:
        """Room for the body of one request, for as long as the block lasts. The function that it gives takes more bytes
        of it, and raises `OverloadedError` if there are no more."""
        own = 0

        def take(size: int) -> None:
            nonlocal own
            if self.bodies is not None and self.received + size > self.bodies:
                raise OverloadedError("too many requests are being received", retry_after=self.retry_after)
            own += size
            self.received += size

        try:
            yield take
        finally:
            self.received -= own
