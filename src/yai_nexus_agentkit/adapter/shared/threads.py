"""The stored threads of an agent as clients may see them: snapshots and patches behind the redaction hooks.

It knows no users, HTTP, locks or index: whoever calls it has checked that the thread is the caller's, and holds the
thread's lock for a change.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ag_ui.core import DataSource, MessagesSnapshotEvent, StateSnapshotEvent
from pydantic_core import to_json

from yai_nexus_agentkit.adapter.hook_calls import shown_messages, shown_state
from yai_nexus_agentkit.errors import StatePatchError, ThreadNotFoundError, ThreadPausedError
from yai_nexus_agentkit.protocol.json.json_numbers import unrounded
from yai_nexus_agentkit.protocol.json.patch import apply_patch, pointer
from yai_nexus_agentkit.protocol.linked_media import find_media
from yai_nexus_agentkit.protocol.state import StateTracker

if TYPE_CHECKING:
    from yai_nexus_agentkit.adapter.run_context import RunContext
    from yai_nexus_agentkit.adapter.source import ThreadStore

__all__ = ["Threads"]

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""The character as JSON has it, and not the same letters behind a backslash of the text."""


class Threads:
    """One agent's threads, by the key that its `ThreadStore` has for them.

    Operations on a thread that does not exist raise `ThreadNotFoundError`; a hook that fails raises `HookError`.
    """

    def __init__(self, store: ThreadStore) -> None:
        self._store = store
        self.ready, self.exists, self.paused, self.delete = store.ready, store.exists, store.paused, store.delete
        self.waits = store.waits
        self.expire: Callable[[str], Awaitable[None]] = getattr(store, "expire", store.delete)

    async def messages(self, key: str, run: RunContext) -> MessagesSnapshotEvent:
        """The conversation, as `run`'s `on_messages` hook shows it."""
        return MessagesSnapshotEvent(messages=shown_messages(run, await self._store.messages(key, run)))

    async def media(self, key: str, media_id: str, run: RunContext) -> DataSource:
        """The data behind a link of a snapshot, as base64, as `run`'s `on_messages` hook shows the thread. Raises
        `ThreadNotFoundError` if the link leads nowhere, too."""
        shown = await self.messages(key, replace(run, declared=True))  # older clients are shown no media of tools
        found = find_media(shown.messages, key, media_id)
        if found is None:
            raise ThreadNotFoundError("there is no such thread, or it has nothing with this id")
        return found

    async def state(self, key: str, run: RunContext) -> StateSnapshotEvent:
        """The public state as JSON data, as `run`'s `on_state` hook shows it."""
        return StateSnapshotEvent(snapshot=_json(shown_state(run, await self._store.state(key))))

    async def patch_state(
        self,
        key: str,
        operations: Sequence[Any],
        run: RunContext,
        *,
        as_node: str | None = None,
        max_size: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        """Apply RFC 6902 operations to the public state as `run`'s hooks show it. `as_node`: see
        `ThreadStore.change_state`. `max_size`: bytes that the state may have afterwards. `executor`: computes
        outside the event loop; None is the loop's own.

        Values must not hold the character NUL, which databases refuse.

        Raises `StatePatchError`, and `ThreadPausedError` for a thread that waits for an answer, whose open questions a
        change would erase. Nothing changed then.
        """
        state = await self._store.state(key)
        if await self._store.paused(key):
            raise ThreadPausedError("the thread waits for an answer, which a change of its state would make impossible")
        shown = shown_state(run, dict(state))
        work = partial(_changes, state, shown, operations, max_size)
        values, removed = await asyncio.get_running_loop().run_in_executor(executor, work)
        fresh = {name: value for name, value in values.items() if name not in state}
        for name in fresh.keys() - shown_state(run, fresh).keys():
            raise StatePatchError("the key is not shown, so it cannot be added", path=pointer(name))
        if values or removed or as_node is not None:
            await self._store.change_state(key, values, removed, as_node=as_node)


def _json(state: Mapping[str, Any]) -> dict[str, Any]:
    return StateTracker().snapshot(state)


def _changes(
    state: Mapping[str, Any], given: Mapping[str, Any], operations: Sequence[Any], max_size: int | None
) -> tuple[dict[str, Any], list[str]]:
    """The new values by key and the removed keys, for a patch of the state as it is shown. Raises `StatePatchError`."""
    for number, operation in enumerate(operations):
        if _NUL.search(to_json(operation)):
            raise StatePatchError("the character NUL cannot be stored", path=f"/{number}")
    shown, stored, tracker = _json(given), _json(state), StateTracker()
    wanted = apply_patch(shown, operations, max_size=max_size)
    tracker.assume(shown)
    changed = {name: value for name, value in wanted.items() if tracker.delta({name: value})}
    removed = [name for name in shown if name not in wanted]
    for name in (*changed, *removed):
        if (name in stored) != (name in shown) or stored.get(name) != shown.get(name):
            raise StatePatchError("the key is not shown as it is, so it cannot be changed", path=pointer(name))
    return {name: unrounded(shown.get(name), value) for name, value in changed.items()}, removed
