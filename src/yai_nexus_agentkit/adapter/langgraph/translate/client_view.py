"""Pure. The messages that the client holds, compared with the thread's.

The thread's messages are never converted or compared as a whole: list elements keep their identity through a run, so
the identity of the elements and of their content objects shows what a run changed. A snapshot costs as much as the
thread is long, and is made only when the client's messages really differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from operator import attrgetter, is_
from typing import Any

from ag_ui.core import AssistantMessage, Message
from ag_ui.core import ToolMessage as ShownResult
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.messages.answer import is_derived
from yai_nexus_agentkit.adapter.langgraph.messages.content import calls_of
from yai_nexus_agentkit.adapter.langgraph.messages.convert import Conversion, is_shown
from yai_nexus_agentkit.adapter.langgraph.request.plan import Known
from yai_nexus_agentkit.adapter.langgraph.translate.sent import Sent, alike, said
from yai_nexus_agentkit.adapter.native_run import NativeRun
from yai_nexus_agentkit.protocol.calls import ThreadCalls
from yai_nexus_agentkit.protocol.lifecycle import RunLifecycle

__all__ = ["ClientView", "Judgement", "Keep"]

_id, _content = attrgetter("id"), attrgetter("content")
Keep = Callable[[NativeRun], bool]
"""Whether a message from this run counts although the thread's own list lacks it: its node still runs, or the subgraph
that stored it is paused."""
Graphs = Callable[[Sequence[str]], NativeRun | None]
"""The subgraph of a namespace that has not ended."""


class Judgement(Enum):
    """A message that a node wrote, compared with what the client holds."""

    KNOWN = "known"
    NEW = "new"
    CHANGED = "changed"


class ClientView:
    """The messages of one run: the thread's at its beginning, those streamed since, and what only the client holds.

    `form`: as of `Conversion`. `shares`: nobody changes the messages of a snapshot, so the next one may have the same.
    """

    def __init__(self, known: Known, life: RunLifecycle, form: Mapping[str, Any], *, shares: bool) -> None:
        self._life, self._form = life, form
        self._conversion = Conversion(form) if shares else None
        self._foreign: dict[str, Message] = {m.id: m for m in known.request if m.subagent_run_id is not None}
        self._nested: dict[str, BaseMessage] = {m.id: m for m in known.nested if m.id}
        """Messages of paused subgraphs. The thread's own list gets them when the subgraph ends."""
        self._inside: dict[Sequence[str], Any] = {}
        """The newest values of each subgraph, by its namespace. Some of them may have ended."""
        self._most = 8  # of them; with more, the ended ones are let go
        self._held = list(map(_id, known.request))
        """Ids of the client's messages in the client's order, as of the request or of the last snapshot."""
        self._drift: str | None = None if known.in_sync else "the request has messages that the thread lacks"
        """Why the client's messages are not the thread's, if something is known that only a snapshot corrects."""
        self._before: list[BaseMessage] = []
        self._contents: list[Any] = []
        """The thread's messages at the beginning, and their contents: nodes may edit messages in place."""
        self._ids: list[str | None] = []
        self._base: dict[str, int] = {}
        """Position by id."""
        self._sent: dict[str, Sent] = {}
        self._made_in: dict[NativeRun, list[str]] = {}
        """Ids of the agent's own messages that were streamed inside a run."""
        self._thoughts: dict[str, Sent] = {}
        """Messages of this run that are nothing but reasoning."""
        self._hidden: set[str] = set()
        self._written = False
        """A node wrote messages in this run."""
        self.restated = False
        """A snapshot was sent in this run."""
        self.began = False
        self.latest: Sequence[BaseMessage] = ()
        """The thread's messages after the last step, live. Set by `begin` and `stepped`."""

    def begin(self, messages: Sequence[BaseMessage]) -> None:
        """The thread's messages after the request was applied."""
        self.began = True
        self.latest = messages
        # Thousands of them, and two passes per turn: the loops run in C.
        self._before = list(messages)
        self._contents = list(map(_content, messages))
        self._ids = list(map(_id, messages))
        self._base = {message_id: n for n, message_id in enumerate(self._ids) if message_id}

    def stepped(self, messages: Sequence[BaseMessage]) -> None:
        """The thread's messages after a superstep."""
        self.latest = messages

    def node_wrote(self) -> None:
        """A node wrote messages."""
        self._written = True

    def drifted(self, why: str) -> None:
        """The client's messages differ from the thread's in a way that only a snapshot corrects."""
        self._drift = why

    # ------------------------------------------------------------------ what is sent

    def sent(
        self, message_id: str, run: NativeRun, message: BaseMessage | None = None, *, speaker: str | None = None
    ) -> None:
        """Something of a message was sent, or (with `message`) all of it. `speaker`: the name that it was sent with."""
        if message_id not in self._sent:
            self._add(message_id, run)
        if message is not None:
            self._sent[message_id].complete(message, speaker)

    def _add(self, message_id: str, run: NativeRun) -> None:
        self._sent[message_id] = Sent(run)
        for around in (run, *run.ancestors()) if run.owner is None else ():
            self._made_in.setdefault(around, []).append(message_id)

    def placed(self, message_id: str, run: NativeRun) -> None:
        """The first text or call of a message was sent. The client puts it behind all others, however long its model
        had reasoned while others answered."""
        if message_id in self._sent:
            self._sent[message_id] = self._sent.pop(message_id)
        else:
            self._add(message_id, run)

    def reasoned(self, message_id: str, run: NativeRun, message: BaseMessage) -> None:
        """The model ended without an answer: nothing of its message is shown but the reasoning."""
        self._sent.pop(message_id, None)
        self._thoughts[message_id] = Sent(run, message)

    def lost(self, message_id: str) -> None:
        """The model failed. No graph will store what was sent of this message."""
        if message_id in self._sent:
            self._sent[message_id].lost = True

    def kept_silent(self, message_id: str) -> None:
        """A model's message was not streamed on purpose. If the graph stores it, a snapshot brings it."""
        self._hidden.add(message_id)

    def add_foreign(self, messages: Iterable[Message]) -> None:
        """Messages of a subagent. No thread stores them; every snapshot restates them."""
        self._foreign.update((m.id, m) for m in messages)

    def stepped_inside(self, namespace: Sequence[str], values: Any, graphs: Graphs) -> None:
        """The values of a subgraph after a superstep."""
        if len(self._inside) > self._most and namespace not in self._inside:
            self._inside = {one: held for one, held in self._inside.items() if graphs(one) is not None}
            self._most = 2 * len(self._inside) + 8
        self._inside[namespace] = values

    def inside(self, graphs: Graphs) -> Iterator[tuple[NativeRun, BaseMessage]]:
        """The answers and results that paused subgraphs hold and the thread does not. No thread has those of
        subagents."""
        known = {m.id for m in self.latest}
        for namespace, values in self._inside.items():
            graph = graphs(namespace)
            if graph is None or graph.owner is not None or not isinstance(values, Mapping):
                continue
            found = values.get("messages")
            for message in found if isinstance(found, list) else ():
                if isinstance(message, AIMessage | ToolMessage) and message.id and message.id not in known:
                    yield graph, message
                    self._nested[message.id] = message

    def thread_calls(self) -> ThreadCalls:
        """The calls of the thread as a snapshot names them now. Takes time with the thread's length."""
        return calls_of(self.latest, foreign=self._foreign.values())

    # ------------------------------------------------------------------ what is known of a message

    def is_lost(self, message_id: str) -> bool:
        return message_id in self._sent and self._sent[message_id].lost

    @property
    def lost_any(self) -> bool:
        return any(sent.lost for sent in self._sent.values())

    def is_sent(self, message_id: str) -> bool:
        """The message was streamed in this run."""
        return message_id in self._sent

    @property
    def sent_any(self) -> bool:
        return bool(self._sent)

    def is_silent(self, message_id: str) -> bool:
        """The message was not streamed on purpose."""
        return message_id in self._hidden

    def says(self, text: str) -> bool:
        """One message of this run is this text, or all of them together."""
        texts = [getattr(sent.message, "text", "") for sent in self._sent.values() if sent.message is not None]
        return text in texts or text == "".join(texts)

    def holds(self, message_id: str) -> bool:
        """The thread held a message of this id before the run."""
        return message_id in self._base

    def holds_result(self, message_id: str) -> bool:
        """The client had this tool message before the run, or got it with a snapshot. A placeholder is not a result:
        the real one may come under its id."""
        if (position := self._base.get(message_id)) is not None:
            return is_shown(self._before[position])
        return message_id in self._nested or message_id in self._foreign

    def judge(self, message: BaseMessage) -> Judgement:
        """Compare a message that a node wrote with what the client holds."""
        message_id = message.id or ""
        if isinstance(message, RemoveMessage):
            known = message_id in self._base or message_id in self._sent or message_id == "__remove_all__"
            return Judgement.CHANGED if known else Judgement.KNOWN
        if message_id in self._thoughts:
            return Judgement.KNOWN
        if (sent := self._sent.get(message_id)) is not None:
            same = sent.still(message)
        elif (position := self._base.get(message_id)) is not None:
            same = self._unchanged(message, position)
        elif (paused := self._nested.get(message_id)) is not None:
            same = alike(paused, message)
        else:
            return Judgement.NEW
        return Judgement.KNOWN if same else Judgement.CHANGED

    def orphans(self, run: NativeRun, written: Iterable[BaseMessage]) -> bool:
        """A message streamed inside this node is not among what the node wrote: it rebuilt its answer, or dropped
        it."""
        made = self._made_in.get(run)
        return made is not None and not {m.id for m in written}.issuperset(i for i in made if i in self._sent)

    # ------------------------------------------------------------------ the whole conversation

    def differs(self) -> bool:
        """The client's messages are not the thread's. Decided by identity; costs microseconds per thousand messages."""
        if self._drift is not None:
            return True
        own = {message_id for message_id, sent in self._sent.items() if sent.run.owner is None}
        final = self.latest
        if not self._written and not own:
            return bool(self._nested)
        if not self._begins_as_before(final):
            return True
        tail = [m for m in final[len(self._ids) :] if is_shown(m)]
        sent = own | self._nested.keys()
        if {m.id for m in tail} != sent or len(tail) != len(sent):
            return True
        if any(self.judge(m) is not Judgement.KNOWN or self._is_misnamed(m) for m in tail):
            return True
        stored = [m.id for m in (final if self._nested else tail) if is_shown(m)]
        results = {call.result for call in self._life.calls if call.result is not None}
        kept = set(stored)
        shown = [i for i in self._client_order(self._held if self._nested else ()) if i in kept]
        return _grouped(stored, results) != _grouped(shown, results)

    def _is_misnamed(self, message: BaseMessage) -> bool:
        """The text was sent under another name. A message of calls alone has no place for one."""
        sent = self._sent.get(message.id or "")
        if sent is None or message.type != "ai" or (message.name or None) == sent.speaker:
            return False
        return bool(message.text)

    def _client_order(self, held: Iterable[str]) -> list[str]:
        """Ids of the client's messages in its order: what it held, then what was sent. A result comes after its call
        and the results there, others at the end."""
        behind = {call.result: call.maker for call in self._life.calls if call.result is not None}
        order = dict.fromkeys(held)
        if not behind:
            return list(order | dict.fromkeys(self._sent))
        answers: dict[str, list[str]] = {}
        for message_id in self._sent:
            if (maker := behind.get(message_id)) in order and message_id not in order:
                answers.setdefault(maker, []).append(message_id)
            else:
                order[message_id] = None
        placed: list[str] = []
        waiting: list[str] = []
        for message_id in order:
            if message_id not in behind:
                placed += waiting
                waiting = []
            placed.append(message_id)
            waiting += answers.get(message_id, ())
        return placed + waiting

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
        return alike(before, message)

    def forget_nested(self) -> None:
        """The run ended. Messages of paused subgraphs that the thread did not get are not part of the conversation."""
        if not self._nested:
            return
        kept = {m.id for m in self.latest}
        if any(message_id not in kept for message_id in self._nested):
            self.drifted("the thread did not get what a subgraph held")
            self._nested = {i: m for i, m in self._nested.items() if i in kept}

    def snapshot(self, keep: Keep, unsaid: Sequence[BaseMessage] = (), without: Collection[Any] = ()) -> list[Message]:
        """The conversation that the client should hold, except for messages with the ids `without`."""
        ids = {m.id for m in self.latest}
        inner = [m for message_id, m in self._nested.items() if message_id not in ids]
        sent = {**self._sent, **self._thoughts}
        ids |= self._nested.keys()
        inner += [one.message for one in _unstored(sent, ids, keep).values() if one.message is not None]
        # Whole, since a message that is not shown may have reasoning that is.
        messages = [*(m for m in self.latest if m.id not in without), *inner, *unsaid]
        conversion = self._conversion or Conversion(self._form)
        own = conversion.of(messages, self._foreign.values())
        taken = {m.id for m in own}
        return [*own, *(m for m in self._foreign.values() if m.id not in taken)]

    def prelude(self, messages: Sequence[Message]) -> list[Message] | None:
        """A snapshot to send before this one, if the client would else show it in another order.

        A client keeps the messages it holds where they are and appends the others (AG-UI 1.0 §11). So messages that
        must move are taken away first.
        """
        wanted = [m.id for m in messages if m.subagent_run_id is None and not is_derived(m)]
        known = set(wanted)
        shown = [i for i in self._client_order(self._held) if i in known]
        present = set(shown)
        if shown + [i for i in wanted if i not in present] == wanted:
            return None
        right = 0
        while right < len(shown) and shown[right] == wanted[right]:
            right += 1
        keep = set(wanted[:right])
        kept = [m for m in messages if m.id in keep]
        calls = {c.id for m in kept if isinstance(m, AssistantMessage) for c in m.tool_calls or ()}
        keep |= {m.id for m in messages if isinstance(m, ShownResult) and m.tool_call_id in calls and is_derived(m)}
        return [m for m in messages if m.id in keep or m.subagent_run_id is not None]

    def stored_otherwise(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Facts about a snapshot. ``renamed``: the answers that were streamed and stand there under another id, by the
        streamed one: a provider named its id late, or a node wrote a message of its own with the text. ``rewritten``:
        the ids of those that have another text than was streamed."""
        own = {i: one for i, one in self._sent.items() if one.run.owner is None}
        if not own:
            return {}
        ids, held = set(map(_id, messages)), list(map(_id, self.latest))
        fresh = ids.intersection(held) - self._base.keys()
        stored = {i: m for i, m in zip(held, self.latest, strict=True) if i in fresh}
        new: dict[Any, list[BaseMessage]] = {}
        for message_id, message in reversed(stored.items()):
            if message_id not in own and (words := said(message)) is not None:
                new.setdefault(words, []).append(message)
        renamed: dict[str, str] = {}
        lost = False
        for streamed, one in own.items():
            if streamed not in ids and (same := new.get(said(one.message))):
                renamed[streamed] = same.pop().id or ""
            elif streamed not in ids:
                lost = lost or bool(one.text)
        others = (message for left in new.values() for message in left if lost and message.text)
        rewritten = [i for i, m in stored.items() if i in own and own[i].text not in ("", str(m.text))]
        rewritten += [m.id or "" for m in others]
        return {k: v for k, v in (("renamed", renamed), ("rewritten", rewritten)) if v}

    def accept(self, messages: Sequence[Message], keep: Keep) -> None:
        """That snapshot was sent: it is what the client holds now."""
        self._drift, self.restated = None, True
        self._held = list(map(_id, messages))
        self.begin(self.latest)
        self._sent = _unstored(self._sent, self._base.keys(), keep)
        self._thoughts = _unstored(self._thoughts, self._base.keys(), keep)
        self._nested = {i: m for i, m in self._nested.items() if i not in self._base}


def _unstored(sent: Mapping[str, Sent], ids: Collection[str | None], keep: Keep) -> dict[str, Sent]:
    return {i: one for i, one in sent.items() if one.run.owner is None and i not in ids and keep(one.run)}


def _grouped(ids: Iterable[str | None], results: Collection[str | None]) -> list[object]:
    """Ids in order. Results that follow each other are sorted: parallel tools end in any order."""
    groups: list[Any] = []
    for message_id in ids:
        if message_id in results:
            if not groups or not isinstance(groups[-1], set):
                groups.append(set())
            groups[-1].add(message_id)
        else:
            groups.append(message_id)
    return groups
