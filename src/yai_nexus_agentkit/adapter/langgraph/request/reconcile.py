"""Compares the request's messages with the thread's, by id (AG-UI 1.0 §17): what is new, what the client lacks, and
whether the user went back.

Clients send the whole history every time; the thread is the truth. Only what the user did is taken from the request:
new user and system messages, results of the client's own tools, edits of user messages, and cuts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.messages.answer import own_messages
from yai_nexus_agentkit.adapter.langgraph.messages.content import calls_of, give_result, message_id
from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, was_fetched
from yai_nexus_agentkit.adapter.langgraph.messages.metadata import is_marked, is_users, withheld
from yai_nexus_agentkit.adapter.langgraph.messages.to_langchain import to_langchain
from yai_nexus_agentkit.adapter.langgraph.request.alike import alike, repeats, same_content, text_of, was_saved_as
from yai_nexus_agentkit.errors import NoToolResultsError, RunInputError
from yai_nexus_agentkit.orchestration.client_tools import is_pending
from yai_nexus_agentkit.protocol.calls import Call, ThreadCalls

__all__ = ["Reconciliation", "completed", "message_roles", "open_calls", "reconcile", "stray_result", "unanswered"]

_logger = logging.getLogger(__name__)

_UNANSWERED = "There is no result: the conversation went on before one came. The call may have had an effect."
"""A model reads this as the result of a call that nobody answered; providers refuse a call without result."""
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "system": "system"}
_id, _role = attrgetter("id"), attrgetter("role")
_INSTRUCTIONS = ("system", "developer")
_TAKEN = ("user", "tool", *_INSTRUCTIONS)
"""Roles of the messages that a client may add."""


def _is_taken(message: Message) -> bool:
    """A client may add this message: what middleware wrote is the thread's alone."""
    return message.role in _TAKEN and not is_marked(message)


@dataclass(slots=True)
class Reconciliation:
    """The meaning of a request's messages."""

    append: list[BaseMessage] = field(default_factory=list)
    """New messages in an order that providers accept: results of open calls first."""
    error_results: list[ToolMessage] = field(default_factory=list)
    """Those of `append` that were made for calls nobody answered."""
    fork: str | None = None
    """Id of the thread's user message that the user edited, repeated or went back behind; the thread restarts before
    it."""
    lacking: bool = False
    """The thread holds messages that the request lacks or has otherwise."""
    surplus: bool = False
    """The request holds messages that the thread does not, and will not."""
    late: bool = False
    """A whole history whose only news is a result that was left out: the call has one, and was dealt with."""
    strange: frozenset[str] = frozenset()
    """Of a request that forks: ids of its newest assistant messages, if the thread lacks them. Another branch may have
    them."""
    texts: dict[str, str] = field(default_factory=dict)
    """Texts that the client was sent, by message id, where a saver could not store them as they were."""
    masked: dict[str, BaseMessage] = field(default_factory=dict)
    """The thread's own, by id, of messages that came back as clients are shown them: redacted, or with URLs in place of
    fetched files. That is not what a repeated message says."""

    @property
    def given(self) -> list[BaseMessage]:
        """The messages of `append` that the client sent. Compared by id: comparing messages takes long."""
        made = {m.id for m in self.error_results}
        return [m for m in self.append if m.id is None or m.id not in made]

    def with_results(self, calls: ThreadCalls) -> ThreadCalls:
        """The calls, with the results that the client brings."""
        for message in self.given:
            if isinstance(message, ToolMessage):
                give_result(calls, message, message.id or "")
        return calls


def reconcile(
    request: Sequence[Message],
    thread: Sequence[BaseMessage],
    calls: ThreadCalls,
    *,
    resuming: bool,
    is_clients: Callable[[Call], bool],
    paused: bool = False,
    redacted: Mapping[str, Message] | None = None,
) -> Reconciliation:
    """Compare a request with a thread that has messages.

    `resuming`: the request answers questions, so nothing is cut or edited. `is_clients`: a call is of a tool that the
    client runs, so its result may come from the client. `paused`: the thread waits for answers, so its last user
    message has not been dealt with and repeating it is no wish to go back. `redacted`: the thread's messages by id as
    the application lets clients see them, where it redacts them. What comes back like that is no edit, what it holds
    beyond the thread is not new, and what it lacks nobody can send back.
    """
    stored = [m for m in thread if is_shown(m)]
    own = [m for m in own_messages(request) if m.subagent_run_id is None]
    shown = stored
    if redacted is not None:
        ids = {m.id for m in stored}
        own = [m for m in own if m.id in ids or m.id not in redacted]
        sent = {m.id for m in own}
        shown = [m for m in stored if m.id in redacted or m.id in sent]
    compared = _Comparison(own, shown, calls, redacted)
    found = compared.found
    if not resuming and compared.known:
        found.fork = compared.fork(paused=paused)
    if found.fork is not None:
        before = stored[: next(n for n, m in enumerate(stored) if m.id == found.fork)]
        tail, changed = compared.tail(found.fork)
        new = _News(own, tail, before, {m.id for m in before}, calls_of(before), is_clients)
    else:
        tail, changed = compared.fresh(), compared.changed
        compared.judge(tail)
        ids = set(map(_id, thread))
        if len(stored) < len(thread):
            ids -= {m.id for m in thread if is_pending(m)}
        new = _News(own, tail, thread, ids, calls, is_clients)
    new.compose(found, changed)
    return found


class _Comparison:
    """A request's messages against those that the client could have of the thread."""

    def __init__(
        self,
        own: Sequence[Message],
        shown: Sequence[BaseMessage],
        calls: ThreadCalls,
        redacted: Mapping[str, Message] | None,
    ) -> None:
        self._own, self._shown = own, shown
        self._at = {own_id: n for n, own_id in enumerate(map(_id, shown)) if own_id}
        self.found = Reconciliation()
        places = list(map(self._at.get, map(_id, own)))
        self.known = [n for n, place in enumerate(places) if place is not None]
        """Places of the thread's messages in the request."""
        self._differing: list[tuple[Message, BaseMessage]] = []
        """Messages that the client has otherwise, and not because they were redacted or could not be stored."""
        for message, place in zip(own, places, strict=True):
            if place is None:
                continue
            held = shown[place]
            if alike(message, held, calls):
                if held.additional_kwargs and was_fetched(held):
                    self.found.masked[message.id] = held
                continue
            if redacted is not None and repeats(message, redacted.get(message.id)):
                self.found.masked[message.id] = held
            elif was_saved_as(message, held, calls):
                self.found.texts[message.id] = text_of(message.content) or ""
            else:
                self._differing.append((message, held))

    @property
    def changed(self) -> list[Message]:
        """Instructions that say something else now. An id is replaced by the same kind of message only."""
        return [m for m, held in self._differing if m.role in _INSTRUCTIONS and held.type == "system"]

    def fork(self, *, paused: bool) -> str | None:
        """The user message to restart before; None for a request that just goes on, or shows only the newest
        messages."""
        for message, held in self._differing:
            if message.role == "user" and is_users(held) and not same_content(message, held):
                return held.id
        last = self._own[-1]
        if last.role == "user" and last.id in self._at and is_users(self._shown[self._at[last.id]]):
            after = self._shown[self._at[last.id] + 1 :]
            waiting = paused and not any(map(is_users, after))
            return None if waiting else last.id
        if not self.fresh():
            return None  # nothing new: a page that is behind, or a cut that waits for the next message
        newest = self._at[self._own[self.known[-1]].id]
        return next((held.id for held in self._shown[newest + 1 :] if is_users(held)), None)

    def fresh(self) -> list[Message]:
        """The messages that the user added: all after the last known one, or, if none is known, after the last
        answer."""
        last = self.known[-1] if self.known else -1
        if last < 0:
            last = max((n for n, m in enumerate(self._own) if m.role == "assistant"), default=-1)
        return list(filter(_is_taken, self._own[last + 1 :]))

    def tail(self, fork: str) -> tuple[list[Message], list[Message]]:
        """Of a request that goes back: the edited or repeated message with what the request has after it, and the
        changed instructions before it."""
        start = self._at[fork]
        before = {m.id for m in self._shown[:start]}
        position = next((n for n, m in enumerate(self._own) if m.id == fork), None)
        if position is None:
            position = max((n for n, m in enumerate(self._own) if m.id in before), default=-1) + 1
        kept = {m.id for m in self._own[:position]}
        self.found.lacking = any(m.id not in kept for m in self._shown[:start])
        self.found.surplus = True  # what the client holds of the old branch is not part of the new one
        answers = [m.id for m in self._own if m.role == "assistant"]
        shared = max((n for n, own in enumerate(answers) if own in self._at), default=-1)  # the graph took out others
        self.found.strange = frozenset(answers[shared + 1 :])
        changed = [m for m in self.changed if m.id in before and m.id in kept]
        return list(filter(_is_taken, self._own[position:])), changed

    def judge(self, fresh: Iterable[Message]) -> None:
        """Whether the client lacks messages, or has too many."""
        new, changed = {m.id for m in fresh}, {m.id for m in self.changed}
        extra = len(self.known) + len(new) < len(self._own)
        surplus = [m for m in self._own if m.id not in self._at and m.id not in new] if extra else []
        self.found.surplus = bool(surplus)
        self.found.lacking = (
            len(self.known) < len(self._shown)
            or any(m.id not in changed for m, _ in self._differing)
            # The calls of a message that got lost must go before the model numbers its next ones alike.
            or any(getattr(m, "tool_calls", None) for m in surplus)
        )


class _News:
    """The messages that a request adds to a thread. `ids`: of all the thread's messages, which nothing new may have."""

    def __init__(
        self,
        own: Sequence[Message],
        fresh: Sequence[Message],
        before: Sequence[BaseMessage],
        ids: set[str | None],
        calls: ThreadCalls,
        is_clients: Callable[[Call], bool],
    ) -> None:
        self._own, self._before, self._ids, self._calls, self._is_clients = own, before, ids, calls, is_clients
        self._fresh = [m for m in fresh if m.role != "tool" and m.id not in ids]
        self._places = [n for n, own_id in enumerate(map(_id, own)) if own_id not in ids]
        """Places in the request of what the thread lacks."""
        self._results = [m for m in map(own.__getitem__, self._places) if m.role == "tool"]
        """New at any position: pages put them after the call, whatever the thread has there."""

    def compose(self, found: Reconciliation, changed: list[Message]) -> None:
        """Order the new messages: the open calls' results, in call order, then the rest. A call of the turn without
        result gets an error as its result, since providers refuse it otherwise."""
        rest = [found.masked.get(m.id or "", m) for m in to_langchain(self._fresh)]
        given: dict[str, BaseMessage] = {}
        for message in self._results:
            call = self._calls.get(message.tool_call_id)
            if call is None or not call.maker or call.result or call.id in given or not self._is_clients(call):
                found.surplus = True  # a result for a call that is unknown, has one, or is not the client's to answer
                continue
            [result] = to_langchain([message])
            facts = {"tool_call_id": call.given or call.raw, "name": call.name or None}
            given[call.id] = result.model_copy(update=facts)
        results: list[BaseMessage] = []
        if given or rest:
            turn = {call.id for call in open_calls(self._before, self._calls)}
            for call in self._calls.open():
                if call.id in given:
                    results.append(given[call.id])
                elif call.id in turn:
                    found.error_results.append(unanswered(call))
                    results.append(found.error_results[-1])
        found.append = [*to_langchain(changed), *results, *rest]
        found.lacking = found.lacking or self._is_out_of_order([m.id for m in (*results, *rest)])

    def _is_out_of_order(self, stored: Sequence[str | None]) -> bool:
        """The client has the new messages in another order than the thread will."""
        wanted = set(stored)
        asked = [n for n in self._places if self._own[n].id in wanted]
        ids = [self._own[n].id for n in asked]
        known = set(ids)
        if ids != [i for i in stored if i in known]:
            return True
        return bool(asked) and any(m.id in self._ids and m.role != "tool" for m in self._own[asked[0] :])


def open_calls(messages: Sequence[BaseMessage], calls: ThreadCalls | None = None) -> list[Call]:
    """The calls of the turn, which is what follows the last user message, that have no result: in the order in which
    they were made."""
    start = next((n for n in range(len(messages), 0, -1) if is_users(messages[n - 1])), 0)
    makers = {message_id(m, n) for n, m in enumerate(messages[start:], start) if isinstance(m, AIMessage)}
    return [call for call in (calls or calls_of(messages)).open() if call.maker in makers]


def unanswered(call: Call) -> ToolMessage:
    """An error result for a call that nobody answered."""
    made = f"unanswered-{call.maker}-{call.raw}"
    result = ToolMessage(_UNANSWERED, tool_call_id=call.given or call.raw, name=call.name, status="error", id=made)
    return result if call.announced else withheld(result)  # as the call is


def completed(messages: Sequence[BaseMessage], calls: ThreadCalls) -> Reconciliation:
    """A whole history in an order that providers accept: each result comes after the message that made its call, and
    is the only one. Results of other calls are left out. Calls that it leaves open before its last user message get
    error results. Arguments that were cut off are left out."""
    makers = {call.result: call.maker for call in calls if call.maker}
    own = [m for m in messages if not isinstance(m, ToolMessage) or m.id in makers]
    found = Reconciliation(surplus=len(own) < len(messages))
    results: dict[str | None, list[BaseMessage]] = {}
    for message in own:
        if isinstance(message, ToolMessage):
            results.setdefault(makers[message.id], []).append(message)
    asked = max((n for n, m in enumerate(own) if m.type == "human"), default=0)
    earlier = {m.id for m in own[:asked]}
    for call in calls.open():
        if call.maker in earlier:
            found.error_results.append(unanswered(call))
            results.setdefault(call.maker, []).append(found.error_results[-1])
    for message in own:
        if not isinstance(message, ToolMessage):
            found.append += [_readable(message), *results.get(message.id, ())]
    found.lacking = [m.id for m in found.given] != [m.id for m in own]
    last = found.append[-1] if found.append else None
    found.late = found.surplus and isinstance(messages[-1], ToolMessage) and isinstance(last, AIMessage)
    return found


def _readable(message: BaseMessage) -> BaseMessage:
    """The message with calls that every provider takes: some leave out those whose arguments are no object, but not
    their results."""
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    bare = [ToolCall(name=c["name"] or "", args={}, id=c["id"], type="tool_call") for c in message.invalid_tool_calls]
    return message.model_copy(update={"tool_calls": [*message.tool_calls, *bare], "invalid_tool_calls": []})


def message_roles(request: Sequence[Message], held: Sequence[BaseMessage]) -> dict[str, str]:
    roles = dict(zip(map(_id, request), map(_role, request), strict=True))
    if lacking := set(map(_id, held)).difference(roles):
        roles.update((m.id, _ROLES.get(m.type, m.type)) for m in held if m.id and m.id in lacking)
    return roles


def stray_result(request: Sequence[Message], calls: ThreadCalls) -> RunInputError | None:
    """The request ends with the result of a call that neither the thread (`calls`) nor the client knows."""
    own = own_messages(request)
    last = own[-1] if own else None
    if last is None or last.role != "tool" or last.subagent_run_id is not None:
        return None
    made = {call.id for m in own if m.role == "assistant" for call in m.tool_calls or ()}
    call = calls.get(last.tool_call_id)
    if last.tool_call_id in made or (call is not None and call.maker):
        return None
    error = NoToolResultsError(
        "this is the result of a call that nobody made", path=f"/messages/{list(request).index(last)}"
    )
    _logger.warning("%s: %s", error.code, error)
    return error
