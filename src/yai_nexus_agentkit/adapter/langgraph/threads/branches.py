"""Finds checkpoints of a thread by their conversation, and starts branches there.

Every run writes the id of its newest user message into the metadata of its checkpoints, so a place is found by a filter
instead of by walking the history, which savers read as a whole. What was found is compared with the conversation that
is looked for: a message may have been said in several branches.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from yai_nexus_agentkit.adapter.langgraph.shape import MESSAGES, Graph, GraphShape
from yai_nexus_agentkit.adapter.langgraph.threads.savers import at_head, at_place
from yai_nexus_agentkit.adapter.langgraph.threads.storable import storable_text

__all__ = ["MESSAGE_KEY", "History", "Place"]

_logger = logging.getLogger(__name__)

MESSAGE_KEY = "agui_message"
"""Key in the metadata of a run's checkpoints: the id of the user message the run answers."""
_RUNS = 16
"""Runs looked at that answer the same user message: one for each result of a client's tool, and each repetition."""
_WALK = 64
"""Checkpoints looked at one by one where no run says what it answers; each may be as large as the thread."""
_INPUT = "__start__"


@dataclass(frozen=True, slots=True)
class Place:
    """A checkpoint and its content, without the writes of unfinished steps."""

    saved: CheckpointTuple
    values: Any
    messages: Sequence[BaseMessage]
    whole: bool = False
    """The run that answered took messages out later, by itself: a branch begins with the messages of this place."""

    @property
    def ids(self) -> list[str | None]:
        """Of its messages."""
        return [m.id for m in self.messages]


class History:
    """The checkpoints of one thread, and new branches of it."""

    def __init__(
        self, graph: Graph, saver: BaseCheckpointSaver[Any], shape: GraphShape, config: RunnableConfig
    ) -> None:
        self._graph, self._saver, self._shape, self._config = graph, saver, shape, config
        self._root = at_head(config)

    async def place(self, saved: CheckpointTuple) -> Place:
        """The content of this checkpoint. A `DeltaChannel` is replayed, from its last whole copy on."""
        if self._shape.incremental:
            values = (await self._graph.aget_state(at_place(self._root, saved.config))).values
        else:
            values = saved.checkpoint["channel_values"]
            values = values.get("__root__") if self._shape.bare else values
        return Place(saved, values, self._shape.messages_of(values))

    async def last_answering(self, message_id: str) -> Place | None:
        """The newest checkpoint of the runs that answer this message."""
        async with aclosing(self._matching({MESSAGE_KEY: message_id}, 1)) as found:
            async for saved in found:
                return await self.place(saved)
        return None

    async def holding(self, request: Sequence[Message], strange: Set[str]) -> Place | None:
        """The end of the branch that a request goes on from, known by messages that the head lacks (`strange`).

        The newest checkpoint of the runs for its newest user messages that has the most of the request.
        """
        first = next(n for n, m in enumerate(request) if m.id in strange)
        start = next((n for n in range(first, -1, -1) if request[n].role == "user"), 0)
        best: Place | None = None
        most = 0
        for asked in [m.id for m in request[start:] if m.role == "user"][: -_RUNS - 1 : -1]:
            async with aclosing(self._matching({MESSAGE_KEY: asked}, _RUNS)) as runs:
                async for saved in runs:
                    place = await self.place(saved)
                    held = strange & set(place.ids)
                    if len(held) > most:
                        best, most = place, len(held)
                    if most == len(strange):
                        return best
            if best is not None:
                break
        return best

    async def since(self, place: Place) -> AsyncGenerator[Place, None]:
        """The places that were stored after this one, in any branch, newest first."""
        async with aclosing(self._matching({}, _WALK)) as found:
            async for saved in found:
                if saved.config["configurable"]["checkpoint_id"] == place.saved.config["configurable"]["checkpoint_id"]:
                    return
                yield await self.place(saved)

    async def before(self, message_id: str, held: Sequence[BaseMessage], head: CheckpointTuple) -> Place | None:
        """The place at which this message came in, when `held` was before it in the thread of `head`.

        Messages of `held` that this place lacks arrived in the same request (instructions, a result of the client's);
        messages it has beyond `held` were removed by it.
        """
        search = _Search(message_id, held)
        for source in ("input", "update"):
            async with aclosing(self._matching({"source": source, MESSAGE_KEY: message_id}, _RUNS)) as runs:
                async for saved in runs:
                    if (found := await self._entry(search, saved)) is not None:
                        return found
        newest = await self.last_answering(message_id)  # a message sent along with an answer; checkpoints at the end
        return (newest and await self._walk(search, newest)) or await self._walk(search, await self.place(head))

    async def _entry(self, search: _Search, saved: CheckpointTuple) -> Place | None:
        """The place at which the message came in, if this checkpoint was made by that."""
        here = await self.place(saved)
        if search.message_id not in here.ids:  # an input's checkpoint: what comes in waits in a channel of its own
            came = _applied(here.ids, self._shape.messages_of(saved.checkpoint["channel_values"].get(_INPUT)))
            return here if here.ids == search.wanted or (search.leads(came) and search.fits(here)) else None
        if saved.metadata.get("source") == "input" or not search.leads(here.ids):
            return None  # a later run for the same message, or another branch
        parent = await self._parent(here)
        return parent if parent and search.message_id not in parent.ids and search.fits(parent) else None

    async def _walk(self, search: _Search, here: Place) -> Place | None:
        """Up from this place, which has the message where it is looked for, to the first one without it."""
        if not search.leads(here.ids):
            return None
        whole = False
        for _ in range(_WALK):
            parent = await self._parent(here)
            if parent is None:
                return None
            if search.message_id not in parent.ids:
                return replace(parent, whole=True) if whole else parent if search.fits(parent, exactly=True) else None
            whole = whole or not search.leads(parent.ids)
            here = parent
        return None

    async def _parent(self, place: Place) -> Place | None:
        config = place.saved.parent_config
        saved = None if config is None else await self._saver.aget_tuple(at_place(self._root, config))
        return None if saved is None else await self.place(saved)

    async def _matching(self, metadata: Mapping[str, str], limit: int) -> AsyncGenerator[CheckpointTuple, None]:
        """Newest first, each by a query of its own: savers hold a lock while their listing is open, and a checkpoint is
        as large as the thread."""
        last: RunnableConfig | None = None
        wanted = {key: storable_text(value) for key, value in metadata.items()}  # as savers keep it
        for _ in range(limit):
            listing = self._saver.alist(self._root, filter=wanted, before=last, limit=1)
            async with aclosing(listing) as found:  # type: ignore[type-var]
                saved: CheckpointTuple | None = await anext(found, None)
            if saved is None:
                return
            yield saved
            last = saved.config

    # ------------------------------------------------------------------ branches

    async def fork(
        self,
        head: CheckpointTuple,
        message_id: str,
        before: Sequence[BaseMessage],
        tail: Sequence[BaseMessage],
        state: Mapping[str, Any],
    ) -> RunnableConfig | None:
        """Start a branch with `tail` in place of everything from `message_id` on, as `start` does.

        None if no checkpoint shows how the message came in behind `before`: a pruned history, messages made elsewhere.
        """
        place = await self.before(message_id, before, head)
        return await self.start(place, [*_restored(place, before), *tail], state) if place is not None else None

    async def start(self, place: Place, messages: Sequence[BaseMessage], state: Mapping[str, Any]) -> RunnableConfig:
        """Write new input at this place; the graph then runs with input None at the returned config."""
        newest = next((m.id for m in reversed(messages) if m.type == "human"), None)
        if self._shape.replaces:  # a removal is nothing to a channel that keeps what was last written
            gone = {m.id for m in messages if isinstance(m, RemoveMessage)}
            new = {m.id: m for m in messages if not isinstance(m, RemoveMessage)}
            stored = dict(zip(place.ids, self._shape.kept(place.values), strict=True))
            messages = list({**{i: m for i, m in stored.items() if i not in gone}, **new}.values())
        metadata = {**(self._config.get("metadata") or {}), **({MESSAGE_KEY: newest} if newest else {})}
        at: RunnableConfig = {**at_place(self._config, place.saved.config), "metadata": metadata}
        written: Any = list(messages) if self._shape.bare else {MESSAGES: list(messages), **state}
        return await self._graph.aupdate_state(at, written, as_node="__start__")

    async def cut(self, head: CheckpointTuple, message_id: str) -> list[BaseMessage]:
        """Input that goes back at the head instead: it removes the message and those after it. Other channels stay as
        they are. Writes of tasks that wait for others need no removal: new input discards them."""
        _logger.warning(
            "no checkpoint before message %r: its branch is cut off at the head, other state stays", message_id
        )
        place = await self.place(head)
        held = place.messages
        start = next((n for n, m in enumerate(held) if m.id == message_id), len(held))
        if self._shape.replaces:
            return list(self._shape.kept(place.values)[:start])
        return [RemoveMessage(id=m.id) for m in held[start:] if m.id]


class _Search:
    """For the place where a message came in behind certain others."""

    def __init__(self, message_id: str, held: Sequence[BaseMessage]) -> None:
        self.message_id = message_id
        self.wanted = [m.id for m in held]
        self._known = set(self.wanted)
        self._led = [*self.wanted, message_id]
        self._answers = {m.id for m in held if isinstance(m, AIMessage)}

    def leads(self, ids: Sequence[str | None]) -> bool:
        """These are the messages before, and then the message itself."""
        return list(ids[: len(self._led)]) == self._led

    def fits(self, place: Place, *, exactly: bool = False) -> bool:
        """The messages before become those of the place by adding some at the end, and taking some out. `exactly`:
        nothing says that they came in together, so only what a client adds may be missing, and nothing is taken out."""
        kept = [i for i in place.ids if i in self._known]
        if kept != self.wanted[: len(kept)]:
            return False
        return not exactly or (len(kept) == len(place.ids) and self._answers.isdisjoint(self.wanted[len(kept) :]))


def _applied(ids: Sequence[str | None], came: Sequence[BaseMessage]) -> list[str | None]:
    """Ids of the messages after an input."""
    found = dict.fromkeys(ids)
    for message in came:
        if isinstance(message, RemoveMessage):
            found.pop(message.id, None)
        else:
            found[message.id] = None
    return list(found)


def _restored(place: Place, before: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Updates that turn the messages of the place into those before: some came in with the message, or left with it.
    Instructions stay as they are now; the client sends them with every request."""
    held = {m.id: m for m in place.messages}
    wanted = {m.id for m in before}
    gone = [RemoveMessage(id=i) for i in held if i and i not in wanted]
    revised = [m for m in before if m.id in held and m.type == "system" and m.content != held[m.id].content]
    if place.whole:
        return revised
    return [*gone, *revised, *(m for m in before if m.id not in held)]
