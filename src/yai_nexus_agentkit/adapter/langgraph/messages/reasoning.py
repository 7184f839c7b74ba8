"""Reasoning blocks of a model's message as AG-UI reasoning messages, and back into the provider's form. Pure.

Providers refuse their own reasoning in any other shape than the one they sent, so the shape travels in the reasoning
message's ``metadata["langgraph"]``: ``form`` and ``id`` (see `Form`), ``kind`` (of the encrypted value), ``sections``
(lengths, where there are several), ``provider`` (``model_provider`` of the message).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ag_ui.core import ReasoningMessage

from yai_nexus_agentkit.adapter.langgraph.messages.content import Block, Form, reasoning_id
from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["METADATA_KEY", "Restored", "form_metadata", "reasoning_message", "restore"]

METADATA_KEY = "langgraph"
"""Our key inside AG-UI metadata objects."""

_FORM_OF_KIND = {"signature": "thinking", "redacted": "redacted_thinking", "encrypted": "summary"}
"""For reasoning of which only the kind of its encrypted value is known."""

_SEPARATOR = "\n\n"


class Restored(NamedTuple):
    """What to add to an `AIMessage` so that it holds its reasoning again."""

    blocks: list[dict[str, Any]]
    """In front of the message's text."""

    additional_kwargs: dict[str, Any]
    response_metadata: dict[str, Any]


def form_metadata(form: Form, provider: Any = None) -> dict[str, Any]:
    """Metadata for a reasoning message, known from its first chunk on: enough to put the reasoning back.

    `provider` is ``response_metadata["model_provider"]`` of the chunk, if it has one.
    """
    told: dict[str, Any] = {"form": form.name}
    if form.id is not None:
        told["id"] = clean_text(form.id)
    if isinstance(provider, str) and provider:
        told["provider"] = clean_text(provider)
    return {METADATA_KEY: told}


def reasoning_message(message_id: str, n: int, block: Block, provider: Any) -> ReasoningMessage:
    """The `n`-th (from 0) reasoning block of the message as a message of its own."""
    metadata = form_metadata(block.form, provider)
    told = metadata[METADATA_KEY]
    if block.kind is not None:
        told["kind"] = block.kind
    if len(block.sections) > 1:
        told["sections"] = [len(clean_text(section)) for section in block.sections]
    return ReasoningMessage(
        id=reasoning_id(message_id, n),
        content=_SEPARATOR.join(map(clean_text, block.sections)),
        encrypted_value=None if block.encrypted is None else clean_text(block.encrypted),
        metadata=metadata,
    )


def restore(messages: Sequence[ReasoningMessage]) -> Restored:
    """The reasoning of one assistant message, in order. What does not say its form is dropped."""
    restored = Restored([], {}, {})
    for number, message in enumerate(messages):
        told = (message.metadata or {}).get(METADATA_KEY)
        if not isinstance(told, Mapping):
            continue
        kind = told.get("kind")
        form = told.get("form") or _FORM_OF_KIND.get(kind if isinstance(kind, str) else "")
        sections = _sections(message.content, told.get("sections"))
        own_id = {"id": told["id"]} if isinstance(told.get("id"), str) else {}
        provider = told.get("provider")
        if isinstance(provider, str):
            restored.response_metadata["model_provider"] = provider
        _put(restored, number, form, sections, message.encrypted_value, kind, own_id)
    return restored


def _put(
    restored: Restored,
    number: int,
    form: Any,
    sections: list[str],
    encrypted: str | None,
    kind: Any,
    own_id: dict[str, Any],
) -> None:
    text = _SEPARATOR.join(sections)
    match form:
        case "thinking":
            signature = {} if encrypted is None else {"signature": encrypted}
            restored.blocks.append({"type": "thinking", "thinking": text, **signature, "index": number})
        case "thinking.parts":
            parts = [{"type": "text", "text": text}]
            restored.blocks.append({"type": "thinking", "thinking": parts, "index": number})
        case "reasoning_content" if kind == "redacted":
            restored.blocks.append({"type": form, "reasoning_content": {"redacted_content": encrypted or ""}})
        case "reasoning_content":
            signature = {} if encrypted is None else {"signature": encrypted}
            restored.blocks.append({"type": form, "reasoning_content": {"text": text, **signature}, "index": number})
        case "redacted_thinking":
            restored.blocks.append({"type": "redacted_thinking", "data": encrypted or "", "index": number})
        case "non_standard":
            value = {"type": "redacted_thinking", "data": encrypted or ""}
            restored.blocks.append({"type": "non_standard", "value": value, "index": number})
        case "summary":
            restored.blocks.append({**_summary(sections, encrypted, own_id), "index": number})
        case "reasoning":
            restored.response_metadata["output_version"] = "v1"
            restored.blocks.extend(_standard(number, sections, encrypted, kind, own_id))
        case "kwargs.reasoning":
            restored.additional_kwargs["reasoning"] = _summary(sections, encrypted, own_id)
        case "kwargs.reasoning_content":
            restored.additional_kwargs["reasoning_content"] = text
        case "kwargs.text":
            restored.additional_kwargs["reasoning"] = text


def _summary(sections: list[str], encrypted: str | None, own_id: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's reasoning item. Without an encrypted value the member is absent: the API then looks the id up."""
    parts = [{"type": "summary_text", "text": section, "index": index} for index, section in enumerate(sections)]
    content = {} if encrypted is None else {"encrypted_content": encrypted}
    return {"type": "reasoning", **own_id, "summary": parts, **content}


def _standard(
    number: int, sections: list[str], encrypted: str | None, kind: Any, own_id: dict[str, Any]
) -> list[dict[str, Any]]:
    """LangChain's standard blocks: one per section, as `langchain_openai` numbers them; the first one is encrypted."""
    blocks: list[dict[str, Any]] = []
    for part, section in enumerate(sections or [""]):
        index: int | str = number if len(sections) < 2 else f"lc_rs_{f'{number}_{part}'.encode().hex()}"
        block = {"type": "reasoning", "reasoning": section, **own_id, "index": index}
        if encrypted is not None and part == 0:
            openai = kind == "encrypted" or (kind is None and own_id)
            block["extras"] = {"encrypted_content" if openai else "signature": encrypted}
        blocks.append(block)
    return blocks


def _sections(content: str, lengths: Any) -> list[str]:
    """The content cut where its sections were joined; one section where the lengths do not fit."""
    if isinstance(lengths, list) and all(isinstance(length, int) and length > 0 for length in lengths):
        starts = [0, *accumulate(length + len(_SEPARATOR) for length in lengths)]
        sections = [content[start : start + length] for start, length in zip(starts, lengths, strict=False)]
        if _SEPARATOR.join(sections) == content:
            return sections
    return [content] if content else []
