"""Pure. The request's messages against the thread's, by id (AG-UI 1.0 §17): what is new, what the client lacks, and
whether the user went back.

Clients send the whole history every time; the thread is the truth. Only what the user did is taken from the request:
new user, tool and system messages, edits of user messages, and cuts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from yai_nexus_agentkit.adapter.langgraph.messages.convert import is_shown, to_agui, to_langchain
from yai_nexus_agentkit.orchestration.client_tools import is_pending
from yai_nexus_agentkit.protocol.json.json_safe import clean_text
from yai_nexus_agentkit.protocol.thread_calls import ThreadCalls

__all__ = ["Reconciliation", "dangling", "holder", "reconcile", "saved_as"]

_UNANSWERED = "There is no result: the conversation went on before one came. The call may have had an effect."
"""What a model is told of a call that nobody answered, or whose turn failed; providers refuse a call without result."""


@dataclass(slots=True)
class Reconciliation:
    """What a request's messages mean."""

    append: list[BaseMessage] = field(default_factory=list)
    """New messages in an order that providers accept: answers of the open calls first."""
    answers: list[ToolMessage] = field(default_factory=list)
    """Those of `append` that were made up for calls nobody answered."""
    fork: str | None = None
    """Id of the thread's user message that the user edited, repeated or went back behind; the thread restarts before
    it."""
    lacking: bool = False
    """The thread holds messages that the request lacks or has otherwise."""
    surplus: bool = False
    """The request holds messages that the thread does not, and will not."""
    strange: frozenset[str] = frozenset()
    """Of a request that forks: ids of its assistant messages that the thread lacks. Another branch may have them."""
    texts: dict[str, str] = field(default_factory=dict)
    """Texts that the client was sent, by message id, where a saver could not store them as they were."""
    masked: dict[str, BaseMessage] = field(default_factory=dict)
    """The thread's own, by id, of messages that came back as the application redacts them: the redacted text is not
    what a repeated message says."""

    @property
    def given(self) -> list[BaseMessage]:
        """What is appended and the client sent; the rest are `answers`. Compared by id: messages take long."""
        made = {m.id for m in self.answers}
        return [m for m in self.append if m.id is None or m.id not in made]

    def unanswered(self, calls: Mapping[str, str], holder: str) -> list[ToolMessage]:
        """Make an error answer for each of these calls (id → tool name) of the message `holder`."""
        made = [
            ToolMessage(_UNANSWERED, tool_call_id=raw, name=name, status="error", id=f"unanswered-{holder}-{raw}")
            for raw, name in calls.items()
        ]
        self.answers += made
        return made

    def with_answers(self, messages: list[BaseMessage], calls: Mapping[str, str]) -> list[BaseMessage]:
        """Answer the calls that a whole history leaves open, behind the message that made them and its results."""
        maker = max(n for n, m in enumerate(messages) if m.type == "ai")
        end = maker + 1
        while end < len(messages) and isinstance(messages[end], ToolMessage):
            end += 1
        return [*messages[:end], *self.unanswered(calls, messages[maker].id or ""), *messages[end:]]


def reconcile(
    request: Sequence[Message],
    thread: Sequence[BaseMessage],
    calls: ThreadCalls,
    *,
    resuming: bool,
    paused: bool = False,
    redacted: Mapping[str, Message] | None = None,
) -> Reconciliation:
    """Compare a request with a thread that has messages.

    `resuming`: the request answers questions, so nothing is cut or edited. `paused`: the thread waits for answers, so
    its last user message has not been dealt with and repeating it is no wish to go back. `redacted`: the thread's
    messages by id as the application lets clients see them, where it redacts them. What comes back like that is no
    edit, what it holds beyond the thread is not new, and what it lacks nobody can send back.
    """
    stored = [m for m in thread if is_shown(m)]
    own = [m for m in request if m.role not in ("reasoning", "activity") and m.subagent_run_id is None]
    shown = stored
    if redacted is not None:
        ids = {m.id for m in stored}
        own = [m for m in own if m.id in ids or m.id not in redacted]
        sent = {m.id for m in own}
        shown = [m for m in stored if m.id in redacted or m.id in sent]
    at = {m.id: n for n, m in enumerate(shown) if m.id}
    found = Reconciliation()
    known = [n for n, m in enumerate(own) if m.id in at]
    last_known = known[-1] if known else -1
    differing = _differing(found, [own[n] for n in known], shown, at, calls, redacted)
    if not resuming and known:
        found.fork = _fork(own, shown, at, known, differing, paused=paused)
    changed = [m for m in differing if m.role in ("system", "developer")]
    if found.fork is not None:
        return _forked(found, own, shown, stored, calls, changed)
    fresh = _fresh(own, last_known)
    found.lacking = len(known) < len(shown) or any(m.role not in ("system", "developer") for m in differing)
    taken = {m.id for m in fresh}
    surplus = [m for m in own if m.id not in at and m.id not in taken]
    found.surplus = bool(surplus)
    # The calls of a message that got lost must go before the model numbers its next ones alike.
    found.lacking = found.lacking or any(getattr(m, "tool_calls", None) for m in surplus)
    _compose(found, fresh, stored, calls, to_langchain(changed))
    return found


def _differing(
    found: Reconciliation,
    messages: Sequence[Message],
    shown: Sequence[BaseMessage],
    at: Mapping[str, int],
    calls: ThreadCalls,
    redacted: Mapping[str, Message] | None,
) -> list[Message]:
    """Those of the client's that are not as the thread has them, nor as the client was told them."""
    differing: list[Message] = []
    for message in messages:
        held = shown[at[message.id]]
        if _alike(message, held, calls):
            continue
        if redacted is not None and _repeats(message, redacted.get(message.id)):
            found.masked[message.id] = held
        elif _is_saved_as(message, held, calls):
            found.texts[message.id] = _text(message.content) or ""
        else:
            differing.append(message)
    return differing


def _forked(
    found: Reconciliation,
    own: Sequence[Message],
    shown: Sequence[BaseMessage],
    stored: Sequence[BaseMessage],
    calls: ThreadCalls,
    changed: Sequence[Message],
) -> Reconciliation:
    """The new tail: the edited or repeated message and what the request has after it. The thread keeps what lies
    before."""
    start = next(n for n, m in enumerate(shown) if m.id == found.fork)
    before = {m.id for m in shown[:start]}
    thread_before = stored[: next(n for n, m in enumerate(stored) if m.id == found.fork)]
    position = next((n for n, m in enumerate(own) if m.id == found.fork), None)
    if position is None:
        position = max((n for n, m in enumerate(own) if m.id in before), default=-1) + 1
    tail = [m for m in own[position:] if m.role in ("user", "tool", "system", "developer")]
    kept = {m.id for m in own[:position]}
    found.lacking = any(m.id not in kept for m in shown[:start])
    found.surplus = True  # what the client holds of the old branch is not part of the new one
    known = {m.id for m in shown}
    found.strange = frozenset(m.id for m in own if m.role == "assistant" and m.id not in known)
    instructions = [m for m in changed if m.id in before and m.id in kept]
    _compose(found, tail, thread_before, calls, to_langchain(instructions))
    return found


def _fork(
    own: Sequence[Message],
    shown: Sequence[BaseMessage],
    at: dict[str, int],
    known: Sequence[int],
    differing: Sequence[Message],
    *,
    paused: bool,
) -> str | None:
    """The user message to restart before; None for a request that just goes on, or shows only the newest messages.
    `known`: where the thread's messages stand in the request. `differing`: those that it shows in another form."""
    for message in differing:
        held = shown[at[message.id]]
        if message.role == "user" and held.type == "human" and not _same_content(message, held):
            return held.id
    final = own[-1]
    if final.role == "user" and final.id in at:
        after = shown[at[final.id] + 1 :]
        waiting = paused and not any(held.type == "human" for held in after)
        return None if waiting else final.id
    if not _fresh(own, known[-1]):
        return None  # nothing new: a page that is behind, or a cut that waits for the next message
    last = at[own[known[-1]].id]
    return next((held.id for held in shown[last + 1 :] if held.type == "human"), None)


def _fresh(own: Sequence[Message], last_known: int) -> list[Message]:
    """What the user added: everything after the last known message; of a request with no known message, what follows
    its last answer."""
    if last_known < 0:
        last_known = max((n for n, m in enumerate(own) if m.role == "assistant"), default=-1)
    return [m for m in own[last_known + 1 :] if m.role in ("user", "tool", "system", "developer")]


def _compose(
    found: Reconciliation,
    fresh: Sequence[Message],
    before: Sequence[BaseMessage],
    calls: ThreadCalls,
    changed: Sequence[BaseMessage],
) -> None:
    """Order the new messages: the open calls' answers, in call order, then the rest. A call without answer gets one
    (providers refuse it)."""
    converted = [found.masked.get(m.id or "", m) for m in to_langchain(list(fresh))]
    given: dict[str, ToolMessage] = {}
    rest: list[BaseMessage] = []
    open_calls = dangling(before)
    for message in converted:
        if isinstance(message, ToolMessage):
            call = calls.get(message.tool_call_id)
            raw = call.raw if call is not None else message.tool_call_id
            if raw in open_calls and raw not in given:
                given[raw] = message.model_copy(update={"tool_call_id": raw, "name": message.name or open_calls[raw]})
            else:
                found.surplus = True  # an answer for a call that is unknown, or has one
        else:
            rest.append(message)
    answers: list[BaseMessage] = []
    if given or rest:
        for raw, name in open_calls.items():
            if raw in given:
                answers.append(given[raw])
            else:
                answers += found.unanswered({raw: name}, holder(before))
    found.append = [*changed, *answers, *rest]
    asked, stored = [m.id for m in converted], [m.id for m in (*answers, *rest)]
    both = set(asked).intersection(stored)
    if [i for i in asked if i in both] != [i for i in stored if i in both]:
        found.lacking = True  # the client has them in another order


def dangling(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Calls of the last AI message that have no tool message: id → tool name, in call order."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and not is_pending(message):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            named = {str(c["id"]): c.get("name") or "" for c in calls if c.get("id")}
            return {raw: name for raw, name in named.items() if raw not in answered}
    return {}


def holder(messages: Sequence[BaseMessage]) -> str:
    """Id of the message that made the calls of `dangling`."""
    return next((m.id or "" for m in reversed(messages) if isinstance(m, AIMessage)), "")


def _alike(message: Message, held: BaseMessage, calls: ThreadCalls) -> bool:
    """The client shows this message as the thread has it. Plain text is compared without conversion: there may be
    thousands."""
    if held.type == "human" and message.content.__class__ is str and message.content == held.content:
        return True
    if isinstance(held.content, str) and held.type in ("human", "system"):
        return message.content == held.content or message.content == clean_text(held.content)
    if (
        isinstance(held, AIMessage)
        and not held.tool_calls
        and not held.invalid_tool_calls
        and not held.additional_kwargs
        and isinstance(held.content, str)
    ):
        return (message.content or "") == held.content and not getattr(message, "tool_calls", None)
    if isinstance(held, ToolMessage) and message.content.__class__ is str and message.content == held.content:
        return True
    return _converted(message, held, calls)


def _repeats(message: Message, shown: Message | None) -> bool:
    """The client sends a message back as it was shown, whatever the thread has."""
    if shown is None or shown.role != message.role:
        return False
    if (shown.content or "") != (message.content or "") and not _same_text(message, shown):
        converted = to_langchain([shown])
        if not converted or not _same_content(message, converted[0]):
            return False
    return _calls(message) == _calls(shown)


def _converted(message: Message, held: BaseMessage, calls: ThreadCalls) -> bool:
    shown = _shown(message, held)
    if shown is None:
        return False
    if (shown.content or "") != (message.content or "") and not _same_content(message, held):
        return False
    return _calls(message) == [(calls.made(held.id or "", raw).id, name) for raw, name in _calls(shown)]


def _is_saved_as(message: Message, held: BaseMessage, calls: ThreadCalls) -> bool:
    """The message differs by what savers make of text that UTF-8 cannot encode, and by nothing else."""
    shown = _shown(message, held)
    if shown is None or not _same_text(message, shown):
        return False
    return _calls(message) == [(calls.made(held.id or "", raw).id, name) for raw, name in _calls(shown)]


def _shown(message: Message, held: BaseMessage) -> Message | None:
    """The thread's message as clients see it, if it is one of the same role."""
    found = next((m for m in to_agui([held], reasoning=False) if m.id == message.id), None)
    return found if found is not None and found.role == message.role else None


def _same_text(message: Message, shown: Message) -> bool:
    told, stored = _text(message.content or ""), _text(shown.content or "")
    return told is not None and stored is not None and saved_as(told, stored)


def _calls(message: Message) -> list[tuple[str, str]]:
    return [(call.id, call.function.name) for call in getattr(message, "tool_calls", None) or ()]


def _same_content(message: Message, held: BaseMessage) -> bool:
    """Compared as LangChain would store it: conversion normalises parts."""
    one, other = _text(message.content), _text(held.content)
    if one is not None and other is not None:
        return one == other
    converted = to_langchain([message])
    if not converted:
        return False
    if converted[0].content == held.content:
        return True
    mine, theirs = to_agui(converted, reasoning=False), to_agui([held], reasoning=False)
    return len(mine) == len(theirs) and all(a.content == b.content for a, b in zip(mine, theirs, strict=True))


def _text(content: Any) -> str | None:
    """Content that is nothing but text, however it is cut into parts; None for other content."""
    if isinstance(content, str):
        return clean_text(content)
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for part in content:
        kind, text = (
            (part.get("type"), part.get("text"))
            if isinstance(part, Mapping)
            else (
                getattr(part, "type", None),
                getattr(part, "text", None),
            )
        )
        if kind != "text" or not isinstance(text, str):
            return None
        texts.append(text)
    return clean_text("".join(texts))


_HALF = "\ufffd"


def saved_as(told: str, stored: str) -> bool:
    """`stored` is the text that the client was told, as it is or as a saver keeps it."""
    if told == stored:
        return True
    if "?" not in stored:
        return False
    at = 0
    for char in told:
        if stored.startswith(char, at) or (char == _HALF and stored.startswith("?", at)):
            at += 1
        elif ord(char) > 0xFFFF and stored.startswith("??", at):
            at += 2
        else:
            return False
    return at == len(stored)
