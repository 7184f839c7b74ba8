"""Edge. API keys of the OpenAI wire: whose they are, and how much each may ask."""

from __future__ import annotations

import hmac
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from math import ceil
from typing import Any, cast

from starlette.requests import Request

from yai_nexus_agentkit.errors import OverloadedError
from yai_nexus_agentkit.runs.identity import Identity
from yai_nexus_agentkit.runs.limits import Capacity
from yai_nexus_agentkit.server.openai_settings import Keys, OpenAISettings
from yai_nexus_agentkit.transport.wire import Refusal

__all__ = ["KeyLimits", "KeyRing", "name_of"]

_MINUTE = 60.0
_IDLE = 10_000
"""Keys whose last requests are remembered."""


def name_of(key: str) -> str:
    """The user of a key without a name."""
    return f"key-{sha256(key.encode()).hexdigest()[:16]}"


class KeyRing:
    """The keys of a server."""

    def __init__(self, keys: Keys) -> None:
        self._ask: Callable[[str], Any] = keys if callable(keys) else self._listed
        known: Mapping[str, str | Identity] = (
            {} if callable(keys) else keys if isinstance(keys, Mapping) else dict.fromkeys(keys, "")
        )
        self._known = [(sha256(key.encode()).digest(), owner or True) for key, owner in known.items()]

    async def identity(self, request: Request) -> Identity:
        """The owner of the request's key. Raises `Refusal` 401."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        owner: Any = None
        if scheme.lower() == "bearer" and (key := key.strip()):
            owner = self._ask(key)
            owner = await owner if inspect.isawaitable(owner) else owner
        if isinstance(owner, Identity):
            return owner
        if owner is True:
            return Identity(user=name_of(key))
        if isinstance(owner, str) and owner:
            return Identity(user=owner)
        if owner not in (None, False, ""):
            raise TypeError(f"keys(...) returned {type(owner).__name__}, not a name or an Identity")
        headers = {"www-authenticate": "Bearer"}
        raise Refusal(401, "INVALID_API_KEY", "the API key is missing or wrong", headers=headers)

    def _listed(self, key: str) -> Any:
        """Compares with every key, so that the time says nothing."""
        given, found = sha256(key.encode()).digest(), cast(Any, None)
        for known, owner in self._known:
            if hmac.compare_digest(given, known):
                found = owner
        return found


class KeyLimits:
    """How much each key asks at once, and in a minute."""

    def __init__(self, settings: OpenAISettings, now: Callable[[], float]) -> None:
        """`now`: seconds of a clock that never goes back."""
        self._capacity = Capacity(per_user=settings.max_runs_per_key)
        self._most, self._now = settings.requests_per_minute, now
        self._asked: dict[str, deque[float]] = {}
        """Times of the requests of the last minute, by user; the key that asked last is the last one."""

    @contextmanager
    def place(self, user: str) -> Iterator[None]:
        """Room for one request. Raises `OverloadedError`."""
        self._count(user)
        with self._capacity.place(user):
            yield

    def _count(self, user: str) -> None:
        if self._most is None:
            return
        now = self._now()
        asked: deque[float] = self._asked.pop(user, deque())
        self._asked[user] = asked
        while asked and asked[0] <= now - _MINUTE:
            asked.popleft()
        if len(asked) >= self._most:
            text = f"{self._most} requests in a minute are allowed"
            raise OverloadedError(text, retry_after=ceil(asked[0] + _MINUTE - now))
        asked.append(now)
        if len(self._asked) > _IDLE:
            del self._asked[next(iter(self._asked))]
