"""Pure. Titles of threads."""

from __future__ import annotations

from ag_ui.core import RunAgentInput, TextInputContent

__all__ = ["first_words"]

_LENGTH = 60
"""Characters of a title."""


def first_words(asked: RunAgentInput) -> str:
    """The beginning of the user's first message with text, on one line, cut behind a word; ``""`` if there is none."""
    for message in asked.messages:
        if message.role != "user":
            continue
        parts = message.content if isinstance(message.content, list) else [message.content]
        texts = (part.text if isinstance(part, TextInputContent) else part for part in parts)
        text = " ".join(" ".join(one[: 4 * _LENGTH] for one in texts if isinstance(one, str)).split())
        if text:
            return text if len(text) <= _LENGTH else _cut(text)
    return ""


def _cut(text: str) -> str:
    words = text[:_LENGTH].rpartition(" ")[0]
    return f"{words or text[: _LENGTH - 1]}…"
