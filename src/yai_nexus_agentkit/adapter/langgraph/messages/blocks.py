"""Parts of AG-UI messages as LangChain's content blocks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import DocumentPart, FileSource, TextPart
from ag_ui.core.types import ContentPart

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["content_of"]


def content_of(content: str | list[ContentPart]) -> tuple[str | list[str | dict[str, Any]], dict[str, Any]]:
    """LangChain content, and what has to be kept beside it."""
    if isinstance(content, str):
        return clean_text(content), {}
    extras = [
        {key: value for key, value in (("id", part.id), ("metadata", part.metadata)) if value is not None}
        for part in content
    ]
    blocks: list[str | dict[str, Any]] = [_block(part) for part in content]
    return blocks, {"parts": extras}


def _block(part: ContentPart) -> dict[str, Any]:
    """The LangChain standard block for a part. Members without a place in it (id, metadata) are left out: providers'
    packages pass unknown members of text blocks on, and APIs refuse them."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": clean_text(part.text)}
    block: dict[str, Any] = {"type": "file" if isinstance(part, DocumentPart) else part.type}
    source = part.source
    field = {"data": "base64", "url": "url", "file": "file_id"}[source.type]
    block[field] = source.value
    if source.mime_type:
        block["mime_type"] = source.mime_type
    extras: dict[str, Any] = {}
    if isinstance(part.metadata, Mapping) and isinstance(name := part.metadata.get("filename"), str):
        extras["filename"] = name  # OpenAI wants one for every inline file
    if isinstance(source, FileSource) and source.provider:
        extras["provider"] = source.provider
    if extras:
        block["extras"] = extras
    return block
