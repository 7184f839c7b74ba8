"""Pure. The questions of an agent, as text of an answer or as calls of the caller's tool, and the answers to them.

The thread of a question is named in its text, or in the id of its call, if nothing else of a request names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import Interrupt

from yai_nexus_agentkit.protocol.typed_answers import hint, payload

__all__ = ["asks", "call_id", "named_by_call", "named_in", "question_text", "resumed_by_calls", "resumed_by_text"]

_MARK = re.compile(r"\[question(?: ([A-Za-z0-9._~-]{1,100}))?\]\s*\Z")
_LONGEST = 200
"""Characters at the end of a text among which its mark is."""
_CALL = re.compile(r"ask_([A-Za-z0-9._~-]{0,100}?)_q_(.+)", re.DOTALL)
_SIGNS = re.compile(r"\W+")
_NUMBERED = re.compile(r"\s*(\d+)\s*[.:)]\s*(.+)")


def question_text(asked: Sequence[Interrupt], reference: str) -> str:
    """The questions, how to answer each, and a mark by which the next request is known to answer. `reference`: the
    thread, where the next request names none."""
    mark = f"[question {reference}]" if reference else "[question]"
    if len(asked) == 1:
        [one] = asked
        return f"{_words(one)}\n\nTo answer, {_hint(one)}. {mark}"
    lines = [f"{n}. {_words(one)} ({_hint(one)})" for n, one in enumerate(asked, 1)]
    return "\n".join((*lines, f"\nTo answer, reply with one line for each, such as '1: ...'. {mark}"))


def named_in(text: str) -> str | None:
    """The reference in a text that ends with questions, ``""`` if it has none; None for any other text."""
    found = _MARK.search(text, max(0, len(text) - _LONGEST))
    return None if found is None else found[1] or ""


def asks(text: str, asked: Sequence[Interrupt]) -> bool:
    """The text of an answer ends with these questions. Signs and white space do not count."""
    one, other = (_SIGNS.sub("", _MARK.sub("", whole)) for whole in (text, question_text(asked, "")))
    return one.endswith(other)


def resumed_by_text(asked: Sequence[Interrupt], text: str) -> list[dict[str, Any]]:
    """Entries of ``resume`` for the user's next message. A message without numbers answers all questions alike."""
    numbered = [match for line in text.splitlines() if (match := _NUMBERED.fullmatch(line))]
    given = {int(match[1]): match[2] for match in numbered}
    apart = len(asked) > 1 and given.keys() == set(range(1, len(asked) + 1))
    return [_entry(one, given[n] if apart else text) for n, one in enumerate(asked, 1)]


def call_id(reference: str, one: Interrupt) -> str:
    """The id of the call that asks this question. `reference`: as in `question_text`."""
    return f"ask_{reference}_q_{one.id}"


def named_by_call(tool_call_id: str) -> str | None:
    """The reference in the id of a call that asked a question, ``""`` if it has none; None for any other call."""
    found = _CALL.fullmatch(tool_call_id)
    return None if found is None else found[1]


def resumed_by_calls(asked: Sequence[Interrupt], results: Mapping[str, str]) -> list[dict[str, Any]]:
    """Entries of ``resume`` for the results of calls, by call id."""
    found: list[dict[str, Any]] = []
    for called, text in results.items():
        match = _CALL.fullmatch(called)
        one = next((one for one in asked if match is not None and one.id == match[2]), None)
        if one is not None:
            found.append(_entry(one, text))
    return found


def _entry(one: Interrupt, text: str) -> dict[str, Any]:
    answer = payload(text.strip(), one.reason, one.response_schema or {}, in_words=True)
    return {"interruptId": one.id, "status": "resolved", "payload": answer}


def _words(one: Interrupt) -> str:
    return one.message or one.reason


def _hint(one: Interrupt) -> str:
    return hint(one.reason, one.response_schema or {})
