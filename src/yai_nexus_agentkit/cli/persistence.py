"""Edge. ``--checkpointer`` and ``--store``: where a graph keeps its threads, and what outlives them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from yai_nexus_agentkit.cli.failures import CommandError, summary

__all__ = ["persistence", "with_persistence"]

_SETUP = ("checkpointer", "store")


@asynccontextmanager
async def persistence(*, checkpointer: str | None, store: str | None) -> AsyncIterator[dict[str, Any]]:
    """The graph's attributes that ``memory``, ``sqlite:PATH`` or a Postgres URL mean; without those that are None.

    Raises `CommandError`: one cannot be opened, or the extra for it is not installed.
    """
    async with AsyncExitStack() as stack:
        found: dict[str, Any] = {}
        for kind, where in zip(_SETUP, (checkpointer, store), strict=True):
            if where is None:
                continue
            manager = _manager(kind, where)
            try:
                found[kind] = await stack.enter_async_context(manager)
                if hasattr(found[kind], "setup"):
                    await found[kind].setup()
            except Exception as error:
                raise CommandError(f"--{kind} {_without_password(where)}: {summary(error)}") from error
        yield found


def with_persistence(agent: Any, attributes: dict[str, Any], name: str) -> Any:
    """The graph with these attributes instead of its own; the graph itself is left as it is.

    Raises `CommandError`: the agent is no graph.
    """
    if not attributes:
        return agent
    from langgraph.pregel import Pregel

    if not isinstance(agent, Pregel):
        flag = next(iter(attributes))
        raise CommandError(f"--{flag} needs a compiled graph; {name} is of type {type(agent).__name__}")
    return agent.copy(attributes)


def _manager(kind: str, where: str) -> Any:
    if where == "memory":
        return _in_memory(kind)
    if where.startswith("sqlite:") and (path := where.removeprefix("sqlite:")):
        return _sqlite(kind, path)
    if where.startswith(("postgres://", "postgresql://")):
        return _postgres(kind, where)
    raise CommandError(f"--{kind} takes memory, sqlite:PATH or postgres://..., not {where!r}")


@asynccontextmanager
async def _in_memory(kind: str) -> AsyncIterator[Any]:
    if kind == "store":
        from langgraph.store.memory import InMemoryStore

        yield InMemoryStore()
    else:
        from langgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()


def _sqlite(kind: str, path: str) -> Any:
    if not Path(path).parent.is_dir():
        raise CommandError(f"--{kind}: there is no folder {Path(path).parent}")
    try:
        if kind == "store":
            from langgraph.store.sqlite.aio import AsyncSqliteStore

            return AsyncSqliteStore.from_conn_string(path)
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    except ImportError as error:
        raise CommandError(f"--{kind} needs SQLite: pip install 'yai-nexus-agentkit[sqlite]'") from error
    return AsyncSqliteSaver.from_conn_string(path)


def _postgres(kind: str, url: str) -> Any:
    try:
        if kind == "store":
            from langgraph.store.postgres.aio import AsyncPostgresStore

            return AsyncPostgresStore.from_conn_string(url)
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    except ImportError as error:
        raise CommandError(f"--{kind} needs Postgres: pip install 'yai-nexus-agentkit[postgres]'") from error
    return AsyncPostgresSaver.from_conn_string(url)


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    scheme, _, _ = head.partition("://")
    return f"{scheme}://...@{tail}" if at else url
