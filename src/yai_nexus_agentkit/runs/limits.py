"""Pure. How much may run at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import NonNegativeFloat, NonNegativeInt

from yai_nexus_agentkit.checks import check_options
from yai_nexus_agentkit.errors import OverloadedError

__all__ = ["Capacity"]


@dataclass(slots=True)
class Capacity:
    """Places for runs in this process: `total`, and `per_user`; None is no limit. `retry_after` in seconds."""

    total: NonNegativeInt | None = None
    per_user: NonNegativeInt | None = None
    retry_after: NonNegativeFloat = 1.0
    _users: dict[str, int] = field(default_factory=dict)
    """Taken places by user; a user without any has no entry."""
    taken: NonNegativeInt = 0

    def __post_init__(self) -> None:
        check_options(self)

    @contextmanager
    def place(self, user: str) -> Iterator[None]:
        """One place, for as long as the block lasts. Raises `OverloadedError` if there is none."""
        if self.total is not None and self.taken >= self.total:
            raise OverloadedError(
                f"{self.taken} runs are under way, more are not allowed", retry_after=self.retry_after
            )
        own = self._users.get(user, 0)
        if self.per_user is not None and own >= self.per_user:
            raise OverloadedError(f"{own} runs of this user are under way", retry_after=self.retry_after)
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
