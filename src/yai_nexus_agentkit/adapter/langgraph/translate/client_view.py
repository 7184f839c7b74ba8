"""Pure. What the client holds of the conversation, against what the thread stores.

The thread's messages are never converted or compared as a whole: list elements keep their identity through a run, so
what a run changed shows by identity of the elements and of their content objects. A snapshot, which costs as much as
the thread is long, is made only when the client's messages really differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter, is_
from typing import Any

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, to_agui, tool_content
from yai_nexus_agentkit.adapter.langgraph.messages.ids import calls_made
from yai_nexus_agentkit.adapter.native_run import NativeRun

__all__ = ["Judgement", "Told", "Transcript", "same_message"]

_id, _content = attrgetter("id"), attrgetter("content")


class Judgement(Enum):
    """What a written message means for the client."""

    KNOWN = "known"
    NEW = "new"
    CHANGED = "changed"


@dataclass(slots=True)
class Told:
    """A message that was streamed in this run."""

    message: BaseMessage | None
    """The model's final output, or the tool's message; None while it streams, and for ever if the model failed."""
    run: NativeRun
    """Where it came from."""
    owner: str | None = None
    content: Any = None
    calls: Any = None
    """The message's content and calls when it was told, by identity: a later node may change the message in place."""

    lost: bool = False
    """The model failed before its end."""
    shown: Any = None
    """What was told of a tool's message. ToolNode rewrites some contents in place, to what is told all the same."""

    def still(self, message: BaseMessage) -> bool:
        """The client would show this message as it was told."""
        if self.shown is not None and isinstance(message, ToolMessage) and isinstance(self.message, ToolMessage):
            return tool_content(message) == self.shown and message.status == self.message.status
        if message is not self.message:
            return same_message(self.message, message)
        return message.content is self.content and calls_made(message) is self.calls


class Transcript:
    """The messages of one run: the thread's at its beginning, those told since, and what only the client holds.

    `foreign`: subagent messages of the request, which no thread stores. `nested`: messages of paused subgraphs, which
    reach the thread's own list only when the subgraph ends. `in_sync`: the client holds exactly the thread's messages
    and the request's new ones.
    """

    def __init__(
        self,
        *,
        declared: bool,
        reasoning: bool,
        foreign: Iterable[Message] = (),
        nested: Sequence[BaseMessage] = (),
        held: Sequence[str] = (),
        in_sync: bool = True,
    ) -> None:
        self._declared, self._reasoning = declared, reasoning
        self._foreign: dict[str, Message] = {m.id: m for m in foreign}
        self._nested: dict[str, BaseMessage] = {m.id: m for m in nested if m.id}
        self._before: list[BaseMessage] = []
        self._contents: list[Any] = []
        """The thread's messages at the beginning, and what they said: nodes may edit them in place."""
        self._ids: list[str | None] = []
        self._base: dict[str, int] = {}
        """Position by id."""
        self._told: dict[str, Told] = {}
        self._hidden: set[str] = set()
        self._thoughts: dict[str, Told] = {}
        """Messages of this run that are nothing but reasoning."""
        self._held = list(held)
        """Ids of the client's messages in the client's order, as of the request or of the last snapshot."""
        self.in_sync = in_sync
        self.restated = False
        """A snapshot was sent in this run."""
        self.began = False
        self.touched = False
        """A node wrote messages in this run."""
        self.latest: Sequence[BaseMessage] = ()
        """The thread's messages after the last step, live."""

    def begin(self, messages: Sequence[BaseMessage]) -> None:
        """The thread's messages after the request was applied."""
        self.began = True
        self.latest = messages
        # Thousands of them, and two passes per turn: the loops run in C.
        self._before = list(messages)
        self._contents = list(map(_content, messages))
        self._ids = list(map(_id, messages))
        self._base = {message_id: n for n, message_id in enumerate(self._ids) if message_id}

    # ------------------------------------------------------------------ telling

    def tell(self, message_id: str, run: NativeRun, message: BaseMessage | None = None) -> None:
        """A message is being streamed, or (with `message`) was."""
        told = self._told.get(message_id)
        if told is None:
            told = self._told[message_id] = Told(None, run, run.owner)
        if message is not None:
            told.message, told.content, told.calls = message, message.content, calls_made(message)
            told.shown = tool_content(message) if isinstance(message, ToolMessage) else None

    def show(self, message_id: str, run: NativeRun) -> None:
        """The first text or call of a message was told: there the client puts it, however long its model had reasoned
        while others answered."""
        told = self._told.pop(message_id, None)
        self._told[message_id] = told or Told(None, run, run.owner)

    def think(self, message_id: str, run: NativeRun, message: BaseMessage) -> None:
        """The model ended without an answer: its message is not shown, but for the reasoning that was told."""
        self._told.pop(message_id, None)
        self._thoughts[message_id] = Told(message, run, run.owner)

    def lose(self, message_id: str) -> None:
        """The model failed: what was told of this message is not going to be stored."""
        if message_id in self._told:
            self._told[message_id].lost = True

    def is_lost(self, message_id: str) -> bool:
        """The model of this message failed."""
        return message_id in self._told and self._told[message_id].lost

    @property
    def lost_any(self) -> bool:
        """Something was told that no graph keeps."""
        return any(told.lost for told in self._told.values())

    def says(self, text: str) -> bool:
        """The client was told this text: by one message, or by all of this run's together."""
        told = [getattr(t.message, "text", "") for t in self._told.values() if t.message is not None]
        return text in told or text == "".join(told)

    def add_foreign(self, messages: Iterable[Message]) -> None:
        """What a subagent said: no thread stores it, every snapshot restates it."""
        self._foreign.update((m.id, m) for m in messages)

    def hide(self, message_id: str) -> None:
        """A model's message that was not streamed on purpose; if the graph stores it, it arrives with a snapshot."""
        self._hidden.add(message_id)

    def is_told(self, message_id: str) -> bool:
        """The message was streamed in this run."""
        return message_id in self._told

    @property
    def any_told(self) -> bool:
        """Anything was streamed in this run."""
        return bool(self._told)

    def is_hidden(self, message_id: str) -> bool:
        """The message was kept silent on purpose."""
        return message_id in self._hidden

    def holds(self, message_id: str) -> bool:
        """The thread held a message of this id before the run."""
        return message_id in self._base

    def holds_result(self, message_id: str) -> bool:
        """The client knew this tool's message before the run, or had it from a snapshot. A placeholder is no result:
        the real one may come under its id."""
        if (position := self._base.get(message_id)) is not None:
            return is_shown(self._before[position])
        return message_id in self._nested or message_id in self._foreign

    # ------------------------------------------------------------------ comparing

    def judge(self, message: BaseMessage) -> Judgement:
        """What it means that a node wrote this message."""
        if isinstance(message, RemoveMessage):
            known = message.id in self._base or message.id in self._told or message.id == "__remove_all__"
            return Judgement.CHANGED if known else Judgement.KNOWN
        message_id = message.id or ""
        if message_id in self._thoughts:
            return Judgement.KNOWN
        if (told := self._told.get(message_id)) is not None:
            return Judgement.KNOWN if told.still(message) else Judgement.CHANGED
        if (position := self._base.get(message_id)) is not None:
            return Judgement.KNOWN if self._unchanged(message, position) else Judgement.CHANGED
        if (paused := self._nested.get(message_id)) is not None:
            return Judgement.KNOWN if same_message(paused, message) else Judgement.CHANGED
        return Judgement.NEW

    def orphans(self, run: NativeRun, written: Iterable[BaseMessage]) -> bool:
        """Something streamed inside this node is not among what it wrote: it rebuilt its answer, or dropped it."""
        ids = {m.id for m in written}
        return any(
            told.owner is None and message_id not in ids and (told.run is run or run in told.run.ancestors())
            for message_id, told in self._told.items()
        )

    def differs(self) -> bool:
        """The client's messages are not the thread's. Decided by identity; costs microseconds per thousand messages."""
        if not self.in_sync:
            return True
        own = {message_id: told for message_id, told in self._told.items() if told.owner is None}
        final = self.latest
        if not self.touched and not own:
            return bool(self._nested)
        if not self._begins_as_before(final):
            return True
        tail = [m for m in final[len(self._ids) :] if is_shown(m)]
        told = own.keys() | self._nested.keys()
        if {m.id for m in tail} != told or len(tail) != len(told):
            return True
        if any(self.judge(m) is not Judgement.KNOWN for m in tail):
            return True
        if not self._nested:
            return _grouped(tail) != _grouped(self._told_order(own))
        stored = {m.id: m for m in final if is_shown(m)}
        return _grouped(stored.values()) != _grouped(stored[i] for i in self._client_order() if i in stored)

    def _told_order(self, own: Mapping[str, Told]) -> list[BaseMessage]:
        """What was told, in the client's order: a result goes behind its call and the results there."""
        order: list[BaseMessage] = []
        makers: dict[str | None, BaseMessage] = {}
        for told in own.values():
            message = told.message
            if message is None:
                continue
            makers.update((call["id"], message) for call in calls_made(message))
            at = len(order)
            if isinstance(message, ToolMessage):
                maker = makers.get(message.tool_call_id)
                at = next((n for n, m in enumerate(order) if m is maker), -1) + 1
                while at < len(order) and isinstance(order[at], ToolMessage):
                    at += 1
            order.insert(at, message)
        return order

    def _begins_as_before(self, final: Sequence[BaseMessage]) -> bool:
        """The messages of the beginning are still the first, and the same."""
        if len(final) < len(self._ids):
            return False
        if all(map(is_, final, self._before)) and all(map(is_, map(_content, final), self._contents)):
            return True
        return all(
            message.id == message_id and self._unchanged(message, position)
            for position, (message, message_id) in enumerate(zip(final, self._ids, strict=False))
        )

    def _unchanged(self, message: BaseMessage, position: int) -> bool:
        before = self._before[position]
        if message is before:
            return message.content is self._contents[position]
        return same_message(before, message)

    # ------------------------------------------------------------------ snapshots

    def unnest(self) -> None:
        """The run ended: what paused subgraphs held and the thread did not get is not part of the conversation."""
        if not self._nested:
            return
        kept = {m.id for m in self.latest}
        if any(message_id not in kept for message_id in self._nested):
            self.in_sync = False
            self._nested = {i: m for i, m in self._nested.items() if i in kept}

    def snapshot(self, keep: Callable[[NativeRun], bool], unsaid: Sequence[BaseMessage] = ()) -> list[Message]:
        """The conversation as the client shall hold it. `keep` says of the run that told a message whether the message
        counts although the thread's own list does not have it: its node still runs, or the subgraph that stored it is
        paused."""
        ids = {m.id for m in self.latest}
        inner = [m for message_id, m in self._nested.items() if message_id not in ids]
        told = {**self._told, **self._thoughts}
        inner += [t.message for t in self._unstored(told, ids, keep).values() if t.message is not None]
        # Whole, since a message that is not shown may have reasoning that is.
        own = to_agui([*self.latest, *inner, *unsaid], declared=self._declared, reasoning=self._reasoning)
        taken = {m.id for m in own}
        return [*own, *(m for m in self._foreign.values() if m.id not in taken)]

    def prelude(self, messages: Sequence[Message]) -> list[Message] | None:
        """What to send before this snapshot, if the client would else show it in another order; None if it would not.

        A client keeps the messages it holds where they are and appends the others (AG-UI 1.0 §11). So messages that
        must move are taken away first.
        """
        own = [m for m in messages if m.subagent_run_id is None and m.role != "reasoning"]
        wanted = [m.id for m in own]
        known = set(wanted)
        shown = [i for i in self._client_order() if i in known]
        present = set(shown)
        if shown + [i for i in wanted if i not in present] == wanted:
            return None
        right = 0
        while right < len(shown) and shown[right] == wanted[right]:
            right += 1
        keep = set(wanted[:right])
        return [m for m in messages if m.id in keep or m.subagent_run_id is not None]

    def _client_order(self) -> list[str]:
        """Ids of the client's messages in its order: a result goes behind its call and the results there, others to the
        end."""
        order = list(self._held)
        seen = set(order)
        holders: dict[str | None, str] = {}
        results: set[str] = set()
        streamed = (told.message for told in self._told.values() if told.message is not None)
        for message in (*self.latest, *streamed):
            for call in calls_made(message):
                if call["id"] and message.id:
                    holders[call["id"]] = message.id
            if message.type == "tool" and message.id:
                results.add(message.id)
        for message_id, told in self._told.items():
            if message_id in seen:
                continue
            holder = holders.get(getattr(told.message, "tool_call_id", ""), "")
            if holder in seen:
                at = order.index(holder) + 1
                while at < len(order) and order[at] in results:
                    at += 1
                order.insert(at, message_id)
            else:
                order.append(message_id)
            seen.add(message_id)
        return order

    def accept(self, messages: Sequence[Message], keep: Callable[[NativeRun], bool]) -> None:
        """That snapshot was sent: it is what the client holds now."""
        self.in_sync = self.restated = True
        self._held = [m.id for m in messages]
        self.begin(self.latest)
        self._told = self._unstored(self._told, self._base.keys(), keep)
        self._thoughts = self._unstored(self._thoughts, self._base.keys(), keep)
        self._nested = {i: m for i, m in self._nested.items() if i not in self._base}

    def _unstored(
        self, told: Mapping[str, Told], ids: Collection[str | None], keep: Callable[[NativeRun], bool]
    ) -> dict[str, Told]:
        return {i: t for i, t in told.items() if t.owner is None and i not in ids and keep(t.run)}


def _grouped(messages: Iterable[BaseMessage]) -> list[object]:
    """Ids in order, but for results that stand together: parallel tools end in any order; each stands by its call."""
    groups: list[Any] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not groups or not isinstance(groups[-1], set):
                groups.append(set())
            groups[-1].add(message.id)
        else:
            groups.append(message.id)
    return groups


def same_message(one: BaseMessage | None, other: BaseMessage) -> bool:
    """The client would show both alike."""
    if one is other:
        return True
    if one is None:
        return False
    return one.content == other.content and _answered(one) == _answered(other) and _calls(one) == _calls(other)


def _answered(message: BaseMessage) -> tuple[str, str] | None:
    return (message.tool_call_id, message.status) if isinstance(message, ToolMessage) else None


def _calls(message: BaseMessage) -> list[tuple[Any, Any, Any]]:
    if not isinstance(message, AIMessage):
        return []
    calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    return [(call.get("id"), call.get("name"), call.get("args")) for call in calls]
