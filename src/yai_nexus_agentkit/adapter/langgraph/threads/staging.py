"""Driver. Changes of a thread that are tried before they are stored.

LangGraph stores what is written to a state first and evaluates it afterwards: a value that an edge or a schema cannot
read would stay. So an update is made on a checkpointer that keeps everything to itself, and stored when it succeeded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
)

__all__ = ["StagedSaver"]


class StagedSaver(BaseCheckpointSaver[Any]):
    """Reads what `under` holds, and what was written here; `under` is written by `commit` alone.

    For one thread and the root namespace, which is all that an update of a state writes.
    """

    def __init__(self, under: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=under.serde)
        self._under = under
        # Never replaced: LangGraph may work with a shallow copy of this object.
        self._tuples: dict[str, CheckpointTuple] = {}
        """By checkpoint id, the newest last."""
        self._writes: dict[str, list[PendingWrite]] = {}
        """Beside what `under` holds, by checkpoint id."""
        self._stored: list[Callable[[], Awaitable[object]]] = []

    async def commit(self) -> None:
        """Write everything, in order."""
        for store in self._stored:
            await store()

    @property
    def config_specs(self) -> list[Any]:
        return self._under.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._under.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        conf = config["configurable"]
        wanted = conf.get("checkpoint_id")
        if conf.get("checkpoint_ns"):
            return await self._under.aget_tuple(config)
        if wanted is None and self._tuples:
            wanted = next(reversed(self._tuples))
        found = self._tuples.get(wanted) if wanted is not None else None
        if found is None:
            found = await self._under.aget_tuple(config)
        more = self._writes.get(found.checkpoint["id"]) if found is not None else None
        if found is None or not more:
            return found
        return found._replace(pending_writes=[*(found.pending_writes or ()), *more])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        conf = config["configurable"]
        named = {"thread_id": conf["thread_id"], "checkpoint_ns": conf.get("checkpoint_ns", "")}
        made: RunnableConfig = {"configurable": {**named, "checkpoint_id": checkpoint["id"]}}
        # As it would come back from the storage: what is read here must not share objects with what will be stored.
        read: Checkpoint = self.serde.loads_typed(self.serde.dumps_typed(checkpoint))
        parent = config if conf.get("checkpoint_id") else None
        self._tuples[checkpoint["id"]] = CheckpointTuple(made, read, metadata, parent, [])
        self._stored.append(partial(self._under.aput, config, checkpoint, metadata, new_versions))
        return made

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        at = config["configurable"]["checkpoint_id"]
        self._writes.setdefault(at, []).extend((task_id, channel, value) for channel, value in writes)
        more = {"task_path": task_path} if task_path else {}
        self._stored.append(partial(self._under.aput_writes, config, writes, task_id, **more))
