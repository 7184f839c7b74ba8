"""Pure. The facts that parts and messages carry besides their content: ``providerMetadata``, ``messageMetadata``."""

from __future__ import annotations

from typing import Any, TypeAlias

from ag_ui.core import BaseEvent, RunFinishedEvent, RunStartedEvent
from pydantic_core import to_json

from yai_nexus_agentkit.errors import EncodingError
from yai_nexus_agentkit.protocol.json.json_safe import json_safe
from yai_nexus_agentkit.transport.facts import word

__all__ = ["Chunk", "facts_of", "finish_reason", "run_facts", "values_json"]

Chunk: TypeAlias = dict[str, Any]
"""One chunk of the UI message stream, as JSON data."""

_REASONS = {"length": "length", "filter": "content-filter", "refusal": "content-filter", "error": "error"}
"""The AI SDK's words for an answer that is not whole, by the kit's own; others are ``other``."""
_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
}


def values_json(value: Any) -> bytes:
    """A chunk, or a list of messages, as JSON; lone surrogates are U+FFFD. Raises `EncodingError`."""
    try:
        return to_json(value, inf_nan_mode="null")
    except Exception:
        try:
            return to_json(json_safe(value))
        except Exception as error:
            raise EncodingError(f"a part of the answer cannot be written as JSON: {error}") from error


def facts_of(event: Any, message_id: str | None) -> dict[str, Any]:
    """The facts of a part: the message of the agent that it is of, its subagent, its metadata. Pages send them back."""
    found = {"messageId": message_id, "subagentRunId": event.subagent_run_id, "metadata": event.metadata}
    return {name: value for name, value in found.items() if value is not None}


def run_facts(event: BaseEvent) -> dict[str, Any]:
    """The ``messageMetadata`` of the first and the last chunk: the run's id, then its usage, models and result."""
    if isinstance(event, RunStartedEvent):
        return {"messageMetadata": {"runId": event.run_id}}
    if not isinstance(event, RunFinishedEvent):
        return {}
    found: dict[str, Any] = {}
    if usage := event.usage:
        sums = {name: [v for u in usage if (v := getattr(u, field)) is not None] for name, field in _COUNTS.items()}
        found["usage"] = {name: sum(values) for name, values in sums.items() if values}
        if models := list(dict.fromkeys(u.model for u in usage if u.model)):
            found["model"] = models[0] if len(models) == 1 else models
    if event.result is not None:
        found["result"] = event.result
    return {"messageMetadata": found} if found else {}


def finish_reason(event: RunFinishedEvent) -> str:
    """Why the answer ended."""
    incomplete = word(event.metadata, "incomplete")
    return "stop" if not incomplete else _REASONS.get(incomplete, "other")
