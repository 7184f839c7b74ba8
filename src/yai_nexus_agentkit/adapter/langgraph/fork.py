"""Driver. Going back in a thread: find the checkpoint before a message came in, and start a branch there.

Every run writes the id of its newest user message into the metadata of its checkpoints, so the place is found by a
filter instead of by walking the history, which savers read as a whole. The branch starts as new input at that
checkpoint: other channels and stateful subgraphs return to their values of that time, and the old branch stays in the
thread's history.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.aiter import aclosing
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from yai_nexus_agentkit.adapter.langgraph.channels import MESSAGES, GraphShape
from yai_nexus_agentkit.adapter.langgraph.threads import Graph

__all__ = ["MESSAGE_KEY", "fork_thread"]

_logger = logging.getLogger(__name__)

MESSAGE_KEY = "agui_message"
"""Key in the metadata of a run's checkpoints: the id of the user message the run answers."""
_WALK = 64
"""Checkpoints looked at one by one in a thread whose runs carry no message ids; each may be as large as the thread."""


async def fork_thread(
    graph: Graph,
    shape: GraphShape,
    config: RunnableConfig,
    *,
    message_id: str,
    before: Sequence[BaseMessage],
    tail: Sequence[BaseMessage],
    state: Mapping[str, Any],
) -> RunnableConfig | None:
    """Start a branch with `tail` in place of everything from `message_id` on; the graph then runs with input None at
    the returned config.

    None if no checkpoint holds exactly the messages `before`: a pruned history, or messages that came in with others.
    """
    saver = graph.checkpointer
    if not isinstance(saver, BaseCheckpointSaver) or shape.incremental:
        return None
    found = await _locate(saver, shape, config, message_id, [m.id for m in before])
    if found is None:
        return None
    new_id = next((m.id for m in reversed(tail) if m.type == "human"), message_id)
    metadata = {**(config.get("metadata") or {}), MESSAGE_KEY: new_id}
    at: RunnableConfig = {"configurable": found.config["configurable"], "metadata": metadata}
    messages = [*shape.kept(_held(shape, found)), *tail]
    written: Any = messages if shape.bare else {MESSAGES: messages, **state}
    return await graph.aupdate_state(at, written, as_node="__start__")


def cut(held: Sequence[BaseMessage], message_id: str) -> list[RemoveMessage]:
    """The other way to go back, at the head: the message and what follows it is removed; other channels stay as they
    are."""
    _logger.warning("no checkpoint before message %r: its branch is cut off at the head, other state stays", message_id)
    start = next((n for n, m in enumerate(held) if m.id == message_id), len(held))
    return [RemoveMessage(id=m.id) for m in held[start:] if m.id]


async def _locate(
    saver: BaseCheckpointSaver[Any],
    shape: GraphShape,
    config: RunnableConfig,
    message_id: str,
    wanted: list[str | None],
) -> CheckpointTuple | None:
    root: RunnableConfig = {"configurable": {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": ""}}
    for source in ("input", "update"):
        # Savers hold a lock while their listing is open: ask for anything else only after it is closed.
        async with aclosing(saver.alist(root, filter={"source": source, MESSAGE_KEY: message_id}, limit=1)) as listing:
            saved: CheckpointTuple | None = await anext(listing, None)
        if saved is not None and message_id in _ids(shape, saved) and saved.parent_config is not None:
            saved = await saver.aget_tuple(saved.parent_config)
        if saved is not None and _ids(shape, saved) == wanted:
            return saved
    passed = False
    async with aclosing(saver.alist(root, limit=_WALK)) as listing:
        async for saved in listing:
            held = _ids(shape, saved)
            passed = passed or message_id in held
            if passed and message_id not in held:
                return saved if held == wanted else None
    return None


def _ids(shape: GraphShape, saved: CheckpointTuple) -> list[str | None]:
    return [m.id for m in shape.messages_of(_held(shape, saved))]


def _held(shape: GraphShape, saved: CheckpointTuple) -> Any:
    values = saved.checkpoint["channel_values"]
    return values.get("__root__") if shape.bare else values
