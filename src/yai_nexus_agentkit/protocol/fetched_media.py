"""Pure. Files that a client named by URL, and the server fetched: the agent has the data, the client what it sent.

The mark is a member of the part's metadata, which is stored with the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from ag_ui.core import AudioPart, DataSource, DocumentPart, ImagePart, Message, VideoPart
from ag_ui.core.types import ContentPart
from pydantic import TypeAdapter, ValidationError

from yai_nexus_agentkit.protocol.parts import MediaPart

__all__ = ["as_sent", "has_fetched", "messages_as_sent", "read_sent_form", "sent_form", "unmarked", "with_file"]

_MARK = "fetched"
_KINDS: Mapping[str, type[MediaPart]] = {"image": ImagePart, "audio": AudioPart, "video": VideoPart}
_PART: TypeAdapter[Any] = TypeAdapter(ContentPart)
_PARTS: TypeAdapter[Any] = TypeAdapter(list[ContentPart])


def with_file(part: MediaPart, value: str, mime_type: str) -> MediaPart:
    """The part with the data in place of its URL: of the kind that the media type says, and with a file's name, which
    some models ask for. `value`: base64."""
    metadata: dict[str, Any] = {_MARK: part.model_dump(mode="json", by_alias=True, exclude_none=True)}
    if isinstance(part.metadata, Mapping):
        metadata = {**part.metadata, **metadata}
    if name := PurePosixPath(unquote(urlsplit(part.source.value).path)).name:
        metadata.setdefault("filename", name)
    kind = _KINDS.get(mime_type.partition("/")[0], DocumentPart)
    return kind(id=part.id, source=DataSource(value=value, mime_type=mime_type), metadata=metadata)


def as_sent(part: ContentPart) -> ContentPart:
    """The part as its client sent it."""
    if not _is_marked(part):
        return part
    try:
        sent: ContentPart = _PART.validate_python(part.metadata[_MARK])  # type: ignore[index]
    except ValidationError:  # nobody but the application can have written that
        return unmarked(part)
    return unmarked(sent)


def unmarked(part: ContentPart) -> ContentPart:
    """The part without the mark, which only a server may set."""
    if not _is_marked(part):
        return part
    metadata = {key: value for key, value in (part.metadata or {}).items() if key != _MARK}
    return part.model_copy(update={"metadata": metadata or None})


def messages_as_sent(messages: Sequence[Message]) -> list[Message]:
    """The messages with every part as its client sent it."""
    return [
        message.model_copy(update={"content": [as_sent(part) for part in parts]})
        if isinstance(parts := getattr(message, "content", None), list) and any(map(_is_marked, parts))
        else message
        for message in messages
    ]


def sent_form(content: Any) -> list[dict[str, Any]]:
    """The parts of a message as its client sent them, as JSON data, for stores that keep no metadata of parts; empty
    if nothing was fetched for it."""
    if not has_fetched(content):
        return []
    return [as_sent(part).model_dump(mode="json", by_alias=True, exclude_none=True) for part in content]


def read_sent_form(stored: Any) -> list[ContentPart]:
    """The parts out of that. Empty if it is something else."""
    try:
        parts: list[ContentPart] = _PARTS.validate_python(stored)
    except ValidationError:
        return []
    return parts


def has_fetched(parts: Any) -> bool:
    """Whether some of these are marked: parts, or what is stored of their members."""
    return isinstance(parts, list) and any(
        _MARK in metadata
        for part in parts
        if isinstance(metadata := part.get("metadata") if isinstance(part, Mapping) else part.metadata, Mapping)
    )


def _is_marked(part: ContentPart) -> bool:
    return isinstance(part.metadata, Mapping) and _MARK in part.metadata
