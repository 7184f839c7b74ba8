"""The seam between threads and the framework that stores them: what can be asked of a thread outside a run.

A `ThreadStore` knows one agent's checkpoints and how they read as AG-UI snapshots. It does not know users, HTTP, locks
or the index: whoever calls it has checked that the thread is the caller's and, for changes, holds its lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ag_ui.core import AgentCapabilities, MessagesSnapshotEvent, StateSnapshotEvent

    from yai_nexus_agentkit.adapter.agui_adapter import AGUIAdapter
    from yai_nexus_agentkit.adapter.options import AdapterOptions
    from yai_nexus_agentkit.adapter.run_context import RunContext

__all__ = ["SelfDescribing", "Storing", "ThreadStore", "capabilities_of", "store_of"]


@runtime_checkable
class ThreadStore(Protocol):
    """The stored threads of one agent, by the key that the agent knows them by.

    Operations on a thread that does not exist raise `ThreadNotFoundError`.
    """

    async def ready(self) -> None:
        """Reach the storage once; raises whatever it raises."""

    async def exists(self, key: str) -> bool:
        """The thread has been stored."""

    async def paused(self, key: str) -> bool:
        """The thread waits for an answer. False if there is no such thread."""

    async def messages(self, key: str, run: RunContext) -> MessagesSnapshotEvent:
        """The conversation, in the form that `run`'s peer and hooks ask for."""

    async def state(self, key: str, run: RunContext) -> StateSnapshotEvent:
        """The public state, redacted by `run`'s hooks."""

    async def patch_state(
        self, key: str, operations: Sequence[Any], run: RunContext, *, as_node: str | None = None
    ) -> None:
        """Apply RFC 6902 operations to the public state as `run`'s hooks show it.

        Raises `StatePatchError`, and `ThreadPausedError` for a thread that waits for an answer. Nothing changed then.
        """

    async def delete(self, key: str) -> None:
        """Remove the thread with all that was stored of it."""


@runtime_checkable
class Storing(Protocol):
    """A source whose threads can be reached outside a run; None where it keeps none."""

    def thread_store(self) -> ThreadStore | None: ...


@runtime_checkable
class SelfDescribing(Protocol):
    """A source that can tell what its agent does."""

    def capabilities(self, options: AdapterOptions) -> AgentCapabilities: ...


def store_of(adapter: AGUIAdapter) -> ThreadStore | None:
    """The threads of an adapter's agent, if it keeps any."""
    return adapter.source.thread_store() if isinstance(adapter.source, Storing) else None


def capabilities_of(adapter: AGUIAdapter) -> AgentCapabilities:
    """What an adapter's agent declares; empty where nothing is known."""
    from ag_ui.core import AgentCapabilities

    if isinstance(adapter.source, SelfDescribing):
        return adapter.source.capabilities(adapter.options)
    return AgentCapabilities()
