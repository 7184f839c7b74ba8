"""The stored threads of a graph, outside of runs: their messages, their state, changes of it, deletion.

Whoever changes a thread here must hold its lock: a run that wrote in between would be lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import Message
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END, START
from langgraph.errors import InvalidUpdateError
from langgraph.types import StateUpdate

from yai_nexus_agentkit.adapter.langgraph.messages.content import calls_of
from yai_nexus_agentkit.adapter.langgraph.messages.convert import client_form, to_agui
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import is_users
from yai_nexus_agentkit.adapter.langgraph.middleware import AgentMiddlewares, Hold
from yai_nexus_agentkit.adapter.langgraph.shape import Graph, GraphShape
from yai_nexus_agentkit.adapter.langgraph.threads.checkpoint import Thread, read_thread
from yai_nexus_agentkit.adapter.langgraph.threads.savers import StagedSaver, at_head, renewed
from yai_nexus_agentkit.adapter.run_context import RunContext
from yai_nexus_agentkit.errors import RunInputError, StatePatchError, ThreadNotFoundError
from yai_nexus_agentkit.orchestration.client_tools import is_pending
from yai_nexus_agentkit.protocol.json.patch import pointer
from yai_nexus_agentkit.protocol.state import StateTracker

__all__ = ["LangGraphThreadStore"]

_PROBE = "yai-nexus-agentkit-readiness"
_UNREADABLE = (InvalidUpdateError, ValueError, TypeError, LookupError, AttributeError)
"""Errors of code that reads a value of another kind: LangGraph's, a schema's, an edge's."""


class LangGraphThreadStore:
    """The threads of one graph, by the ``thread_id`` that its checkpointer knows."""

    def __init__(
        self, graph: Graph, shape: GraphShape, saver: BaseCheckpointSaver[Any], middleware: AgentMiddlewares
    ) -> None:
        self._graph, self._shape, self._saver, self._middleware = graph, shape, saver, middleware

    async def ready(self) -> None:
        """Read from the checkpointer, and raise what it raises."""
        await self._saver.aget_tuple(_config(_PROBE))

    async def exists(self, key: str) -> bool:
        """A checkpoint of the thread is stored."""
        return await self._saver.aget_tuple(_config(key)) is not None

    async def paused(self, key: str) -> bool:
        """The thread has open interrupts, or stopped at a breakpoint."""
        try:
            thread = await self._read(key)
        except ThreadNotFoundError:
            return False
        return thread.paused

    async def waits(self, key: str) -> bool:
        """Paused, or ended with calls that nobody answered: those of a run that failed or was stopped are still due."""
        try:
            thread = await self._read(key)
        except ThreadNotFoundError:
            return False
        start = max((n for n, m in enumerate(thread.held) if is_users(m)), default=-1) + 1
        turn = [message for message in thread.held[start:] if not is_pending(message)]
        if thread.paused or not calls_of(turn).open():
            return thread.paused
        return not (await self._graph.aget_state(_config(key))).tasks

    async def messages(self, key: str, run: RunContext) -> list[Message]:
        """The conversation, with that of paused subgraphs. What subagents said is stored by no thread."""
        thread = await self._read(key, self._middleware.hold(run.options.hold))
        return to_agui(thread.held, **client_form(run.options, declared=run.declared))

    async def state(self, key: str) -> dict[str, Any]:
        """The public state."""
        return self._shape.state_of((await self._read(key)).values)

    async def change_state(
        self, key: str, values: Mapping[str, Any], removed: Sequence[str], *, as_node: str | None = None
    ) -> None:
        """Set and remove keys of the public state.

        Channels of the input schema can be changed; their reducers are passed by. Without `as_node` nothing is due to
        run afterwards; with it, what follows that node is (LangGraph, ``update_state``). All is tried before any of it
        is stored.

        Raises `ThreadNotFoundError` and `StatePatchError`.
        """
        if as_node is not None and as_node not in self._graph.nodes:
            raise StatePatchError(f"as_node: the graph has no node {as_node!r}")
        written, removed = self._changes(await self._read(key), values, removed)
        await self._store(_config(key), written, removed, as_node)

    async def delete(self, key: str) -> None:
        """Remove every checkpoint of the thread, subgraphs included."""
        if not await self.exists(key):
            raise ThreadNotFoundError("there is no such thread")
        await self._saver.adelete_thread(key)

    async def _read(self, key: str, hold: Hold | None = None) -> Thread:
        thread = await read_thread(self._graph, self._shape, _config(key), hold)
        if thread.saved is None:
            raise ThreadNotFoundError("there is no such thread")
        return thread

    def _changes(
        self, thread: Thread, wanted: Mapping[str, Any], removed: Sequence[str]
    ) -> tuple[dict[str, Any], list[str]]:
        """The values to write, past the reducers, and the channels to empty."""
        for name in (*wanted, *removed):
            if name not in self._shape.inputs or name not in self._shape.public:
                raise StatePatchError("the state has no such key that may be changed", path=pointer(name))
        for name in removed:
            if self._shape.needs(name):
                raise StatePatchError("the graph needs this key", path=pointer(name))
        held = thread.values if isinstance(thread.values, Mapping) else {}
        left = {key: value for key, value in held.items() if key not in removed}
        try:
            fitted = self._shape.fitted(wanted, left)
        except RunInputError as error:
            raise StatePatchError(error.reason, path=error.path) from error
        fitted |= (emptied := self._shape.emptied(removed))
        stored = StateTracker().snapshot(self._shape.state_of(thread.values))
        values: dict[str, Any] = {}
        for name, value in fitted.items():
            try:
                values[name] = self._shape.setting(name, stored.get(name), value)
            except ValueError as error:
                raise StatePatchError(str(error), path=pointer(name)) from error
        return values, [name for name in removed if name not in emptied]

    async def _store(
        self, config: RunnableConfig, values: Mapping[str, Any], removed: Sequence[str], as_node: str | None
    ) -> None:
        staged = StagedSaver(self._saver)
        graph = self._graph.copy({"checkpointer": staged})
        try:
            if as_node is not None:
                # The edges that leave the node see the state without what is removed.
                await _remove(staged, config, removed)
                await graph.abulk_update_state(config, [[StateUpdate(dict(values) or None, as_node)]])
            else:
                # Written as an input, which makes the first node due; then whatever is due is cleared without running.
                written = [[StateUpdate(dict(values), START)]] if values else []
                await graph.abulk_update_state(config, [*written, [StateUpdate(None, END)]])
                await _remove(staged, config, removed)
        except _UNREADABLE as error:
            raise StatePatchError(f"the graph refuses the new values ({type(error).__name__})") from error
        await staged.commit()


async def _remove(saver: BaseCheckpointSaver[Any], config: RunnableConfig, keys: Sequence[str]) -> None:
    """Empty channels. LangGraph has no update for that, so the checkpoint is rewritten without them."""
    if not keys:
        return
    saved = await saver.aget_tuple(config)
    if saved is None:
        raise ThreadNotFoundError("the thread was deleted meanwhile")
    step = saved.metadata.get("step", -1) + 1
    checkpoint = renewed(saved.checkpoint, step=step)
    for key in keys:
        checkpoint["channel_values"].pop(key, None)
        checkpoint["channel_versions"].pop(key, None)
    await saver.aput(saved.config, checkpoint, {**saved.metadata, "source": "update", "step": step}, {})


def _config(key: str) -> RunnableConfig:
    return at_head({"configurable": {"thread_id": key}})
