"""Pure. What a person types as the answer to a question, as the payload of an AG-UI interrupt (AG-UI 1.0 §16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yai_nexus_agentkit.protocol.json.reader import read_json

__all__ = ["decision", "hint", "payload"]

_YES = ("y", "yes")
_NO = ("n", "no")


def hint(reason: str, schema: Mapping[str, Any]) -> str:
    """How to answer, as a request to a person."""
    if decision(reason, schema, approved=True) is not None:
        return "reply with yes or no"
    choices = schema.get("enum")
    if isinstance(choices, list):
        return f"reply with one of: {', '.join(map(str, choices))}"
    kind = schema.get("type")
    return "reply in your own words" if kind in (None, "string") else f"reply with JSON, of type {kind}"


def payload(typed: str, reason: str, schema: Mapping[str, Any], *, in_words: bool = False) -> Any:
    """The payload of a typed answer: a yes or no as the question wants it, else JSON, else the text.

    `in_words`: a chat's, where an approval is refused by any other words, which become its reason, and a number is text
    unless the question wants a number.
    """
    word = typed.lower().rstrip(".!")
    decided = decision(reason, schema, approved=word in _YES)
    if decided is not None and word in _YES + _NO:
        return decided
    if schema.get("type") == "string" and not typed.startswith('"'):
        return typed
    try:
        value = read_json(typed, max_depth=200)
    except ValueError:
        value = typed
    if not in_words or isinstance(value, Mapping | list):
        return value
    if decided is not None:
        return value if isinstance(value, bool) else decision(reason, schema, approved=False, words=typed)
    return value if "type" in schema else typed


def decision(reason: str, schema: Mapping[str, Any], *, approved: bool, words: str = "") -> Any:
    """The payload of a yes or no; None if the question takes neither. `words`: the reason of a no."""
    match reason:
        case "tool_call":
            return {"approved": approved, **({"reason": words} if words else {})}
        case "langgraph:tool_approval":
            # LangChain's middleware asks about several calls at once.
            decisions = schema.get("properties", {}).get("decisions", {})
            one = {"type": "approve" if approved else "reject", **({"message": words} if words else {})}
            return {"decisions": [one] * decisions.get("minItems", 1)}
        case reason:
            return approved if reason == "confirmation" or schema.get("type") == "boolean" else None
