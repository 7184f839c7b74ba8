"""Pure. Content parts out of every shape in which clients, model providers and LangChain write text and media.

The shapes lie side by side in requests and in stored threads: AG-UI's own and its ``binary`` part of before 1.0, those
of OpenAI's two APIs, Anthropic's, Google's, LangChain's standard blocks and its older ``source_type`` blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from mimetypes import guess_type
from typing import Any

from ag_ui.core import (
    AudioPart,
    ContentPart,
    DataSource,
    DocumentPart,
    FileSource,
    ImagePart,
    TextPart,
    UrlSource,
    VideoPart,
)

from yai_nexus_agentkit.protocol.json.json_safe import clean_text

__all__ = ["MediaPart", "for_old_peer", "part_from_block", "parts_text", "type_of"]

MediaPart = ImagePart | AudioPart | VideoPart | DocumentPart
Source = DataSource | UrlSource | FileSource

_MEDIA: Mapping[str, type[MediaPart]] = {
    "image": ImagePart,
    "audio": AudioPart,
    "video": VideoPart,
    "document": DocumentPart,
}
_MAGIC = (
    ("iVBOR", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi", "application/pdf"),
)
"""First base64 characters of file formats, for blocks without the mime type that AG-UI demands."""
_SCHEME = 20
"""Characters of an address in which its scheme ends."""


def part_from_block(block: Any) -> ContentPart | None:
    """The part for one element of a message's content; None for what is neither text nor media."""
    if isinstance(block, str):
        return TextPart(text=clean_text(block))
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(block) if reader is not None else None


def for_old_peer(parts: Iterable[ContentPart]) -> list[ContentPart]:
    """The parts that clients before 1.0 know: no handles of a provider's files (AG-UI 1.0, section 18)."""
    return [part for part in parts if isinstance(part, TextPart) or not isinstance(part.source, FileSource)]


def _text(block: Mapping[str, Any]) -> ContentPart | None:
    text = _string(block, "text")
    return None if text is None else TextPart(text=text)


def _standard(block: Mapping[str, Any]) -> ContentPart | None:
    """LangChain's standard blocks, its ``source_type`` blocks, Anthropic's and AG-UI's ``source`` blocks."""
    kind, mime = block["type"], _string(block, "mime_type")
    source = block.get("source")
    if isinstance(source, Mapping):
        return _with_source(block, source)
    if block.get("source_type") == "text":
        return _text(block)
    if block.get("source_type") == "id":
        return _media(block, kind, file=_string(block, "id"), mime=mime)
    inner = block.get("file")
    if isinstance(inner, Mapping):  # OpenAI: {"type": "file", "file": {"file_data" | "file_id", "filename"}}
        return _openai_file(inner, kind)
    data = _string(block, "base64") or (_string(block, "data") if block.get("source_type") == "base64" else None)
    return _media(block, kind, data=data, url=_string(block, "url"), file=_string(block, "file_id"), mime=mime)


def _with_source(block: Mapping[str, Any], source: Mapping[str, Any]) -> ContentPart | None:
    kind = block["type"]
    mime = _string(source, "media_type") or _string(source, "mimeType") or _string(source, "mime_type")
    value = _string(source, "value")
    match source.get("type"):
        case "base64":
            return _media(block, kind, data=_string(source, "data"), mime=mime)
        case "data":
            return _media(block, kind, data=value, mime=mime)
        case "url":
            return _media(block, kind, url=_string(source, "url") or value, mime=mime)
        case "file":
            provider = _string(source, "provider") or (None if value else "anthropic")
            return _media(block, kind, file=_string(source, "file_id") or value, mime=mime, provider=provider)
        case "text":
            text = _string(source, "data")
            return None if text is None else TextPart(text=text)
    return None


def _plain_text(block: Mapping[str, Any]) -> ContentPart | None:
    return _text(block) or _standard({**block, "type": "file"})


def _addressed(block: Mapping[str, Any]) -> ContentPart | None:
    """OpenAI: ``image_url`` is an object with ``url`` or, in the Responses API and elsewhere, the address itself. vLLM
    and OpenRouter have video and audio in the same form."""
    kind = block["type"].removeprefix("input_").removesuffix("_url")
    inner = block.get(f"{kind}_url")
    url = _string(inner, "url") if isinstance(inner, Mapping) else _string(block, f"{kind}_url")
    return _media(block, kind, url=url, file=_string(block, "file_id"), provider="openai")


def _input_audio(block: Mapping[str, Any]) -> ContentPart | None:
    inner = block.get("input_audio")
    if not isinstance(inner, Mapping):
        return None
    return _media(block, "audio", data=_string(inner, "data"), mime=f"audio/{_string(inner, 'format') or 'wav'}")


def _input_file(block: Mapping[str, Any]) -> ContentPart | None:
    return _openai_file(block, "file")


def _openai_file(block: Mapping[str, Any], kind: str) -> ContentPart | None:
    """``file_data`` is base64 alone, as OpenAI's reference has it, or an address with the data in it."""
    data, handle = _string(block, "file_data"), _string(block, "file_id")
    if data and ":" not in data[:_SCHEME]:
        mime, _ = guess_type(_string(block, "filename") or "")
        return _media(block, kind, data=data, mime=mime)
    return _media(block, kind, url=data or _string(block, "file_url"), file=handle, provider="openai")


def _binary(block: Mapping[str, Any]) -> ContentPart | None:
    """AG-UI before 1.0: ``mimeType``, one of ``data``, ``url`` and ``id``, ``filename``. An id alone names nothing."""
    mime = _string(block, "mimeType") or _string(block, "mime_type")
    return _media(block, "file", data=_string(block, "data"), url=_string(block, "url"), mime=mime)


def _gemini(block: Mapping[str, Any]) -> ContentPart | None:
    """``{"type": "media", "mime_type": ..., "data" | "file_uri": ...}``."""
    mime = _string(block, "mime_type")
    return _media(
        block, "file", data=_string(block, "data"), file=_string(block, "file_uri"), mime=mime, provider="google"
    )


def _media(
    block: Mapping[str, Any],
    kind: str,
    *,
    data: str | None = None,
    url: str | None = None,
    file: str | None = None,
    mime: str | None = None,
    provider: str | None = None,
) -> ContentPart | None:
    source: Source | None = None
    if url is not None and url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        mime = head.partition(";")[0] or mime
        if not head.endswith(";base64"):
            data = None  # percent-encoded text: a plain address to every client
    if data is not None:
        mime = mime or type_of(data)
        source = DataSource(value=data, mime_type=mime)
    elif url is not None:
        source = UrlSource(value=url, mime_type=mime)
    elif file is not None:
        extras = block.get("extras")
        known = _string(extras, "provider") if isinstance(extras, Mapping) else None
        source = FileSource(value=file, provider=known or provider, mime_type=mime)
    if source is None:
        return None
    if kind == "file":
        prefix = (mime or "").partition("/")[0]
        kind = prefix if prefix in _MEDIA else "document"
    return _MEDIA[kind](source=source, metadata=_metadata(block))


def type_of(data: str) -> str:
    """The media type of base64 data that came without one."""
    return next((known for magic, known in _MAGIC if data.startswith(magic)), "application/octet-stream")


def _metadata(block: Mapping[str, Any]) -> dict[str, Any] | None:
    for place in (block, block.get("extras"), block.get("metadata")):
        if isinstance(place, Mapping):
            name = _string(place, "filename") or _string(place, "title")
            if name:
                return {"filename": name}
    return None


def _string(holder: Mapping[str, Any], key: str) -> str | None:
    value = holder.get(key)
    return clean_text(value) if isinstance(value, str) else None


_READERS: Mapping[str, Callable[[Mapping[str, Any]], ContentPart | None]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "text-plain": _plain_text,
    "image": _standard,
    "audio": _standard,
    "video": _standard,
    "file": _standard,
    "document": _standard,
    "image_url": _addressed,
    "input_image": _addressed,
    "video_url": _addressed,
    "audio_url": _addressed,
    "input_audio": _input_audio,
    "input_file": _input_file,
    "media": _gemini,
    "binary": _binary,
}


def parts_text(parts: Sequence[ContentPart], separator: str) -> str:
    """The text of the text parts, joined."""
    return separator.join(part.text for part in parts if isinstance(part, TextPart))
