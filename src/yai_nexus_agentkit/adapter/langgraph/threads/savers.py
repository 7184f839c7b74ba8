"""Checkpointers in front of the application's. They read and write through it; nothing here copies or changes it."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from inspect import signature
from typing import Any, TypeVar
from uuid import uuid4

from langchain_core.messages import BaseMessage, BaseMessageChunk, convert_to_messages, message_chunk_to_message
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    copy_checkpoint,
)
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.base.id import uuid6

from yai_nexus_agentkit.adapter.hook_calls import being_cancelled
from yai_nexus_agentkit.adapter.langgraph.threads.storable import storable, unstorable

__all__ = [
    "GivenIds",
    "RunSaver",
    "SaverInFront",
    "StagedSaver",
    "after",
    "at_head",
    "at_place",
    "at_root",
    "renewed",
]

T = TypeVar("T")

_logger = logging.getLogger(__name__)

_PLACE = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")
_RESUME, _ERROR = "__resume__", "__error__"


def at_root(config: RunnableConfig) -> RunnableConfig:
    """The same place in the root graph's checkpoints, for a saver that insists on a namespace."""
    return {**config, "configurable": {"checkpoint_ns": "", **(config.get("configurable") or {})}}


def at_head(config: RunnableConfig) -> RunnableConfig:
    """The newest checkpoint of the thread. Other configurable values stay: a saver may need them."""
    kept = {key: value for key, value in config["configurable"].items() if key not in _PLACE}
    return {"configurable": {**kept, "checkpoint_ns": ""}}


def at_place(config: RunnableConfig, place: RunnableConfig) -> RunnableConfig:
    """This checkpoint of the thread; other configurable values stay."""
    return {"configurable": {**at_head(config)["configurable"], **place["configurable"]}}


def after(found: CheckpointTuple | None) -> CheckpointTuple | None:
    """`found`; LangGraph's next checkpoints have greater ids. A thread is in the order of its checkpoints' ids, which
    LangGraph makes of the clock: what a worker writes would be older than what another one wrote whose clock is ahead,
    and be lost."""
    made = found.checkpoint["id"].replace("-", "") if found is not None else ""
    if len(made) == 32 and made[12] == "6":
        known: dict[str, int | None] = vars(ids)
        known["_last_v6_timestamp"] = max(int(made[:12] + made[13:], 16) >> 64, known.get("_last_v6_timestamp") or 0)
    return found


class SaverInFront(BaseCheckpointSaver[Any]):
    """A checkpointer that is another one, `under`, except for what a subclass defines.

    Methods, properties and attributes are looked up on `under`, whatever class it has: storage, connection, locks and
    serializer are shared, and LangGraph sees the signatures of the methods that really run.
    """

    def __init__(self, under: BaseCheckpointSaver[Any]) -> None:
        self._under = under  # no super().__init__: it would set a serializer

    def __getattribute__(self, name: str) -> Any:
        own, kind = object.__getattribute__, type(self)
        if name.startswith("__") or name in own(self, "__dict__") or name in _in_front(kind):  # type: ignore[arg-type]
            return own(self, name)
        return getattr(own(self, "_under"), name)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint. If `under` refuses it, it is stored without what PostgreSQL's JSON cannot hold."""
        try:
            return await self._under.aput(config, checkpoint, metadata, new_versions)
        except Exception:
            if not (odd := unstorable(checkpoint)):
                raise
            before = await self._under.aget_tuple(config) if config["configurable"].get("checkpoint_id") else None
            return await self._under.aput(config, storable(checkpoint, odd, before), metadata, new_versions)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """The same for graphs that a node or tool calls with `invoke`."""
        try:
            return self._under.put(config, checkpoint, metadata, new_versions)
        except Exception:
            if not (odd := unstorable(checkpoint)):
                raise
            before = self._under.get_tuple(config) if config["configurable"].get("checkpoint_id") else None
            return self._under.put(config, storable(checkpoint, odd, before), metadata, new_versions)

    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        """Store writes in `under`, which may be older than the parameter `task_path`."""
        store = self._under.aput_writes
        more = {"task_path": task_path} if _takes_path(getattr(store, "__func__", store)) else {}
        await store(config, writes, task_id, **more)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """LangGraph asks for this when it restricts what a serializer may load."""
        clone = copy.copy(self)
        clone._under = self._under.with_allowlist(extra_allowlist)
        return clone


@cache
def _in_front(kind: type[SaverInFront]) -> frozenset[str]:
    """The names that a class in front defines."""
    classes = kind.__mro__
    return frozenset(name for one in classes[: classes.index(BaseCheckpointSaver)] for name in vars(one))


@lru_cache(maxsize=16)
def _takes_path(put_writes: Callable[..., Any]) -> bool:
    return "task_path" in signature(put_writes).parameters


class GivenIds:
    """The ids of messages that nodes write without one. They are given when the write is stored: while a
    question is open, what other tasks wrote is applied again whenever the thread is read, with another id each time."""

    def __init__(self, channel: str | None = None) -> None:
        """`channel`: where the messages are written, if its reducer is ``add_messages``; None gives no ids."""
        self._channel = channel
        self._made: list[BaseMessage] = []
        """Messages that were written as text, tuples or dicts, as they were stored."""

    def given(self, write: tuple[str, Any]) -> tuple[str, Any]:
        """A write whose messages all have ids. Message objects get theirs in place, as from the reducer."""
        channel, value = write
        if channel != self._channel:
            return write
        return channel, [self._given(item) for item in value] if isinstance(value, list) else self._given(value)

    def _given(self, item: Any) -> Any:
        if isinstance(item, BaseMessage) and not isinstance(item, BaseMessageChunk):
            item.id = item.id or str(uuid4())
            return item
        try:
            [message] = map(message_chunk_to_message, convert_to_messages([item]))
        except (ValueError, TypeError, KeyError, NotImplementedError):  # no message: the reducer will say so
            return item
        if not message.id:
            message.id = str(uuid4())
            self._made.append(message)
        return message

    def renamed(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Messages as the reducer made them, with the ids under which they were stored."""
        stored, found = list(self._made), []
        for message in messages:
            alike = next((m for m in stored if _says_the_same(m, message)), None)
            if alike is not None:
                stored.remove(alike)
                message = message.model_copy(update={"id": alike.id})
            found.append(message)
        return found


def _says_the_same(one: BaseMessage, other: BaseMessage) -> bool:
    return one.type == other.type and one.model_copy(update={"id": other.id}) == other


class RunSaver(SaverInFront):
    """The checkpointer of one run.

    It answers the graph's first read of the thread with `saved`, which was read already: reading costs as much as the
    thread is long. Whoever runs the graph holds the thread, so nobody writes between the two reads.

    `answering`: the run answers questions. Answers over which a task failed are then left out of what is read:
    LangGraph keeps such an answer and would give it to the task again, so that the next, right one is never seen.
    """

    def __init__(
        self,
        under: BaseCheckpointSaver[Any],
        saved: CheckpointTuple | None,
        ids: GivenIds | None = None,
        *,
        answering: bool = False,
    ) -> None:
        super().__init__(under)
        self._saved, self._ids, self._answering = saved, ids or GivenIds(), answering
        self._unread = [saved]

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        first = self._unread and _asks_for(config, self._saved)
        found = self._unread.pop() if first else after(await _done(self._under.aget_tuple(config)))
        return _without_failed_answers(found) if self._answering else found

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read by graphs that a node or tool calls with `invoke`."""
        found = after(self._under.get_tuple(config))
        return _without_failed_answers(found) if self._answering else found

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        if not config["configurable"].get("checkpoint_ns"):
            writes = list(map(self._ids.given, writes))
        await _done(self._put_writes(config, writes, task_id, task_path))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await _done(super().aput(config, checkpoint, metadata, new_versions))


async def _done(work: Awaitable[T]) -> T:
    """Await the storage. LangGraph takes a CancelledError of its own (of a pool that closes) for the end of a run that
    went well."""
    try:
        return await work
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        raise RuntimeError("the checkpointer cancelled its own work") from error


class StagedSaver(SaverInFront):
    """Reads what `under` holds and what was written here. Only `commit` writes to `under`.

    For one thread and the root namespace, which is all that an update of a state writes.
    """

    aget_delta_channel_history = BaseCheckpointSaver.aget_delta_channel_history  # by `aget_tuple`, so with the staged

    def __init__(self, under: BaseCheckpointSaver[Any]) -> None:
        super().__init__(under)
        # Changed in place only: `with_allowlist` makes shallow copies.
        self._tuples: dict[str, CheckpointTuple] = {}
        """By checkpoint id, the newest last."""
        self._writes: dict[str, list[PendingWrite]] = {}
        """Beside what `under` holds, by checkpoint id."""
        self._stored: list[Callable[[], Awaitable[object]]] = []
        self._head: list[CheckpointTuple] = []
        """The newest checkpoint of `under`, once it was read."""

    async def commit(self) -> None:
        """Write everything, in order. Once begun it goes on to its end: a cancellation meanwhile comes too late, since
        half would be stored. If the storage fails halfway, the content of the head before is stored again, and the
        storage's error raised."""
        writing = asyncio.create_task(self._write(), name="agui-commit")
        while not writing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([writing])
        await writing

    async def _write(self) -> None:
        for number, store in enumerate(self._stored):
            try:
                await store()
            except (Exception, asyncio.CancelledError):  # a driver may cancel its own work
                if number and self._head:
                    await self._restore(self._head[0])
                raise

    async def _restore(self, head: CheckpointTuple) -> None:
        """Make the content of this checkpoint the newest again."""
        again = renewed(head.checkpoint, step=head.metadata.get("step", -1))
        parent = head.parent_config or at_head(head.config)
        try:
            config = await self._under.aput(parent, again, head.metadata, {})
            for task in dict.fromkeys(task for task, _, _ in head.pending_writes or ()):
                writes = [(channel, value) for by, channel, value in head.pending_writes or () if by == task]
                await self._put_writes(config, writes, task, "")
        except Exception:
            _logger.exception("a change of thread %r was stored in part", head.config["configurable"]["thread_id"])

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        conf = config["configurable"]
        wanted = conf.get("checkpoint_id")
        if conf.get("checkpoint_ns"):
            return await self._under.aget_tuple(config)
        if wanted is None and self._tuples:
            wanted = next(reversed(self._tuples))
        found = self._tuples.get(wanted) if wanted is not None else None
        if found is None:
            found = after(await self._under.aget_tuple(config))
            if found is not None and wanted is None and not self._head:
                self._head.append(found)
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
        self._stored.append(partial(super().aput, config, checkpoint, metadata, new_versions))
        return made

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        at = config["configurable"]["checkpoint_id"]
        self._writes.setdefault(at, []).extend((task_id, channel, value) for channel, value in writes)
        self._stored.append(partial(self._put_writes, config, writes, task_id, task_path))


def renewed(checkpoint: Checkpoint, *, step: int) -> Checkpoint:
    """A copy of this checkpoint as the newest of its thread."""
    copied: Checkpoint = copy_checkpoint(checkpoint)
    copied["id"], copied["ts"] = str(uuid6(clock_seq=step)), datetime.now(UTC).isoformat()
    return copied


def _without_failed_answers(saved: CheckpointTuple | None) -> CheckpointTuple | None:
    writes = saved.pending_writes if saved is not None else None
    failed = {task for task, channel, _ in writes or () if channel == _ERROR}
    if saved is None or not writes or not failed:
        return saved
    kept: list[tuple[str, str, Any]] = []
    for task, channel, value in writes:
        if task in failed and channel == _RESUME and isinstance(value, list):
            value = value[:-1]
            if not value:
                continue
        kept.append((task, channel, value))
    return saved._replace(pending_writes=kept)


def _asks_for(config: RunnableConfig, saved: CheckpointTuple | None) -> bool:
    """The read is for the root of the thread, at the checkpoint that was read."""
    wanted = config.get("configurable") or {}
    if wanted.get("checkpoint_ns"):
        return False
    if saved is None:
        return not wanted.get("checkpoint_id")
    held = saved.config["configurable"]
    if str(wanted.get("thread_id")) != str(held.get("thread_id")):
        return False
    return wanted.get("checkpoint_id") in (None, held.get("checkpoint_id"))
