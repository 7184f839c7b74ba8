"""Which store an address means. Its client is imported only then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from yai_nexus_agentkit.runs.stores.store import Store

__all__ = ["MEMORY", "kind_of", "open_store"]

MEMORY = "memory:"
"""The address of a process's own memory."""


_KINDS = {
    "memory": "memory",
    "sqlite": "sqlite",
    "redis": "redis",
    "rediss": "redis",
    "unix": "redis",
    "postgresql": "postgres",
    "postgres": "postgres",
}


def kind_of(address: str) -> str:
    """The kind of store at an address. Raises ValueError."""
    scheme = urlsplit(address).scheme
    if scheme not in _KINDS or address == "sqlite:":
        what = f"{scheme}: without a path" if scheme in _KINDS else scheme or "an address without a scheme"
        wanted = "memory:, sqlite:PATH, redis://HOST/0 or postgresql://HOST/NAME"
        raise ValueError(f"a store is {wanted}, not {what}")
    return _KINDS[scheme]


@asynccontextmanager
async def open_store(address: str = MEMORY) -> AsyncIterator[Store]:
    """Open the store at an address, for as long as the block lasts.

    `address`: ``memory:``, ``sqlite:PATH`` (the workers of one machine), ``redis://...`` or ``rediss://...`` (needs the
    extra ``redis``), ``postgresql://...`` (needs the extra ``postgres``). Tables are made and migrated on the way.

    Raises ValueError for another address, ImportError where the extra is missing, and whatever the client raises if the
    store cannot be reached.
    """
    kind = kind_of(address)
    if kind == "memory":
        yield Store()
    elif kind == "sqlite":
        from yai_nexus_agentkit.runs.stores.sqlite import sqlite_store

        async with sqlite_store(address.removeprefix("sqlite:")) as store:
            yield store
    elif kind == "redis":
        from yai_nexus_agentkit.runs.stores.redis.store import redis_store

        async with redis_store(address) as store:
            yield store
    else:
        from yai_nexus_agentkit.runs.stores.postgres import postgres_store

        async with postgres_store(address) as store:
            yield store
