"""Pure. Content of messages between AG-UI's parts and google-genai's."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import ContentPart, FileSource, TextPart, UrlSource
from google.genai import types

from yai_nexus_agentkit.errors import RunInputError
from yai_nexus_agentkit.protocol.citations import Citation, grounded
from yai_nexus_agentkit.protocol.json.json_safe import clean_text, json_safe, json_text
from yai_nexus_agentkit.protocol.parts import part_from_block, parts_text

__all__ = ["cited", "response_of", "result_text", "to_content", "user_content"]


def to_content(content: str | Sequence[ContentPart]) -> types.Content:
    """A user's message as ADK takes it. Raises `RunInputError` for data that is not base64."""
    parts = [TextPart(text=content)] if isinstance(content, str) else content
    return types.Content(role="user", parts=[_part(part) for part in parts])


def _part(part: ContentPart) -> types.Part:
    if isinstance(part, TextPart):
        return types.Part(text=part.text)
    source = part.source
    if isinstance(source, UrlSource | FileSource):
        return types.Part(file_data=types.FileData(file_uri=source.value, mime_type=source.mime_type))
    try:
        data = base64.b64decode(source.value, validate=True)
    except binascii.Error as error:
        raise RunInputError(f"the data of a part is not base64: {error}", path="/messages") from error
    return types.Part(inline_data=types.Blob(data=data, mime_type=source.mime_type))


def user_content(parts: Sequence[Any]) -> str | list[ContentPart]:
    """The text of a user's message, or its parts if there are others than text."""
    found: list[ContentPart] = []
    for part in parts:
        block: dict[str, Any] | None = None
        if part.text is not None:
            block = {"type": "text", "text": part.text}
        elif part.inline_data is not None:
            data = base64.b64encode(part.inline_data.data or b"").decode()
            block = {"type": "file", "base64": data, "mime_type": part.inline_data.mime_type}
        elif part.file_data is not None:
            block = {"type": "file", "url": part.file_data.file_uri, "mime_type": part.file_data.mime_type}
        made = None if block is None else part_from_block(block)
        if made is not None:
            found.append(made)
    return parts_text(found, "") if all(isinstance(part, TextPart) for part in found) else found


def cited(event: Any, text: str) -> list[Citation]:
    """The sources that an answer rests on, by Gemini's grounding."""
    given = event.grounding_metadata
    return [] if given is None else json_safe(grounded(given.model_dump(exclude_none=True), text))


def result_text(response: Any) -> str:
    """The result of a tool as JSON text."""
    return json_text(json_safe(response if response is not None else {}))


def response_of(content: str | Sequence[ContentPart]) -> dict[str, Any]:
    """The client's answer to a call as ADK's function response: an object as it is, other JSON and text wrapped."""
    text = content if isinstance(content, str) else parts_text(content, "\n")
    if not text.strip():
        return {"success": True, "result": None}
    try:
        value = json.loads(text)
    except ValueError:
        return {"success": True, "result": clean_text(text)}
    return dict(value) if isinstance(value, Mapping) else {"result": value}
