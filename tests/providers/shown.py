"""The parts of a provider's answer that a client shows beside its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.two_sources import Heard

__all__ = ["activities", "answer_of", "facts", "provider_calls"]


def answer_of(heard: Heard) -> Mapping[str, Any]:
    """The last assistant message that the client shows."""
    found: Mapping[str, Any] = next(m for m in reversed(heard.views[-1]["messages"]) if m["role"] == "assistant")
    return found


def facts(entity: Mapping[str, Any]) -> Mapping[str, Any]:
    """Our part of the metadata of a message, call or event."""
    found: Mapping[str, Any] = (entity.get("metadata") or {}).get("langgraph", {})
    return found


def provider_calls(heard: Heard) -> list[tuple[str, str, str]]:
    """(name, arguments, result) of the calls that the provider ran itself. Each has one result, marked as well."""
    messages: Sequence[Mapping[str, Any]] = heard.views[-1]["messages"]
    results = {m["toolCallId"]: m for m in messages if m["role"] == "tool"}
    found = []
    for call in (call for m in messages for call in m.get("toolCalls") or ()):
        if facts(call).get("executor") != "provider":
            continue
        result = results[call["id"]]
        assert facts(result)["executor"] == "provider"
        found.append((call["function"]["name"], call["function"]["arguments"], result["content"]))
    assert not heard.runs[-1]["events"][-1].get("outcome", {}).get("pendingToolCallIds"), "such a call is never open"
    return found


def activities(heard: Heard, type: str) -> list[Mapping[str, Any]]:
    """The contents of the activities of this type."""
    return [m["content"] for m in heard.views[-1]["messages"] if m["role"] == "activity" and m["activityType"] == type]
