"""Edge. ``--checkpointer``, ``--store``, ``--run-store``: where a graph stores its threads and its long-term data, and
what workers share."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.failures import CommandError, summary

if TYPE_CHECKING:
    from yai_nexus_agentkit.runs.stores.store import Store

__all__ = ["check_shared", "persistence", "run_store", "with_persistence"]

_SETUP = 0x41475549
"""Key of the lock in PostgreSQL under which the tables of checkpointers are made."""
_WHERE = re.compile(r"(memory)|(sqlite):(.+)|(postgres)(?:ql)?://.*")
_PLACES = {
    ("checkpointer", "memory"): ("langgraph.checkpoint.memory", "InMemorySaver"),
    ("checkpointer", "sqlite"): ("langgraph.checkpoint.sqlite.aio", "AsyncSqliteSaver"),
    ("checkpointer", "postgres"): ("langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver"),
    ("store", "memory"): ("langgraph.store.memory", "InMemoryStore"),
    ("store", "sqlite"): ("langgraph.store.sqlite.aio", "AsyncSqliteStore"),
    ("store", "postgres"): ("langgraph.store.postgres.aio", "AsyncPostgresStore"),
}


@asynccontextmanager
async def persistence(*, checkpointer: str | None, store: str | None) -> AsyncIterator[dict[str, Any]]:
    """The graph's attributes that ``memory``, ``sqlite:PATH`` or a Postgres URL stand for; none for None.

    Raises `CommandError`: one cannot be opened, or the extra for it is not installed.
    """
    async with AsyncExitStack() as stack:
        found: dict[str, Any] = {}
        for kind, where in (("checkpointer", checkpointer), ("store", store)):
            if where is not None:
                found[kind] = await _opened(kind, where, stack)
        yield found


async def _opened(kind: str, where: str, stack: AsyncExitStack) -> Any:
    match = _WHERE.fullmatch(where)
    if match is None:
        raise CommandError(f"--{kind} takes memory, sqlite:PATH or postgres://..., not {where!r}")
    place, path = match[1] or match[2] or match[4], match[3]
    if path and not Path(path).parent.is_dir():
        raise CommandError(f"--{kind}: there is no folder {Path(path).parent}")
    module, name = _PLACES[kind, place]
    try:
        made = getattr(import_module(module), name)
    except ImportError as error:
        extra = f"pip install 'yai-nexus-agentkit[{place}]'"
        raise CommandError(f"--{kind} {place} needs an extra: {extra}") from error
    if place == "memory":
        return made()
    try:
        if place == "postgres":
            return await stack.enter_async_context(_in_postgres(made, where))
        saver = await stack.enter_async_context(made.from_conn_string(path))
        await saver.setup()
    except Exception as error:
        raise CommandError(f"--{kind} {_without_password(where)}: {summary(error)}") from error
    return saver


@asynccontextmanager
async def _in_postgres(made: Any, address: str) -> AsyncIterator[Any]:
    """A saver or store with a pool: a single connection does not come back when the database restarts."""
    import psycopg
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool

    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    # LangGraph's tables can be made by one worker at a time. The lock ends with its connection. Nobody waits inside the
    # database: an index that is built there would wait for them.
    async with await psycopg.AsyncConnection.connect(address, **options) as first:
        while True:
            found = await first.execute("SELECT 1 WHERE pg_try_advisory_lock(%s)", [_SETUP])
            if found.rowcount:
                break
            await asyncio.sleep(0.1)
        await made(first).setup()
    check = AsyncConnectionPool.check_connection
    async with AsyncConnectionPool(address, min_size=1, max_size=8, kwargs=options, check=check, open=False) as pool:
        yield made(pool)


@asynccontextmanager
async def run_store(where: str) -> AsyncIterator[Store]:
    """The store of ``--run-store``, open while the block lasts.

    Raises `CommandError`: it cannot be opened, or the extra for it is not installed.
    """
    from yai_nexus_agentkit.runs.stores.opening import open_store

    async with AsyncExitStack() as stack:
        path = Path(where.removeprefix("sqlite:"))
        if where.startswith("sqlite:") and not path.parent.is_dir():
            raise CommandError(f"--run-store: there is no folder {path.parent}")
        try:
            store = await stack.enter_async_context(open_store(where))
        except (ImportError, ValueError) as error:
            raise CommandError(f"--run-store: {error}") from error
        except Exception as error:
            raise CommandError(f"--run-store {_without_password(where)}: {summary(error)}") from error
        yield store


def with_persistence(agent: Any, attributes: dict[str, Any], name: str) -> Any:
    """A copy of the graph with these attributes. Raises `CommandError`: the agent is not a graph."""
    if not attributes:
        return agent
    from langgraph.pregel import Pregel

    if not isinstance(agent, Pregel):
        flag = next(iter(attributes))
        raise CommandError(f"--{flag} needs a compiled graph; {name} is of type {type(agent).__name__}")
    return agent.copy(attributes)


def check_shared(agent: Any, name: str) -> None:
    """Refuse a graph with threads in the memory of one process. Raises `CommandError`."""
    from langgraph.checkpoint.memory import InMemorySaver

    if isinstance(getattr(agent, "checkpointer", None), InMemorySaver):
        raise CommandError(
            f"{name} stores its threads in memory, where each worker has its own: "
            "--checkpointer sqlite:PATH or postgres://... is shared"
        )


def _without_password(url: str) -> str:
    address, asked, _ = url.partition("?")  # a password may be a parameter, too
    head, at, tail = address.rpartition("@")
    scheme, _, _ = head.partition("://")
    return f"{scheme}://...@{tail}" if at else f"{address}{asked and '?...'}"
