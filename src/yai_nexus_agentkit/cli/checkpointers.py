"""Edge. ``--checkpointer``: where a graph keeps its threads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yai_nexus_agentkit.cli.failures import CommandError, summary

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

__all__ = ["checkpointer", "with_checkpointer"]


@asynccontextmanager
async def checkpointer(where: str | None) -> AsyncIterator[BaseCheckpointSaver[Any] | None]:
    """The checkpointer that ``memory``, ``sqlite:PATH`` or a Postgres URL means; None for None.

    Raises `CommandError`: it cannot be opened, or the extra for it is not installed.
    """
    if where is None:
        yield None
    elif where == "memory":
        from langgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()
    elif where.startswith("sqlite:") and (path := where.removeprefix("sqlite:")):
        async with _opened(_sqlite(path), where) as saver:
            yield saver
    elif where.startswith(("postgres://", "postgresql://")):
        async with _opened(_postgres(where), where) as saver:
            yield saver
    else:
        raise CommandError(f"--checkpointer takes memory, sqlite:PATH or postgres://..., not {where!r}")


def with_checkpointer(agent: Any, saver: BaseCheckpointSaver[Any] | None, name: str) -> Any:
    """The graph with this checkpointer instead of its own; the graph itself is left as it is.

    Raises `CommandError`: the agent is no graph.
    """
    if saver is None:
        return agent
    from langgraph.pregel import Pregel

    if not isinstance(agent, Pregel):
        raise CommandError(f"--checkpointer needs a compiled graph; {name} is of type {type(agent).__name__}")
    return agent.copy({"checkpointer": saver})


@asynccontextmanager
async def _opened(manager: Any, where: str) -> AsyncIterator[Any]:
    """The saver of a context manager, with its tables; what goes wrong up to then in one line."""
    async with AsyncExitStack() as stack:
        try:
            saver = await stack.enter_async_context(manager)
            await saver.setup()
        except Exception as error:
            raise CommandError(f"--checkpointer {_without_password(where)}: {summary(error)}") from error
        yield saver


def _sqlite(path: str) -> Any:
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    except ImportError as error:
        raise CommandError("--checkpointer sqlite: pip install 'yai-nexus-agentkit[sqlite]'") from error
    if not Path(path).parent.is_dir():
        raise CommandError(f"--checkpointer: there is no folder {Path(path).parent}")
    return AsyncSqliteSaver.from_conn_string(path)


def _postgres(url: str) -> Any:
    try:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    except ImportError as error:
        raise CommandError("--checkpointer postgres: pip install 'yai-nexus-agentkit[postgres]'") from error
    return AsyncPostgresSaver.from_conn_string(url)


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    scheme, _, _ = head.partition("://")
    return f"{scheme}://...@{tail}" if at else url
