"""Pure. What a saver makes of text that UTF-8 cannot encode (half an emoji): LangGraph's own serialiser writes ``?``
for each lone surrogate, where the client was told U+FFFD, or the whole character where the other half followed."""

from __future__ import annotations

__all__ = ["saved_as"]

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
