"""Pure. How a model's answer ended: the provider's own word, and whether the answer is whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["finish_of"]

_MEMBERS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""OpenAI, Gemini, Mistral and others; Anthropic and Bedrock; Bedrock Converse; Ollama."""

_KINDS = {
    "length": (
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    ),
    "filter": (
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
        "error_toxic",
        "blocked",
    ),
    "refusal": ("refusal",),
    "pause": ("pause_turn",),
    "error": (
        "error",
        "failed",
        "cancelled",
        "other",
        "language",
        "malformed_function_call",
        "malformed_response",
        "malformed_model_output",
        "malformed_tool_use",
        "missing_thought_signature",
        "unexpected_tool_call",
        "too_many_tool_calls",
        "no_image",
        "image_other",
        "insufficient_system_resource",
    ),
}
_INCOMPLETE = {reason: kind for kind, reasons in _KINDS.items() for reason in reasons}
"""The state of an answer that ended for this reason. Any other reason is a good end."""


def finish_of(message: BaseMessage | None) -> dict[str, str]:
    """``finish_reason`` and ``incomplete`` of an answer, as far as there is something to say.

    ``incomplete``: ``"length"`` (cut), ``"filter"`` (the provider blocked it), ``"refusal"`` (the model said no),
    ``"pause"`` (the provider wants to be asked again) or ``"error"``.
    """
    if not isinstance(message, AIMessage):
        return {}
    metadata = message.response_metadata
    plain = isinstance(message.content, str) and not message.additional_kwargs
    if plain and not metadata:
        return {}
    reason = _reason(metadata) if metadata else ""
    facts = {"finish_reason": reason} if reason else {}
    kind = _INCOMPLETE.get(reason.lower()) if plain or not _refuses(message) else "refusal"
    return {**facts, "incomplete": kind} if kind else facts


def _reason(metadata: Mapping[str, Any]) -> str:
    for member in _MEMBERS:
        if isinstance(reason := metadata.get(member), str) and reason:
            return _once(reason)
    details, status = metadata.get("incomplete_details"), metadata.get("status")
    if isinstance(details, Mapping) and isinstance(reason := details.get("reason"), str):
        return clean_text(reason)  # OpenAI Responses
    if metadata.get("object") == "response" and isinstance(status, str):
        return clean_text(status)
    feedback = metadata.get("prompt_feedback")  # Gemini blocked the question
    return "BLOCKED" if isinstance(feedback, Mapping) and feedback.get("block_reason") else ""


@lru_cache(64)
def _once(reason: str) -> str:
    """A reason that may have come with several chunks: LangChain joins their texts."""
    reason = clean_text(reason)
    return reason[: (reason + reason).find(reason, 1)]


def _refuses(message: AIMessage) -> bool:
    """The model said no in a place of its own (OpenAI)."""
    if message.additional_kwargs.get("refusal"):
        return True
    content = message.content
    return isinstance(content, list) and any(
        isinstance(block, Mapping) and block.get("type") == "refusal" and block.get("refusal") for block in content
    )
