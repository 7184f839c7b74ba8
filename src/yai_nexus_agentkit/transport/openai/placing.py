"""Pure. A posted conversation compared with the thread that it belongs to.

OpenAI's clients send the whole conversation each time, without ids. What they send is compared with the thread turn by
turn, a turn being a message of the user and all up to the next one. Where both agree the thread's own messages are
used: they have ids, reasoning and the work of the server's tools. Answers are compared without white space and without
reasoning that a client wrote into them, and one may be the beginning of the other: a reader may have stopped it. Text
that the thread does not store may come between its messages, and messages that were not shown may be missing. Turns
that the graph itself took out of the thread, or replaced by a summary, need not be there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from yai_nexus_agentkit.protocol.json.json_safe import json_text
from yai_nexus_agentkit.transport.openai.questions import named_by_call, named_in
from yai_nexus_agentkit.transport.openai.request import INSTRUCTIONS, texts_of

__all__ = ["Conversation", "Elsewhere", "Placed", "called", "conversation_key", "place"]

_THOUGHTS = re.compile(r"<(think|details)\b.*?</\1>", re.DOTALL)
_SPACE = re.compile(r"\s+")


class Elsewhere(Exception):
    """The conversation is not the one of this thread, or took another way. `thread_id`: where it may be."""

    def __init__(self, thread_id: str) -> None:
        super().__init__(thread_id)
        self.thread_id = thread_id


@dataclass(slots=True)
class _Turn:
    """One message of the user and what follows it; the first one of a conversation may lack the user's."""

    asked: Any = None
    rest: list[Any] = field(default_factory=list)
    answered: bool = False
    """The user answered questions in here, in messages that the thread does not have."""
    rewritten: bool = False
    """The thread has another text than the reader was sent."""

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(text for message in self.rest if _role(message) == "assistant" for text in texts_of(message))

    @property
    def said(self) -> str:
        """The text of the answer, for comparison."""
        return _bare(self.text)

    @property
    def texts(self) -> list[str]:
        """The texts of its messages, for comparison."""
        answers = (message for message in self.rest if _role(message) == "assistant")
        return [text for message in answers if (text := _bare("".join(texts_of(message))))]

    @property
    def calls(self) -> set[str]:
        """Ids of the calls, without those that asked a question."""
        return {i for i in called(self.rest) if named_by_call(i) is None}


@dataclass(frozen=True, slots=True)
class Conversation:
    """A posted conversation. `messages`: as AG-UI's JSON, with ids."""

    messages: Sequence[Mapping[str, Any]]

    @property
    def last_text(self) -> str:
        """The newest message of the user."""
        return "".join(texts_of(self.messages[-1]))

    @property
    def question(self) -> str | None:
        """The reference of a question to which the user's newest message is the answer; None if there is no such
        question."""
        if len(self.messages) < 2 or self.messages[-1]["role"] != "user":
            return None
        return named_in(self.question_text) if self.messages[-2]["role"] == "assistant" else None

    @property
    def question_text(self) -> str:
        """The message before the newest one."""
        return "".join(texts_of(self.messages[-2]))

    @property
    def results(self) -> dict[str, str]:
        """Results of calls that asked questions, by call id: those at the end of the conversation."""
        found: dict[str, str] = {}
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            if named_by_call(message["toolCallId"]) is not None:
                found[message["toolCallId"]] = "".join(texts_of(message))
        return found

    @property
    def reference(self) -> str | None:
        """The thread that a question of the conversation names, the newest one; None if none does."""
        for message in reversed(self.messages):
            if message["role"] == "assistant":
                named = named_in("".join(texts_of(message)))
                called = [named_by_call(call["id"]) for call in _calls(message)]
                if found := named or next(filter(None, called), None):
                    return found
        return None


@dataclass(frozen=True, slots=True)
class Placed:
    """The messages of a run's request."""

    messages: Sequence[Any]
    answer: bool = False
    """The newest message of the user answers the thread's questions, and is not among these."""


def called(messages: Sequence[Any]) -> dict[str, str]:
    """The names of the tools that are called in messages, posted or of a thread, by the ids of the calls."""
    calls = [call for message in messages for call in _calls(message)]
    read = [(c["id"], c["function"]["name"]) if isinstance(c, Mapping) else (c.id, c.function.name) for c in calls]
    return dict(read)


def conversation_key(*parts: Any) -> str:
    """A thread id made of what names a conversation."""
    return f"chat-{sha256(json_text(parts).encode()).hexdigest()[:40]}"


def place(
    posted: Conversation,
    history: Sequence[Any],
    thread_id: str,
    *,
    tail: bool = False,
    rewritten: Collection[str] = (),
) -> Placed:
    """Compare `posted` with the thread's messages. `tail`: the thread remembers, so only what follows the last answer
    counts. `rewritten`: ids of answers whose text was another one when it was sent. Raises `Elsewhere`."""
    if not history:
        return Placed(posted.messages)
    if tail:
        return _tail(posted, history)
    asked, held = _turns(posted.messages, posted=True), _turns(history)
    for turn in held if rewritten else ():
        turn.rewritten = any(message.id in rewritten for message in turn.rest)
    if not asked:
        raise Elsewhere(conversation_key(thread_id, "instructions alone"))
    last = len(asked) - 1
    gone, held = _left(asked, held)
    for n, turn in enumerate(asked[:last]):
        if n >= gone and (n >= len(held) or not _alike(turn, held[n])):
            raise _elsewhere(thread_id, asked[: n + 1], held)
    newest = asked[last]
    instructions, history = _instructions(posted.messages, history)
    if newest.rest:
        return Placed([*history, *instructions, *_further(asked, held, thread_id)], newest.answered)
    if last == 0 and held and not _same(newest.asked, held[0].asked):
        raise _elsewhere(thread_id, asked, held)  # another beginning: a title asked for under the same name, or an edit
    if last < len(held):  # repeated or edited: its id says where the thread goes back
        at = next(n for n, message in enumerate(history) if message is held[last].asked)
        repeated = {**newest.asked, "id": held[last].asked.id}
        return Placed([*history[:at], *instructions, repeated])
    return Placed([*history, *instructions, newest.asked])


def _tail(posted: Conversation, history: Sequence[Any]) -> Placed:
    last = max((n for n, message in enumerate(posted.messages) if message["role"] == "assistant"), default=-1)
    instructions, history = _instructions(posted.messages, history)
    new = [m for m in posted.messages[last + 1 :] if m["role"] not in INSTRUCTIONS]
    answer = posted.question is not None or bool(posted.results)
    new = [m for m in new if m["role"] != "tool" or named_by_call(m["toolCallId"]) is None]
    return Placed([*history, *instructions, *(new[:-1] if posted.question is not None else new)], answer)


def _further(asked: Sequence[_Turn], held: Sequence[_Turn], thread_id: str) -> list[Any]:
    """The posted conversation's additions to the thread's newest turn: results of the caller's tools, or an answer."""
    newest, known = asked[-1], len(held) == len(asked) and _alike(asked[-1], held[-1])
    if newest.answered and len(held) > len(asked) and _alike(newest, held[len(asked) - 1]):
        return []  # answered before, and gone on since
    results = {message.tool_call_id for message in held[-1].rest if _role(message) == "tool"} if known else set()
    new = [m for m in newest.rest if _role(m) == "tool" and m["toolCallId"] not in results]
    new = [m for m in new if named_by_call(m["toolCallId"]) is None]
    if not known or not (new or newest.answered):
        raise _elsewhere(thread_id, asked, held)  # the same request again, or an answer to be continued
    return new


def _turns(messages: Sequence[Any], *, posted: bool = False) -> list[_Turn]:
    """Turns of the conversation. An answer to a question belongs to the turn of the question, as in the thread."""
    turns: list[_Turn] = []
    before: Any = None
    for message in messages:
        role = _role(message)
        if role in INSTRUCTIONS or getattr(message, "subagent_run_id", None):
            continue
        asks = posted and before is not None and named_in("".join(texts_of(before))) is not None
        if role == "user" and asks and turns:
            turns[-1].answered = True
            turns[-1].rest.append(message)
        elif role == "user":
            turns.append(_Turn(message))
        else:
            turns = turns or [_Turn()]
            turns[-1].rest.append(message)
            answers = role == "tool" and posted and named_by_call(message["toolCallId"]) is not None
            turns[-1].answered = turns[-1].answered or answers
        before = message if role == "assistant" else None
    return turns


def _left(asked: list[_Turn], held: list[_Turn]) -> tuple[int, list[_Turn]]:
    """How many of the posted turns the graph itself took out of its thread, and the thread's turns, aligned with
    the posted ones. A summary is in a turn that nobody posted."""
    if not held or _same(asked[0].asked, held[0].asked):
        return 0, held
    last = len(asked) - 1
    first = next((n for n, turn in enumerate(held) if any(_same(a.asked, turn.asked) for a in asked)), len(held))
    kept = held[first:]
    for gone in (last - len(kept), last + 1 - len(kept)):  # a further message; the newest one again
        if 0 < gone < last and all(map(_alike, asked[gone:last], kept)):
            return gone, [*asked[:gone], *kept]
    return 0, held


def _alike(turn: _Turn, held: _Turn) -> bool:
    if not _same(turn.asked, held.asked) or not turn.calls <= held.calls:
        return False
    if turn.answered or held.rewritten or turn.text == held.text:
        return True
    one, other = turn.said, held.said
    if turn.asked is None:
        return one == other  # a greeting, which the client wrote: nobody stopped it
    return one.startswith(other) or other.startswith(one) or _shows(one, held.texts)


def _shows(answer: str, texts: Sequence[str]) -> bool:
    """The answer has all these texts, among others that are not stored; or only some of them. Messages that came at
    once may be stored in another order."""
    rest = answer
    for text in texts:
        rest = rest.replace(text, "", 1)
    return not rest or (bool(texts) and all(text in answer for text in texts))


def _bare(text: str) -> str:
    return _SPACE.sub("", _THOUGHTS.sub("", text))


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if one["content"] == other.content:
        return True
    return _shown(one) == _shown(other)


def _shown(message: Any) -> tuple[str, int]:
    """Text and number of media."""
    content = message["content"] if isinstance(message, Mapping) else message.content
    texts = list(texts_of(message))
    return _SPACE.sub("", "".join(texts)), len(content) - len(texts) if isinstance(content, list) else 0


def _instructions(posted: Sequence[Mapping[str, Any]], history: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
    """Instructions that the thread lacks, and the thread with the others as they are posted now."""
    given = {message["id"]: message for message in posted if message["role"] in INSTRUCTIONS}
    known = {message.id for message in history if _role(message) in INSTRUCTIONS}
    now = [given[m.id] if m.id in given and m.id in known else m for m in history]
    return [message for i, message in given.items() if i not in known], now


def _elsewhere(thread_id: str, asked: Sequence[_Turn], held: Sequence[_Turn]) -> Elsewhere:
    """The place of a conversation that leaves the thread in the last one of these turns."""
    last, n = asked[-1], len(asked)
    answer = last.said if n <= len(held) and _same(last.asked, held[n - 1].asked) else ""
    return Elsewhere(conversation_key(thread_id, n, _shown(last.asked) if last.asked else None, answer))


def _role(message: Any) -> str:
    role: str = message["role"] if isinstance(message, Mapping) else message.role
    return role


def _calls(message: Any) -> Sequence[Any]:
    calls = message.get("toolCalls") if isinstance(message, Mapping) else getattr(message, "tool_calls", None)
    return calls or ()
